//! Snapshots of running pipelines.

use crate::process_tree::ProcessTree;
use crate::{Verdict, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of all watched pipelines, and their activity since the last snapshot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Nanoseconds since watching began.
    pub elapsed_ns: u64,
    /// Nanoseconds since the last snapshot: the window of all rates and shares.
    pub window_ns: u64,
    /// Pipelines, and processes outside of any pipeline; the busiest first.
    pub pipelines: Vec<LivePipeline>,
    /// Stages that ended since the last snapshot.
    pub ended: u32,
    /// Processes that could not be inspected (permission).
    pub hidden: u32,
    /// Number of cores.
    pub cores: u32,
    /// CPU time of all stages in the window, divided by the window.
    pub cores_used: f64,
    /// Sampling cost as a share of one core, on average since watching began.
    pub looking: f64,
}

/// A running pipeline.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct LivePipeline {
    /// Its stages, in the order of the data.
    pub stages: Vec<LiveStage>,
    /// The verdict for the last seconds; its bottleneck's pipeline is 0.
    pub verdict: Verdict,
}

/// A process between two pipes, with everything that it started.
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
    /// How its time in the window is split; `None` if unknown.
    pub now: Option<Waits>,
    /// The same for the last seconds.
    pub lately: Option<Waits>,
    /// Bytes read per second in the window; `None` if the kernel did not say.
    pub read_rate: Option<u64>,
    /// Bytes written per second in the window.
    pub write_rate: Option<u64>,
    /// Bytes written since watching began.
    pub written_bytes: Option<u64>,
    /// The pipe that it writes to.
    pub pipe: Option<LivePipe>,
    /// Its processes in the window, with the channels between them, if it has any.
    #[serde(default)]
    pub tree: Option<ProcessTree>,
}

/// The current state of a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LivePipe {
    /// Bytes in it: the average in the window.
    pub bytes: u64,
    /// Its capacity in bytes.
    pub capacity_bytes: Option<u64>,
    /// Share of the window in which it was full.
    pub full_share: f64,
    /// Share of the window in which it was empty.
    pub empty_share: f64,
}
