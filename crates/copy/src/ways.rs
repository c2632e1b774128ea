//! Ways to move the bytes of one file into another.
//!
//! Each copies a range and returns how many bytes it moved. The rest, in files that grew or report a wrong
//! size (/proc), is read and written.

use pelton_sys::{copying, pipe};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes per read and write.
const BLOCK: usize = 256 * 1024;
/// Bytes per read of the character loop: as in the C library.
const CHARACTERS: usize = 32 * 1024;
/// Bytes requested of the kernel at once.
const KERNEL_BLOCK: u64 = 1 << 30;

/// A way to copy bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Byte by byte, as with getc and putc.
    Characters,
    /// read(2) and write(2).
    ReadWrite,
    /// Byte by byte from one mapping to another.
    MappedBytes,
    /// memcpy from one mapping to another.
    Mapped,
    /// copy_file_range(2).
    CopyFileRange,
    /// sendfile(2).
    Sendfile,
    /// splice(2) through a pipe.
    Splice,
    /// Several reads and writes in flight through io_uring.
    IoUring,
    /// Shared blocks (reflink).
    Reflink,
}

/// The result of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of bytes.
    pub bytes: u64,
    /// Number of system calls.
    pub calls: u64,
}

impl Way {
    /// All ways.
    pub const ALL: [Way; 9] = [
        Way::Characters,
        Way::ReadWrite,
        Way::MappedBytes,
        Way::Mapped,
        Way::CopyFileRange,
        Way::Sendfile,
        Way::Splice,
        Way::IoUring,
        Way::Reflink,
    ];

    /// Returns the name that `--via` takes.
    pub fn name(self) -> &'static str {
        match self {
            Way::Characters => "characters",
            Way::ReadWrite => "read-write",
            Way::MappedBytes => "mapped-bytes",
            Way::Mapped => "mapped",
            Way::CopyFileRange => "copy_file_range",
            Way::Sendfile => "sendfile",
            Way::Splice => "splice",
            Way::IoUring => "io_uring",
            Way::Reflink => "reflink",
        }
    }

    /// Returns the way with this name.
    pub fn named(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }

    /// Copies `at..at + bytes`, or less if the source ends before. `to_path` is the path of `to`.
    ///
    /// # Errors
    /// Errors of the system calls; the number of bytes copied is then unknown.
    pub fn copy(self, from: &File, to: &File, to_path: &Path, at: u64, bytes: u64) -> io::Result<Moved> {
        match self {
            Way::Characters => read_write(from, to, at, bytes, CHARACTERS, true),
            Way::ReadWrite => read_write(from, to, at, bytes, BLOCK, false),
            Way::MappedBytes => mapped(from, to_path, at, bytes, true),
            Way::Mapped => mapped(from, to_path, at, bytes, false),
            Way::CopyFileRange => {
                in_kernel(at, bytes, &mut |at, size| copying::copy_range(from, to, at, size))
            }
            Way::Sendfile => {
                io::Seek::seek(&mut &*to, io::SeekFrom::Start(at))?;
                in_kernel(at, bytes, &mut |at, size| copying::send(from, to, at, size))
            }
            Way::Splice => splice(from, to, at, bytes),
            Way::IoUring => io_uring(from, to, at, bytes),
            Way::Reflink => {
                copying::clone_blocks(from, to)?;
                Ok(Moved { bytes, calls: 1 })
            }
        }
    }
}

/// Copies the rest of the source from `at` on.
pub fn copy_rest(from: &File, to: &File, at: u64) -> io::Result<Moved> {
    // Usually there is none: zeroing a large buffer for each of many small files would cost more than the
    // copies.
    let mut some = [0; 512];
    if retried(|| from.read_at(&mut some, at))? == 0 {
        return Ok(Moved { bytes: 0, calls: 1 });
    }
    read_write(from, to, at, u64::MAX - at, BLOCK, false)
}

fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn read_write(
    from: &File,
    to: &File,
    at: u64,
    bytes: u64,
    block: usize,
    one_by_one: bool,
) -> io::Result<Moved> {
    let mut buffer = vec![0; block.min(bytes.max(1).try_into().unwrap_or(block))];
    let mut written = if one_by_one { vec![0; block] } else { Vec::new() };
    let mut moved = Moved::default();
    while moved.bytes < bytes {
        let size = buffer.len().min((bytes - moved.bytes).try_into().unwrap_or(usize::MAX));
        let read = retried(|| from.read_at(&mut buffer[..size], at + moved.bytes))?;
        moved.calls += 1;
        if read == 0 {
            break;
        }
        if one_by_one {
            // One by one on purpose: that is what this way demonstrates.
            buffer[..read].iter().zip(&mut written).for_each(|(byte, place)| *place = black_box(*byte));
        }
        let bytes = if one_by_one { &written[..read] } else { &buffer[..read] };
        to.write_all_at(bytes, at + moved.bytes)?;
        moved.calls += 1;
        moved.bytes += read as u64;
    }
    Ok(moved)
}

/// Reserves disk space first: a page without space would raise a signal instead of an error.
fn mapped(from: &File, to_path: &Path, at: u64, bytes: u64, one_by_one: bool) -> io::Result<Moved> {
    let size = bytes.min(from.metadata()?.len().saturating_sub(at));
    if size == 0 {
        return Ok(Moved::default());
    }
    let to = copying::open_again(to_path)?;
    copying::reserve(&to, at, size)?;
    let length = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    copying::copy_mapped(from, &to, at, length, one_by_one)?;
    // stat, open, fallocate, two mmap, two munmap, close.
    Ok(Moved { bytes: size, calls: 8 })
}

fn in_kernel(
    at: u64,
    bytes: u64,
    copy: &mut dyn FnMut(u64, usize) -> io::Result<usize>,
) -> io::Result<Moved> {
    let mut moved = Moved::default();
    while moved.bytes < bytes {
        let size = (bytes - moved.bytes).min(KERNEL_BLOCK) as usize;
        let copied = retried(|| copy(at + moved.bytes, size))?;
        moved.calls += 1;
        if copied == 0 {
            break;
        }
        moved.bytes += copied as u64;
    }
    Ok(moved)
}

fn splice(from: &File, to: &File, at: u64, bytes: u64) -> io::Result<Moved> {
    let between = pipe::pipe()?;
    pelton_sys::flow::enlarge_pipe(std::os::fd::AsFd::as_fd(&between.write), 1 << 20);
    let (read, write): (&OwnedFd, &OwnedFd) = (&between.read, &between.write);
    let mut moved = Moved { bytes: 0, calls: 4 };
    while moved.bytes < bytes {
        let size = (bytes - moved.bytes).min(1 << 20) as usize;
        let mut inside = retried(|| copying::splice_in(from, at + moved.bytes, write, size))?;
        moved.calls += 1;
        if inside == 0 {
            break;
        }
        while inside > 0 {
            let out = retried(|| copying::splice_out(read, to, at + moved.bytes, inside))?;
            moved.calls += 1;
            moved.bytes += out as u64;
            inside -= out;
        }
    }
    Ok(moved)
}

#[cfg(target_os = "linux")]
fn io_uring(from: &File, to: &File, at: u64, bytes: u64) -> io::Result<Moved> {
    let size = bytes.min(from.metadata()?.len().saturating_sub(at));
    let (bytes, calls) = pelton_sys::uring::copy(from, to, at, size, BLOCK)?;
    Ok(Moved { bytes, calls })
}

#[cfg(not(target_os = "linux"))]
fn io_uring(_from: &File, _to: &File, _at: u64, _bytes: u64) -> io::Result<Moved> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_copies_every_size_and_range() {
        let dir = tempfile::tempdir().expect("a directory");
        let (source, target) = (dir.path().join("source"), dir.path().join("target"));
        for size in [0, 1, 4095, 4096, 300_000, 3_000_000] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            std::fs::write(&source, &bytes).expect("written");
            let from = File::open(&source).expect("opened");
            for way in Way::ALL {
                for start in [0, 1000.min(size), size] {
                    let to = File::create(&target).expect("made");
                    let left = (size - start) as u64;
                    match way.copy(&from, &to, &target, start as u64, left) {
                        Ok(moved) => assert_eq!(moved.bytes, left, "{way:?} {size} {start}"),
                        // Not supported by every file system and kernel.
                        Err(_) if matches!(way, Way::Reflink | Way::IoUring) => continue,
                        Err(error) => panic!("{way:?} {size} {start}: {error}"),
                    }
                    let back = std::fs::read(&target).expect("read");
                    assert!(back.len() <= size && (left == 0 || back[start..] == bytes[start..]), "{way:?}");
                }
            }
        }
    }

    #[test]
    fn a_source_that_is_shorter_than_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let (source, target) = (dir.path().join("source"), dir.path().join("target"));
        std::fs::write(&source, [7; 300_000]).expect("written");
        let from = File::open(&source).expect("opened");
        for way in Way::ALL.into_iter().filter(|way| *way != Way::Reflink) {
            let to = File::create(&target).expect("made");
            match way.copy(&from, &to, &target, 0, 5_000_000) {
                Ok(moved) => assert_eq!(moved.bytes, 300_000, "{way:?}"),
                Err(_) if way == Way::IoUring => {}
                Err(error) => panic!("{way:?}: {error}"),
            }
        }
    }

    #[test]
    fn names() {
        assert!(Way::ALL.into_iter().all(|way| Way::named(way.name()) == Some(way)));
        assert_eq!(Way::named("cat"), None);
    }
}
