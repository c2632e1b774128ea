//! What a worker did, and when.

use pelton_sys::clock;

/// One worker's account.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Its number.
    pub worker: usize,
    /// Tasks it did.
    pub tasks: u64,
    /// Tasks it made for others.
    pub made: u64,
    /// Directories it read.
    pub directories: u64,
    /// Names it saw.
    pub entries: u64,
    /// How often it asked for a status.
    pub statuses: u64,
    /// Nanoseconds it waited for tasks.
    pub waited_ns: u64,
    /// Nanoseconds of CPU time.
    pub cpu_ns: u64,
    /// What it did when, if that was asked for: nanoseconds since the search began. The first hundred thousand events.
    pub events: Vec<(u64, Event)>,
}

/// What happened to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It began a task.
    Runs,
    /// It made a task.
    Makes,
    /// It has nothing to do, and waits.
    Waits,
    /// It waits until output in front of its own is written.
    Blocked,
    /// It ended.
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
