//! Reading into memory that nobody has cleared first.

use std::fs::File;
use std::io;

/// Reads up to `bytes` bytes behind what is in `into`; 0 at the end.
///
/// # Errors
/// If they cannot be read.
pub fn append(file: &File, into: &mut Vec<u8>, bytes: usize) -> io::Result<usize> {
    let start = into.len();
    into.reserve_exact(bytes);
    if into.capacity() - start <= bytes + bytes / 2 {
        return Ok(rustix::io::read(file, rustix::buffer::spare_capacity(into))?);
    }
    // Much more room than what is wanted.
    into.resize(start + bytes, 0);
    let read = rustix::io::read(file, &mut into[start..]);
    into.truncate(start + read.as_ref().copied().unwrap_or(0));
    Ok(read?)
}

/// Reads once into `into`; 0 at the end.
///
/// # Errors
/// If it cannot be read.
pub fn into(fd: std::os::fd::BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(fd, into)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn it_appends() {
        let path = std::env::temp_dir().join(format!("pelton-read-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("removed");
        file.write_all(b"abcdef").expect("written");
        file.seek(SeekFrom::Start(0)).expect("at its start");
        let mut into = b"-".to_vec();
        assert_eq!(append(&file, &mut into, 2).expect("read"), 2);
        into.reserve(1000);
        assert_eq!(append(&file, &mut into, 3).expect("read"), 3);
        assert_eq!(append(&file, &mut into, 9).expect("read"), 1);
        assert_eq!(append(&file, &mut into, 9).expect("read"), 0);
        assert_eq!(into, b"-abcdef");
        assert!(append(&File::open(std::env::temp_dir()).expect("a directory"), &mut into, 9).is_err());
        assert_eq!(into, b"-abcdef");
    }
}
