//! Caches answers between runs in a file in the user's cache folder. A lost cache costs a few milliseconds,
//! so every failure is silent.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use pelton_sys::private::PrivateFolder;

use super::{Family, Implementation, Stamp};

/// Keeps text between runs.
pub trait Store {
    /// Returns the saved text, if any.
    fn load(&self) -> Option<String>;
    /// Saves the text. May fail silently: it is only a cache.
    fn save(&self, text: &str);
}

/// A larger file was not written by pelton.
const CACHE_BYTES_MAX: u64 = 1 << 20;

/// The folder `$XDG_CACHE_HOME/pelton`. Its files decide which kernels run, so a folder that others can write is not
/// used.
#[derive(Clone, Debug)]
pub struct CacheFolder(PathBuf);

impl CacheFolder {
    /// Returns the user's folder, if the environment names one.
    pub fn of_user(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let root = variable("XDG_CACHE_HOME")
            .and_then(absolute)
            .or_else(|| variable("HOME").and_then(absolute).map(|home| home.join(".cache")))?;
        Some(CacheFolder(root.join("pelton")))
    }

    /// Returns the file of the detector's answers.
    pub fn implementations(&self) -> CacheFile {
        CacheFile { folder: self.0.clone(), name: "implementations" }
    }

    /// Returns the file of certificates.
    pub fn certificates(&self) -> CacheFile {
        CacheFile { folder: self.0.clone(), name: "verified" }
    }
}

/// A file of that folder.
#[derive(Clone, Debug)]
pub struct CacheFile {
    folder: PathBuf,
    name: &'static str,
}

impl CacheFile {
    /// Returns its path.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    /// Returns the saved text.
    ///
    /// # Errors
    /// `NotFound` if there is none; others if the folder or the file is not this user's alone.
    pub fn read(&self) -> io::Result<String> {
        PrivateFolder::open(&self.folder)?.read(self.name, CACHE_BYTES_MAX)
    }

    /// Saves the text.
    ///
    /// # Errors
    /// If the folder cannot be made, is not private, or cannot be written.
    pub fn write(&self, text: &str) -> io::Result<()> {
        PrivateFolder::make(&self.folder)?.write(self.name, text)
    }
}

impl Store for CacheFile {
    fn load(&self) -> Option<String> {
        self.read().ok()
    }

    fn save(&self, text: &str) {
        let _ = self.write(text);
    }
}

/// The number grows with every change of what is probed.
const HEADER: &str = "pelton implementations 7";

/// Encodes one line per program: device, inode, time, size, family or `?`, version or line, path. Skips paths that
/// are not UTF-8 or hold a newline or tab.
pub(super) fn encode(known: &HashMap<PathBuf, (Stamp, Implementation)>) -> String {
    let mut text = format!("{HEADER}\n");
    for (path, (stamp, implementation)) in known {
        let (family, words) = match implementation {
            Implementation::Known { family, version } => (format!("{family:?}"), version),
            Implementation::Unknown(line) => ("?".to_owned(), line),
            // Kept by its certificate.
            Implementation::Verified(_) => continue,
        };
        let Some(path) = path.to_str().filter(|path| !path.contains(['\n', '\t'])) else { continue };
        if words.contains(['\n', '\t']) {
            continue;
        }
        text.push_str(&format!("{}\t{family}\t{words}\t{path}\n", stamp.encode()));
    }
    text
}

/// Decodes a cache; `None` unless it is complete and well-formed.
pub(super) fn decode(text: &str) -> Option<HashMap<PathBuf, (Stamp, Implementation)>> {
    lines_below(HEADER, text)?.map(decode_line).collect()
}

/// Returns what a cache says of one program, without a look at the rest of it.
pub(super) fn find(text: &str, path: &Path) -> Option<(Stamp, Implementation)> {
    let lines = text.strip_prefix(HEADER)?;
    let path = path.to_str().filter(|path| !path.contains(['\n', '\t']))?;
    let at = memchr::memmem::find(lines.as_bytes(), format!("\t{path}\n").as_bytes())?;
    let start = memchr::memrchr(b'\n', &lines.as_bytes()[..at])? + 1;
    let (_, found) = decode_line(&lines[start..at + 1 + path.len()])?;
    Some(found)
}

/// Returns the lines of a file of pelton's that begins with this header; `None` if it does not, or if the last line
/// is not complete.
pub(super) fn lines_below<'t>(header: &str, text: &'t str) -> Option<std::str::Lines<'t>> {
    let lines = text.strip_prefix(header)?.strip_prefix('\n')?;
    (lines.is_empty() || lines.ends_with('\n')).then(|| lines.lines())
}

fn decode_line(line: &str) -> Option<(PathBuf, (Stamp, Implementation))> {
    let mut fields = line.split('\t');
    let stamp = Stamp::decode(&mut fields)?;
    let mut next = || fields.next();
    let (family, words, path) = (next()?, next()?.to_owned(), PathBuf::from(next()?));
    let implementation = if family == "?" {
        Implementation::Unknown(words)
    } else {
        Implementation::Known { family: Family::named(family)?, version: words }
    };
    fields.next().is_none().then_some((path, (stamp, implementation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::detect::{Detector, SystemProbe};
    use std::fs;

    /// A folder per test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("pelton-cache-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn cache(&self) -> CacheFile {
            let variable = |name: &str| (name == "XDG_CACHE_HOME").then(|| self.0.clone());
            CacheFolder::of_user(variable).unwrap().implementations()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn entry(number: u64) -> (PathBuf, (Stamp, Implementation)) {
        let stamp = Stamp { device: 1, inode: number, modified_ns: 1, bytes: 2 };
        (PathBuf::from(format!("/bin/{number}")), (stamp, Implementation::tested(Family::GnuCoreutils)))
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let folder = Folder::new("saved");
        let known: HashMap<_, _> = (0..3).map(entry).collect();
        folder.cache().save(&encode(&known));
        assert_eq!(folder.cache().load().and_then(|text| decode(&text)), Some(known));
        assert_eq!(fs::read_dir(folder.0.join("pelton")).unwrap().count(), 1, "drafts are gone");
    }

    #[test]
    fn one_program_is_found_without_the_others() {
        let known: HashMap<_, _> = (0..30).map(entry).collect();
        let text = encode(&known);
        for (path, found) in &known {
            assert_eq!(find(&text, path).as_ref(), Some(found));
        }
        for path in ["/bin/30", "/bin/", "bin/1", "9.1", "/bin/1\n", ""] {
            assert_eq!(find(&text, Path::new(path)), None, "{path:?}");
        }
        let broken = text.replace("\t9.1\t", "\t");
        assert_eq!(find(&broken, Path::new("/bin/1")), None);
        assert_eq!(find(&text.replace(HEADER, "pelton implementations 6"), Path::new("/bin/1")), None);
    }

    #[test]
    fn a_place_that_cannot_be_written_costs_nothing_but_the_cache() {
        let folder = Folder::new("unwritable");
        // A file in place of the folder: not even root can write there.
        fs::write(folder.0.join("pelton"), b"").unwrap();
        folder.cache().save("text");
        assert_eq!(folder.cache().load(), None);
        let mut detector = Detector::new(&SystemProbe, Some(Box::new(folder.cache())));
        let found = detector.identify(Path::new("/bin/cat"));
        assert_eq!(found, Detector::new(&SystemProbe, None).identify(Path::new("/bin/cat")));
    }

    #[test]
    fn what_is_no_cache_is_not_read() {
        let folder = Folder::new("odd");
        let place = folder.0.join("pelton/implementations");
        fs::create_dir_all(&place).unwrap();
        assert_eq!(folder.cache().load(), None);
        folder.cache().save("text");
        assert_eq!(fs::read_dir(folder.0.join("pelton")).unwrap().count(), 1, "drafts are gone");
        fs::remove_dir(&place).unwrap();
        fs::write(&place, vec![b'x'; CACHE_BYTES_MAX as usize + 1]).unwrap();
        assert_eq!(folder.cache().load(), None);
        fs::write(&place, b"pelton implementations 5\n\xff\n").unwrap();
        assert_eq!(folder.cache().load(), None);
    }

    #[test]
    fn writers_at_the_same_time_leave_a_whole_cache() {
        let folder = Folder::new("writers");
        let texts: Vec<String> = (1..5).map(|many| encode(&(0..many * 100).map(entry).collect())).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| {
                    for _ in 0..50 {
                        folder.cache().save(text);
                        let there = folder.cache().load().unwrap();
                        assert!(texts.contains(&there));
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.0.join("pelton")).unwrap().count(), 1, "drafts are gone");
    }
}
