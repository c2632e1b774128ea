//! The state of a search that its workers share.

use super::pool::Pool;
use super::sequence::Sequence;
use super::settings::{Order, Settings};
use super::task_limit::TaskLimit;
use crate::message;
use crate::query::Query;
use crate::sink::Sink;
use pelton_sys::clock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// State shared by all workers.
pub(super) struct Run<'r> {
    pub query: &'r Query,
    pub settings: Settings,
    pub sink: &'r dyn Sink,
    pub pool: Pool,
    pub bound: TaskLimit,
    /// Set only if order matters and there are several workers.
    pub sequence: Option<Sequence<'r>>,
    /// Tells all workers to end.
    pub stop: AtomicBool,
    /// Whether the entry that ends the search was found; later ones are dropped.
    pub found: AtomicBool,
    pub failed: AtomicBool,
    /// Number of directories held open for their entries, and its maximum.
    pub held: Arc<AtomicUsize>,
    pub most_held: usize,
    pub started_ns: u64,
}

impl<'r> Run<'r> {
    /// Makes the state. `alone`: with one thread.
    pub fn new(query: &'r Query, settings: &Settings, sink: &'r dyn Sink, alone: bool) -> Self {
        Run {
            query,
            settings: *settings,
            sink,
            pool: Pool::new(),
            bound: if alone { TaskLimit::Nothing } else { TaskLimit::new(settings) },
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
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.pool.wake_all();
        if let Some(sequence) = &self.sequence {
            sequence.wake_all();
        }
    }

    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        if self.settings.stop_on_error {
            self.stop();
        }
    }

    /// Reports a failed write, once, and ends the search.
    pub fn lose(&self, error: &io::Error) {
        if !self.failed_to_write() {
            let mut said = Vec::new();
            message::unwritten(error, self.query.manner, &mut said);
            self.sink.error(&said);
        }
        self.failed.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub fn failed_to_write(&self) -> bool {
        self.pool.lost.swap(true, Ordering::Relaxed)
    }
}

/// Returns three quarters of the descriptor limit, less some for those already open.
fn most_held() -> usize {
    let limit = pelton_sys::limits::descriptors().unwrap_or(1024);
    usize::try_from(limit / 4 * 3).unwrap_or(usize::MAX).saturating_sub(16).clamp(4, 10_000)
}
