//! Finds deadlocks: processes that can never go on, and that have not run for a while.

use crate::doctor::confirm_deadlock;
use crate::doctor::liveness::{dead_processes, dead_threads};
use crate::doctor::world::World;
use pelton_record::process_tree::Deadlock;
use std::collections::BTreeMap;

/// How long they must stand still before all processes of the machine are looked at.
const PATIENCE_NS: u64 = 500_000_000;

/// The threads that appear dead, and since when.
#[derive(Default)]
pub struct Stillness {
    /// Their evidence: unchanged if they have not run.
    threads: BTreeMap<(u32, u32), String>,
    since_ns: u64,
    last_ns: u64,
    asked: bool,
    confirmed: bool,
    lasted_ns: u64,
}

impl Stillness {
    /// Looks at a sample; returns a deadlock once it is confirmed.
    pub fn look(&mut self, world: &World, now_ns: u64) -> Option<Deadlock> {
        let threads = dead(world);
        if threads != self.threads || threads.is_empty() {
            *self =
                Stillness { threads, since_ns: now_ns, lasted_ns: self.lasted_ns, ..Stillness::default() };
            return None;
        }
        self.last_ns = now_ns;
        if self.confirmed {
            self.lasted_ns = now_ns - self.since_ns;
        }
        if self.asked || now_ns - self.since_ns < PATIENCE_NS {
            return None;
        }
        self.asked = true;
        let finding = confirm_deadlock(&self.threads)?;
        self.confirmed = true;
        self.lasted_ns = now_ns - self.since_ns;
        Some(Deadlock { lasted_ns: self.lasted_ns, finding })
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
