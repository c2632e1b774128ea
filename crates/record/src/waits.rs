//! How a stage spent its wall time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a stage did with its life. The first five parts add up to the stage's wall time.
///
/// Running and waiting for a CPU come from the kernel's scheduler accounting; the split of the rest is sampled, or exact if
/// every system call was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// On a CPU.
    pub running_ns: u64,
    /// Ready to run, but no CPU was free.
    pub cpu_wait_ns: u64,
    /// Starved: waiting for input from the stage before it.
    pub starved_ns: u64,
    /// Back-pressured: waiting for room in the pipe to the stage after it.
    pub backpressured_ns: u64,
    /// Waiting for anything else: disk, network, a terminal, a lock, a timer, a child.
    pub other_ns: u64,
    /// Samples behind the split of the blocked time; 0 if it was measured.
    pub samples: u32,
    /// What `other_ns` went to.
    #[serde(default)]
    pub elsewhere: Elsewhere,
    /// How far starved and back-pressured may be off, either way, with 95% confidence; `None` if they were measured.
    #[serde(default)]
    pub margin_ns: Option<u64>,
    /// How the split is known exactly, if it is (`pelton time --exact`).
    #[serde(default)]
    pub exact: Option<Exact>,
}

/// How waits are known exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exact {
    /// By what: `ptrace`.
    pub means: String,
    /// System calls that were seen to begin and to end. Each was slowed down by that.
    pub calls: u64,
}

/// Waits outside the pipeline. What is missing to [`Waits::other_ns`] is waiting for a child or a signal, or was not to be
/// seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// Other input and output: disk, network, a terminal, a pipe that is none of the pipeline's.
    pub io_ns: u64,
    /// A lock: a futex (another thread of its own, too) or a file's.
    pub lock_ns: u64,
    /// Asleep: a time that has to pass.
    pub asleep_ns: u64,
    /// Held by pelton, which traced it (`pelton time --exact`): without that, it would have run.
    #[serde(default)]
    pub held_ns: u64,
}

impl Elsewhere {
    /// Returns the sum of all parts.
    pub fn known_ns(&self) -> u64 {
        self.io_ns + self.lock_ns + self.asleep_ns + self.held_ns
    }
}

impl Exact {
    fn with(self, other: &Exact) -> Exact {
        Exact { calls: self.calls + other.calls, ..self }
    }
}

impl Waits {
    /// Adds the waits of another process. The margin and the exactness stay known only if both are known.
    pub fn add(&mut self, other: &Waits) {
        self.running_ns += other.running_ns;
        self.cpu_wait_ns += other.cpu_wait_ns;
        self.starved_ns += other.starved_ns;
        self.backpressured_ns += other.backpressured_ns;
        self.other_ns += other.other_ns;
        self.samples += other.samples;
        self.elsewhere.io_ns += other.elsewhere.io_ns;
        self.elsewhere.lock_ns += other.elsewhere.lock_ns;
        self.elsewhere.asleep_ns += other.elsewhere.asleep_ns;
        self.elsewhere.held_ns += other.elsewhere.held_ns;
        self.margin_ns = self.margin_ns.zip(other.margin_ns).map(|(one, other)| one + other);
        self.exact = self.exact.take().zip(other.exact.as_ref()).map(|(one, other)| one.with(other));
    }

    /// Returns the time on the critical path: running, runnable, or blocked on something outside the
    /// pipeline. The stage with the largest value sets the pace.
    pub fn own_ns(&self) -> u64 {
        self.running_ns + self.cpu_wait_ns + self.other_ns
    }

    /// Returns the sum of all parts.
    pub fn whole_ns(&self) -> u64 {
        self.own_ns() + self.starved_ns + self.backpressured_ns
    }
}
