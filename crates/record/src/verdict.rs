//! The answer to 'which stage should I look at?'.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run's figures mean, for a program (`bottleneck`) and in words (the rest).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The stage that sets the pace; `None` if the run was too short to tell, or nobody stands out.
    pub bottleneck: Option<Bottleneck>,
    /// One sentence: which stage, and how busy it was; or why there is no answer.
    pub headline: String,
    /// One sentence per neighbour: what it waited for.
    pub neighbours: Vec<String>,
    /// CPU time of the run divided by its wall time.
    pub cores_used: f64,
    /// Cores it could have used.
    pub cores: u32,
    /// One thing worth trying, if there is one.
    pub advice: Option<String>,
}

/// The stage that sets the pace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bottleneck {
    /// Index into `Run::pipelines`.
    pub pipeline: usize,
    /// Index into that pipeline's stages.
    pub stage: usize,
    /// What it spends its time on.
    pub kind: BottleneckKind,
    /// Share of the pipeline's wall time in which it, and not a neighbour, held things up; 0 to 1.
    pub share: f64,
}

/// What the bottleneck spends its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BottleneckKind {
    /// It computes: CPU-bound.
    Cpu,
    /// It could compute, but others have the CPUs.
    WaitsForCpu,
    /// It waits for something outside the pipeline: disk, network, terminal, timer, lock, child.
    WaitsElsewhere,
}
