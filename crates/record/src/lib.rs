//! Plain, versioned data that pelton outputs: what was run, what it cost, what it waited for.
//!
//! Everything pelton measures becomes one [`Run`]; every format (table, JSON, CSV, Markdown, POSIX) shows
//! that same record. This crate depends on no other crate of the workspace and holds only data: it is the
//! contract between the crates, and with readers of `--format json`. Within a [`RECORD_VERSION`], fields are
//! only added; a change of meaning raises it.
//!
//! Names end with their unit: `_ns` nanoseconds, `_bytes` bytes, `_ms` milliseconds. `None` means *unknown*
//! (access denied, not supported by this kernel), never zero.

mod arrivals;
mod buffered;
mod comparison;
mod cost;
pub mod diagnosis;
pub mod guard;
pub mod history;
pub mod inside;
mod lines;
pub mod live;
mod pass;
mod pipes;
pub mod process_tree;
pub mod profile;
mod span;
pub mod surroundings;
pub mod syscalls;
pub mod threads;
mod timeline;
mod typed;
mod verdict;
mod waits;
mod what_if;

pub use arrivals::{Arrivals, Batch};
pub use buffered::{Buffered, BufferedStream};
pub use comparison::{
    Change, Comparison, Direction, Growth, GrowthPoint, Judgement, JudgementKind, Outputs, Timing,
};
pub use cost::{Cost, Unmaintained};
pub use diagnosis::Diagnosis;
pub use guard::Guarded;
pub use lines::{Line, Lines};
pub use pass::Pass;
pub use pipes::{PipeFill, PipeUse};
pub use span::Span;
pub use timeline::Slice;
pub use typed::{quoted, typed, typed_command_line};
pub use verdict::{Bottleneck, BottleneckKind, Verdict};
pub use waits::{Elsewhere, Exact, Waits};
pub use what_if::{Prediction, Split, StageWhatIf, WhatIf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the meaning of a record; see the crate's documentation.
pub const RECORD_VERSION: u32 = 1;

/// One measured execution of a shell text (or, with [`Run::repeats`], the medians of several).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// [`RECORD_VERSION`] of the program that wrote this.
    pub record_version: u32,
    /// Version of pelton that wrote this.
    pub pelton_version: String,
    /// The shell text as given, or the command's words joined by blanks if it was given as words.
    pub text: String,
    /// The shell that judged it, and that ran what pelton did not run itself.
    pub shell: String,
    /// Wall-clock start, milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Where it ran.
    pub machine: Machine,
    /// The pipelines in the order in which they ran. A pipeline skipped by `&&` or `||` is absent.
    pub pipelines: Vec<Pipeline>,
    /// Wall time from the start of the first stage to the end of the last one.
    pub wall_ns: u64,
    /// The sum of all rows and of [`Run::left_behind`]; its `wall_ns` is the run's.
    pub total: Cost,
    /// What the shell would return.
    pub exit_status: i32,
    /// Descendants that outlived their stage.
    pub left_behind: LeftBehind,
    /// What measuring cost.
    pub observer: Observer,
    /// The answer in words.
    pub verdict: Verdict,
    /// Things the reader should know: what ran inside the shell and why, what could not be read.
    pub notes: Vec<String>,
    /// Present with `--runs N`: the raw values behind the medians shown elsewhere in this record.
    pub repeats: Option<Repeats>,
    /// When lines came out of the first stage and out of the last, if that was asked for (`pelton time --arrivals`).
    #[serde(default)]
    pub arrivals: Option<Arrivals>,
    /// What each line of a script cost, if a script was run.
    #[serde(default)]
    pub lines: Option<Lines>,
    /// What the longest pipeline would take with faster stages, if that was asked for (`pelton time --what-if`).
    #[serde(default)]
    pub what_if: Option<WhatIf>,
    /// What the machine and the cgroup did to it.
    #[serde(default)]
    pub surroundings: Option<surroundings::Surroundings>,
    /// The runs that are kept under a name, if that was asked for (`pelton time --history`).
    #[serde(default)]
    pub history: Option<history::History>,
    /// The limits that were set (`pelton time --budget`).
    #[serde(default)]
    pub budgets: Vec<history::Budget>,
    /// Of a line that was typed in an interactive shell (`pelton last`): when it was first sampled, nanoseconds after its
    /// start. Its rows are the programs that were seen, each with the kernel's accounts of its whole life as of its last
    /// sample; `total` has the CPU time of all that the shell reaped.
    #[serde(default)]
    pub sampled_from_ns: Option<u64>,
}

impl Default for Run {
    /// Returns the record of a text of which nothing ran.
    fn default() -> Self {
        Run {
            record_version: RECORD_VERSION,
            pelton_version: env!("CARGO_PKG_VERSION").to_owned(),
            text: String::new(),
            shell: String::new(),
            started_unix_ms: 0,
            machine: Machine::default(),
            pipelines: Vec::new(),
            wall_ns: 0,
            total: Cost::zero(),
            exit_status: 0,
            left_behind: LeftBehind::default(),
            observer: Observer::default(),
            verdict: Verdict::default(),
            notes: Vec::new(),
            repeats: None,
            arrivals: None,
            lines: None,
            what_if: None,
            surroundings: None,
            history: None,
            budgets: Vec::new(),
            sampled_from_ns: None,
        }
    }
}

/// The machine a run was made on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel name and release, e.g. `Linux 6.1.0`.
    pub kernel: String,
    /// Hardware architecture, e.g. `x86_64`.
    pub arch: String,
    /// Processor model as the kernel names it, if it does.
    pub cpu: Option<String>,
    /// Cores this process may run on (affinity mask), at least 1.
    pub cores: u32,
    /// The locale that decides the order of sorting (`LC_ALL`, `LC_COLLATE` or `LANG`), `C` if none is set.
    pub collation: String,
}

/// One pipeline of the text: one or more stages joined by pipes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pipeline {
    /// Source text.
    pub text: String,
    /// Where it stands in [`Run::text`].
    pub span: Span,
    /// Start, nanoseconds after the run's start.
    pub start_ns: u64,
    /// From its first stage's start to its last stage's end.
    pub wall_ns: u64,
    /// Its status as the shell's `$?` (after `!` and pipefail); -1 if unknown (`pelton last`).
    pub exit_status: i32,
    /// Its rows, left to right: a row is a stage, or several that a rule of `pelton run` made one.
    pub stages: Vec<Stage>,
    /// The processes in which pelton ran several rows natively. Empty unless it did (`pelton run --stats`).
    #[serde(default)]
    pub passes: Vec<Pass>,
    /// The pipes between its processes, left to right, as far as they were seen.
    #[serde(default)]
    pub pipes: Vec<PipeUse>,
}

/// One stage: a command between two pipes, with everything it started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Source text of the stage.
    pub text: String,
    /// A short name for tables: the command's base name, or `{…}`, `(…)`, `while` and the like.
    pub name: String,
    /// Where it stands in [`Run::text`].
    pub span: Span,
    /// Path of the program, where pelton started it itself.
    pub program: Option<String>,
    /// Who ran it.
    pub how: How,
    /// Process id it had.
    pub pid: u32,
    /// Start, nanoseconds after the run's start.
    pub start_ns: u64,
    /// How it ended.
    pub end: End,
    /// What it cost, its reaped descendants included.
    pub cost: Cost,
    /// Of a sort: the bytes that it wrote to temporary files and read again, as far as that shows. Its `read_bytes` and
    /// `written_bytes` do not hold them.
    #[serde(default)]
    pub temporary_bytes: Option<u64>,
    /// What it did with its wall time, if it lived long enough to be sampled. Of a native row, measured: it waits for
    /// input while the kernels before it work, and for room while those after it do.
    pub waits: Option<Waits>,
    /// Its threads and those of what it started, if they were asked for (`pelton time --threads`).
    #[serde(default)]
    pub threads: Option<threads::Threads>,
    /// Where its CPU time went, if that was asked for (`pelton time --inside`).
    #[serde(default)]
    pub profile: Option<profile::Profile>,
    /// Its system calls, if they were asked for (`pelton time --syscalls`) and may be traced.
    #[serde(default)]
    pub syscalls: Option<syscalls::Syscalls>,
    /// What it started, if it was followed: the only row of a run is.
    #[serde(default)]
    pub inside: Option<inside::Inside>,
    /// Its process and its descendants as a tree, with the channels between them, if it had any.
    #[serde(default)]
    pub tree: Option<process_tree::ProcessTree>,
    /// What it did in the course of time, if that was asked for (`--timeline`, `--trace`, `--html`).
    #[serde(default)]
    pub timeline: Option<Vec<Slice>>,
    /// True if its standard input is the pipe from the stage before it.
    pub reads_previous: bool,
    /// True if its standard output is the pipe to the stage after it.
    pub feeds_next: bool,
    /// How many stages of the text this row stands for: 1, or more if a rule of `pelton run` made them one.
    #[serde(default = "one")]
    pub stands_for: u32,
    /// True if it is a loop of the shell whose text starts processes in its rounds.
    #[serde(default)]
    pub starts_processes: bool,
}

fn one() -> u32 {
    1
}

/// Who ran a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum How {
    /// pelton started the program itself.
    Process,
    /// A builtin without effects (`true`, `false`, `:`) done by pelton's own child process.
    Builtin,
    /// The user's shell ran it.
    Shell {
        /// Why: what pelton does not model in it.
        reason: String,
    },
    /// A kernel of pelton's did its work, in one process with its neighbours. Its cost has its share of that process's
    /// time and the bytes that went through it; all other counters are in [`Pipeline::passes`].
    Native {
        /// Index into [`Pipeline::passes`].
        pass: usize,
        /// The rewrites that made this row what it is, by the names that `--without` takes.
        rules: Vec<String>,
        /// What it is, if rewrites made it: 'sort the distinct lines'.
        label: Option<String>,
        /// Whether data came that the kernel would not judge, so that the real command took over.
        handed_over: bool,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed {
        /// Signal number.
        signal: i32,
        /// Signal name, e.g. `SIGPIPE`.
        name: String,
        /// Whether it dumped core.
        core: bool,
    },
    /// Not known, and why: another program reaped it (`pelton last`).
    Unknown(String),
}

impl End {
    /// Returns the status that a shell reports: the exit code, or 128 plus the signal's number; -1 if it is unknown.
    pub fn status(&self) -> i32 {
        match self {
            End::Unknown(_) => -1,
            End::Exited(code) => *code,
            End::Killed { signal, .. } => 128 + signal,
        }
    }
}

/// Processes that a stage started and did not wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LeftBehind {
    /// Cost of those that had ended when the run ended.
    pub cost: Cost,
    /// How many had ended.
    pub ended: u32,
    /// How many were still running; their later cost is in no figure.
    pub running: u32,
}

/// What measuring cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Observer {
    /// pelton's own CPU time (user and system) from the first stage's start to the last one's end.
    pub cpu_ns: u64,
    /// Rounds of samples taken.
    pub rounds: u32,
    /// The part of `cpu_ns` that these rounds took.
    #[serde(default)]
    pub sampling_ns: u64,
    /// Cores that no program used meanwhile, on average over the run, in ticks of 10 ms; `None` if the kernel did not say.
    #[serde(default)]
    pub idle_cores: Option<f64>,
}

/// Raw values of repeated runs; index = run. All lists have the same length.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Repeats {
    /// Runs that were measured.
    pub runs: u32,
    /// Runs before them whose figures were dropped.
    pub warmup: u32,
    /// Wall time of each run.
    pub wall_ns: Vec<u64>,
    /// User time of each run.
    pub user_ns: Vec<u64>,
    /// System time of each run.
    pub sys_ns: Vec<u64>,
    /// Exit status of each run.
    pub exit_status: Vec<i32>,
    /// The same per stage, in the order of the rows.
    pub stages: Vec<StageRepeats>,
}

/// Raw values of one stage over repeated runs; index = run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StageRepeats {
    /// Wall time of each run.
    pub wall_ns: Vec<u64>,
    /// User time of each run.
    pub user_ns: Vec<u64>,
    /// System time of each run.
    pub sys_ns: Vec<u64>,
}
