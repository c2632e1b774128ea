//! The disk part of the buffer: slots of equal size in a nameless file.
//!
//! Free slots are reused first, so the file only grows when it must. When as many slots are free as in use,
//! the free ones become holes; with none in use, the file is truncated; a few spare slots are exempt. So the
//! file never exceeds its limit, and soon takes at most twice what it holds. The alternative, a log with a
//! hole behind it, is simpler, but it needs holes, and grows without end on a file system without them.

use pelton_sys::{clock, scratch};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Time until a full disk is tried again.
pub const RETRY_NS: u64 = 250_000_000;
/// Number of free slots that are always kept.
const SPARE_SLOTS: usize = 8;

/// The file, created on first use.
#[derive(Debug)]
pub struct Disk {
    directory: PathBuf,
    file: Option<File>,
    slot_bytes: usize,
    slots_max: u64,
    /// Slots in use.
    used: u64,
    used_max: u64,
    /// Free slots that still occupy disk space.
    warm: BTreeSet<u64>,
    /// Free slots that are holes.
    cold: BTreeSet<u64>,
    /// The first slot that was never used.
    next: u64,
    /// When a write last failed; reset by a successful one.
    full_since_ns: Option<u64>,
    /// The reason for the last failure, until it is taken.
    full_reason: Option<io::Error>,
    full_count: u64,
}

impl Disk {
    /// Makes an empty store with slots of `slot_bytes`, at most `limit_bytes` in all.
    pub fn new(directory: PathBuf, slot_bytes: usize, limit_bytes: u64) -> Self {
        Disk {
            directory,
            file: None,
            slot_bytes,
            slots_max: limit_bytes / slot_bytes as u64,
            used: 0,
            used_max: 0,
            warm: BTreeSet::new(),
            cold: BTreeSet::new(),
            next: 0,
            full_since_ns: None,
            full_reason: None,
            full_count: 0,
        }
    }

    /// Returns the bytes in slots in use.
    pub fn used_bytes(&self) -> u64 {
        self.used * self.slot_bytes as u64
    }

    /// Returns the peak of [`used_bytes`](Self::used_bytes).
    pub fn used_max_bytes(&self) -> u64 {
        self.used_max * self.slot_bytes as u64
    }

    /// Returns how often data found the disk full.
    pub fn full_count(&self) -> u64 {
        self.full_count
    }

    /// Takes the reason why the disk was full, if it was not yet reported.
    pub fn take_reason(&mut self) -> Option<io::Error> {
        self.full_reason.take()
    }

    /// Whether the last attempt failed.
    pub fn is_full(&self) -> bool {
        self.full_since_ns.is_some()
    }

    /// Whether another slot is available. On a full disk, tests this by writing a whole slot.
    pub fn has_room(&mut self) -> bool {
        if self.used >= self.slots_max {
            return false;
        }
        match self.full_since_ns {
            None => true,
            Some(since) if clock::now_ns() < since + RETRY_NS => false,
            Some(_) => self.try_room(),
        }
    }

    /// Fills a slot with zeros: a disk that takes them has room for data.
    fn try_room(&mut self) -> bool {
        self.full_since_ns = None;
        let slot = self.take_slot();
        let zeros = vec![0; self.slot_bytes];
        let tried = self.write(slot, 0, &zeros);
        self.give_back(slot);
        if tried.is_err() {
            // The reason was reported at the first failure.
            self.full_since_ns = Some(clock::now_ns());
        }
        tried.is_ok()
    }

    /// Takes a free slot; the caller has called [`has_room`](Disk::has_room).
    pub fn take_slot(&mut self) -> u64 {
        self.used += 1;
        self.used_max = self.used_max.max(self.used);
        self.warm.pop_first().or_else(|| self.cold.pop_first()).unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Writes into a slot. After a failure, the bytes of the slot before `offset` are intact.
    ///
    /// # Errors
    /// Any failed write: no space, a limit, a broken disk. The disk then counts as full for a while.
    pub fn write(&mut self, slot: u64, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let at = slot * self.slot_bytes as u64 + offset as u64;
        let written = self.file().and_then(|file| file.write_all_at(bytes, at));
        written.inspect_err(|_| self.full_since_ns = Some(clock::now_ns()))
    }

    /// Records that the disk was full for data.
    pub fn note_full(&mut self, reason: io::Error) {
        self.full_count += 1;
        self.full_reason = Some(reason);
    }

    /// Reads from a slot.
    ///
    /// # Errors
    /// If the read fails.
    pub fn read(&mut self, slot: u64, offset: usize, into: &mut [u8]) -> io::Result<()> {
        let at = slot * self.slot_bytes as u64 + offset as u64;
        self.file()?.read_exact_at(into, at)
    }

    /// Frees a slot.
    pub fn give_back(&mut self, slot: u64) {
        self.used -= 1;
        self.warm.insert(slot);
        match self.used {
            // A few slots are exempt: truncating a file costs as much as writing a block.
            0 if self.warm.len() > SPARE_SLOTS => self.shrink_to_nothing(),
            used if self.warm.len() > SPARE_SLOTS.max(used as usize) => self.make_holes(),
            _ => {}
        }
    }

    fn shrink_to_nothing(&mut self) {
        let cut = self.file.as_ref().is_some_and(|file| file.set_len(0).is_ok());
        if cut {
            self.warm.clear();
            self.cold.clear();
            self.next = 0;
        }
    }

    fn make_holes(&mut self) {
        let Some(file) = &self.file else { return };
        let bytes = self.slot_bytes as u64;
        // A file system without holes keeps the space until the file is empty.
        while let Some(slot) = self.warm.pop_last() {
            if scratch::punch_hole(file, slot * bytes, bytes).is_err() {
                self.warm.insert(slot);
                return;
            }
            self.cold.insert(slot);
        }
    }

    fn file(&mut self) -> io::Result<&File> {
        if self.file.is_none() {
            self.file = Some(scratch::nameless_file(&self.directory)?);
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn disk(slots: u64) -> Disk {
        Disk::new(std::env::temp_dir(), 4096, slots * 4096)
    }

    #[test]
    fn slots_are_used_again_and_the_file_shrinks() {
        let mut disk = disk(100);
        let slots: Vec<u64> = (0..40).map(|_| disk.take_slot()).collect();
        for slot in &slots {
            disk.write(*slot, 0, &[*slot as u8; 4096]).expect("written");
        }
        disk.give_back(3);
        assert_eq!(disk.take_slot(), 3, "the lowest empty one comes first");
        disk.write(3, 0, &[3; 4096]).expect("written");
        for slot in 0..39 {
            let mut back = [0; 4096];
            disk.read(slot, 0, &mut back).expect("read");
            assert_eq!(back, [slot as u8; 4096]);
            disk.give_back(slot);
            assert!(disk.warm.len() as u64 <= 8.max(disk.used) || disk.cold.is_empty());
        }
        let taken = disk.file.as_ref().expect("a file").metadata().expect("asked").blocks() * 512;
        assert!(disk.cold.is_empty() || taken <= 20 * 4096, "{taken} bytes for one slot");
        disk.give_back(39);
        assert_eq!(disk.file.as_ref().expect("a file").metadata().expect("asked").len(), 0);
        assert_eq!(disk.used_max_bytes(), 40 * 4096);
    }

    #[test]
    fn a_limit_and_a_directory_that_is_not_there() {
        let mut disk = disk(1);
        assert!(disk.has_room());
        disk.take_slot();
        assert!(!disk.has_room());
        let mut nowhere = Disk::new("/nonexistent".into(), 4096, 1 << 20);
        let slot = nowhere.take_slot();
        assert!(nowhere.write(slot, 0, b"x").is_err());
        assert!(nowhere.is_full() && !nowhere.has_room());
    }
}
