//! A program from the inside: every process that it starts, followed from fork to exit, and sampled while it
//! lives.
//!
//! `sys::follow` reports forks, execs and exits, with exact costs however short a process lives. `family`
//! collects the data of each `process`. From their `relations`, `shape` finds the pipelines among them,
//! `commands` sums by program, and `launches` by the line of a shell script that started them.

mod commands;
mod find_pipelines;
mod launches;
mod process;
mod process_tree;
mod relations;

pub use launches::{Launched, Launches, Started};
pub(crate) use process::FamilyProcess;
pub use process_tree::Family;
pub(crate) use relations::Relations;

/// From this many processes on, the cost of starting one is worth reporting.
pub const MANY_PROCESSES: u64 = 20;
