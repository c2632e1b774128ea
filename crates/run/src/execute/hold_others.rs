//! Slows all stages of a pipeline but one, as if that one were faster.
//!
//! For each millisecond of CPU time that the stage uses, all others are stopped for a share of a millisecond. Seen from
//! them, the stage does its work in less time; the sum of the stops is subtracted from the total afterwards. That is what
//! Coz (Curtsinger and Berger, SOSP 2015) does to the threads of one program. Pipes are as large as they may be: while the
//! others are stopped, the stage goes on with what is in them.

use pelton_sys::signals::{CONT, Requests, STOP, die_by};
use pelton_sys::{clock, pidfd, procfs};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Which stage becomes faster in effect, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoldOthers {
    /// Index of the stage.
    pub stage: usize,
    /// The share of its time that it is to save: 0.5 makes it twice as fast.
    pub share: f64,
}

/// The size of the pipes meanwhile.
pub(super) const PIPE_BYTES: usize = 1 << 20;
/// The shortest stop.
const STOP_NS: u64 = 1_000_000;
/// The interval between two looks at the stage's CPU time.
const LOOK: Duration = Duration::from_micros(300);

/// A thread that stops and continues the others.
pub(super) struct Holding {
    over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Holding {
    /// Starts. `pids` are those of all stages; `None` if the stage is not among them.
    pub(super) fn start(hold: HoldOthers, pids: &[u32]) -> Option<Self> {
        let own = *pids.get(hold.stage)?;
        let others: Vec<(u32, OwnedFd)> = pids
            .iter()
            .filter(|pid| **pid != own)
            .filter_map(|pid| Some((*pid, pidfd::open(*pid)?)))
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || hold_until(&is_over, own, hold.share, &others));
        Some(Holding { over, thread })
    }

    /// Ends, and returns for how long the others were stopped.
    pub(super) fn finish(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(0)
    }
}

fn hold_until(over: &AtomicBool, own: u32, share: f64, others: &[(u32, OwnedFd)]) -> u64 {
    // Nobody stays stopped if this process is asked to end. The caller itself watches for interrupts.
    let requests = Requests::watch().ok();
    let mut held_ns = 0;
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        // Without it, the stage has ended.
        let Some(used_ns) = clock::process_cpu_ns(own) else { break };
        let due_ns = ((used_ns as f64 * share) as u64).saturating_sub(held_ns);
        if due_ns >= STOP_NS {
            held_ns += stop_for(due_ns, others);
        }
        if let Some(signal) = requests.as_ref().and_then(|requests| requests.taken().first().copied()) {
            die_by(signal);
        }
    }
    held_ns
}

/// Stops the others with all their descendants, and returns for how long.
fn stop_for(ns: u64, others: &[(u32, OwnedFd)]) -> u64 {
    let start_ns = clock::now_ns();
    let descendants: Vec<OwnedFd> = others.iter().flat_map(|(pid, _)| descendants(*pid)).collect();
    let all = || others.iter().map(|(_, process)| process).chain(&descendants);
    all().for_each(|process| pidfd::send(process.as_fd(), STOP));
    std::thread::sleep(Duration::from_nanos(ns));
    all().for_each(|process| pidfd::send(process.as_fd(), CONT));
    clock::now_ns() - start_ns
}

fn descendants(pid: u32) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    for child in procfs::children(pid) {
        // Still a child once its descriptor is open: the number is no other process's.
        let Some(process) = pidfd::open(child).filter(|_| procfs::children(pid).contains(&child)) else {
            continue;
        };
        found.push(process);
        found.extend(descendants(child));
    }
    found
}
