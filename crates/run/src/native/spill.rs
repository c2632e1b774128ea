//! How much memory kernels may fill, and where the rest goes.
//!
//! It is one budget for all that hold memory at the same time. Who needs more takes it in steps, and stores what it holds in a
//! file when no step is left: also when it is another one that holds it, a sort before it that still prints, say. So that each
//! gets on, everybody has a little from the beginning.
//!
//! Unless a budget is set, it is a share of what is available, and other processes are seen by what they leave of that: nobody
//! takes the last third.

use pelton_stream::{Storage, Stored};
use pelton_sys::{machine, temporary};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Sets how much memory sorts and groupings may fill together, in bytes, before anything is started.
pub fn set_memory_bytes(bytes: usize) {
    BUDGET.set_bytes.store(bytes.max(1), Ordering::Relaxed);
}

/// Unless it was set, kernels may fill this part of what is available when the first has filled [`ALWAYS_BYTES`].
const SHARE: u64 = 2;
/// So much may be filled without asking how much there is. In bytes.
const ALWAYS_BYTES: usize = 16 << 20;
/// What was set is given out in so many steps,
const STEPS: usize = 64;
/// and so many of them are a kernel's from the beginning.
const STEPS_AT_LEAST: usize = 4;
/// What is a share of what is available is given out in fewer steps, since each is a look at what is left.
const SHARE_STEPS: usize = 32;

/// What may be held, and what is.
#[derive(Debug)]
struct Budget {
    /// 0: a share of what is available.
    set_bytes: AtomicUsize,
    share_bytes: OnceLock<usize>,
    held_bytes: AtomicUsize,
}

/// That of this process.
static BUDGET: Budget = Budget::new();

impl Budget {
    const fn new() -> Self {
        Budget {
            set_bytes: AtomicUsize::new(0),
            share_bytes: OnceLock::new(),
            held_bytes: AtomicUsize::new(0),
        }
    }

    fn set_bytes(&self) -> Option<usize> {
        Some(self.set_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    fn whole_bytes(&self) -> usize {
        let share = || {
            let available = machine::available_memory().map(|bytes| bytes / SHARE);
            available
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(ALWAYS_BYTES))
        };
        self.set_bytes().unwrap_or_else(|| *self.share_bytes.get_or_init(share))
    }

    fn open(&self) -> usize {
        let bytes = self.set_bytes().map_or(ALWAYS_BYTES, |set| set / STEPS * STEPS_AT_LEAST);
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        bytes
    }

    fn take(&self, held: usize, wanted: usize) -> Option<usize> {
        let step = match self.set_bytes() {
            Some(set) => (set / STEPS).max(1),
            None => (self.whole_bytes() / SHARE_STEPS).max(ALWAYS_BYTES),
        };
        let stepped = wanted.checked_next_multiple_of(step)?;
        let taken = [stepped, wanted].into_iter().find(|bytes| self.exchange(held, *bytes))?;
        if self.set_bytes().is_none() && !self.is_left() {
            self.give_back(taken - held);
            return None;
        }
        Some(taken)
    }

    /// Whether `wanted` could be had for `held`.
    fn exchange(&self, held: usize, wanted: usize) -> bool {
        let whole = self.whole_bytes();
        let exchanged = |all: usize| (all - held).checked_add(wanted).filter(|all| *all <= whole);
        self.held_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, exchanged).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whatever else grows on this machine, a third of what was available when the share was taken stays so.
    fn is_left(&self) -> bool {
        let reserve = (self.whole_bytes() as u64).saturating_mul(SHARE) / 3;
        machine::available_memory().is_none_or(|bytes| bytes >= reserve)
    }
}

/// What a process of the pipeline may use.
pub struct Memory;

impl Storage for Memory {
    fn memory_bytes(&self) -> usize {
        BUDGET.whole_bytes()
    }

    fn is_too_much(&self, bytes: usize) -> bool {
        (BUDGET.set_bytes().is_some() || bytes > ALWAYS_BYTES) && bytes > self.memory_bytes()
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
        Ok(Arc::new(Unnamed(temporary::unnamed_file(&path)?)))
    }
}

/// As sort finds it: `$TMPDIR`, or `/tmp`.
fn directory() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

struct Unnamed(File);

impl Stored for Unnamed {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes: usize) -> Budget {
        let budget = Budget::new();
        budget.set_bytes.store(bytes, Ordering::Relaxed);
        budget
    }

    #[test]
    fn what_one_holds_another_cannot() {
        let budget = budget(6400);
        let (first, second) = (budget.open(), budget.open());
        assert_eq!((first, second), (400, 400));
        // In steps, up to what is left, and to the byte at its end.
        let first = budget.take(first, 401).expect("there is more");
        assert_eq!(first, 500);
        let first = budget.take(first, 5950).expect("there is more");
        assert_eq!(first, 6000);
        assert_eq!(budget.take(first, 6001), None);
        assert_eq!(budget.take(second, 401), None);
        budget.give_back(first - 400);
        assert_eq!(budget.take(second, 5999), Some(6000));
        assert_eq!(budget.held_bytes.load(Ordering::Relaxed), 6400);
    }

    /// A late one gets something as well, and a budget smaller than a step is one.
    #[test]
    fn each_gets_on() {
        let large = budget(6400);
        assert_eq!(large.take(0, 6400), Some(6400));
        assert_eq!(large.open(), 400);
        let tiny = budget(3);
        assert_eq!(tiny.open(), 0);
        assert_eq!((tiny.take(0, 2), tiny.take(2, 4), tiny.take(2, 3)), (Some(2), None, Some(3)));
    }

    #[test]
    fn a_share_is_taken_as_long_as_a_third_is_left() {
        let budget = Budget::new();
        let opened = budget.open();
        assert_eq!(opened, ALWAYS_BYTES);
        let whole = budget.whole_bytes();
        assert!(whole >= ALWAYS_BYTES);
        assert_eq!(budget.take(opened, whole.saturating_add(1)), None);
        // As if there had been far more than there is now.
        let other = Budget::new();
        other.share_bytes.set(1 << 60).expect("not set yet");
        let opened = other.open();
        assert_eq!(other.take(opened, ALWAYS_BYTES + 1), None);
        assert_eq!(other.held_bytes.load(Ordering::Relaxed), opened);
    }
}
