//! The files that a run left in its directory.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

/// One name in a directory tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file: permission bits and contents.
    File(u32, Vec<u8>),
    /// A directory: permission bits.
    Dir(u32),
    /// A symbolic link: its target.
    Link(String),
    /// A named pipe: permission bits.
    Fifo(u32),
    /// Another kind of file, or an unreadable one.
    Other(String),
}

/// Returns everything below a directory, by relative path.
pub fn snapshot(dir: &Path) -> io::Result<BTreeMap<String, Entry>> {
    let mut found = BTreeMap::new();
    walk(dir, "", &mut found)?;
    Ok(found)
}

fn walk(dir: &Path, prefix: &str, found: &mut BTreeMap<String, Entry>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().as_encoded_bytes().escape_ascii());
        let path = entry.path();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() && walk(&path, &format!("{name}/"), found).is_err() {
            found.insert(format!("{name}/?"), Entry::Other("unreadable directory".into()));
        }
        found.insert(name, look(&path, &metadata));
    }
    Ok(())
}

fn look(path: &Path, metadata: &Metadata) -> Entry {
    let (mode, kind) = (metadata.permissions().mode() & 0o7777, metadata.file_type());
    if kind.is_dir() {
        Entry::Dir(mode)
    } else if kind.is_symlink() {
        fs::read_link(path)
            .map_or(Entry::Other("link".into()), |target| Entry::Link(target.display().to_string()))
    } else if kind.is_fifo() {
        Entry::Fifo(mode)
    } else if kind.is_file() {
        fs::read(path)
            .map_or(Entry::Other(format!("unreadable file {mode:o}")), |bytes| Entry::File(mode, bytes))
    } else {
        Entry::Other(format!("{kind:?}"))
    }
}
