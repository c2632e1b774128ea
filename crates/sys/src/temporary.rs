//! Files without a name: they are gone with the last process that has them open, however it ends.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many names are tried where a file must have one for a moment.
const NAMES: u32 = 100;

/// A new file in `directory`, open for reading and writing, closed by exec, readable by nobody else.
///
/// # Errors
/// If none can be made there.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    #[cfg(target_os = "linux")]
    if let Ok(file) =
        open(directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
    {
        return Ok(file.into());
    }
    // Not every file system has such files.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAMES {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let now_ns = crate::clock::now_ns();
        let path = directory.join(format!("pelton-{}-{number}-{now_ns:x}", std::process::id()));
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        match open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file.into());
            }
            Err(error) => last = error.into(),
        }
        if last.kind() != io::ErrorKind::AlreadyExists {
            break;
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn nothing_is_left_in_the_directory() {
        let directory = std::env::temp_dir().join(format!("pelton-unnamed-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let file = unnamed_file(&directory).expect("a file");
        file.write_all_at(b"text", 3).expect("written");
        let mut read = [0; 4];
        file.read_exact_at(&mut read, 3).expect("read");
        assert_eq!(&read, b"text");
        assert_eq!(std::fs::read_dir(&directory).expect("readable").count(), 0);
        std::fs::remove_dir(&directory).expect("removed");
        assert!(unnamed_file(&directory).is_err());
    }
}
