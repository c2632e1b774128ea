//! Visiting every entry of a tree, by one thread or several.
//!
//! A [`worker`] goes through a tree depth first with a stack of directories of its own. The ways differ in what becomes
//! of a directory that it meets: it may go into it itself, or make a task of it that any worker takes ([`bound`]). In the
//! way `stealing` it makes none until another worker has nothing to do, and then gives away what it would come to last:
//! private deques with requests, as in Acar, Charguéraud, Rainey, *Scheduling parallel programs by work stealing with
//! private deques* (2013). So one thread alone pays a read of one number per directory.

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

/// Where output goes. Several threads use it, one after the other.
pub trait Sink: Sync {
    /// To standard output.
    ///
    /// # Errors
    /// If it cannot be written: then the search ends.
    fn text(&self, bytes: &[u8]) -> io::Result<()>;

    /// To standard error.
    fn error(&self, bytes: &[u8]);

    /// Runs the query's command for these paths, behind all that was said before: it is taken for a success.
    ///
    /// # Errors
    /// The paths, if the search has to start a process for them.
    fn command(&self, paths: Vec<Vec<u8>>) -> Result<(), Vec<Vec<u8>>> {
        Err(paths)
    }
}

/// Who goes into a directory that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The one thread there is.
    Sequential,
    /// Each becomes a task.
    PerDirectory,
    /// A task if a semaphore that does not block has room for it.
    Semaphore,
    /// The same, counted by an atomic number.
    Atomic,
    /// Whoever met it, until somebody has nothing to do and is given a part.
    Stealing,
}

impl Walk {
    /// All of them.
    pub const ALL: [Walk; 5] =
        [Walk::Sequential, Walk::PerDirectory, Walk::Semaphore, Walk::Atomic, Walk::Stealing];

    /// Its name.
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

/// In which order entries are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In GNU find's.
    Listed,
    /// As they are found.
    Found,
    /// As they are found, and entries near the starting points are looked for first.
    NearestFirst,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Who goes into a directory.
    pub walk: Walk,
    /// Threads.
    pub workers: usize,
    /// Tasks beside the first, for the ways that bound them.
    pub slots: usize,
    /// In which order to print.
    pub order: Order,
    /// Whether the first entry for which the expression holds ends the search.
    pub first: bool,
    /// Whether the first error does.
    pub stop_on_error: bool,
    /// Whether each line is wanted at once.
    pub promptly: bool,
    /// Directories that the first worker reads before it calls others.
    pub alone: u64,
    /// Whether events are noted for a timeline.
    pub timeline: bool,
}

/// Slots for tasks: none on one core, else four per core.
pub fn default_slots(cores: usize) -> usize {
    if cores < 2 { 0 } else { 4 * cores }
}

/// Directories after which a search is not thought to be over soon: a thread's start costs as much as reading some ten.
pub const ALONE: u64 = 48;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The exit status of find.
    pub status: i32,
    /// Each worker's account.
    pub workers: Vec<Tally>,
    /// Nanoseconds it took.
    pub wall_ns: u64,
}

/// What all workers share.
struct Run<'r> {
    query: &'r Query,
    settings: Settings,
    sink: &'r dyn Sink,
    pool: Pool,
    bound: Bound,
    /// Only where order matters and several work.
    sequence: Option<Sequence<'r>>,
    /// Everybody ends as soon as they see it.
    stop: AtomicBool,
    /// The entry that ended it was found; a second one is not wanted.
    found: AtomicBool,
    failed: AtomicBool,
    /// Directories that are held open for those in them, and how many may be.
    held: Arc<AtomicUsize>,
    most_held: usize,
    started_ns: u64,
}

impl<'r> Run<'r> {
    /// `alone`: by one thread.
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

    /// Output that cannot be written is said once, and the end of everything.
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

/// Searches. When it returns, nothing of it runs any more.
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

/// Three quarters of the descriptors that this process may have, with some left for what is open already.
fn most_held() -> usize {
    let limit = pelton_sys::limits::descriptors().unwrap_or(1024);
    usize::try_from(limit / 4 * 3).unwrap_or(usize::MAX).saturating_sub(16).clamp(4, 10_000)
}

/// One worker on this thread; the others once there is more than a little to do.
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
        // A worker that panics takes the program with it.
        let others = handles.into_iter().filter_map(|handle| handle.join().ok());
        std::iter::once(first).chain(others).collect()
    })
}

/// The starting point's name without what stands before it and slashes behind it: what -name is asked about.
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
    /// How its end is seen, if that is known.
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

/// Where the names of a listing are.
#[derive(Clone)]
enum NameStorage {
    /// Starting points: in the working directory.
    Here,
    Open(Arc<Held>),
    /// Closed, because too many are open: opened again by its path, if that still leads to this one.
    Closed(Option<(u64, u64)>),
}

/// The device and number of a directory.
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
