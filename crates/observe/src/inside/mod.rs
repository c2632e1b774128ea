//! A program from the inside: every process that it starts, followed from fork to exit, and sampled while it lives.
//!
//! Forks, execs and exits are told by `sys::follow`, with exact costs however short a process lives. `family` keeps what is
//! known of each process, `shape` finds the pipelines among them, `commands` adds them up by program,
//! `launches` by the line of a shell's text that started them.

mod commands;
mod family;
mod launches;
mod shape;

pub use family::Family;
pub use launches::{Launched, Launches, Started};

/// From so many processes on, what it costs to start one is worth knowing.
pub const MANY_PROCESSES: u64 = 20;
