//! Finds deadlocks: processes that can never go on, and that have not run for a while.

use crate::doctor::confirm_deadlock;
use crate::doctor::liveness::{dead_processes, dead_threads};
use crate::doctor::world::World;
use pelton_record::diagnosis::Finding;
use std::collections::BTreeMap;

/// How long they must stand still before all processes of the machine are looked at.
const PATIENCE_NS: u64 = 500_000_000;

/// The threads that appear dead, and since when.
#[derive(Default)]
pub struct Stillness {
    /// Their evidence: unchanged if they have not run.
    threads: BTreeMap<(u32, u32), String>,
    since_ns: u64,
    /// Whether these threads were looked at more closely, and whether that confirmed it.
    asked: bool,
    confirmed: bool,
    last: Option<Finding>,
    lasted_ns: u64,
}

impl Stillness {
    /// Looks at a sample.
    pub fn look(&mut self, world: &World, now_ns: u64) {
        let threads = dead(world);
        if threads != self.threads {
            (self.threads, self.since_ns) = (threads, now_ns);
            (self.asked, self.confirmed) = (false, false);
        }
        let still_ns = now_ns - self.since_ns;
        if !self.threads.is_empty() && !self.asked && still_ns >= PATIENCE_NS {
            self.asked = true;
            if let Some(finding) = confirm_deadlock(&self.threads) {
                (self.confirmed, self.last) = (true, Some(finding));
            }
        }
        if self.confirmed {
            self.lasted_ns = still_ns;
        }
    }

    /// Returns the last confirmed deadlock.
    pub fn last(&self) -> Option<&Finding> {
        self.last.as_ref()
    }

    /// Returns the deadlock that the processes are in now.
    pub fn current(&self) -> Option<&Finding> {
        self.last().filter(|_| self.confirmed)
    }

    /// Returns how long the last confirmed deadlock lasted.
    pub fn lasted(&self) -> u64 {
        self.lasted_ns
    }
}

/// Returns the threads of dead processes, with their evidence.
fn dead(world: &World) -> BTreeMap<(u32, u32), String> {
    let threads = dead_threads(world);
    let dead = dead_processes(world, &threads);
    let tasks =
        |pid: u32| world.processes.get(&pid).map(|process| process.tasks.as_slice()).unwrap_or_default();
    dead.into_iter()
        .flat_map(|pid| tasks(pid).iter().map(move |task| ((pid, task.thread), task.evidence.clone())))
        .collect()
}
