//! The result of two snapshots of all processes.

use super::world::World;
use std::collections::{BTreeMap, BTreeSet};

/// The result of two snapshots.
pub struct Seen {
    pub world: World,
    /// This process, and those that only wait for its output.
    pub own: BTreeSet<u32>,
    /// Processes that can never continue.
    pub dead: BTreeSet<u32>,
    /// CPU time between the snapshots, nanoseconds.
    pub cpu_ns: BTreeMap<u32, u64>,
    pub between_ns: u64,
}

impl Seen {
    /// Returns the share of a CPU that `pid` used between the snapshots.
    pub fn cpu_share(&self, pid: u32) -> Option<f64> {
        Some(*self.cpu_ns.get(&pid)? as f64 / self.between_ns.max(1) as f64)
    }
}
