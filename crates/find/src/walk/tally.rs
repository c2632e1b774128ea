//! Counts and events of a worker.

use pelton_sys::clock;

/// The counts of one worker.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Index of the worker.
    pub worker: usize,
    /// Tasks done.
    pub tasks: u64,
    /// Tasks made for others.
    pub made: u64,
    /// Directories read.
    pub directories: u64,
    /// Names read.
    pub entries: u64,
    /// Number of stat(2) calls.
    pub statuses: u64,
    /// Nanoseconds waiting for tasks.
    pub waited_ns: u64,
    /// Nanoseconds of CPU time.
    pub cpu_ns: u64,
    /// The first hundred thousand events, if requested, each with nanoseconds since the start of the search.
    pub events: Vec<(u64, Event)>,
}

/// A change of a worker's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It starts a task.
    Runs,
    /// It makes a task.
    Makes,
    /// It is idle.
    Waits,
    /// It was blocked until earlier output was written.
    Blocked,
    /// It ends.
    Ends,
}

const MOST_EVENTS: usize = 100_000;

impl Tally {
    pub(super) fn note(&mut self, wanted: bool, started_ns: u64, event: Event) {
        if wanted && self.events.len() < MOST_EVENTS {
            self.events.push((clock::now_ns() - started_ns, event));
        }
    }
}
