//! The system calls of a stage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All system calls that a stage made, with all it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Syscalls {
    /// How they were counted: `ptrace`.
    pub means: String,
    /// One row per call by name, the one that took longest first.
    pub rows: Vec<Syscall>,
}

/// One system call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Syscall {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name; its number if the name is not known.
    pub name: String,
    /// How often it was made. One that does not return (exit_group) is not counted.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time from its beginning to its end, waiting and the tracing itself included.
    pub time_ns: u64,
    /// Bytes it moved; `None` of a call that moves none.
    pub bytes: Option<u64>,
}

impl Syscalls {
    /// Returns the number of calls of all kinds.
    pub fn calls(&self) -> u64 {
        self.rows.iter().map(|row| row.calls).sum()
    }
}
