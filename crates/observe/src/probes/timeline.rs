//! A stage's timeline: the windows between samples, and the bytes that passed through it meanwhile.

use super::track::State;
use super::waits::Window;
use crate::bounded_timeline::Course;
use pelton_record::Slice;
use pelton_sys::procfs::Io;

/// Number of intervals kept for a stage.
const STRETCHES: usize = 600;

/// Collects windows.
#[derive(Clone, Debug)]
pub struct Timeline {
    course: Course<Slice>,
    start_ns: u64,
    last_ns: u64,
    last_io: Io,
}

impl Timeline {
    /// Begins a timeline now.
    pub fn begin(now_ns: u64) -> Self {
        Timeline::begin_with(STRETCHES, now_ns)
    }

    /// Begins a timeline of at most this many intervals now.
    pub fn begin_with(most: usize, now_ns: u64) -> Self {
        Timeline { course: Course::new(most), start_ns: now_ns, last_ns: now_ns, last_io: Io::default() }
    }

    /// Adds a window that ends now, with the total bytes read and written by then.
    pub fn add(&mut self, now_ns: u64, window: Window, io: Option<Io>) {
        let blocked = |wanted: bool| if wanted { window.blocked_ns() } else { 0 };
        let starved_ns = blocked(window.state == Some(State::Starved));
        let backpressured_ns = blocked(window.state == Some(State::Backpressured));
        self.course.push(Slice {
            start_ns: self.last_ns - self.start_ns,
            length_ns: window.length_ns,
            running_ns: window.running_ns,
            cpu_wait_ns: window.ready_ns,
            starved_ns,
            backpressured_ns,
            other_ns: window.blocked_ns() - starved_ns - backpressured_ns,
            read_bytes: io.map(|io| io.read_bytes.saturating_sub(self.last_io.read_bytes)),
            written_bytes: io.map(|io| io.written_bytes.saturating_sub(self.last_io.written_bytes)),
        });
        self.last_ns = now_ns;
        self.last_io = io.unwrap_or(self.last_io);
    }

    /// Returns all slices, with times relative to `run_start_ns`.
    pub fn finish(self, run_start_ns: u64) -> Vec<Slice> {
        let shift = self.start_ns.saturating_sub(run_start_ns);
        let shifted = |slice: Slice| Slice { start_ns: slice.start_ns + shift, ..slice };
        self.course.into_vec().into_iter().map(shifted).collect()
    }
}
