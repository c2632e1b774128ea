//! The threads of a stage or of a running program, and whether they take turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Threads, sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Threads {
    /// One row per thread that was seen, the busiest first.
    pub rows: Vec<Thread>,
    /// CPU time of all of them divided by the time they were watched.
    pub cores_used: f64,
    /// Rounds of samples.
    pub samples: u32,
    /// What was found if threads take turns; `None` if they do not, or if it cannot be told.
    pub turns: Option<Turns>,
    /// The same in words.
    pub verdict: String,
}

/// One thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its id.
    pub thread: u32,
    /// Its name, which need not be the program's.
    pub name: String,
    /// Time on a CPU while it was watched.
    pub cpu_ns: u64,
    /// Time ready without a CPU.
    pub cpu_wait_ns: u64,
    /// Times it gave up the CPU to wait, since it began; `None` if it ended unseen.
    pub voluntary_switches: Option<u64>,
    /// Times the CPU was taken from it.
    pub involuntary_switches: Option<u64>,
    /// Share of samples in which it waited for a lock or for another thread's message (a futex); 0 to 1.
    pub lock_share: f64,
    /// Samples taken of it.
    pub samples: u32,
}

/// Threads of which one runs at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// How many take turns.
    pub threads: u32,
    /// CPU time divided by wall time, while they did.
    pub cores_used: f64,
    /// Share of their samples in which they waited for a lock that another of them waits for too; 0 to 1.
    pub lock_share: f64,
    /// Whether the waits have a time-out, as those for an interpreter's global lock.
    pub is_interpreter_lock: bool,
}
