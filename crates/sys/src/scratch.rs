//! Unnamed files for data that does not fit into memory: they vanish with the process, however it ends.

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Creates a file without a name in `directory`, or one that is already unlinked.
///
/// # Errors
/// If no file can be created there.
pub fn nameless_file(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match rustix::fs::open(directory, flags | OFlags::TMPFILE | OFlags::EXCL, mode) {
        Ok(fd) => return Ok(fd.into()),
        // File systems and kernels without O_TMPFILE treat it as opening a directory for writing.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    for attempt in 0..100 {
        let stamp = crate::clock::now_ns();
        let path = directory.join(format!(".pelton-{}-{stamp}-{attempt}", std::process::id()));
        match rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode) {
            Ok(fd) => {
                rustix::fs::unlink(&path)?;
                return Ok(fd.into());
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Frees the disk blocks of a range of a file, which then reads as zeros.
///
/// # Errors
/// If the file system does not support holes.
pub fn punch_hole(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, offset, bytes)?)
}

/// Returns how many bytes this user can still write to the file system of `path`; `None` if unknown.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn nothing_is_left_in_the_directory() {
        let directory = std::env::temp_dir().join(format!("pelton-nameless-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let file = nameless_file(&directory).expect("a file");
        file.write_all_at(b"text", 3).expect("written");
        let mut read = [0; 4];
        file.read_exact_at(&mut read, 3).expect("read");
        assert_eq!(&read, b"text");
        assert_eq!(std::fs::read_dir(&directory).expect("readable").count(), 0);
        std::fs::remove_dir(&directory).expect("removed");
    }

    #[test]
    fn a_file_without_a_name_that_gives_its_room_back() {
        let directory = std::env::temp_dir();
        let file = nameless_file(&directory).expect("a file");
        assert_eq!(file.metadata().expect("asked").nlink(), 0);
        file.write_all_at(&[7; 1 << 16], 0).expect("written");
        if punch_hole(&file, 0, 1 << 15).is_ok() {
            let mut byte = [1];
            file.read_exact_at(&mut byte, 100).expect("read");
            assert_eq!(byte, [0]);
        }
        assert!(free_bytes(&directory).is_some());
        assert!(nameless_file(Path::new("/nonexistent")).is_err());
    }
}
