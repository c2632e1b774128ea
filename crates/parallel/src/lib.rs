//! Threads that share work, under a policy that says how many.
//!
//! - [`Helpers::each`]: independent jobs that are all there at once, in any order (the sort's waves).
//! - [`Ordered`]: jobs cut one after the other, with their results in that order (the sort's output, JSON
//!   Lines, CSV).
//! - [`WorkerCount`]: how many workers there are and should be, for work that orders itself: the team on a
//!   chain of kernels (`pelton-stream`) carries state from block to block.
//!
//! Two places keep an order of their own. find's walk splits a tree while it is read, so what follows a
//! result is not known when the result is begun. The parts of a command (`pelton-run`) are processes.

mod helpers;
mod ordered;
mod worker_count;

pub use helpers::Helpers;
pub use ordered::{Ordered, Work, ordered};
pub use worker_count::WorkerCount;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Decides the number of workers.
pub trait Policy: Send + Sync {
    /// Returns the wanted number of workers, given the current one. Must be cheap: called at every block of
    /// the first worker.
    fn wanted(&self, at_work: usize) -> usize;

    /// Called in the thread of each worker except the first, before it works.
    fn hired(&self) {}
}

/// Wants always this many workers.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub usize);

impl Policy for Fixed {
    fn wanted(&self, _at_work: usize) -> usize {
        self.0
    }
}

/// Locks a mutex, also if a thread panicked while it held it: a release ends at a panic, and in tests the caller
/// is told in other ways.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
