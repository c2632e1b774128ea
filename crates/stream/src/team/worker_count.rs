//! How many work, and how many should: the same for a team over a stream and for a crew over jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope};

/// The workers of one scope, the one that began included.
pub(super) struct WorkerCount {
    at_work: AtomicUsize,
    target: AtomicUsize,
}

impl WorkerCount {
    /// One, who began.
    pub(super) fn alone() -> Self {
        WorkerCount { at_work: AtomicUsize::new(1), target: AtomicUsize::new(1) }
    }

    pub(super) fn at_work(&self) -> usize {
        self.at_work.load(Ordering::Acquire)
    }

    pub(super) fn target(&self) -> usize {
        self.target.load(Ordering::Relaxed)
    }

    pub(super) fn aim_at(&self, wanted: usize) {
        self.target.store(wanted, Ordering::Release);
    }

    /// One more, who does this. `false`: there are no more threads for us, and those that there are do the work.
    pub(super) fn hire<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        work: impl FnOnce() + Send + 'scope,
    ) -> bool {
        self.at_work.fetch_add(1, Ordering::AcqRel);
        let hired = Builder::new().name("pelton worker".to_owned()).spawn_scoped(scope, work).is_ok();
        if !hired {
            self.at_work.fetch_sub(1, Ordering::AcqRel);
        }
        hired
    }

    /// One of the workers has to go, and it is the caller.
    pub(super) fn dismissed(&self) -> bool {
        let target = self.target.load(Ordering::Acquire);
        let too_many = |at_work: usize| (at_work > target).then(|| at_work - 1);
        self.at_work.fetch_update(Ordering::AcqRel, Ordering::Acquire, too_many).is_ok()
    }
}
