//! The plan in words.

use crate::graph::{Decision, Planned, Segment, StageNote};
use serde::Serialize;

/// A plan as data: what [`Planned::explain`] says, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The stages.
    pub stages: Vec<StageNote>,
    /// How they run.
    pub segments: Vec<SegmentSummary>,
    /// What was decided.
    pub decisions: Vec<Decision>,
}

/// How some neighbouring stages run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentSummary {
    /// In one native pass, or as the real command.
    pub native: bool,
    /// The first of the stages.
    pub first_stage: usize,
    /// How many there are.
    pub stage_count: usize,
    /// The kernels of the pass. Empty for a process.
    pub nodes: Vec<NodeSummary>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeSummary {
    /// The first of the stages that it stands for.
    pub first_stage: usize,
    /// How many there are.
    pub stage_count: usize,
    /// What it is.
    pub label: String,
    /// It prints nothing before the end of its input.
    pub blocks_until_eof: bool,
}
