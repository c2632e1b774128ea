//! A directory that only this user can write, and its files: no other user can have placed links, FIFOs or
//! data there.

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// A directory of the effective user that others cannot write.
#[derive(Debug)]
pub struct PrivateFolder(OwnedFd);

impl PrivateFolder {
    /// Opens it.
    ///
    /// # Errors
    /// If it does not exist, is a link, or is owned or writable by others (`PermissionDenied`).
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = open_folder(path)?;
        check(&folder)?;
        Ok(PrivateFolder(folder))
    }

    /// Opens it, after creating it and its missing parents. If this user owns it, removes others' write
    /// permission.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of creating directories.
    pub fn make(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let folder = open_folder(path)?;
        if fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw() && check(&folder).is_err() {
            rustix::fs::fchmod(&folder, Mode::RWXU)?;
        }
        check(&folder)?;
        Ok(PrivateFolder(folder))
    }

    /// Returns the text of file `name`, if it has at most `bytes_max` bytes.
    ///
    /// # Errors
    /// If it is not a regular file of this user alone, too large, or not UTF-8.
    pub fn read(&self, name: &str, bytes_max: u64) -> io::Result<String> {
        // Non-blocking: a FIFO is rejected below.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let about = check(&file)?;
        let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
        if !is_file || u64::try_from(about.st_size).map_or(true, |bytes| bytes > bytes_max) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = String::new();
        File::from(file).take(bytes_max).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Runs `work` while no other process is in this function with the same `name`, an empty file.
    ///
    /// # Errors
    /// Those of opening and locking the file.
    pub fn locked<T>(&self, name: &str, work: impl FnOnce() -> T) -> io::Result<T> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(work())
    }

    /// Removes file `name`; a missing one is no error.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.0, name, rustix::fs::AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Writes file `name` atomically: a concurrent reader sees the old text or the new one.
    ///
    /// # Errors
    /// Those of writing; nothing is left behind then.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let draft = format!("{name}.{}.{}", std::process::id(), crate::clock::now_ns());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, &draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(text.as_bytes());
        let placed = written.and_then(|()| Ok(renameat(&self.0, &draft, &self.0, name)?));
        if placed.is_err() {
            let _ = unlinkat(&self.0, &draft, rustix::fs::AtFlags::empty());
        }
        placed
    }
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Checks that the effective user owns it, and others cannot write it.
fn check(file: &impl AsFd) -> io::Result<rustix::fs::Stat> {
    let about = fstat(file)?;
    let others = Mode::from_raw_mode(about.st_mode) & (Mode::WGRP | Mode::WOTH);
    if about.st_uid != rustix::process::geteuid().as_raw() || !others.is_empty() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    /// A directory for each test, removed at the end.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("pelton-private-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Root(path)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is_left() {
        let root = Root::new("written");
        let folder = PrivateFolder::make(&root.0.join("a/b")).expect("made");
        folder.write("f", "one").expect("written");
        folder.write("f", "two").expect("written");
        assert_eq!(folder.locked("lock", || folder.read("f", 10)).expect("locked").expect("read"), "two");
        folder.remove("lock").expect("removed");
        folder.remove("lock").expect("nothing to remove");
        assert!(folder.read("f", 2).is_err(), "too large");
        assert_eq!(fs::read_dir(root.0.join("a/b")).expect("readable").count(), 1);
        assert_eq!(fs::metadata(root.0.join("a/b")).expect("there").permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn links_are_neither_followed_nor_overwritten() {
        let root = Root::new("links");
        let path = root.0.join("own");
        let folder = PrivateFolder::make(&path).expect("made");
        let victim = root.0.join("victim");
        fs::write(&victim, "precious").expect("written");
        symlink(&victim, path.join("f")).expect("linked");
        assert!(folder.read("f", 100).is_err());
        folder.write("f", "new").expect("the link is replaced");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "precious");
        assert_eq!(folder.read("f", 100).expect("read"), "new");
        symlink(&path, root.0.join("link")).expect("linked");
        assert!(PrivateFolder::open(&root.0.join("link")).is_err());
        assert!(PrivateFolder::make(&root.0.join("link")).is_err());
    }

    #[test]
    fn a_fifo_is_not_waited_for() {
        let root = Root::new("fifo");
        let folder = PrivateFolder::make(&root.0.join("own")).expect("made");
        let name = std::ffi::CString::new(root.0.join("own/f").into_os_string().into_encoded_bytes())
            .expect("no NUL");
        // SAFETY: the path is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(folder.read("f", 100).is_err());
    }

    #[test]
    fn what_others_can_write_is_not_trusted() {
        let root = Root::new("others");
        let path = root.0.join("own");
        let folder = PrivateFolder::make(&path).expect("made");
        folder.write("f", "text").expect("written");
        fs::set_permissions(path.join("f"), fs::Permissions::from_mode(0o666)).expect("changed");
        assert!(folder.read("f", 100).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("changed");
        assert!(PrivateFolder::open(&path).is_err());
        assert!(PrivateFolder::make(&path).is_ok());
        assert!(PrivateFolder::open(&path).is_ok());
    }
}
