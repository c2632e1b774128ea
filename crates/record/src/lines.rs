//! What each line of a script cost.

use crate::Cost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a script cost, pipeline by pipeline, over all the times that each of them ran.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// The dearest first.
    pub rows: Vec<Line>,
    /// CPU time of the shell itself, with forks of it that only branch, expand or read: no row has it.
    pub shell_cpu_ns: u64,
    /// CPU time of all.
    pub cpu_ns: u64,
}

/// A pipeline of the script, or a command by itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The line that it begins in, from 1; `None` if it stands nowhere in this text, as in a file that this one reads in.
    pub line: Option<u32>,
    /// As it is written; if it stands nowhere, what it ran.
    pub text: String,
    /// How often it ran.
    pub runs: u64,
    /// What it cost in all, with everything that it started. Its wall time is the sum of its runs.
    pub cost: Cost,
    /// CPU time without what other rows have that ran in it.
    pub own_cpu_ns: u64,
}
