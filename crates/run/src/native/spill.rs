//! Kernel memory and spill files.

use super::budget::BUDGET;
use pelton_stream::{Storage, Stored};
use pelton_sys::scratch;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The memory and spill files of a process.
pub struct Memory;

impl Storage for Memory {
    fn memory_bytes(&self) -> usize {
        BUDGET.whole_bytes()
    }

    fn is_too_much(&self, bytes: usize) -> bool {
        BUDGET.is_too_much(bytes)
    }

    fn open(&self) -> usize {
        BUDGET.open()
    }

    fn take(&self, held: usize, wanted: usize) -> Option<usize> {
        BUDGET.take(held, wanted)
    }

    fn give_back(&self, bytes: usize) {
        BUDGET.give_back(bytes);
    }

    fn directory(&self) -> Vec<u8> {
        directory().into_os_string().into_vec()
    }

    fn create(&self, own: Option<&[u8]>) -> io::Result<Arc<dyn Stored>> {
        let path = own.map_or_else(directory, |own| Path::new(OsStr::from_bytes(own)).to_owned());
        let file = scratch::nameless_file(&path)?;
        Ok(Arc::new(Unnamed { file, forgotten: Mutex::default() }))
    }
}

/// Returns the directory that sort would use: `$TMPDIR`, or `/tmp`.
fn directory() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// An unnamed file.
struct Unnamed {
    file: File,
    forgotten: Mutex<Forgotten>,
}

impl Stored for Unnamed {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }

    /// Frees space as it is read: at the end one thread would free a 1 GB file in memory alone, for 0.2 s. If
    /// the file system does not support it, that happens anyway.
    fn forget(&self, bytes: Range<u64>) {
        let free = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
        if let Some(free) = free {
            let _ = scratch::punch_hole(&self.file, free.start, free.end - free.start);
        }
    }
}

/// Ranges that are not read again and not freed yet: parts of several runs, each from left to right.
#[derive(Default)]
struct Forgotten(Vec<Range<u64>>);

impl Forgotten {
    /// Adds a range. Returns the range that is now worth freeing: whole pages.
    fn add(&mut self, mut bytes: Range<u64>) -> Option<Range<u64>> {
        while let Some(next) =
            self.0.iter().position(|other| other.end == bytes.start || other.start == bytes.end)
        {
            let other = self.0.swap_remove(next);
            bytes = bytes.start.min(other.start)..bytes.end.max(other.end);
        }
        if bytes.end - bytes.start < FORGOTTEN_BYTES_MIN {
            self.0.push(bytes);
            return None;
        }
        let (start, end) = (bytes.start.next_multiple_of(PAGE_BYTES), bytes.end / PAGE_BYTES * PAGE_BYTES);
        self.0.extend([bytes.start..start, end..bytes.end].into_iter().filter(|rest| !rest.is_empty()));
        Some(start..end)
    }
}

const PAGE_BYTES: u64 = 4096;
/// Freeing fewer bytes is not worth a call.
const FORGOTTEN_BYTES_MIN: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_given_back_in_large_pieces() {
        let mut forgotten = Forgotten::default();
        let mut given = Vec::new();
        // Three runs, whose parts are freed in turns; every byte comes once.
        let runs = [0, 10_000_001, 25_000_000, 30_000_000];
        for part in 0..100 {
            for run in runs.windows(2) {
                let at = |part: u64| run[0] + (run[1] - run[0]) * part / 100;
                given.extend(forgotten.add(at(part)..at(part + 1)));
            }
        }
        assert!(given.iter().all(|piece| piece.start % PAGE_BYTES == 0 && piece.end % PAGE_BYTES == 0));
        assert!(given.iter().all(|piece| piece.end - piece.start + 2 * PAGE_BYTES >= FORGOTTEN_BYTES_MIN));
        let kept: u64 = forgotten.0.iter().map(|rest| rest.end - rest.start).sum();
        let all: u64 = given.iter().map(|piece| piece.end - piece.start).sum();
        assert_eq!(all + kept, 30_000_000);
        assert!(kept < 3 * (FORGOTTEN_BYTES_MIN + 2 * PAGE_BYTES), "{kept}");
        given.sort_by_key(|piece| piece.start);
        assert!(given.windows(2).all(|two| two[0].end <= two[1].start));
    }
}
