//! Threads that help a kernel with independent jobs that are all available at once.

use crate::{Policy, WorkerCount, lock};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::Scope;

/// The threads that may help. Cheap to clone; none by default.
#[derive(Clone, Default)]
pub struct Helpers {
    policy: Option<Arc<dyn Policy>>,
    eager: bool,
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.policy.is_some() { "Helpers" } else { "Nobody" })
    }
}

impl Helpers {
    /// Allows as many threads as `policy` wants. It is asked before each job of the first worker.
    pub fn new(policy: Arc<dyn Policy>) -> Self {
        Helpers { policy: Some(policy), eager: false }
    }

    /// Shares work of any size: for tests.
    pub fn eager(self) -> Self {
        Helpers { eager: true, ..self }
    }

    /// Whether helpers may be available.
    pub fn may_help(&self) -> bool {
        self.policy.is_some()
    }

    /// Returns the least work worth sharing: `size` in any unit, or 1 if eager.
    pub fn worth(&self, size: usize) -> usize {
        if self.eager { 1 } else { size }
    }

    /// Returns how many workers are wanted now, the caller included.
    pub fn wanted(&self, at_work: usize) -> usize {
        self.policy.as_ref().map_or(1, |policy| policy.wanted(at_work).max(1))
    }

    /// Runs `work` in the calling helper thread, after [`Policy::hired`].
    pub fn as_hired<T>(&self, work: impl FnOnce() -> T) -> T {
        if let Some(policy) = &self.policy {
            policy.hired();
        }
        work()
    }

    /// Runs each job once, in any order, with one scratch per worker. The caller works too. All other workers
    /// have ended when this returns.
    pub fn each<T: Send, S: Default>(
        &self,
        jobs: impl IntoIterator<Item = T>,
        work: impl Fn(&mut S, T) + Sync,
    ) {
        let jobs: VecDeque<T> = jobs.into_iter().collect();
        if !self.may_help() || jobs.len() < 2 {
            let mut scratch = S::default();
            return jobs.into_iter().for_each(|job| work(&mut scratch, job));
        }
        let floor = Floor { helpers: self, jobs: Mutex::new(jobs), work, heads: WorkerCount::alone() };
        std::thread::scope(|scope| floor.lead(scope));
    }
}

struct Floor<'a, T, W> {
    helpers: &'a Helpers,
    jobs: Mutex<VecDeque<T>>,
    work: W,
    heads: WorkerCount,
}

impl<T: Send, W: Sync> Floor<'_, T, W> {
    /// Takes the next job. Also returns how many remain.
    fn take(&self) -> Option<(T, usize)> {
        let mut jobs = lock(&self.jobs);
        let job = jobs.pop_front()?;
        Some((job, jobs.len()))
    }

    fn lead<'scope, S: Default>(&'scope self, scope: &'scope Scope<'scope, '_>)
    where
        W: Fn(&mut S, T),
    {
        let (mut scratch, mut full) = (S::default(), false);
        while let Some((job, left)) = self.take() {
            let at_work = self.heads.at_work();
            let wanted = self.helpers.wanted(at_work);
            self.heads.aim_at(wanted);
            for _ in at_work..wanted.min(at_work + left) {
                // After one failed start, no more are tried.
                full = full || !self.hire(scope);
            }
            (self.work)(&mut scratch, job);
        }
    }

    fn hire<'scope, S: Default>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool
    where
        W: Fn(&mut S, T),
    {
        self.heads.hire(scope, || self.helpers.as_hired(|| self.follow()))
    }

    fn follow<S: Default>(&self)
    where
        W: Fn(&mut S, T),
    {
        let mut scratch = S::default();
        while !self.heads.dismissed() {
            let Some((job, _)) = self.take() else { return };
            (self.work)(&mut scratch, job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fixed;

    #[test]
    fn every_job_is_done_once() {
        for workers in [0, 1, 2, 5] {
            let helpers =
                if workers == 0 { Helpers::default() } else { Helpers::new(Arc::new(Fixed(workers))) };
            let mut numbers: Vec<usize> = (0..1000).collect();
            helpers.each(numbers.chunks_mut(7), |seen: &mut usize, chunk| {
                chunk.iter_mut().for_each(|number| *number += 1);
                *seen += 1;
            });
            assert!(numbers.iter().enumerate().all(|(at, number)| *number == at + 1), "{workers}");
        }
    }
}
