//! Native passes: neighbouring stages of a pipeline that ran in one pelton process.

use crate::{Cost, How, Pipeline, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// One process of pelton's that ran neighbouring rows natively, each block going through all of them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pass {
    /// Index of its first row in [`Pipeline::stages`].
    pub first: usize,
    /// Index of its last row.
    pub last: usize,
    /// Process id it had.
    pub pid: u32,
    /// What the process cost, and the real commands that took over from it, if any did. The user and system time of
    /// its rows add up to this; their other counters are its own, since no single row can be charged with them.
    pub cost: Cost,
    /// What it did with its wall time: measured around every read and write, not sampled.
    pub waits: Option<Waits>,
}

impl Pass {
    /// Returns the indices of its rows in [`Pipeline::stages`].
    pub fn rows(&self) -> RangeInclusive<usize> {
        self.first..=self.last
    }
}

impl Pipeline {
    /// Returns the pass that this row ran in, if it ran natively.
    pub fn pass_of(&self, row: usize) -> Option<&Pass> {
        match &self.stages.get(row)?.how {
            How::Native { pass, .. } => self.passes.get(*pass),
            _ => None,
        }
    }

    /// Returns the costs that add up to the pipeline's: every process once, whether it ran a row or a pass.
    pub fn costs(&self) -> impl Iterator<Item = &Cost> {
        let rows = self.stages.iter().filter(|stage| !matches!(stage.how, How::Native { .. }));
        rows.map(|stage| &stage.cost).chain(self.passes.iter().map(|pass| &pass.cost))
    }

    /// Returns the numbers, from 1, of the stages of the text that this row stands for.
    pub fn numbers(&self, row: usize) -> RangeInclusive<usize> {
        let stands_for =
            |row: usize| self.stages.get(row).map_or(1, |stage| stage.stands_for.max(1) as usize);
        let first = 1 + (0..row).map(stands_for).sum::<usize>();
        first..=first + stands_for(row) - 1
    }

    /// Returns the number of stages of its text.
    pub fn count(&self) -> usize {
        self.stages.last().map_or(0, |_| *self.numbers(self.stages.len() - 1).end())
    }

    /// Returns the number of processes that ran it.
    pub fn processes(&self) -> usize {
        self.costs().count()
    }
}
