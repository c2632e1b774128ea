//! How many tasks there may be at once. Asking never blocks: who gets no slot goes on alone.

use super::{Order, Settings, Walk};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Directories that may wait to be searched where those near the start come first; beyond, depth saves memory.
const WAITING: usize = 50_000;

pub(super) enum Bound {
    /// No task is made.
    Nothing,
    /// A task is always made.
    Everything,
    /// A task is made while fewer than so many wait.
    Queue(usize),
    /// A semaphore: a number under a lock.
    Semaphore(Mutex<usize>),
    /// An atomic number.
    Atomic(AtomicUsize),
}

/// What a task gives back when it ends.
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

    /// Whether nobody makes a task unasked.
    pub fn makes_none(&self) -> bool {
        matches!(self, Bound::Nothing)
    }

    /// A slot for a task, if one is free. `waiting` tasks have not begun.
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
