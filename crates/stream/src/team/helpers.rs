//! Others who may help a kernel with work that is there all at once: jobs that do not depend on each other.

use super::worker_count::WorkerCount;
use super::{Policy, lock};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::Scope;

/// Who may help. Cheap to clone; nobody by default.
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
    /// As many as this policy wants, asked before each job of the first worker.
    pub fn new(policy: Arc<dyn Policy>) -> Self {
        Helpers { policy: Some(policy), eager: false }
    }

    /// They share what is not worth sharing, too: for tests.
    pub fn eager(self) -> Self {
        Helpers { eager: true, ..self }
    }

    /// Whether there may ever be somebody.
    pub fn may_help(&self) -> bool {
        self.policy.is_some()
    }

    /// Work of this size (in whatever unit) is the least that pays to be shared; one that shares everything needs only 1.
    pub fn worth(&self, size: usize) -> usize {
        if self.eager { 1 } else { size }
    }

    /// How many are wanted now, the caller included.
    pub fn wanted(&self, at_work: usize) -> usize {
        self.policy.as_ref().map_or(1, |policy| policy.wanted(at_work).max(1))
    }

    /// Runs `work` in the calling thread, one of the others: [`Policy::hired`] first.
    pub fn as_hired<T>(&self, work: impl FnOnce() -> T) -> T {
        if let Some(policy) = &self.policy {
            policy.hired();
        }
        work()
    }

    /// Does all these jobs, each once, in any order, with a scratch per worker. The caller works as well; all others are
    /// gone when this returns.
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
        let floor = Floor { crew: self, jobs: Mutex::new(jobs), work, heads: WorkerCount::alone() };
        std::thread::scope(|scope| floor.lead(scope));
    }
}

struct Floor<'a, T, W> {
    crew: &'a Helpers,
    jobs: Mutex<VecDeque<T>>,
    work: W,
    heads: WorkerCount,
}

impl<T: Send, W: Sync> Floor<'_, T, W> {
    /// The next job, and how many are left.
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
            let wanted = self.crew.wanted(at_work);
            self.heads.aim_at(wanted);
            for _ in at_work..wanted.min(at_work + left) {
                // Where one cannot be had, others are not asked for again and again.
                full = full || !self.hire(scope);
            }
            (self.work)(&mut scratch, job);
        }
    }

    fn hire<'scope, S: Default>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool
    where
        W: Fn(&mut S, T),
    {
        self.heads.hire(scope, || self.crew.as_hired(|| self.follow()))
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

    struct Fixed(usize);

    impl Policy for Fixed {
        fn wanted(&self, _at_work: usize) -> usize {
            self.0
        }
    }

    #[test]
    fn every_job_is_done_once() {
        for workers in [0, 1, 2, 5] {
            let crew = if workers == 0 { Helpers::default() } else { Helpers::new(Arc::new(Fixed(workers))) };
            let mut numbers: Vec<usize> = (0..1000).collect();
            crew.each(numbers.chunks_mut(7), |seen: &mut usize, chunk| {
                chunk.iter_mut().for_each(|number| *number += 1);
                *seen += 1;
            });
            assert!(numbers.iter().enumerate().all(|(at, number)| *number == at + 1), "{workers}");
        }
    }
}
