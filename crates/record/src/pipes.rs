//! How full the pipes between stages were.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pipe between two neighbouring rows. Full means that its reader is slower, empty that its writer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipeUse {
    /// Index of the row that writes to it.
    pub writer: usize,
    /// Index of the row that reads from it.
    pub reader: usize,
    /// What it holds at most, in bytes. It can be full with less: it counts pages, not bytes.
    pub capacity_bytes: Option<u64>,
    /// Bytes in it, on average over time.
    pub mean_bytes: u64,
    /// Share of the time in which it had no room for a writer.
    pub full_share: f64,
    /// Share of the time in which there was nothing in it.
    pub empty_share: f64,
    /// How often it was looked at.
    pub samples: u32,
    /// The same in the course of time: at most 128 stretches of it.
    pub over_time: Vec<PipeFill>,
}

/// A pipe in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipeFill {
    /// Begin, nanoseconds after the run's start.
    pub start_ns: u64,
    /// Length.
    pub length_ns: u64,
    /// Bytes in it, on average.
    pub bytes: u64,
    /// Share of the stretch in which it was full.
    pub full_share: f64,
}
