//! What comes of comparing two texts, or of giving one text inputs of several sizes.

use crate::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two texts, measured in turns. [`Comparison::results`] is what hyperfine's `--export-json` has, for its scripts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`RECORD_VERSION`](crate::RECORD_VERSION) of the program that wrote this.
    pub record_version: u32,
    /// BEFORE, then AFTER.
    pub results: Vec<Timing>,
    /// What the comparison came to.
    pub judgement: Judgement,
    /// How real changed.
    pub real: Change,
    /// How user+sys changed.
    pub cpu: Change,
    /// Whether both print the same.
    pub outputs: Outputs,
    /// Medians of BEFORE, stage by stage, and the raw values.
    pub before: Run,
    /// The same of AFTER.
    pub after: Run,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One text's times in hyperfine's terms, all in seconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The text.
    pub command: String,
    /// Mean of the real times.
    pub mean: f64,
    /// Their standard deviation (of a sample); `None` for a single run.
    pub stddev: Option<f64>,
    /// Their median.
    pub median: f64,
    /// Mean user time.
    pub user: f64,
    /// Mean system time.
    pub system: f64,
    /// The shortest real time.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The real time of each run.
    pub times: Vec<f64>,
    /// The exit status of each run.
    pub exit_codes: Vec<i32>,
}

/// How one figure changed from BEFORE to AFTER.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Median before.
    pub before_ns: u64,
    /// Median after.
    pub after_ns: u64,
    /// Median over the pairs of runs of after / before.
    pub ratio: f64,
    /// The true median ratio is at least this, with [`Change::confidence`].
    pub low: f64,
    /// And at most this.
    pub high: f64,
    /// The probability, from 0 to 1, that the interval from low to high covers the true median ratio.
    pub confidence: f64,
    /// What is to be said of it.
    pub direction: Direction,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less than before, by more than chance and the threshold.
    Fell,
    /// No difference that could be told.
    Same,
    /// More than before.
    Rose,
}

/// Whether two texts did the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "are")]
pub enum Outputs {
    /// The same bytes on standard output, the same lines on standard error, the same exit status.
    Same {
        /// Bytes printed.
        bytes: u64,
    },
    /// They differ.
    Different {
        /// In what.
        how: String,
    },
    /// BEFORE does not do the same twice, so nothing can be said.
    Unsteady,
    /// They were not compared, as the user wished.
    NotCompared,
}

/// What a comparison came to, by requirement P2's rule: a change helped if real fell, or if user+sys fell at the same real.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// In a word.
    pub kind: JudgementKind,
    /// In words.
    pub headline: String,
}

/// A judgement in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementKind {
    /// Real fell, or user+sys did at the same real.
    Helped,
    /// Nothing that could be told.
    NoDifference,
    /// Real rose, or user+sys did at the same real.
    Worse,
    /// They do not print the same.
    NotTheSame,
}

/// How a text's cost grows with its input.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// The text.
    pub command: String,
    /// One for each size, the smallest (an empty input) first.
    pub points: Vec<GrowthPoint>,
    /// The cost beyond that of an empty input grows as size to this power; `None` if it is too little to tell.
    pub exponent: Option<f64>,
    /// In words.
    pub headline: String,
}

/// What one size of input cost: medians.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrowthPoint {
    /// Size of standard input.
    pub bytes: u64,
    /// Real time.
    pub real_ns: u64,
    /// User and system time.
    pub cpu_ns: u64,
}
