//! How a stage spent its time, over the course of the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stretch of a stage's life. Parts and bytes are those of this stretch alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slice {
    /// Begin, nanoseconds after the run's start.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
    /// On a CPU.
    pub running_ns: u64,
    /// Ready to run, but no CPU was free.
    pub cpu_wait_ns: u64,
    /// Waiting for input from the stage before it.
    pub starved_ns: u64,
    /// Waiting for room in the pipe to the stage after it.
    pub backpressured_ns: u64,
    /// Waiting for anything else.
    pub other_ns: u64,
    /// Bytes that it read; `None` if the kernel would not say.
    pub read_bytes: Option<u64>,
    /// Bytes that it wrote.
    pub written_bytes: Option<u64>,
}
