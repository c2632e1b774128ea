//! Fill level of the pipe between two stages: its writer's end is duplicated for a few microseconds, queried,
//! and closed. Kept open, it would delay the end of file.

use crate::bounded_timeline::Course;
use pelton_record::{PipeFill, PipeUse};
use pelton_sys::other_process::{self, PipeState};
use std::os::fd::BorrowedFd;

/// Number of intervals kept for a pipe.
const STRETCHES: usize = 128;
const STDIN: u32 = 0;
const STDOUT: u32 = 1;

/// A pipe that is sampled repeatedly.
pub struct PipeProbe {
    inode: u64,
    start_ns: u64,
    last_ns: u64,
    capacity_bytes: Option<u64>,
    samples: u32,
    seen_ns: f64,
    bytes_ns: f64,
    full_ns: f64,
    empty_ns: f64,
    course: Course<PipeFill>,
}

impl PipeProbe {
    /// Starts sampling the pipe with this inode.
    pub fn new(inode: u64, now_ns: u64) -> Self {
        PipeProbe {
            inode,
            start_ns: now_ns,
            last_ns: now_ns,
            capacity_bytes: None,
            samples: 0,
            seen_ns: 0.0,
            bytes_ns: 0.0,
            full_ns: 0.0,
            empty_ns: 0.0,
            course: Course::new(STRETCHES),
        }
    }

    /// Whether it has not been sampled in this round.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.last_ns < now_ns || self.samples == 0
    }

    /// Samples it through its writer, or through its reader if the writer has ended.
    pub fn sample(&mut self, now_ns: u64, writer: Option<BorrowedFd<'_>>, reader: Option<BorrowedFd<'_>>) {
        let end = |process: Option<_>, fd: u32| process.map(|process| (process, fd));
        self.sample_ends(now_ns, end(writer, STDOUT), end(reader, STDIN));
    }

    /// Does the same for ends at any descriptors.
    pub fn sample_ends(
        &mut self,
        now_ns: u64,
        writer: Option<(BorrowedFd<'_>, u32)>,
        reader: Option<(BorrowedFd<'_>, u32)>,
    ) {
        let through = |end: Option<(BorrowedFd<'_>, u32)>| {
            let (process, fd) = end?;
            other_process::pipe_state(process, fd).filter(|state| state.inode == self.inode)
        };
        // A reading end never polls as writable, so it would appear full.
        let at_reader = || through(reader).map(|state| PipeState { is_full: false, ..state });
        if let Some(state) = through(writer).or_else(at_reader) {
            self.add(now_ns, state);
        }
        self.last_ns = now_ns;
    }

    /// Adds a state that was read in another way.
    pub fn add(&mut self, now_ns: u64, state: PipeState) {
        let length_ns = now_ns.saturating_sub(self.last_ns).max(1);
        let weight = length_ns as f64;
        let share = |is: bool| if is { 1.0 } else { 0.0 };
        self.capacity_bytes = state.fill.capacity_bytes;
        self.samples += 1;
        self.seen_ns += weight;
        self.bytes_ns += weight * state.fill.bytes as f64;
        self.full_ns += weight * share(state.is_full);
        self.empty_ns += weight * share(state.fill.bytes == 0);
        self.course.push(PipeFill {
            start_ns: self.last_ns - self.start_ns,
            length_ns,
            bytes: state.fill.bytes,
            full_share: share(state.is_full),
        });
    }

    /// Returns the observations since the last call.
    pub fn take(&mut self) -> Option<PipeUse> {
        let fresh = PipeProbe { last_ns: self.last_ns, ..PipeProbe::new(self.inode, self.last_ns) };
        std::mem::replace(self, fresh).finish(0, 1, 0)
    }

    /// Returns the observations; `None` if there are none. Times are relative to `run_start_ns`.
    pub fn finish(&self, writer: usize, reader: usize, run_start_ns: u64) -> Option<PipeUse> {
        let shift = self.start_ns.saturating_sub(run_start_ns);
        let shifted = |fill: &PipeFill| PipeFill { start_ns: fill.start_ns + shift, ..*fill };
        (self.samples > 0).then(|| PipeUse {
            writer,
            reader,
            capacity_bytes: self.capacity_bytes,
            mean_bytes: (self.bytes_ns / self.seen_ns) as u64,
            full_share: self.full_ns / self.seen_ns,
            empty_share: self.empty_ns / self.seen_ns,
            samples: self.samples,
            over_time: self.course.as_slice().iter().map(shifted).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_sys::other_process::Fill;

    #[test]
    fn fills_are_weighed_by_time() {
        let mut probe = PipeProbe::new(1, 100);
        let state = |bytes, is_full| PipeState {
            inode: 1,
            fill: Fill { bytes, capacity_bytes: Some(65_536) },
            is_full,
        };
        probe.add(105, state(0, false));
        probe.last_ns = 105;
        probe.add(120, state(40_000, true));
        let seen = probe.finish(0, 1, 90).expect("samples");
        assert_eq!((seen.mean_bytes, seen.full_share, seen.empty_share), (30_000, 0.75, 0.25));
        assert_eq!((seen.over_time[0].start_ns, seen.over_time[1].start_ns), (10, 15));
        assert_eq!(PipeProbe::new(1, 0).finish(0, 1, 0), None);
    }
}
