//! Backups: an existing target is kept under another name.

use crate::tree::parent_of;
use pelton_sys::copying;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// How the backup name is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// The next number, as in `name.~3~`.
    Numbered,
    /// As `Numbered` if a numbered backup exists; else as `Simple`.
    #[default]
    Existing,
    /// The name and the suffix; an earlier backup is overwritten.
    Simple,
}

/// Backup settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// How the backup name is chosen.
    pub naming: Naming,
    /// The suffix of simple backups.
    pub suffix: OsString,
}

impl Backup {
    /// Returns the name with the suffix.
    pub(crate) fn simple(&self, path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(&self.suffix);
        name.into()
    }

    /// Returns the backup name for `path`.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub(crate) fn name(&self, path: &Path) -> io::Result<PathBuf> {
        let last = if self.naming == Naming::Simple { None } else { last_number(path)? };
        if self.naming == Naming::Existing && last.is_none() || self.naming == Naming::Simple {
            return Ok(self.simple(path));
        }
        let mut name = path.as_os_str().as_bytes().to_vec();
        name.extend_from_slice(format!(".~{}~", last.unwrap_or(0) + 1).as_bytes());
        Ok(OsString::from_vec(name).into())
    }

    /// Renames `path` to its backup name; `None` if it does not exist.
    ///
    /// # Errors
    /// If the directory cannot be read, or the rename fails.
    pub(crate) fn set_aside(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        loop {
            let aside = self.name(path)?;
            let renamed = match aside == self.simple(path) {
                true => fs::rename(path, &aside),
                // Another process may have taken the number.
                false => copying::rename_to_new(path, &aside),
            };
            match renamed {
                Ok(()) => return Ok(Some(aside)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the highest number of the existing backups.
fn last_number(path: &Path) -> io::Result<Option<u64>> {
    let base = path.file_name().unwrap_or_default();
    let mut last = None;
    for entry in fs::read_dir(parent_of(path))? {
        last = last.max(number(&entry?.file_name(), base));
    }
    Ok(last)
}

/// Returns the number in `base.~NUMBER~`.
fn number(name: &OsStr, base: &OsStr) -> Option<u64> {
    let digits = name.as_bytes().strip_prefix(base.as_bytes())?.strip_prefix(b".~")?.strip_suffix(b"~")?;
    let is_number = !digits.starts_with(b"0") && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        let read = |name: &str| number(OsStr::new(name), OsStr::new("a"));
        assert_eq!(read("a.~1~"), Some(1));
        assert_eq!(read("a.~120~"), Some(120));
        for other in ["a.~01~", "a.~~", "a.~1", "b.~1~", "a.~1x~", "a~", "a"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn names_follow_what_is_there() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("a");
        let name = |naming| {
            let named = Backup { naming, suffix: "~".into() }.name(&path).expect("read");
            named.file_name().unwrap_or_default().to_owned()
        };
        assert_eq!(name(Naming::Existing), "a~");
        assert_eq!(name(Naming::Numbered), "a.~1~");
        fs::write(folder.path().join("a.~9~"), "").expect("written");
        fs::write(folder.path().join("a.~10~"), "").expect("written");
        assert_eq!(name(Naming::Existing), "a.~11~");
        assert_eq!(name(Naming::Simple), "a~");
    }
}
