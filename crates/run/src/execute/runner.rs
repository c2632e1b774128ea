//! The state of the processes that run a text.

use super::execution::Execution;
use super::hold_others::HoldOthers;
use super::options::Profiled;
use super::options::{Observing, ShowLive};
use crate::progress::{self, ShowProgress};
use crate::rows::Account;
use pelton_observe::inside::Family;
use pelton_observe::probes::pipes::PipeProbe;
use pelton_observe::surroundings::Counters;
use pelton_observe::{Finished, Live, Pace, Watched};
use pelton_record::How;
use pelton_sys::follow::LinePlace;
use pelton_sys::signals::{self, Forwarded};
use pelton_sys::wait::{self, Ended};
use pelton_sys::{clock, cpu_waits, procfs};
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// Starts processes and waits for them.
pub(super) struct Runner {
    pub(super) observing: Observing,
    /// Whether there is only one pipeline.
    pub(super) only_one: bool,
    /// Forwards termination signals to the only command.
    pub(super) forwarded: Option<Forwarded>,
    pub(super) execution: Execution,
    pub(super) pace: Pace,
    pub(super) start_ns: u64,
    pub(super) own_cpu_at_start_ns: u64,
    /// Idle time of the whole machine.
    /// What happened around the text before its start, if observed.
    pub(super) counters: Option<Counters>,
    pub(super) idle_at_start_ns: Option<u64>,
    /// The callback for progress.
    pub(super) show: Option<ShowProgress>,
    /// Number of pipelines begun.
    pub(super) begun: usize,
    /// Input bytes of the current pipeline, if known and shown.
    pub(super) total_bytes: Option<u64>,
    pub(super) watch: Option<progress::Watch>,
    /// The pipes of the current pipeline, left to right.
    pub(super) pipes: Vec<PipeProbe>,
    pub(super) sampling_ns: u64,
    /// The only stage of the current pipeline with all it starts, if followed.
    pub(super) family: Option<Family>,
    /// The live display: its callback, its state, and its last time.
    pub(super) show_live: Option<ShowLive>,
    pub(super) live: Option<Live>,
    pub(super) shown_ns: u64,
    pub(super) lines: Option<LinePlace>,
    pub(super) profiled: Option<Profiled>,
    pub(super) hold_others: Option<HoldOthers>,
    /// Children that do not belong to the text: those of this process before it became pelton (`cmd & exec
    /// pelton …`), and those that count system calls.
    pub(super) had_before: Vec<u32>,
}

impl Runner {
    pub(super) fn new(observing: Observing) -> io::Result<Self> {
        signals::behave_as_a_shell();
        if observing.measures() {
            // Without it, only orphans are missed: not worth failing for.
            let _ = wait::become_subreaper();
            // A sampler that waits for a CPU misses the processes that have it.
            pelton_sys::cpu_waits::wake_soon();
            pelton_sys::limits::raise_descriptors();
        }
        let had_before = if observing.measures() { procfs::children(std::process::id()) } else { Vec::new() };
        let execution = Execution::default();
        Ok(Runner {
            observing,
            only_one: false,
            forwarded: None,
            execution,
            pace: Pace::begin(),
            start_ns: clock::now_ns(),
            own_cpu_at_start_ns: clock::own_cpu_ns(),
            counters: observing.measures().then(Counters::read),
            idle_at_start_ns: observing.measures().then(cpu_waits::idle_ns).flatten(),
            show: None,
            begun: 0,
            total_bytes: None,
            watch: None,
            pipes: Vec::new(),
            sampling_ns: 0,
            family: None,
            show_live: None,
            live: None,
            shown_ns: 0,
            lines: None,
            profiled: None,
            hold_others: None,
            had_before,
        })
    }

    /// Samples the stacks of these stages, if anything is measured.
    pub(super) fn profile(&mut self, profiled: Option<Profiled>) {
        self.profiled = profiled.filter(|_| self.observing.measures());
        if self.profiled.is_some() {
            self.pace = Pace::begin_close();
        }
    }
}

/// A started stage, or several in one worker.
pub(super) struct Started {
    pub(super) stages: Range<usize>,
    /// The pipe on which a worker reports the statuses of its stages.
    pub(super) statuses: Option<OwnedFd>,
    pub(super) pid: u32,
    pub(super) watched: Option<Watched>,
    pub(super) how: How,
    pub(super) program: Option<String>,
    /// The counters of a measured worker.
    pub(super) account: Option<Account>,
}

impl Started {
    /// Makes an unmeasured process.
    pub(super) fn unmeasured(pid: u32) -> Self {
        let (how, program) = (How::Process, None);
        Started { stages: 0..1, statuses: None, pid, watched: None, how, program, account: None }
    }
}

/// For the record: how a stage, or several in one worker, was started.
pub(super) struct Start {
    pub(super) stages: Range<usize>,
    pub(super) pid: u32,
    pub(super) how: How,
    pub(super) program: Option<String>,
    pub(super) account: Option<Account>,
}

/// A stage that has ended, measured or not.
pub(super) struct Ending {
    pub(super) ended: Ended,
    pub(super) finished: Option<Finished>,
}
