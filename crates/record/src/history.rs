//! The runs of a named pipeline over weeks (`pelton time --history`), and limits for its figures (`--budget`).

use crate::{Machine, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The runs kept under one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The name.
    pub name: String,
    /// The oldest first; the last one is the run of this record.
    pub runs: Vec<KeptRun>,
    /// How the last run compares with those before.
    pub verdict: String,
}

/// The figures that are kept of a run, or the medians of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeptRun {
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// The shell text.
    pub text: String,
    /// Host name.
    pub host: String,
    /// Processor model, if known.
    pub cpu: Option<String>,
    /// Cores that it could use.
    pub cores: u32,
    /// Wall time.
    pub wall_ns: u64,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub sys_ns: u64,
    /// Largest resident set of any process.
    pub peak_rss_bytes: u64,
    /// The pipeline's status.
    pub exit_status: i32,
}

impl KeptRun {
    /// Keeps the figures of a record.
    pub fn of(run: &Run) -> Self {
        let Machine { host, cpu, cores, .. } = run.machine.clone();
        KeptRun {
            started_unix_ms: run.started_unix_ms,
            text: run.text.clone(),
            host,
            cpu,
            cores,
            wall_ns: run.wall_ns,
            user_ns: run.total.user_ns,
            sys_ns: run.total.sys_ns,
            peak_rss_bytes: run.total.peak_rss_bytes,
            exit_status: run.exit_status,
        }
    }

    /// Returns user plus system time.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.sys_ns)
    }

    /// Returns when it ended, milliseconds since the Unix epoch.
    pub fn ended_unix_ms(&self) -> u64 {
        self.started_unix_ms.saturating_add(self.wall_ns / 1_000_000)
    }

    /// Whether it can be compared with another: it is of the same text on the same machine, and succeeded.
    pub fn is_like(&self, other: &KeptRun) -> bool {
        let what = |run: &KeptRun| (run.text.clone(), run.host.clone(), run.cpu.clone(), run.cores);
        what(self) == what(other) && self.exit_status == 0
    }
}

/// A limit for a figure, and what the run used of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The figure that is limited.
    pub figure: BudgetFigure,
    /// The limit, in nanoseconds or bytes; `None` if it is relative to runs of which there are too few.
    pub limit: Option<u64>,
    /// What the run used.
    pub used: u64,
    /// By how much it may exceed the median of the runs before, 0.2 for 20%; `None` for a fixed limit.
    pub over_median: Option<f64>,
    /// Whether it used more.
    pub is_exceeded: bool,
}

/// A figure that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetFigure {
    /// Wall time.
    Real,
    /// User plus system time.
    Cpu,
    /// Largest resident set.
    Mem,
}

impl BudgetFigure {
    /// Returns the figure of a run.
    pub fn of(self, run: &KeptRun) -> u64 {
        match self {
            BudgetFigure::Real => run.wall_ns,
            BudgetFigure::Cpu => run.cpu_ns(),
            BudgetFigure::Mem => run.peak_rss_bytes,
        }
    }
}
