//! Experiments with threads and processes.

mod t1_turns;
mod t2_processes;

use super::Experiment;

/// All experiments of this group, in order.
pub const ALL: &[&Experiment] = &[&t1_turns::EXPERIMENT, &t2_processes::EXPERIMENT];
