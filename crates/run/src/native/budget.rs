//! How much memory kernels may fill, together.
//!
//! It is one budget for all that hold memory at the same time. Who needs more takes it in steps, and stores what it holds in a
//! file when no step is left: also when it is another one that holds it, a sort before it that still prints, say. So that each
//! gets on, everybody has a little from the beginning.
//!
//! A budget that is set is that of all processes with the same key: the workers of a run, the calls of a script. Its steps are units that these
//! share, of which each process holds as many as what its kernels hold takes.
//!
//! Unless a budget is set, it is a share of what is available, and other processes are seen by what they leave of that: nobody
//! takes the last third.

use pelton_sys::machine;
use pelton_sys::units::{COUNT, Units};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Sets how much memory sorts and groupings may fill together, in bytes, in all processes that set it with this key, before anything
/// is started.
pub fn set_memory(bytes: usize, key: u64) {
    BUDGET.set(bytes, key);
}

/// Unless it was set, kernels may fill this part of what is available when the first has filled [`ALWAYS_BYTES`].
const SHARE: u64 = 2;
/// So much may be filled without asking how much there is. In bytes.
const ALWAYS_BYTES: usize = 16 << 20;
/// What was set is given out in so many steps,
const STEPS: usize = COUNT as usize;
/// and so many of them are a kernel's from the beginning.
const STEPS_AT_LEAST: usize = 4;
/// What is a share of what is available is given out in fewer steps, since each is a look at what is left.
const SHARE_STEPS: usize = 32;

/// What may be held, and what is.
#[derive(Debug)]
pub struct Budget {
    /// 0: a share of what is available.
    set_bytes: AtomicUsize,
    key: AtomicU64,
    share_bytes: OnceLock<usize>,
    held: Mutex<Held>,
}

/// What the kernels of this process hold.
#[derive(Debug)]
struct Held {
    bytes: usize,
    /// Of a budget that was set; `None` if it cannot be shared with other processes.
    units: Option<Units>,
    /// Those of them that this process holds: a bit for each.
    mine: u64,
    /// Which process that is.
    pid: u32,
}

/// That of this process.
pub static BUDGET: Budget = Budget::new();

impl Budget {
    const fn new() -> Self {
        Budget {
            set_bytes: AtomicUsize::new(0),
            key: AtomicU64::new(0),
            share_bytes: OnceLock::new(),
            held: Mutex::new(Held { bytes: 0, units: None, mine: 0, pid: 0 }),
        }
    }

    fn set(&self, bytes: usize, key: u64) {
        self.set_bytes.store(bytes.max(1), Ordering::Relaxed);
        self.key.store(key, Ordering::Relaxed);
    }

    fn set_bytes(&self) -> Option<usize> {
        Some(self.set_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// All that may be held.
    pub fn whole_bytes(&self) -> usize {
        let share = || {
            let available = machine::available_memory().map(|bytes| bytes / SHARE);
            available
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(ALWAYS_BYTES))
        };
        self.set_bytes().unwrap_or_else(|| *self.share_bytes.get_or_init(share))
    }

    /// Whether so much is more than that: cheap where it is little, unless it was set.
    pub fn is_too_much(&self, bytes: usize) -> bool {
        (self.set_bytes().is_some() || bytes > ALWAYS_BYTES) && bytes > self.whole_bytes()
    }

    /// Somebody begins to hold something, whatever others hold: so much.
    pub fn open(&self) -> usize {
        let bytes = self.set_bytes().map_or(ALWAYS_BYTES, |set| set / STEPS * STEPS_AT_LEAST);
        let mut held = self.held();
        held.bytes += bytes;
        self.cover(&mut held);
        bytes
    }

    /// See [`Storage::take`](pelton_stream::Storage::take).
    pub fn take(&self, held: usize, wanted: usize) -> Option<usize> {
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

    /// Whether `wanted` could be had for `had`.
    fn exchange(&self, had: usize, wanted: usize) -> bool {
        let whole = self.whole_bytes();
        let mut held = self.held();
        let before = held.bytes;
        match (before - had).checked_add(wanted).filter(|bytes| *bytes <= whole) {
            Some(bytes) => held.bytes = bytes,
            None => return false,
        }
        let covered = self.cover(&mut held);
        if !covered {
            held.bytes = before;
            self.cover(&mut held);
        }
        covered
    }

    /// Somebody holds so much less.
    pub fn give_back(&self, bytes: usize) {
        let mut held = self.held();
        held.bytes -= bytes;
        self.cover(&mut held);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that as many units are held as all that is held takes; false if other processes hold too many.
    fn cover(&self, held: &mut Held) -> bool {
        let Some(set) = self.set_bytes() else { return true };
        let pid = std::process::id();
        if held.pid != pid {
            // Those of a process that this one is a copy of are not its own.
            let key = self.key.load(Ordering::Relaxed);
            (held.units, held.mine, held.pid) = (Units::open(key).ok(), 0, pid);
        }
        held.cover((set / STEPS).max(1))
    }

    /// Whatever else grows on this machine, a third of what was available when the share was taken stays so.
    fn is_left(&self) -> bool {
        let reserve = (self.whole_bytes() as u64).saturating_mul(SHARE) / 3;
        machine::available_memory().is_none_or(|bytes| bytes >= reserve)
    }
}

impl Held {
    /// With units of so many bytes.
    fn cover(&mut self, unit_bytes: usize) -> bool {
        let Some(units) = &self.units else { return true };
        let wanted = self.bytes.div_ceil(unit_bytes).min(STEPS) as u32;
        for unit in 0..COUNT {
            let (count, bit) = (self.mine.count_ones(), 1 << unit);
            if count < wanted && self.mine & bit == 0 && units.take(unit) {
                self.mine |= bit;
            } else if count > wanted && self.mine & bit != 0 {
                units.give_back(unit);
                self.mine &= !bit;
            }
        }
        self.mine.count_ones() >= wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes: usize) -> Budget {
        static KEY: AtomicU64 = AtomicU64::new(1);
        sharing(bytes, KEY.fetch_add(1, Ordering::Relaxed))
    }

    /// One of those with this key.
    fn sharing(bytes: usize, key: u64) -> Budget {
        let budget = Budget::new();
        budget.set(bytes, u64::from(std::process::id()) << 20 | key);
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
        assert_eq!(budget.held().bytes, 6400);
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
        assert_eq!(other.held().bytes, opened);
    }

    /// Each would be that of a process of its own.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_holds_another_cannot() {
        let (one, other) = (sharing(6400, 0), sharing(6400, 0));
        let (first, second) = (one.open(), other.open());
        let first = one.take(first, 5950).expect("there is more");
        assert_eq!(first, 6000);
        assert_eq!((other.take(second, 401), other.held().bytes), (None, 400));
        // What is held to the byte takes a unit as well.
        one.give_back(5501);
        assert_eq!((other.take(second, 5901), other.take(second, 5900)), (None, Some(5900)));
        assert_eq!(one.take(499, 501), None);
        // A late one gets something at once, and more when others have ended.
        let late = sharing(6400, 0);
        let third = late.open();
        assert_eq!((third, late.take(third, 401)), (400, None));
        drop(other);
        assert_eq!(late.take(third, 5801), Some(5900));
    }
}
