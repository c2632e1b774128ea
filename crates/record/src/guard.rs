//! What `pelton guard` writes: the command, how it ended, and each time nothing moved.

use crate::diagnosis::Diagnosis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the meaning of these records. Within a version, fields are only added; a change of meaning
/// raises it.
pub const GUARD_VERSION: u32 = 1;

/// A command that ran under guard.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Guarded {
    /// [`GUARD_VERSION`] of the program that wrote this.
    pub guard_version: u32,
    /// Version of pelton that wrote this.
    pub pelton_version: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Its process id.
    pub pid: u32,
    /// When it started, milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// How long it has run.
    pub wall_ns: u64,
    /// How long nothing must move before that is reported.
    pub stall_ns: u64,
    /// The exit status of guard; `None` while the command runs.
    pub exit_status: Option<i32>,
    /// Why guard ended the command; `None` if it did not.
    pub ended_by: Option<StallKind>,
    /// The reports, in order.
    pub stalls: Vec<Stall>,
    /// CPU time that guard itself used.
    pub own_cpu_ns: u64,
}

/// One time that nothing moved, or the end of the time allowed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// What was noticed.
    pub kind: StallKind,
    /// When, since the start.
    pub at_ns: u64,
    /// How long nothing had moved, or how long it had polled.
    pub quiet_ns: u64,
    /// Number of processes of the command.
    pub processes: u32,
    /// Names of the commands that started in this time, if it polls.
    pub repeated: Vec<String>,
    /// Which process waits for which.
    pub diagnosis: Diagnosis,
    /// When something moved again, since the start; `None` if nothing did.
    pub moved_again_ns: Option<u64>,
}

/// What guard noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// Nothing moved.
    Still,
    /// Only the same small commands started again and again.
    Polling,
    /// The time allowed was up.
    Timeout,
}

/// A line of the file that `pelton guard --record` keeps: the last minutes, as JSON Lines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The first line: what is recorded.
    Start {
        /// [`GUARD_VERSION`] of the program that wrote this.
        guard_version: u32,
        /// The command and its arguments.
        command: Vec<String>,
        /// Its process id.
        pid: u32,
        /// When it started, milliseconds since the Unix epoch.
        started_unix_ms: u64,
    },
    /// What moved since the sample before. There is none for a time in which nothing did.
    Moved {
        /// When, milliseconds since the start.
        at_ms: u64,
        /// Time since the sample before, milliseconds.
        for_ms: u64,
        /// CPU time of all processes in it, microseconds.
        cpu_us: u64,
        /// Bytes that they read and wrote by system calls.
        bytes: u64,
        /// Names of the processes that started.
        started: Vec<String>,
        /// How many ended.
        ended: u32,
    },
    /// All processes there are, now and then.
    Processes {
        /// When, milliseconds since the start.
        at_ms: u64,
        /// Each of them.
        processes: Vec<RecordedProcess>,
    },
    /// A report.
    Stall(Box<Stall>),
    /// The last line, unless guard was killed.
    End {
        /// When, milliseconds since the start.
        at_ms: u64,
        /// The exit status of guard.
        exit_status: i32,
    },
}

/// A process in a record.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordedProcess {
    /// Its id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// Name of its program.
    pub name: String,
    /// CPU time so far, milliseconds.
    pub cpu_ms: u64,
    /// Bytes read so far.
    pub read_bytes: u64,
    /// Bytes written so far.
    pub written_bytes: u64,
}
