//! The memory budget that all kernels share.
//!
//! All concurrent holders of memory share one budget. A kernel that needs more takes it in steps, and spills
//! to a file when no step is left, even if another kernel holds it (an earlier sort that still prints). Each
//! gets a small minimum at the start, so that every kernel can progress.
//!
//! A set budget is shared by all processes with the same key: the workers of a run, the calls of a script.
//! Its steps are units shared by these processes; each process holds as many as its kernels need.
//!
//! Without a set budget, it is a share of the available memory. Other processes count by the memory they
//! leave available: no pass takes the last third.

use pelton_sys::machine;
use pelton_sys::units::{COUNT, Units};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Sets the memory limit of sorts and groupings in bytes, shared by all processes that set it with this key.
/// Call it before anything is started.
pub fn set_memory(bytes: usize, key: u64) {
    BUDGET.set(bytes, key);
}

/// Default: kernels may fill one part in this many of the memory that is available when the first has filled
/// [`ALWAYS_BYTES`].
const SHARE: u64 = 2;
/// Bytes that may be filled without checking the available memory.
const ALWAYS_BYTES: usize = 16 << 20;
/// A set budget is divided into this many steps,
const STEPS: usize = COUNT as usize;
/// of which each kernel gets this many at the start.
const STEPS_AT_LEAST: usize = 4;
/// The default budget has fewer steps, since each one checks the available memory.
const SHARE_STEPS: usize = 32;

/// The limit, and what is held.
#[derive(Debug)]
pub struct Budget {
    /// 0: a share of the available memory.
    set_bytes: AtomicUsize,
    key: AtomicU64,
    share_bytes: OnceLock<usize>,
    held: Mutex<Held>,
}

/// Memory held by the kernels of this process.
#[derive(Debug)]
struct Held {
    bytes: usize,
    /// The units of a set budget; `None` if it cannot be shared with other processes.
    units: Option<Units>,
    /// Units that this process holds, one bit each.
    mine: u64,
    /// The process that holds them.
    pid: u32,
}

/// The budget of this process.
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

    /// Returns the limit in bytes.
    pub fn whole_bytes(&self) -> usize {
        let share = || {
            let available = machine::available_memory().map(|bytes| bytes / SHARE);
            available
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX).max(ALWAYS_BYTES))
        };
        self.set_bytes().unwrap_or_else(|| *self.share_bytes.get_or_init(share))
    }

    /// Whether this many bytes exceed the limit. Cheap for few bytes, unless the budget was set.
    pub fn is_too_much(&self, bytes: usize) -> bool {
        (self.set_bytes().is_some() || bytes > ALWAYS_BYTES) && bytes > self.whole_bytes()
    }

    /// Registers a holder and returns its minimum in bytes, whatever the others hold.
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

    /// Replaces a reservation of `had` bytes by one of `wanted`. Returns whether it fits.
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

    /// Gives back this many bytes.
    pub fn give_back(&self, bytes: usize) {
        let mut held = self.held();
        held.bytes -= bytes;
        self.cover(&mut held);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adjusts the held units to the held bytes. Returns `false` if other processes hold too many.
    fn cover(&self, held: &mut Held) -> bool {
        let Some(set) = self.set_bytes() else { return true };
        let pid = std::process::id();
        if held.pid != pid {
            // After a fork, the parent's units are not the child's.
            let key = self.key.load(Ordering::Relaxed);
            (held.units, held.mine, held.pid) = (Units::open(key).ok(), 0, pid);
        }
        held.cover((set / STEPS).max(1))
    }

    /// Whether a third of the memory that was available when the share was taken still is, whatever else
    /// grows on this machine.
    fn is_left(&self) -> bool {
        let reserve = (self.whole_bytes() as u64).saturating_mul(SHARE) / 3;
        machine::available_memory().is_none_or(|bytes| bytes >= reserve)
    }
}

impl Held {
    /// Adjusts the units, of `unit_bytes` each.
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

    /// Returns one of several budgets with this key.
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
        // In steps, up to the rest, and to the exact byte at its end.
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

    /// A late holder gets something too, and a budget smaller than a step is one step.
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
        // As if far more memory had been available than now.
        let other = Budget::new();
        other.share_bytes.set(1 << 60).expect("not set yet");
        let opened = other.open();
        assert_eq!(other.take(opened, ALWAYS_BYTES + 1), None);
        assert_eq!(other.held().bytes, opened);
    }

    /// Each budget stands for a process.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_process_holds_another_cannot() {
        let (one, other) = (sharing(6400, 0), sharing(6400, 0));
        let (first, second) = (one.open(), other.open());
        let first = one.take(first, 5950).expect("there is more");
        assert_eq!(first, 6000);
        assert_eq!((other.take(second, 401), other.held().bytes), (None, 400));
        // A partly used unit is held too.
        one.give_back(5501);
        assert_eq!((other.take(second, 5901), other.take(second, 5900)), (None, Some(5900)));
        assert_eq!(one.take(499, 501), None);
        // A late holder gets a minimum at once, and more when others have ended.
        let late = sharing(6400, 0);
        let third = late.open();
        assert_eq!((third, late.take(third, 401)), (400, None));
        drop(other);
        // A process that another test is just starting has the descriptor, and so the lock, until its exec.
        let mut taken = None;
        pelton_testkit::wait_until("what the other held is free", || {
            taken = late.take(third, 5801);
            taken.is_some()
        });
        assert_eq!(taken, Some(5900));
    }
}
