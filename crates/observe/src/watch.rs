//! One watched stage, from its gate to its end; and the sampling rate.

use crate::probes::accounting::Accounting;
use crate::probes::exact::ExactProbe;
use crate::probes::syscalls::SyscallProbe;
use crate::probes::threads::ThreadProbe;
use crate::probes::timeline::Timeline;
use crate::probes::waits::WaitProbe;
use crate::probes::{Gauges, PROBES};
use crate::profile::Profiler;
use crate::tree::Sampler;
use pelton_record::process_tree::ProcessTree;
use pelton_record::profile::Profile;
use pelton_record::syscalls::Syscalls;
use pelton_record::threads::Threads;
use pelton_record::{Cost, Waits};
use pelton_sys::clock;
use pelton_sys::spawn::Gate;
use pelton_sys::wait::{self, Ended};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub use crate::probes::waits::Edges;

/// A running stage that is watched.
pub struct Watched {
    pid: u32,
    pidfd: Option<OwnedFd>,
    accounting: Accounting,
    waits: WaitProbe,
    gauges: Gauges,
    threads: Option<ThreadProbe>,
    profiler: Option<Profiler>,
    syscalls: Option<SyscallProbe>,
    exact: Option<ExactProbe>,
    timeline: Option<Timeline>,
    tree: Option<Sampler>,
    start_ns: u64,
}

/// The results of a stage that has ended.
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Monotonic time of its start.
    pub start_ns: u64,
    /// Monotonic time at which its end was noticed.
    pub end_ns: u64,
    /// Its cost.
    pub cost: Cost,
    /// Its waits, if it lived long enough.
    pub waits: Option<Waits>,
    /// How long it was runnable without a CPU, if the system says.
    pub cpu_wait_ns: Option<u64>,
    /// Its threads, if they were watched.
    pub threads: Option<Threads>,
    /// Where its CPU time went, if its stacks were sampled.
    pub profile: Option<Profile>,
    /// Its system calls, if they were counted.
    pub syscalls: Option<Syscalls>,
    /// Its timeline, if kept.
    pub timeline: Option<Timeline>,
    /// Its processes and the channels between them, if it had children and nobody else follows them.
    pub tree: Option<ProcessTree>,
}

impl Watched {
    /// Does the same, and counts its system calls.
    pub fn start_traced(pid: u32, gate: Gate, edges: Edges) -> Self {
        let syscalls = Some(SyscallProbe::attach(pid));
        Watched { syscalls, ..Watched::start(pid, gate, edges) }
    }

    /// Does the same, and traces its waits.
    pub fn start_exact(pid: u32, gate: Gate, edges: Edges) -> Self {
        let exact = Some(ExactProbe::attach(pid, edges));
        Watched { exact, ..Watched::start(pid, gate, edges) }
    }

    /// Attaches to a child that waits at its gate, then opens the gate.
    pub fn start(pid: u32, gate: Gate, edges: Edges) -> Self {
        let accounting = Accounting::attach(pid);
        let pidfd = pelton_sys::pidfd::open(pid);
        let gauges = Gauges::attach(PROBES, pid);
        let waits = WaitProbe::attach(pid, edges, clock::now_ns());
        let start_ns = clock::now_ns();
        gate.open();
        Watched {
            pid,
            pidfd,
            accounting,
            waits,
            gauges,
            threads: None,
            profiler: None,
            syscalls: None,
            exact: None,
            timeline: None,
            tree: Some(Sampler::attach(pid, start_ns)),
            start_ns,
        }
    }

    /// Also watches its threads and those of its descendants.
    pub fn with_threads(self) -> Self {
        Watched { threads: Some(ThreadProbe::attach(self.pid, self.start_ns)), ..self }
    }

    /// Also samples its stacks and those of its descendants.
    pub fn with_profile(self) -> Self {
        Watched { profiler: Some(Profiler::attach(self.pid)), ..self }
    }

    /// Leaves its descendants to one that follows them.
    pub fn without_tree(self) -> Self {
        Watched { tree: None, ..self }
    }

    /// Keeps its timeline.
    pub fn with_timeline(self) -> Self {
        Watched { timeline: Some(Timeline::begin(self.start_ns)), ..self }
    }

    /// Returns its tracer, if any: a child of this process that belongs to no stage.
    pub fn tracer(&self) -> Option<u32> {
        let counting = self.syscalls.as_ref().and_then(SyscallProbe::tracer);
        counting.or_else(|| self.exact.as_ref().and_then(ExactProbe::tracer))
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns a descriptor that becomes readable when it ends; `None` if the kernel has no pidfd.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(|fd| fd.as_fd())
    }

    /// Takes one sample of its state, in a round that began so late.
    pub fn sample(&mut self, late_ns: u64) {
        let now_ns = clock::now_ns();
        let window = self.waits.sample(now_ns);
        self.gauges.sample();
        if let (Some(timeline), Some(window)) = (&mut self.timeline, window) {
            timeline.add(now_ns, window, self.accounting.last_io());
        }
        if let Some(threads) = &mut self.threads {
            threads.sample(now_ns);
        }
        if let Some(tree) = &mut self.tree {
            tree.sample(now_ns, None);
        }
        if let Some(profiler) = &mut self.profiler {
            profiler.sample(now_ns, late_ns);
        }
    }

    /// Reads the last counters of the ended stage and reaps it.
    pub fn finish(self) -> io::Result<Finished> {
        let end_ns = clock::now_ns();
        let wall_ns = end_ns - self.start_ns;
        let io = self.accounting.last_io();
        let fit = self.waits.finish(wall_ns);
        let figures = self.gauges.finish();
        let (ended, usage) = wait::reap(self.pid)?;
        let cost = Cost { figures, ..self.accounting.cost(io, &usage, wall_ns) };
        let exact = fit.and_then(|fit| self.exact?.waits(&fit, cost.cpu_ns()));
        let waits = exact.or_else(|| self.waits.waits(&fit?, cost.cpu_ns()));
        let cpu_wait_ns = fit.map(|fit| fit.cpu_wait_ns());
        let threads = self.threads.map(|probe| probe.finish(end_ns, pelton_sys::machine::cores()));
        let profile = self.profiler.map(|profiler| profiler.finish(cost.cpu_ns()));
        let syscalls = self.syscalls.and_then(|probe| probe.finish());
        let tree = self.tree.and_then(Sampler::finish).map(|sampled| sampled.tree());
        let (start_ns, timeline) = (self.start_ns, self.timeline);
        Ok(Finished {
            ended,
            start_ns,
            end_ns,
            cost,
            waits,
            cpu_wait_ns,
            threads,
            profile,
            syscalls,
            timeline,
            tree,
        })
    }
}

/// When to sample: every 5 ms in the first half second, so that short runs give results too, then every 20
/// ms, which costs under 0.1% of a core per stage. For a profile every 5 ms to the end, at irregular times.
pub struct Pace {
    is_close: bool,
    start_ns: u64,
    next_ns: u64,
    rounds: u32,
}

const QUICK_NS: u64 = 5_000_000;
const CALM_NS: u64 = 20_000_000;
const QUICK_FOR_NS: u64 = 500_000_000;
/// Intervals differ by up to this: at equal ones, processes that take turns in step with them would be found in the
/// same state each time.
const SPREAD_NS: u64 = 8_000_000;

/// Returns a number below [`SPREAD_NS`] that looks random.
fn scattered(now_ns: u64) -> u64 {
    (now_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % SPREAD_NS
}

impl Pace {
    /// Starts now.
    pub fn begin() -> Self {
        let now_ns = clock::now_ns();
        Pace { is_close: false, start_ns: now_ns, next_ns: now_ns + QUICK_NS, rounds: 0 }
    }

    /// Does the same, for a profile.
    pub fn begin_close() -> Self {
        Pace { is_close: true, ..Pace::begin() }
    }

    /// Returns the time until the next round is due.
    pub fn until_next(&self) -> Duration {
        Duration::from_nanos(self.next_ns.saturating_sub(clock::now_ns()))
    }

    /// Returns for how long a round has been due.
    pub fn late_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.next_ns)
    }

    /// Whether a round is due.
    pub fn is_due(&self) -> bool {
        clock::now_ns() >= self.next_ns
    }

    /// Counts a round, and schedules the next one. Missed rounds are not made up for.
    pub fn tick(&mut self) {
        self.rounds += 1;
        let now_ns = clock::now_ns();
        self.next_ns = now_ns
            + match () {
                () if self.is_close => QUICK_NS - SPREAD_NS / 4 + scattered(now_ns) / 2,
                () if now_ns - self.start_ns < QUICK_FOR_NS => QUICK_NS,
                () => CALM_NS - SPREAD_NS / 2 + scattered(now_ns),
            };
    }

    /// Returns the number of rounds so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}
