//! One watched stage, from its gate to its end; and the pace at which samples are taken.

use crate::probes::accounting::Accounting;
use crate::probes::waits::WaitProbe;
use pelton_record::{Cost, Waits};
use pelton_sys::clock;
use pelton_sys::spawn::Gate;
use pelton_sys::wait::{self, Ended};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub use crate::probes::waits::Edges;

/// A stage that runs and is being watched.
pub struct Watched {
    pid: u32,
    pidfd: Option<OwnedFd>,
    accounting: Accounting,
    waits: WaitProbe,
    start_ns: u64,
}

/// What is known of a stage once it has ended.
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Monotonic time of its start.
    pub start_ns: u64,
    /// Monotonic time of its end, as noticed.
    pub end_ns: u64,
    /// What it cost.
    pub cost: Cost,
    /// What it waited for, if it lived long enough to tell.
    pub waits: Option<Waits>,
}

impl Watched {
    /// Attaches to a child that waits at its gate, then opens the gate.
    pub fn start(pid: u32, gate: Gate, edges: Edges) -> Self {
        let accounting = Accounting::attach(pid);
        let pidfd = pelton_sys::spawn::pidfd(pid);
        let waits = WaitProbe::attach(pid, edges, clock::now_ns());
        let start_ns = clock::now_ns();
        gate.open();
        Watched { pid, pidfd, accounting, waits, start_ns }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Becomes readable when it ends; `None` where the kernel has no pidfd.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(|fd| fd.as_fd())
    }

    /// Takes one sample of its state.
    pub fn sample(&mut self) {
        self.waits.sample(clock::now_ns());
    }

    /// Reads the last figures of the ended stage and reaps it.
    pub fn finish(self) -> io::Result<Finished> {
        let end_ns = clock::now_ns();
        let wall_ns = end_ns - self.start_ns;
        let io = self.accounting.last_io();
        let fit = self.waits.finish(wall_ns);
        let (ended, usage) = wait::reap(self.pid)?;
        let cost = self.accounting.cost(io, &usage, wall_ns);
        let waits = fit.and_then(|fit| self.waits.waits(&fit, cost.cpu_ns()));
        Ok(Finished { ended, start_ns: self.start_ns, end_ns, cost, waits })
    }
}

/// When to sample: every 5 ms in the first half second, so that short runs say something too, then every 20 ms,
/// which costs under 0.1% of a core per stage.
pub struct Pace {
    start_ns: u64,
    rounds: u32,
}

impl Pace {
    /// Starts now.
    pub fn begin() -> Self {
        Pace { start_ns: clock::now_ns(), rounds: 0 }
    }

    /// How long to wait until the next round.
    pub fn pause(&self) -> Duration {
        let quick = clock::now_ns() - self.start_ns < 500_000_000;
        Duration::from_millis(if quick { 5 } else { 20 })
    }

    /// Counts a round.
    pub fn tick(&mut self) {
        self.rounds += 1;
    }

    /// Rounds so far.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}
