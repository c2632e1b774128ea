//! The number of workers, current and wanted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope};

/// The workers of one scope, the first one included.
pub struct WorkerCount {
    at_work: AtomicUsize,
    target: AtomicUsize,
}

impl WorkerCount {
    /// Starts with the first worker only.
    pub fn alone() -> Self {
        WorkerCount { at_work: AtomicUsize::new(1), target: AtomicUsize::new(1) }
    }

    /// Returns the number of workers.
    pub fn at_work(&self) -> usize {
        self.at_work.load(Ordering::Acquire)
    }

    /// Returns the wanted number of workers.
    pub fn target(&self) -> usize {
        self.target.load(Ordering::Relaxed)
    }

    /// Sets the wanted number of workers.
    pub fn aim_at(&self, wanted: usize) {
        self.target.store(wanted, Ordering::Release);
    }

    /// Starts one more worker with this work. `false`: no thread is available, and the current workers do the
    /// work.
    pub fn hire<'scope>(
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

    /// Whether the calling worker must leave, because there are too many.
    pub fn dismissed(&self) -> bool {
        let target = self.target.load(Ordering::Acquire);
        let too_many = |at_work: usize| (at_work > target).then(|| at_work - 1);
        self.at_work.fetch_update(Ordering::AcqRel, Ordering::Acquire, too_many).is_ok()
    }
}
