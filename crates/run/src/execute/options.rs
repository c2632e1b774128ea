//! How a text is run, and what is measured.

use pelton_plan::Switches;
use pelton_record::live::Snapshot;
use pelton_sys::follow::LinePlace;

use super::hold_others::HoldOthers;
use crate::progress::ShowProgress;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observing {
    /// Only run.
    No,
    /// Accounts for every stage, and samples what it waits for.
    Yes,
    /// As `Yes`, and follows all processes started by a single stage. Of several stages, it records the activity over time,
    /// for the verdict.
    Inside,
    /// As `Inside`, and records each stage's activity over time.
    Timeline,
    /// As `Yes`, and watches the threads of each stage.
    Threads,
    /// As `Yes`, and counts the system calls of each stage, which slows it down.
    Syscalls,
    /// As `Yes`, but traces what each stage waits for, which slows it down.
    Exact,
}

impl Observing {
    /// Whether the only stage of a text is followed.
    pub fn follows(self) -> bool {
        matches!(self, Observing::Inside | Observing::Timeline)
    }

    /// Whether anything is measured.
    pub fn measures(self) -> bool {
        self != Observing::No
    }
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to measure.
    pub observing: Observing,
    /// The enabled rules and kernels; `None` if every command runs unchanged.
    pub native: Option<Switches>,
    /// The callback for progress, if not measured.
    pub progress: Option<ShowProgress>,
    /// The callback for the live display, if measured.
    pub live: Option<ShowLive>,
    /// Whether this process may become the worker of a text that is one native pass: for calls from a shell,
    /// where signals are not sent to this process alone. It saves a fork.
    pub in_place: bool,
    /// Where the shell that runs the whole text keeps its line number, if processes are reported by line.
    pub lines: Option<LinePlace>,
    /// The stages whose stacks are sampled, if observed. A single stage is not followed then: it has one tracer.
    pub profiled: Option<Profiled>,
    /// The stage to make faster in effect, by slowing all others, if observed.
    pub hold_others: Option<HoldOthers>,
}

impl Options {
    /// Runs every command unchanged, measured.
    pub const FAITHFULLY: Options = Options {
        observing: Observing::Yes,
        native: None,
        progress: None,
        live: None,
        in_place: false,
        lines: None,
        profiled: None,
        hold_others: None,
    };
}

/// Stages whose stacks are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiled {
    /// All of them.
    All,
    /// The one at this place in its pipeline, from 0.
    Stage(usize),
}

impl Profiled {
    /// Whether the stage at this place is one of them.
    pub fn includes(self, stage: usize) -> bool {
        match self {
            Profiled::All => true,
            Profiled::Stage(one) => one == stage,
        }
    }
}

/// Shows a snapshot; `None` once a pipeline has ended.
pub type ShowLive = fn(Option<&Snapshot>);
