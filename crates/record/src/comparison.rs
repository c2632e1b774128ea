//! The results of comparing two shell texts, or of running one text on inputs of several sizes.

use crate::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two shell texts, run in turns. [`Comparison::results`] has the fields of hyperfine's `--export-json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`RECORD_VERSION`](crate::RECORD_VERSION) of the program that wrote this.
    pub record_version: u32,
    /// BEFORE, then AFTER.
    pub results: Vec<Timing>,
    /// The overall result.
    pub judgement: Judgement,
    /// The change of real time.
    pub real: Change,
    /// The change of user+sys time.
    pub cpu: Change,
    /// Whether both texts produce the same output.
    pub outputs: Outputs,
    /// Medians of BEFORE, stage by stage, and the raw values.
    pub before: Run,
    /// Medians of AFTER, stage by stage, and the raw values.
    pub after: Run,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// The times of one shell text, named as hyperfine names them, all in seconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The shell text.
    pub command: String,
    /// Mean of the real times.
    pub mean: f64,
    /// Standard deviation of the real times (of a sample); `None` for a single run.
    pub stddev: Option<f64>,
    /// Median of the real times.
    pub median: f64,
    /// Mean user time.
    pub user: f64,
    /// Mean system time.
    pub system: f64,
    /// The shortest real time.
    pub min: f64,
    /// The longest real time.
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
    /// Median of after / before over the pairs of runs.
    pub ratio: f64,
    /// Lower end of the interval for the true median ratio, at [`Change::confidence`].
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The probability, from 0 to 1, that the interval from low to high covers the true median ratio.
    pub confidence: f64,
    /// The conclusion.
    pub direction: Direction,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less than before, by more than chance and the threshold.
    Fell,
    /// No measurable difference.
    Same,
    /// More than before, by more than chance and the threshold.
    Rose,
}

/// Whether two texts produce the same output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "are")]
pub enum Outputs {
    /// The same bytes on standard output, the same lines on standard error, the same exit status.
    Same {
        /// Bytes printed.
        bytes: u64,
        /// How many files both wrote in the working directory, with the same contents; `null` if that was not compared: there
        /// are too many files.
        #[serde(default)]
        files: Option<u64>,
        /// Files there that are not the same after each run of one of the texts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unsteady_files: Vec<String>,
    },
    /// They differ.
    Different {
        /// The difference in words.
        how: String,
    },
    /// The output of BEFORE differs from run to run, so a comparison is impossible.
    Unsteady,
    /// The user asked for no comparison.
    NotCompared,
}

/// The result of a comparison, by requirement P2's rule: a change helped if real time fell, or if user+sys
/// fell while real stayed the same.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The result in one word.
    pub kind: JudgementKind,
    /// The result in a sentence.
    pub headline: String,
}

/// The result of a comparison in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementKind {
    /// Real time fell, or user+sys fell while real stayed the same.
    Helped,
    /// No measurable difference.
    NoDifference,
    /// Real time rose, or user+sys rose while real stayed the same.
    Worse,
    /// The outputs differ.
    NotTheSame,
}

/// How the cost of a shell text grows with its input.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// The shell text.
    pub command: String,
    /// One point per size, the smallest (an empty input) first.
    pub points: Vec<GrowthPoint>,
    /// The cost above that of an empty input grows as size to this power; `None` if the cost is too small to
    /// tell.
    pub exponent: Option<f64>,
    /// The result in a sentence.
    pub headline: String,
}

/// Median costs for one input size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GrowthPoint {
    /// Size of standard input.
    pub bytes: u64,
    /// Real time.
    pub real_ns: u64,
    /// User and system time.
    pub cpu_ns: u64,
}
