//! A process of a program: what is sampled while it lives, and what is known after its end.

use crate::probes::accounting;
use crate::probes::timeline::Timeline;
use crate::probes::waits::{Edges, Sums, WaitProbe};
use pelton_record::Cost;
use pelton_sys::pidfd;
use pelton_sys::procfs::{self, Io, ProcFile};
use pelton_sys::wait::{Ended, Usage};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One process.
pub struct FamilyProcess {
    pub pid: u32,
    pub parent: Option<usize>,
    pub start_ns: u64,
    /// When it ended; 0 while it runs.
    pub end_ns: u64,
    /// Arguments of its last exec; none if it never exec'd.
    pub words: Vec<String>,
    /// Arguments of its first exec: a wrapper such as zcat becomes another program.
    pub called: Vec<String>,
    /// The line of the followed shell's script where it stands, if that shell or a fork of it made it.
    pub line: Option<u32>,
    /// CPU time before its first exec.
    pub before_exec_ns: Option<u64>,
    /// The pipes behind its standard input and output.
    pub pipes: [Option<u64>; 2],
    /// Which of them it had at another descriptor, passed to it as a file name.
    pub named: [bool; 2],
    pub ended: Ended,
    /// Its cost, with the descendants that it waited for.
    pub inclusive: Cost,
    /// Its own CPU time and peak resident set.
    pub cpu_ns: u64,
    pub peak_rss_bytes: u64,
    pub sums: Sums,
    /// Its timeline, if kept.
    pub timeline: Option<Timeline>,
    pub(super) io: Option<Io>,
    watched: Option<Watch>,
}

/// State kept while a process lives.
struct Watch {
    probe: WaitProbe,
    timeline: Option<(Timeline, Option<ProcFile>)>,
    pidfd: Option<OwnedFd>,
}

impl FamilyProcess {
    pub(super) fn new(pid: u32, parent: Option<usize>, start_ns: u64) -> Self {
        FamilyProcess {
            pid,
            parent,
            start_ns,
            end_ns: 0,
            words: Vec::new(),
            called: Vec::new(),
            line: None,
            before_exec_ns: None,
            pipes: [None; 2],
            named: [false; 2],
            ended: Ended::Exited(0),
            inclusive: Cost::zero(),
            cpu_ns: 0,
            peak_rss_bytes: 0,
            sums: Sums::default(),
            timeline: None,
            io: None,
            watched: None,
        }
    }

    fn edges(&self) -> Edges {
        let [upstream, downstream] = self.pipes;
        Edges { upstream, downstream }
    }

    /// Samples it. With `course`, keeps its timeline.
    pub(super) fn sample(&mut self, now_ns: u64, course: bool) {
        if self.before_exec_ns.is_none() {
            // A shell that forked for a function or a group sets up its pipes itself.
            let pipes = [0, 1].map(|fd| procfs::pipe_behind(self.pid, fd));
            self.pipes = [pipes[0].or(self.pipes[0]), pipes[1].or(self.pipes[1])];
        }
        let (pid, start_ns, edges) = (self.pid, self.start_ns, self.edges());
        let watch = self.watched.get_or_insert_with(|| Watch {
            probe: WaitProbe::attach(pid, edges, start_ns).alone(),
            timeline: course.then(|| (Timeline::begin(start_ns), ProcFile::open(pid, "io"))),
            pidfd: pidfd::open(pid),
        });
        watch.probe.rewire(edges);
        let window = watch.probe.sample(now_ns);
        if let (Some(window), Some((timeline, io))) = (window, &mut watch.timeline) {
            let mut buffer = [0; 512];
            timeline.add(
                now_ns,
                window,
                io.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?)),
            );
        }
    }

    pub(super) fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.watched.as_ref()?.pidfd.as_ref()?.as_fd())
    }

    /// Records its end.
    pub(super) fn end(&mut self, at_ns: u64, ended: Ended, cpu_ns: u64, usage: &Usage) {
        self.end_ns = at_ns;
        self.ended = ended;
        self.cpu_ns = cpu_ns;
        self.inclusive = accounting::cost_of(self.io, usage, at_ns.saturating_sub(self.start_ns));
        if let Some(watch) = self.watched.take() {
            self.sums = watch.probe.sums();
            self.timeline = watch.timeline.map(|(timeline, _)| timeline);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A process for tests: its parent, its command line, its pipes, and its own CPU time in milliseconds.
    pub fn member(parent: Option<usize>, line: &str, pipes: [u64; 2], cpu_ms: u64) -> FamilyProcess {
        let inode = |number: u64| (number > 0).then_some(number);
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        FamilyProcess {
            before_exec_ns: (!words.is_empty()).then_some(500_000),
            words,
            pipes: pipes.map(inode),
            end_ns: 100,
            cpu_ns: cpu_ms * 1_000_000,
            inclusive: Cost { user_ns: cpu_ms * 1_000_000, wall_ns: 100, ..Cost::zero() },
            ..FamilyProcess::new(7, parent, 0)
        }
    }
}
