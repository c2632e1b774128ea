//! What the machine and the cgroup of a run did to it: limits that were used up, and stalls that were no stage's doing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened around a run, from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// The CPU limit of its cgroup, or of one around that, which held it back most; `None` without a limit.
    pub cpu_limit: Option<CpuLimit>,
    /// How long processes of the whole machine stalled; `None` if the kernel does not count it.
    pub pressure: Option<Pressure>,
    /// The disks that were used, the busiest first.
    pub disks: Vec<Disk>,
}

/// A limit of CPU time: so much in each period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLimit {
    /// CPU time per wall time.
    pub cores: f64,
    /// Periods in which the cgroup had something to do.
    pub periods: u64,
    /// Of these, periods in which the limit was used up before the end.
    pub throttled_periods: u64,
    /// For how long its CPUs stood still then, summed over CPUs.
    pub throttled_ns: u64,
}

impl CpuLimit {
    /// Returns the share of the periods in which the limit was used up.
    pub fn throttled_share(&self) -> f64 {
        self.throttled_periods as f64 / self.periods.max(1) as f64
    }
}

/// For how long at least one process of the machine stalled (pressure stall information).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pressure {
    /// For a CPU.
    pub cpu_ns: u64,
    /// For memory that had to be reclaimed or read back first.
    pub memory_ns: u64,
    /// For a disk.
    pub io_ns: u64,
}

/// What a disk did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Its name in /dev.
    pub name: String,
    /// For how long it had requests.
    pub busy_ns: u64,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
}
