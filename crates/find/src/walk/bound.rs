//! Limits the number of tasks. Taking a slot never blocks: a worker without a slot does the work itself.

use super::settings::{Order, Settings, Walk};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of queued directories in nearest-first order; beyond it, depth-first order saves memory.
const WAITING: usize = 50_000;

pub(super) enum Bound {
    /// No tasks.
    Nothing,
    /// A task for every directory.
    Everything,
    /// A task while fewer than this many are queued.
    Queue(usize),
    /// A semaphore: a counter under a lock.
    Semaphore(Mutex<usize>),
    /// An atomic counter.
    Atomic(AtomicUsize),
}

/// What a task returns when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    None,
    Taken,
}

impl Bound {
    pub fn new(settings: &Settings) -> Self {
        match settings.walk {
            Walk::Sequential => Bound::Nothing,
            _ if settings.order == Order::NearestFirst => Bound::Queue(WAITING),
            Walk::Stealing => Bound::Nothing,
            Walk::PerDirectory => Bound::Everything,
            Walk::Semaphore => Bound::Semaphore(Mutex::new(settings.slots)),
            Walk::Atomic => Bound::Atomic(AtomicUsize::new(settings.slots)),
        }
    }

    /// Whether workers make tasks only on request.
    pub fn makes_none(&self) -> bool {
        matches!(self, Bound::Nothing)
    }

    /// Takes a slot for a task, if one is free. `waiting` tasks are queued.
    pub fn take(&self, waiting: usize) -> Option<Slot> {
        match self {
            Bound::Nothing => None,
            Bound::Everything => Some(Slot::None),
            Bound::Queue(most) => (waiting < *most).then_some(Slot::None),
            Bound::Semaphore(free) => {
                let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
                *free = free.checked_sub(1)?;
                Some(Slot::Taken)
            }
            Bound::Atomic(free) => {
                let taken =
                    free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
                taken.ok().map(|_| Slot::Taken)
            }
        }
    }

    pub fn give_back(&self, slot: Slot) {
        match self {
            _ if slot == Slot::None => {}
            Bound::Semaphore(free) => *free.lock().unwrap_or_else(PoisonError::into_inner) += 1,
            Bound::Atomic(free) => {
                free.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_and_given_back() {
        for bound in [Bound::Semaphore(Mutex::new(1)), Bound::Atomic(AtomicUsize::new(1))] {
            let slot = bound.take(0).expect("free");
            assert_eq!(bound.take(0), None);
            bound.give_back(slot);
            assert_eq!(bound.take(0), Some(Slot::Taken));
        }
        assert_eq!(Bound::Queue(2).take(2), None);
        assert_eq!(Bound::Everything.take(1_000_000), Some(Slot::None));
    }
}
