//! Visits every entry of a tree, with one thread or several.
//!
//! A [`worker`] goes through a tree depth first, with its own stack of directories. The strategies differ in
//! the treatment of a subdirectory: the worker enters it, or makes it a task for any worker ([`task_limit`]). With
//! `stealing` it makes no task until another worker is idle, and then gives away the work that it would reach
//! last: private deques with requests, as in Acar, Charguéraud, Rainey, *Scheduling parallel programs by work
//! stealing with private deques* (2013). So a single thread pays only one read of a number per directory.

mod incremental;
mod items;
mod listed_directory;
mod pool;
mod run;
mod sequence;
mod settings;
mod tally;
mod task_limit;
mod worker;
mod worker_output;

use crate::query::Query;
use crate::sink::Sink;
pub use incremental::{IncrementalWalk, NextEntry};
use pelton_sys::clock;
use run::Run;
pub use settings::{ALONE, Order, Settings, Walk, default_slots};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
pub use tally::{Event, Tally};
use worker::Worker;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The exit status of find.
    pub status: i32,
    /// The counts of each worker.
    pub workers: Vec<Tally>,
    /// Duration in nanoseconds.
    pub wall_ns: u64,
}

/// Searches. When it returns, all its threads have ended.
pub fn walk(query: &Query, settings: &Settings, sink: &dyn Sink) -> Report {
    let alone = query.is_serial() || settings.walk == Walk::Sequential || settings.workers < 2;
    let workers = if alone { 1 } else { settings.workers };
    let run = Run::new(query, settings, sink, alone);
    let started_ns = run.started_ns;
    let mut tallies = work(&run, workers);
    tallies.sort_by_key(|tally| tally.worker);
    let failed = run.failed.load(Ordering::Relaxed) || run.sequence.is_some_and(|sequence| sequence.failed());
    Report { status: i32::from(failed), workers: tallies, wall_ns: clock::now_ns() - started_ns }
}

/// Runs one worker on this thread, and starts the others once there is enough work.
fn work(run: &Run<'_>, workers: usize) -> Vec<Tally> {
    std::thread::scope(|scope| {
        let handles: Mutex<Vec<ScopedJoinHandle<'_, Tally>>> = Mutex::new(Vec::new());
        let help = || {
            let mut handles = handles.lock().unwrap_or_else(PoisonError::into_inner);
            for index in 1..workers {
                run.pool.join();
                handles.push(scope.spawn(move || Worker::new(run, index).serve()));
            }
        };
        let first = Worker::new(run, 0).begin(&help);
        let handles = std::mem::take(&mut *handles.lock().unwrap_or_else(PoisonError::into_inner));
        // A panic of a worker aborts the program.
        let others = handles.into_iter().filter_map(|handle| handle.join().ok());
        std::iter::once(first).chain(others).collect()
    })
}
