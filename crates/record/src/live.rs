//! What runs now: a look at pipelines that go on.

use crate::{Verdict, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was seen since the last one.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Nanoseconds since watching began.
    pub elapsed_ns: u64,
    /// Nanoseconds since the last snapshot: what rates and shares refer to.
    pub window_ns: u64,
    /// Pipelines, and processes that are in none; those that have most to do first.
    pub pipelines: Vec<LivePipeline>,
    /// Stages that have ended meanwhile.
    pub ended: u32,
    /// Processes that may not be looked into.
    pub hidden: u32,
    /// Cores there are.
    pub cores: u32,
    /// CPU time of all stages in the window, divided by it.
    pub cores_used: f64,
    /// Share of a core that looking takes, on average since it began.
    pub looking: f64,
}

/// A pipeline that runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LivePipeline {
    /// Its stages, in the order of the data.
    pub stages: Vec<LiveStage>,
    /// The answer for the last seconds; its bottleneck's pipeline is 0.
    pub verdict: Verdict,
}

/// A process and what it started, between two pipes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LiveStage {
    /// Its process id.
    pub pid: u32,
    /// Short name.
    pub name: String,
    /// Its command line.
    pub text: String,
    /// CPU time in the window; more than the window if it has several threads or processes.
    pub cpu_ns: u64,
    /// What it did in the window; `None` if that is not to be seen.
    pub now: Option<Waits>,
    /// The same of the last seconds.
    pub lately: Option<Waits>,
    /// Bytes read a second in the window; `None` if the kernel would not say.
    pub read_rate: Option<u64>,
    /// Bytes written a second.
    pub write_rate: Option<u64>,
    /// Bytes written since watching began.
    pub written_bytes: Option<u64>,
    /// The pipe behind it.
    pub pipe: Option<LivePipe>,
}

/// A pipe now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LivePipe {
    /// Bytes in it, on average in the window.
    pub bytes: u64,
    /// What it holds at most.
    pub capacity_bytes: Option<u64>,
    /// Share of the window in which it was full, and empty.
    pub full_share: f64,
    /// Share of it in which it was empty.
    pub empty_share: f64,
}
