//! Limits the number of tasks. Taking a slot never blocks: a worker without a slot does the work itself.

use super::settings::{Order, Settings, Walk};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of queued directories in nearest-first order; beyond it, depth-first order saves memory.
const WAITING: usize = 50_000;

pub(super) enum TaskLimit {
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

impl TaskLimit {
    pub fn new(settings: &Settings) -> Self {
        match settings.walk {
            Walk::Sequential => TaskLimit::Nothing,
            _ if settings.order == Order::NearestFirst => TaskLimit::Queue(WAITING),
            Walk::Stealing => TaskLimit::Nothing,
            Walk::PerDirectory => TaskLimit::Everything,
            Walk::Semaphore => TaskLimit::Semaphore(Mutex::new(settings.slots)),
            Walk::Atomic => TaskLimit::Atomic(AtomicUsize::new(settings.slots)),
        }
    }

    /// Whether workers make tasks only on request.
    pub fn makes_none(&self) -> bool {
        matches!(self, TaskLimit::Nothing)
    }

    /// Takes a slot for a task, if one is free. `waiting` tasks are queued.
    pub fn take(&self, waiting: usize) -> Option<Slot> {
        match self {
            TaskLimit::Nothing => None,
            TaskLimit::Everything => Some(Slot::None),
            TaskLimit::Queue(most) => (waiting < *most).then_some(Slot::None),
            TaskLimit::Semaphore(free) => {
                let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
                *free = free.checked_sub(1)?;
                Some(Slot::Taken)
            }
            TaskLimit::Atomic(free) => {
                let taken =
                    free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
                taken.ok().map(|_| Slot::Taken)
            }
        }
    }

    pub fn give_back(&self, slot: Slot) {
        match self {
            _ if slot == Slot::None => {}
            TaskLimit::Semaphore(free) => *free.lock().unwrap_or_else(PoisonError::into_inner) += 1,
            TaskLimit::Atomic(free) => {
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
        for bound in [TaskLimit::Semaphore(Mutex::new(1)), TaskLimit::Atomic(AtomicUsize::new(1))] {
            let slot = bound.take(0).expect("free");
            assert_eq!(bound.take(0), None);
            bound.give_back(slot);
            assert_eq!(bound.take(0), Some(Slot::Taken));
        }
        assert_eq!(TaskLimit::Queue(2).take(2), None);
        assert_eq!(TaskLimit::Everything.take(1_000_000), Some(Slot::None));
    }
}
