//! Which implementation and version a program is.
//!
//! A kernel claims to equal a named implementation, so the name on the PATH is not enough. The program is asked once
//! (`--version`, first line); the answer is kept for as long as the file stays the same (path, inode, time, size).

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Who wrote a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// GNU coreutils.
    GnuCoreutils,
    /// GNU grep.
    GnuGrep,
    /// GNU sed.
    GnuSed,
    /// GNU findutils (find, xargs).
    GnuFindutils,
    /// GNU awk.
    Gawk,
    /// mawk.
    Mawk,
    /// util-linux.
    UtilLinux,
    /// bash's own builtins.
    Bash,
}

/// The versions that the kernels were compared with. Others are declined until they have been compared as well.
pub const TESTED: &[(Family, &str)] = &[
    (Family::GnuCoreutils, "9.1"),
    (Family::GnuGrep, "3.8"),
    (Family::GnuSed, "4.9"),
    (Family::GnuFindutils, "4.9.0"),
    (Family::Gawk, "5.2.1"),
    (Family::Mawk, "1.3.4 20200120"),
    (Family::UtilLinux, "2.38.1"),
    (Family::Bash, "5.2.15(1)-release"),
];

/// How the first line of `--version` begins, and what follows is the version. `*` stands for the program's name.
const FIRST_LINES: &[(&str, Family)] = &[
    ("* (GNU coreutils) ", Family::GnuCoreutils),
    ("* (GNU grep) ", Family::GnuGrep),
    ("* (GNU sed) ", Family::GnuSed),
    ("* (GNU findutils) ", Family::GnuFindutils),
    ("GNU Awk ", Family::Gawk),
    ("mawk ", Family::Mawk),
    ("* from util-linux ", Family::UtilLinux),
    ("GNU bash, version ", Family::Bash),
];

/// Which program a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// One that can be named.
    Known {
        /// Who wrote it.
        family: Family,
        /// As it prints it.
        version: String,
    },
    /// What it said of itself instead, for the reason in `explain`; empty if nothing.
    Unknown(String),
}

impl Implementation {
    /// The version of this family that was tested, for tests and for callers that know.
    pub fn tested(family: Family) -> Self {
        let version = TESTED.iter().find(|(tested, _)| *tested == family).map_or("", |(_, version)| version);
        Implementation::Known { family, version: version.to_owned() }
    }

    /// Is it this family, in a version that was compared?
    pub fn is_tested(&self, wanted: Family) -> bool {
        matches!(self, Implementation::Known { family, version }
            if *family == wanted && TESTED.contains(&(*family, version.as_str())))
    }

    /// In words, for reasons.
    pub fn describe(&self) -> String {
        match self {
            Implementation::Known { family, version } => format!("{family:?} {version}"),
            Implementation::Unknown(line) if line.is_empty() => "an unknown program".to_owned(),
            Implementation::Unknown(line) => format!("an unknown program ('{line}')"),
        }
    }

    /// Reads the first line of what `program --version` prints.
    pub fn from_version_line(program: &str, line: &str) -> Self {
        for (pattern, family) in FIRST_LINES {
            let expected = pattern.replace('*', program);
            if let Some(rest) = line.strip_prefix(&expected) {
                let version = match family {
                    Family::Gawk => rest.split([',', ' ']).next(),
                    Family::Bash => rest.split(' ').next(),
                    _ => Some(rest.trim_end()),
                };
                return Implementation::Known {
                    family: *family,
                    version: version.unwrap_or_default().to_owned(),
                };
            }
        }
        Implementation::Unknown(line.chars().take(60).collect())
    }
}

/// What must stay the same for an answer to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its inode number.
    pub inode: u64,
    /// When it was last written, in nanoseconds.
    pub modified_ns: i128,
    /// Its size.
    pub bytes: u64,
}

/// Asks the machine.
pub trait Probe {
    /// The file behind a path, links followed.
    fn stamp(&self, path: &Path) -> Option<Stamp>;
    /// The first line of `path --version`.
    fn version_line(&self, path: &Path) -> Option<String>;
}

/// Keeps answers between runs.
pub trait Store {
    /// What was saved, or nothing.
    fn load(&self) -> Option<String>;
    /// Keeps it; may fail silently: it is only a cache.
    fn save(&self, text: &str);
}

/// The machine itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProbe;

impl Probe for SystemProbe {
    fn stamp(&self, path: &Path) -> Option<Stamp> {
        let data = fs::metadata(path).ok()?;
        let modified_ns = i128::from(data.mtime()) * 1_000_000_000 + i128::from(data.mtime_nsec());
        Some(Stamp { inode: data.ino(), modified_ns, bytes: data.size() })
    }

    fn version_line(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_str()?;
        // mawk knows no long options before 1.3.4-2020 and says its version with -W.
        let output = Command::new(path)
            .args(if name == "mawk" { &["-W", "version"][..] } else { &["--version"] })
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Some(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// A file under `$XDG_CACHE_HOME/pelton`.
#[derive(Clone, Debug)]
pub struct CacheFile {
    path: PathBuf,
}

impl CacheFile {
    /// In the user's cache folder, if the environment names one.
    pub fn of_user(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let root = variable("XDG_CACHE_HOME")
            .and_then(absolute)
            .or_else(|| variable("HOME").and_then(absolute).map(|home| home.join(".cache")))?;
        Some(CacheFile { path: root.join("pelton").join("implementations") })
    }
}

impl Store for CacheFile {
    fn load(&self) -> Option<String> {
        fs::read_to_string(&self.path).ok()
    }

    fn save(&self, text: &str) {
        let Some(folder) = self.path.parent() else { return };
        let draft = folder.join(format!("implementations.{}", std::process::id()));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&draft, text));
        // Renamed into place, so that two runs at once never see half a file.
        if written.and_then(|()| fs::rename(&draft, &self.path)).is_err() {
            let _ = fs::remove_file(&draft);
        }
    }
}

/// Answers which implementation a path is, and remembers.
pub struct Detector<'a> {
    probe: &'a dyn Probe,
    store: Option<&'a dyn Store>,
    known: HashMap<PathBuf, (Stamp, Implementation)>,
}

impl<'a> Detector<'a> {
    /// With what `store` remembers.
    pub fn new(probe: &'a dyn Probe, store: Option<&'a dyn Store>) -> Self {
        let known = store.and_then(Store::load).and_then(|text| decode(&text)).unwrap_or_default();
        Detector { probe, store, known }
    }

    /// What the program at this path is. Asks it only if it is new or was replaced.
    pub fn identify(&mut self, path: &Path) -> Implementation {
        let Some(stamp) = self.probe.stamp(path) else { return Implementation::Unknown(String::new()) };
        if let Some((_, known)) = self.known.get(path).filter(|(then, _)| *then == stamp) {
            return known.clone();
        }
        let program = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let line = self.probe.version_line(path).unwrap_or_default();
        let implementation = Implementation::from_version_line(program, &line);
        self.known.insert(path.to_owned(), (stamp, implementation.clone()));
        if let Some(store) = self.store {
            store.save(&encode(&self.known));
        }
        implementation
    }
}

const HEADER: &str = "pelton implementations 1";

/// One line per program: inode, time, size, family or `?`, version or line, path. Paths that are not UTF-8 or hold a
/// newline or tab are not kept.
fn encode(known: &HashMap<PathBuf, (Stamp, Implementation)>) -> String {
    let mut text = format!("{HEADER}\n");
    for (path, (stamp, implementation)) in known {
        let (family, words) = match implementation {
            Implementation::Known { family, version } => (format!("{family:?}"), version),
            Implementation::Unknown(line) => ("?".to_owned(), line),
        };
        let Some(path) = path.to_str().filter(|path| !path.contains(['\n', '\t'])) else { continue };
        if words.contains(['\n', '\t']) {
            continue;
        }
        let Stamp { inode, modified_ns, bytes } = stamp;
        text.push_str(&format!("{inode}\t{modified_ns}\t{bytes}\t{family}\t{words}\t{path}\n"));
    }
    text
}

/// `None` for anything but a whole, well-formed cache.
fn decode(text: &str) -> Option<HashMap<PathBuf, (Stamp, Implementation)>> {
    let lines = text.strip_suffix('\n')?.strip_prefix(HEADER)?;
    lines.split('\n').skip(1).map(decode_line).collect()
}

fn decode_line(line: &str) -> Option<(PathBuf, (Stamp, Implementation))> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let stamp = Stamp {
        inode: next()?.parse().ok()?,
        modified_ns: next()?.parse().ok()?,
        bytes: next()?.parse().ok()?,
    };
    let (family, words, path) = (next()?, next()?.to_owned(), PathBuf::from(next()?));
    let implementation = if family == "?" {
        Implementation::Unknown(words)
    } else {
        let (_, family) = FIRST_LINES.iter().find(|(_, known)| format!("{known:?}") == family)?;
        Implementation::Known { family: *family, version: words }
    };
    fields.next().is_none().then_some((path, (stamp, implementation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    struct Machine {
        stamp: Cell<Stamp>,
        line: &'static str,
        asked: Cell<u32>,
    }

    impl Probe for Machine {
        fn stamp(&self, _: &Path) -> Option<Stamp> {
            Some(self.stamp.get())
        }

        fn version_line(&self, _: &Path) -> Option<String> {
            self.asked.set(self.asked.get() + 1);
            Some(self.line.to_owned())
        }
    }

    #[derive(Default)]
    struct Memory(RefCell<Option<String>>);

    impl Store for Memory {
        fn load(&self) -> Option<String> {
            self.0.borrow().clone()
        }

        fn save(&self, text: &str) {
            *self.0.borrow_mut() = Some(text.to_owned());
        }
    }

    fn machine(line: &'static str) -> Machine {
        let stamp = Stamp { inode: 1, modified_ns: -5, bytes: 3 };
        Machine { stamp: Cell::new(stamp), line, asked: Cell::new(0) }
    }

    #[test]
    fn version_lines_name_the_implementation() {
        let known = |program: &str, line: &str| Implementation::from_version_line(program, line);
        assert!(known("cut", "cut (GNU coreutils) 9.1").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "cut (GNU coreutils) 9.4").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "cut (uutils coreutils) 0.0.27").is_tested(Family::GnuCoreutils));
        assert!(!known("cut", "sort (GNU coreutils) 9.1").is_tested(Family::GnuCoreutils));
        assert!(known("rev", "rev from util-linux 2.38.1").is_tested(Family::UtilLinux));
        assert!(known("gawk", "GNU Awk 5.2.1, API 3.2, PMA Avon 8-g1").is_tested(Family::Gawk));
        assert!(known("mawk", "mawk 1.3.4 20200120").is_tested(Family::Mawk));
        let bash = "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)";
        assert!(known("bash", bash).is_tested(Family::Bash));
    }

    #[test]
    fn a_program_is_asked_once_until_it_changes() {
        let machine = machine("cat (GNU coreutils) 9.1");
        let memory = Memory::default();
        let path = Path::new("/usr/bin/cat");
        assert!(Detector::new(&machine, Some(&memory)).identify(path).is_tested(Family::GnuCoreutils));
        assert!(Detector::new(&machine, Some(&memory)).identify(path).is_tested(Family::GnuCoreutils));
        assert_eq!(machine.asked.get(), 1);
        machine.stamp.set(Stamp { inode: 2, ..machine.stamp.get() });
        Detector::new(&machine, Some(&memory)).identify(path);
        assert_eq!(machine.asked.get(), 2);
    }

    #[test]
    fn a_damaged_cache_is_ignored() {
        let machine = machine("cat (GNU coreutils) 9.1");
        let whole = {
            let memory = Memory::default();
            Detector::new(&machine, Some(&memory)).identify(Path::new("/usr/bin/cat"));
            memory.load().unwrap()
        };
        for damaged in [&whole[..whole.len() - 1], &whole[5..], "", "\n", &whole.replace("\t", " ")] {
            let memory = Memory(RefCell::new(Some(damaged.to_owned())));
            machine.asked.set(0);
            let found = Detector::new(&machine, Some(&memory)).identify(Path::new("/usr/bin/cat"));
            assert!(found.is_tested(Family::GnuCoreutils));
            assert_eq!(machine.asked.get(), 1, "{damaged:?}");
        }
    }
}
