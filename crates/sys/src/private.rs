//! A folder that only this user can write, and the files in it: nobody else has put a link, a FIFO or words there.

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// A folder of the effective user's that others cannot write.
#[derive(Debug)]
pub struct PrivateFolder(OwnedFd);

impl PrivateFolder {
    /// Opens it.
    ///
    /// # Errors
    /// If it is not there, is a link, or belongs to others or can be written by them (`PermissionDenied`).
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = open_folder(path)?;
        check(&folder)?;
        Ok(PrivateFolder(folder))
    }

    /// Opens it, and makes it and those above it where they are missing. Where it is this user's, others lose the right to
    /// write in it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and those of making folders.
    pub fn make(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let folder = open_folder(path)?;
        if fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw() && check(&folder).is_err() {
            rustix::fs::fchmod(&folder, Mode::RWXU)?;
        }
        check(&folder)?;
        Ok(PrivateFolder(folder))
    }

    /// The text of the file of this name, if it has at most so many bytes.
    ///
    /// # Errors
    /// If it is no regular file of this user's alone, larger, or not in UTF-8.
    pub fn read(&self, name: &str, bytes_max: u64) -> io::Result<String> {
        // Without waiting: whoever made a FIFO of it is found out behind.
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

    /// Puts a file of this name and text there; whoever reads meanwhile sees the old one or the new one.
    ///
    /// # Errors
    /// Those of writing; nothing is left then.
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

/// What is open belongs to the effective user, and nobody else can write it.
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

    /// A folder of its own for each test, removed at the end.
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
        assert_eq!(folder.read("f", 10).expect("read"), "two");
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
