//! Reads into uninitialised memory.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Appends up to `bytes` bytes to `into`; returns 0 at the end.
///
/// # Errors
/// If they cannot be read.
pub fn append(file: &File, into: &mut Vec<u8>, bytes: usize) -> io::Result<usize> {
    let start = into.len();
    into.reserve_exact(bytes);
    if into.capacity() - start <= bytes + bytes / 2 {
        return Ok(rustix::io::read(file, rustix::buffer::spare_capacity(into))?);
    }
    // Much more spare capacity than wanted.
    into.resize(start + bytes, 0);
    let read = rustix::io::read(file, &mut into[start..]);
    into.truncate(start + read.as_ref().copied().unwrap_or(0));
    Ok(read?)
}

/// Reads once into `into`; returns 0 at the end.
///
/// # Errors
/// If it cannot be read.
pub fn into(fd: std::os::fd::BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(fd, into)?)
}

/// How much is touched before it is filled. In bytes.
const STEP_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;

/// A part of a vector's spare capacity; different threads may fill the parts.
pub struct Room<'a, T = u8> {
    items: &'a mut [MaybeUninit<T>],
    full: &'a AtomicBool,
}

impl<'a> Room<'a> {
    /// Fills it from offset `at` of a file, and returns the bytes; `None` if the file has fewer there or
    /// cannot be read.
    pub fn fill(self, file: &File, at: u64) -> Option<&'a [u8]> {
        let Room { items: bytes, full } = self;
        let mut filled = 0;
        while filled < bytes.len() {
            let end = bytes.len().min(filled + STEP_BYTES);
            touch(&mut bytes[filled..end]);
            match rustix::io::pread(file, &mut bytes[filled..end], at + filled as u64) {
                Ok(([], _)) => return None,
                Ok((read, _)) => filled += read.len(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        full.store(true, Ordering::Release);
        // SAFETY: `pread` has written all of these bytes, and they stay borrowed while they are in use.
        Some(unsafe { bytes.assume_init_ref() })
    }
}

impl<'a, T: Copy> Room<'a, T> {
    /// Fills it with copies of `slices` in order; `None` unless they fit exactly.
    pub fn copy<'b>(self, slices: impl IntoIterator<Item = &'b [T]>) -> Option<&'a mut [T]>
    where
        T: 'b,
    {
        let Room { items, full } = self;
        let mut filled = 0;
        for slice in slices {
            let end = filled + slice.len();
            items.get_mut(filled..end)?.write_copy_of_slice(slice);
            filled = end;
        }
        if filled < items.len() {
            return None;
        }
        full.store(true, Ordering::Release);
        // SAFETY: all were written, slice by slice, and they stay borrowed while they are in use.
        Some(unsafe { items.assume_init_mut() })
    }
}

/// Writes to each page. Otherwise the kernel, on a page fault in `pread`, would hold the lock of the whole
/// address space while it zeroes pages: a thread that maps a page waits for it, and the next thread that
/// faults waits for that one.
fn touch(bytes: &mut [MaybeUninit<u8>]) {
    bytes.chunks_mut(PAGE_BYTES).for_each(|page| {
        page[0].write(0);
    });
}

/// Appends parts of these sizes, which `work` fills in any order. Keeps the parts before the first one not
/// filled; returns their number.
pub fn append_parts<T: Copy>(
    into: &mut Vec<T>,
    sizes: &[usize],
    work: impl FnOnce(Vec<Room<'_, T>>),
) -> usize {
    into.reserve(sizes.iter().sum());
    let flags: Vec<AtomicBool> = sizes.iter().map(|_| AtomicBool::new(false)).collect();
    let mut rest = into.spare_capacity_mut();
    let mut rooms = Vec::with_capacity(sizes.len());
    for (size, full) in sizes.iter().zip(&flags) {
        let (items, behind) = rest.split_at_mut(*size);
        rest = behind;
        rooms.push(Room { items, full });
    }
    work(rooms);
    let full = flags.iter().take_while(|full| full.load(Ordering::Acquire)).count();
    let filled: usize = sizes[..full].iter().sum();
    // SAFETY: the capacity was reserved; a part's flag, set only by `fill` and `copy`, says that all of it
    // was written; and these parts are contiguous.
    unsafe { into.set_len(into.len() + filled) };
    full
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

    #[test]
    fn parts_are_filled_by_whoever_is_there() {
        let path = std::env::temp_dir().join(format!("pelton-parts-{}", std::process::id()));
        std::fs::write(&path, b"abcdefgh").expect("written");
        let file = File::open(&path).expect("opened");
        std::fs::remove_file(&path).expect("removed");
        let mut into = b"-".to_vec();
        // In reverse, and the last one only partly.
        let full = append_parts(&mut into, &[3, 2, 4], |rooms| {
            std::thread::scope(|scope| {
                for (room, at) in rooms.into_iter().zip([0, 3, 5]).rev() {
                    let file = &file;
                    scope.spawn(move || assert_eq!(room.fill(file, at).is_some(), at < 5));
                }
            });
        });
        assert_eq!((full, into.as_slice()), (2, &b"-abcde"[..]));
        // Parts after a gap are dropped.
        let full = append_parts(&mut into, &[1, 1], |mut rooms| {
            let last = rooms.pop().expect("two");
            assert_eq!(last.fill(&file, 7), Some(&b"h"[..]));
        });
        assert_eq!((full, into.as_slice()), (0, &b"-abcde"[..]));
    }

    #[test]
    fn copies_fit_exactly_or_are_not_there() {
        let mut into = vec![7u64];
        let full = append_parts(&mut into, &[3, 0, 2, 1], |rooms| {
            for (room, given) in rooms.into_iter().zip([&[&[1, 2][..], &[3]][..], &[], &[&[4]], &[&[5, 6]]]) {
                let fits = room.copy(given.iter().copied()).map(|items| items.reverse());
                assert_eq!(fits.is_some(), matches!(given, [] | [[1, 2], _]));
            }
        });
        assert_eq!((full, into), (2, vec![7, 3, 2, 1]));
    }
}
