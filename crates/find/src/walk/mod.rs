//! Visits every entry of a tree, with one thread or several.
//!
//! A [`worker`] goes through a tree depth first, with its own stack of directories. The strategies differ in
//! the treatment of a subdirectory: the worker enters it, or makes it a task for any worker ([`bound`]). With
//! `stealing` it makes no task until another worker is idle, and then gives away the work that it would reach
//! last: private deques with requests, as in Acar, Charguéraud, Rainey, *Scheduling parallel programs by work
//! stealing with private deques* (2013). So a single thread pays only one read of a number per directory.

mod bound;
mod incremental;
mod items;
mod outlet;
mod pool;
mod sequence;
mod tally;
mod worker;

use crate::message;
use crate::query::Query;
use bound::Bound;
pub use incremental::{IncrementalWalk, NextEntry};
use pelton_sys::directories::End;
use pelton_sys::{clock, directories};
use pool::Pool;
use sequence::Sequence;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
pub use tally::{Event, Tally};
use worker::Worker;

/// Receives output. Several threads use it, one at a time.
pub trait Sink: Sync {
    /// Writes to standard output.
    ///
    /// # Errors
    /// If the write fails: the search then ends.
    fn text(&self, bytes: &[u8]) -> io::Result<()>;

    /// Writes to standard error.
    fn error(&self, bytes: &[u8]);

    /// Runs the query's command for these paths, after all earlier output. It counts as successful.
    ///
    /// # Errors
    /// The paths, if the search must start the process itself.
    fn command(&self, paths: Vec<Vec<u8>>) -> Result<(), Vec<Vec<u8>>> {
        Err(paths)
    }
}

/// Which worker enters a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The only thread.
    Sequential,
    /// Any: each directory becomes a task.
    PerDirectory,
    /// Any: it becomes a task if a non-blocking semaphore has room.
    Semaphore,
    /// The same with an atomic counter.
    Atomic,
    /// The worker that found it, until another one is idle and gets a part.
    Stealing,
}

impl Walk {
    /// All strategies.
    pub const ALL: [Walk; 5] =
        [Walk::Sequential, Walk::PerDirectory, Walk::Semaphore, Walk::Atomic, Walk::Stealing];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Walk::Sequential => "sequential",
            Walk::PerDirectory => "per-directory",
            Walk::Semaphore => "semaphore",
            Walk::Atomic => "atomic",
            Walk::Stealing => "stealing",
        }
    }
}

/// The order of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// GNU find's order.
    Listed,
    /// The order of discovery.
    Found,
    /// The order of discovery, with a search that prefers entries near the starting points.
    NearestFirst,
}

/// Settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The strategy.
    pub walk: Walk,
    /// Number of threads.
    pub workers: usize,
    /// Maximum number of tasks beside the first, for the strategies with a bound.
    pub slots: usize,
    /// The order of the output.
    pub order: Order,
    /// Whether to stop at the first entry for which the expression holds.
    pub first: bool,
    /// Whether to stop at the first error.
    pub stop_on_error: bool,
    /// Whether to write each line at once.
    pub promptly: bool,
    /// Directories that the first worker reads before the others start.
    pub alone: u64,
    /// Whether to record events for a timeline.
    pub timeline: bool,
}

/// Returns the default number of slots: none on one core, else four per core.
pub fn default_slots(cores: usize) -> usize {
    if cores < 2 { 0 } else { 4 * cores }
}

/// Directories after which a search is likely to be long: starting a thread costs as much as reading about
/// ten.
pub const ALONE: u64 = 48;

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

/// State shared by all workers.
struct Run<'r> {
    query: &'r Query,
    settings: Settings,
    sink: &'r dyn Sink,
    pool: Pool,
    bound: Bound,
    /// Set only if order matters and there are several workers.
    sequence: Option<Sequence<'r>>,
    /// Tells all workers to end.
    stop: AtomicBool,
    /// Whether the entry that ends the search was found; later ones are dropped.
    found: AtomicBool,
    failed: AtomicBool,
    /// Number of directories held open for their entries, and its maximum.
    held: Arc<AtomicUsize>,
    most_held: usize,
    started_ns: u64,
}

impl<'r> Run<'r> {
    /// Makes the state. `alone`: with one thread.
    fn new(query: &'r Query, settings: &Settings, sink: &'r dyn Sink, alone: bool) -> Self {
        Run {
            query,
            settings: *settings,
            sink,
            pool: Pool::new(),
            bound: if alone { Bound::Nothing } else { Bound::new(settings) },
            sequence: (!alone && settings.order == Order::Listed).then(|| Sequence::new(sink)),
            stop: AtomicBool::new(false),
            found: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            held: Arc::default(),
            most_held: most_held(),
            started_ns: clock::now_ns(),
        }
    }
}

impl Run<'_> {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.pool.wake_all();
        if let Some(sequence) = &self.sequence {
            sequence.wake_all();
        }
    }

    fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        if self.settings.stop_on_error {
            self.stop();
        }
    }

    /// Reports a failed write, once, and ends the search.
    fn lose(&self, error: &io::Error) {
        if !self.failed_to_write() {
            let mut said = Vec::new();
            message::unwritten(error, self.query.manner, &mut said);
            self.sink.error(&said);
        }
        self.failed.store(true, Ordering::Relaxed);
        self.stop();
    }

    fn failed_to_write(&self) -> bool {
        self.pool.lost.swap(true, Ordering::Relaxed)
    }
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

/// Returns three quarters of the descriptor limit, less some for those already open.
fn most_held() -> usize {
    let limit = pelton_sys::limits::descriptors().unwrap_or(1024);
    usize::try_from(limit / 4 * 3).unwrap_or(usize::MAX).saturating_sub(16).clamp(4, 10_000)
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

/// Returns the starting point's last component, without trailing slashes: the name that -name tests.
fn base_of(start: &std::ffi::CStr) -> std::ffi::CString {
    let bytes = start.to_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(bytes.len().min(1), |last| last + 1);
    let begin = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let base = if begin < end { &bytes[begin..end] } else { &bytes[..end] };
    std::ffi::CString::new(base).unwrap_or_default()
}

/// A descriptor that is counted while it is open.
struct Held {
    fd: OwnedFd,
    /// How the end of the listing is recognized, if known.
    end: Option<End>,
    count: Arc<AtomicUsize>,
}

impl Held {
    fn new(fd: OwnedFd, end: Option<End>, count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Held { fd, end, count: Arc::clone(count) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The directory of the names in a listing.
#[derive(Clone)]
enum ListedDirectory {
    /// The working directory, for starting points.
    Here,
    Open(Arc<Held>),
    /// Closed because too many are open. It is reopened by path, if that still leads to the same directory.
    Closed(Option<(u64, u64)>),
}

/// Returns the device and inode of a directory.
fn identity(fd: BorrowedFd<'_>) -> Option<(u64, u64)> {
    directories::own_status(fd).ok().map(|status| (status.device, status.inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_starting_point() {
        for (start, base) in [
            (c"a/b", "b"),
            (c"a/b//", "b"),
            (c"/", "/"),
            (c"//", "/"),
            (c"", ""),
            (c".", "."),
            (c"x/..", ".."),
        ] {
            assert_eq!(base_of(start).to_str(), Ok(base), "{start:?}");
        }
    }

    #[test]
    fn slots_are_those_of_the_cores() {
        assert_eq!((default_slots(1), default_slots(2), default_slots(4)), (0, 8, 16));
    }
}
