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
