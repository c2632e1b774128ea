//! The files that a run leaves in the working directory, so that two runs can be compared by them too.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// More files than that are not looked at: it would take longer than most of what is compared.
const MOST: usize = 20_000;
/// Bytes read at a time.
const CHUNK: usize = 128 * 1024;
/// So many files are named.
const NAMED: usize = 3;

/// What tells that a file was written: where it is, its size, and when it was changed.
type Stamp = (u64, u64, [i64; 4]);

/// Looks at the working directory between runs. Hidden files, what lies on other file systems, and the files that this process
/// writes its own output to do not count.
pub struct FilesLeft {
    root: PathBuf,
    /// By path; `None` if there are too many files.
    seen: Option<BTreeMap<PathBuf, Stamp>>,
}

/// What a run has created, written or removed, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left(BTreeMap<PathBuf, Content>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    File {
        bytes: u64,
        hash: u64,
    },
    Link(PathBuf),
    /// A folder, FIFO, socket or device, or a file that cannot be read: it is there.
    Other,
    Gone,
}

impl FilesLeft {
    /// Looks at the working directory.
    pub fn begin() -> Self {
        Self::at(PathBuf::from("."))
    }

    fn at(root: PathBuf) -> Self {
        let seen = look(&root);
        FilesLeft { root, seen }
    }

    /// Returns what was written since the last look; `None` if there are too many files to tell.
    pub fn since(&mut self) -> Option<Left> {
        let now = look(&self.root);
        let before = std::mem::replace(&mut self.seen, now)?;
        let now = self.seen.as_ref()?;
        let written = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp));
        let mut left: BTreeMap<_, _> =
            written.map(|(path, _)| (path.clone(), content(&self.root.join(path)))).collect();
        let gone = before.into_keys().filter(|path| !now.contains_key(path));
        left.extend(gone.map(|path| (path, Content::Gone)));
        Some(Left(left))
    }
}

impl Left {
    /// Returns the files that were written.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = self.0.iter().filter(|(_, content)| matches!(content, Content::File { .. }));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the paths that two runs left differently.
    pub fn differing(&self, other: &Left) -> Vec<PathBuf> {
        let paths = self.0.keys().chain(other.0.keys().filter(|path| !self.0.contains_key(*path)));
        paths.filter(|path| self.0.get(*path) != other.0.get(*path)).cloned().collect()
    }

    /// Leaves these paths out.
    pub fn without(mut self, paths: &[PathBuf]) -> Left {
        paths.iter().for_each(|path| drop(self.0.remove(path)));
        self
    }

    /// Describes how another run left a path: `ours` and `theirs` are what the two runs are called.
    pub fn difference(&self, other: &Left, path: &Path, ours: &str, theirs: &str) -> String {
        let name = path.display();
        match (self.0.get(path), other.0.get(path)) {
            (Some(Content::Gone), _) => format!("`{name}` is removed by {ours} and not by {theirs}"),
            (_, Some(Content::Gone)) => format!("`{name}` is removed by {theirs} and not by {ours}"),
            (Some(_), None) => format!("`{name}` is written by {ours} and not by {theirs}"),
            (None, Some(_)) => format!("`{name}` is written by {theirs} and not by {ours}"),
            (Some(Content::Link(a)), Some(Content::Link(b))) => {
                format!(
                    "`{name}` is a link to `{}` from {ours} and to `{}` from {theirs}",
                    a.display(),
                    b.display()
                )
            }
            (Some(Content::File { bytes: a, .. }), Some(Content::File { bytes: b, .. })) if a == b => {
                format!("`{name}` has other bytes, {a} from each")
            }
            (Some(Content::File { bytes: a, .. }), Some(Content::File { bytes: b, .. })) => {
                format!("`{name}` has {a} bytes from {ours} and {b} from {theirs}")
            }
            _ => format!("`{name}` is not of the same kind"),
        }
    }
}

/// Names a few paths: `a, b, c and 4 more`.
pub fn named(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{}`", path.display())).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns all files below a folder, by their paths from there; `None` if there are too many.
fn look(root: &Path) -> Option<BTreeMap<PathBuf, Stamp>> {
    let device = fs::metadata(root).ok()?.dev();
    let own = own_output();
    let (mut seen, mut folders) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        // A folder that cannot be read is as it was.
        let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(found) = entry.metadata() else { continue };
            if name.as_bytes().starts_with(b".")
                || found.dev() != device
                || own.contains(&(found.dev(), found.ino()))
            {
                continue;
            }
            let path = folder.join(name);
            if found.is_dir() {
                folders.push(path.clone());
            }
            seen.insert(path, stamp(&found));
            if seen.len() > MOST {
                return None;
            }
        }
    }
    Some(seen)
}

/// Returns the device and inode of what standard output and standard error are.
fn own_output() -> Vec<(u64, u64)> {
    let of = |fd: u32| fs::metadata(format!("/proc/self/fd/{fd}")).ok();
    [1, 2].into_iter().filter_map(of).map(|file| (file.dev(), file.ino())).collect()
}

/// A folder changes with its files, which are looked at themselves.
fn stamp(found: &Metadata) -> Stamp {
    match found.is_dir() {
        true => (0, 0, [0; 4]),
        false => {
            let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
            (found.ino(), found.len(), times)
        }
    }
}

fn content(path: &Path) -> Content {
    let Ok(found) = fs::symlink_metadata(path) else { return Content::Gone };
    if found.is_symlink() {
        return fs::read_link(path).map_or(Content::Other, Content::Link);
    }
    match found.is_file() {
        true => digest(path).unwrap_or(Content::Other),
        false => Content::Other,
    }
}

fn digest(path: &Path) -> io::Result<Content> {
    let (mut file, mut buffer) = (File::open(path)?, vec![0; CHUNK]);
    let (mut hasher, mut bytes) = (DefaultHasher::new(), 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Content::File { bytes, hash: hasher.finish() }),
            length => {
                hasher.write(&buffer[..length]);
                bytes += length as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(files: &mut FilesLeft, root: &Path, changes: &[(&str, Option<&str>)]) -> Left {
        for (name, text) in changes {
            match text {
                Some(text) => fs::write(root.join(name), text).expect("written"),
                None => fs::remove_file(root.join(name)).expect("removed"),
            }
        }
        files.since().expect("few files")
    }

    #[test]
    fn two_runs_are_told_apart_by_what_they_leave() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path();
        fs::create_dir(root.join("out")).expect("created");
        fs::write(root.join("kept"), "as it was").expect("written");
        let mut files = FilesLeft::at(root.to_owned());
        assert_eq!(files.since(), Some(Left::default()));
        let first =
            written(&mut files, root, &[("out/a", Some("1\n")), ("b", Some("2\n")), (".c", Some("x"))]);
        assert_eq!(first.files(), ["b", "out/a"].map(PathBuf::from));
        let same =
            written(&mut files, root, &[("out/a", Some("1\n")), ("b", Some("2\n")), (".c", Some("y"))]);
        assert_eq!(first, same);
        let other = written(&mut files, root, &[("out/a", Some("11\n"))]);
        let paths = first.differing(&other);
        assert_eq!(named(&paths), "`b`, `out/a`");
        assert_eq!(
            first.difference(&other, &paths[0], "BEFORE", "AFTER"),
            "`b` is written by BEFORE and not by AFTER"
        );
        let told = first.difference(&other, &paths[1], "BEFORE", "AFTER");
        assert_eq!(told, "`out/a` has 2 bytes from BEFORE and 3 from AFTER");
        assert_eq!(first.without(&paths), Left::default());
        let removed = written(&mut files, root, &[("b", None)]);
        assert_eq!((removed.files().len(), removed.differing(&same).len()), (0, 2));
    }
}
