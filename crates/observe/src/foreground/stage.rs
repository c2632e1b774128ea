//! One stage of a line: a child of the shell, observed from some time after its start.

use crate::live::called;
use crate::probes::pipes::PipeProbe;
use crate::probes::timeline::Timeline;
use crate::probes::waits::{Edges, WaitProbe};
use crate::wiring;
use pelton_record::{Cost, End, How, Span, Stage};
use pelton_sys::accounts::{AccountFiles, Accounts};
use pelton_sys::processes::{self, Stat};
use pelton_sys::{clock, pidfd, pipe, procfs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The resolution of start times.
pub const TICK_NS: u64 = 10_000_000;
/// Number of intervals kept of a stage: fewer than of a run, as many lines are kept.
const STRETCHES: usize = 100;
/// How long after its start a process may still become another program.
const EXEC_NS: u64 = 1_000_000_000;

/// A stage that is observed.
pub struct LateStage {
    pid: u32,
    start_ticks: u64,
    start_ns: u64,
    name: String,
    text: String,
    pipes: [Option<u64>; 2],
    pidfd: Option<OwnedFd>,
    files: AccountFiles,
    waits: WaitProbe,
    pipe: Option<PipeProbe>,
    timeline: Timeline,
    cost: Cost,
    end_ns: Option<u64>,
}

impl LateStage {
    /// Opens the files of a process; `None` if it is gone.
    pub fn join(pid: u32, stat: &Stat, now_ns: u64) -> Option<Self> {
        let files = AccountFiles::open(pid)?;
        let (name, text) = called(pid)?;
        let pipes = [0, 1].map(|fd| procfs::pipe_behind(pid, fd));
        let edges = Edges { upstream: pipes[wiring::IN], downstream: pipes[wiring::OUT] };
        Some(LateStage {
            pid,
            start_ticks: stat.start_ticks,
            start_ns: monotonic_start_ns(stat.start_ticks),
            name,
            text,
            pipes,
            pidfd: pidfd::open(pid),
            files,
            waits: WaitProbe::join(pid, edges, now_ns),
            pipe: edges.downstream.map(|inode| PipeProbe::new(inode, now_ns)),
            timeline: Timeline::begin_with(STRETCHES, now_ns),
            cost: Cost { read_bytes: None, ..Cost::default() },
            end_ns: None,
        })
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the name of its program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what orders stages by their start.
    pub fn started(&self) -> (u64, u32) {
        (self.start_ticks, self.pid)
    }

    /// Returns the pipes behind its standard input and output.
    pub fn pipes(&self) -> [Option<u64>; 2] {
        self.pipes
    }

    /// Returns the observed fill of the pipe behind its standard output.
    pub fn pipe(&self) -> Option<&PipeProbe> {
        self.pipe.as_ref()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.end_ns.is_some()
    }

    /// Whether it had begun before this time.
    pub fn is_older_than(&self, line_start_ns: u64) -> bool {
        self.start_ns + 2 * TICK_NS < line_start_ns
    }

    /// Returns a descriptor that is readable when it ends; `None` if it has.
    pub fn end(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().filter(|_| !self.has_ended()).map(|fd| fd.as_fd())
    }

    /// Takes a sample, with all accounts if they are due or it has just ended.
    pub fn sample(&mut self, now_ns: u64, reads_accounts: bool) {
        if self.has_ended() {
            return;
        }
        self.notice_end(now_ns);
        let window = if self.has_ended() { None } else { self.waits.sample(now_ns) };
        let Some(window) = window else {
            self.end_ns = self.end_ns.or(Some(now_ns));
            return;
        };
        self.timeline.add(now_ns, window, self.files.io());
        if let (Some(pipe), Some(pidfd)) = (&mut self.pipe, &self.pidfd) {
            pipe.sample(now_ns, Some(pidfd.as_fd()), None);
        }
        if reads_accounts {
            self.read_accounts();
            if now_ns < self.start_ns + EXEC_NS
                && let Some((name, text)) = called(self.pid)
            {
                (self.name, self.text) = (name, text);
            }
        }
    }

    /// Reads the last accounts if it has ended: the shell may not have reaped it yet.
    pub fn notice_end(&mut self, now_ns: u64) {
        if self.end().is_some_and(|end| pipe::is_readable_within(end, Duration::ZERO)) {
            self.read_accounts();
            self.end_ns = Some(now_ns);
        }
    }

    /// Reads the accounts of the process and of its descendants that still run.
    fn read_accounts(&mut self) {
        let Some(own) = self.files.read() else { return };
        let mut cost = cost_of(&own);
        for pid in self.waits.descendants() {
            if let Some(accounts) = AccountFiles::open(pid).and_then(|files| files.read()) {
                cost.add(&cost_of(&accounts));
            }
        }
        // A zombie has no memory.
        cost.peak_rss_bytes = cost.peak_rss_bytes.max(self.cost.peak_rss_bytes);
        self.cost = cost;
    }

    /// Returns its row. Times are relative to the line's start.
    pub fn finish(self, line_start_ns: u64, now_ns: u64) -> Stage {
        let start_ns = self.start_ns.max(line_start_ns);
        let wall_ns = self.end_ns.unwrap_or(now_ns).saturating_sub(start_ns);
        let cost = Cost { wall_ns, ..self.cost };
        let waits = self.waits.late_waits(wall_ns, cost.cpu_ns());
        Stage {
            text: self.text,
            name: self.name,
            span: Span::default(),
            program: None,
            how: How::Process,
            pid: self.pid,
            start_ns: start_ns - line_start_ns,
            end: unknown_end(),
            cost,
            waits,
            threads: None,
            profile: None,
            syscalls: None,
            inside: None,
            tree: None,
            timeline: Some(self.timeline.finish(line_start_ns)),
            temporary_bytes: None,
            reads_previous: false,
            feeds_next: false,
            stands_for: 1,
            starts_processes: false,
        }
    }
}

/// Returns how a stage ended whose status the shell did not tell.
pub fn unknown_end() -> End {
    End::Unknown("the shell reaped it".to_owned())
}

/// Returns when a process started, by the monotonic clock.
pub fn monotonic_start_ns(start_ticks: u64) -> u64 {
    let since_boot_ns = start_ticks * (1_000_000_000 / processes::ticks_per_second().max(1));
    let age_ns = clock::since_boot_ns().saturating_sub(since_boot_ns);
    clock::now_ns().saturating_sub(age_ns)
}

fn cost_of(accounts: &Accounts) -> Cost {
    // In units of 512 bytes, as getrusage(2) counts them.
    let [inputs, outputs] = accounts.device_bytes.map_or([0, 0], |bytes| bytes.map(|bytes| bytes >> 9));
    Cost {
        user_ns: accounts.user_ns,
        sys_ns: accounts.sys_ns,
        peak_rss_bytes: accounts.peak_rss_bytes.unwrap_or(0),
        read_bytes: accounts.io.map(|io| io.read_bytes),
        written_bytes: accounts.io.map(|io| io.written_bytes),
        read_calls: accounts.io.map(|io| io.read_calls),
        write_calls: accounts.io.map(|io| io.write_calls),
        minor_faults: accounts.minor_faults,
        major_faults: accounts.major_faults,
        block_inputs: inputs,
        block_outputs: outputs,
        voluntary_switches: accounts.switches[0],
        involuntary_switches: accounts.switches[1],
        ..Cost::default()
    }
}
