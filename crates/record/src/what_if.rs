//! What a pipeline would take if one of its stages were faster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predictions for one pipeline of a run (`pelton time --what-if`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// Index into `Run::pipelines`.
    pub pipeline: usize,
    /// Wall time of that pipeline as measured.
    pub measured_ns: u64,
    /// Its wall time in the model, with nothing changed; `None` if no model could be made.
    pub modelled_ns: Option<u64>,
    /// The share of that time in the model for which stages waited because other programs had the cores.
    pub other_load_share: f64,
    /// Why nothing is predicted, if nothing is.
    pub reason: Option<String>,
    /// A row for each stage, left to right. Empty if nothing is predicted.
    pub stages: Vec<StageWhatIf>,
    /// The time under `pelton run`, if it is sure that all stages run natively, at known costs. Often it takes less.
    pub native: Option<Prediction>,
    /// One sentence: the stage in which most is gained, or why nothing is predicted.
    pub headline: String,
}

/// What the pipeline would take if this stage were changed, and no other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageWhatIf {
    /// Index into the pipeline's stages.
    pub stage: usize,
    /// If its work took no time.
    pub free: Prediction,
    /// If its work took half of the time.
    pub twice_as_fast: Prediction,
    /// If several processes shared its input; `None` unless it treats each line by itself, or on a single core.
    pub split: Option<Split>,
    /// If the pipe after it held 1 MiB; `None` for the last stage, and where it does so already.
    pub larger_pipe: Option<Prediction>,
    /// If its work took half of the time, measured by slowing down all others (`--what-if=measure`).
    #[serde(default)]
    pub measured_twice_as_fast: Option<Prediction>,
}

/// A stage shared by several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// How many processes.
    pub processes: u32,
    /// What the pipeline would take.
    pub prediction: Prediction,
}

/// A wall time of the whole pipeline, with the range in which it is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The most probable time.
    pub total_ns: u64,
    /// The lower end of the range.
    pub low_ns: u64,
    /// The upper end of the range.
    pub high_ns: u64,
}
