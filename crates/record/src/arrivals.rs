//! When lines came out of the first stage and of the last stage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The two ends of a pipeline, line by line (`pelton time --arrivals`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrivals {
    /// What the first stage wrote.
    pub generated: Vec<Batch>,
    /// What the last stage wrote.
    pub arrived: Vec<Batch>,
}

/// Lines whose ends came at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// When, nanoseconds after the run's start.
    pub at_ns: u64,
    /// How many.
    pub lines: u64,
}

impl Arrivals {
    /// Returns the number of lines.
    pub fn count(batches: &[Batch]) -> u64 {
        batches.iter().map(|batch| batch.lines).sum()
    }

    /// Returns the time at which line `number`, counted from 1, came.
    pub fn at(batches: &[Batch], number: u64) -> Option<u64> {
        let mut seen = 0;
        let batch = batches.iter().find(|batch| {
            seen += batch.lines;
            seen >= number
        });
        batch.map(|batch| batch.at_ns)
    }
}
