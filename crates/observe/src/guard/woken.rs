//! Whether something outside could wake processes that wait for one another.

use pelton_record::diagnosis::{Finding, What};
use pelton_sys::{processes, procfs};

/// ALRM, USR1, USR2, VTALRM, PROF and IO: signals that timers and other processes send, as bits of a mask.
const WAKING: u64 = 1 << 13 | 1 << 9 | 1 << 11 | 1 << 25 | 1 << 26 | 1 << 28;
/// CHLD, as a bit of a mask.
const CHILD: u64 = 1 << 16;

/// What could wake processes that wait for one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A signal that a timer, a child or another process may send to this process, which handles it.
    Signal(u32),
    /// Anyone who opens this FIFO.
    Fifo(String),
}

/// Returns what could make the processes of a finding go on after all, if anything. A timer of alarm(2) or setitimer(2)
/// whose signal is not handled, and so ends the process, is not to be seen.
pub fn waker(finding: &Finding) -> Option<Waker> {
    let pids: Vec<u32> = finding.waits.iter().map(|wait| wait.pid).collect();
    let has_other_child =
        |pid: u32| procfs::children_of_all_threads(pid).iter().any(|child| !pids.contains(child));
    let handles = |pid: u32| {
        let caught = caught_signals(pid);
        caught & WAKING != 0 || caught & CHILD != 0 && has_other_child(pid)
    };
    finding.waits.iter().find_map(|wait| {
        let is_channel = matches!(wait.what, What::Data | What::Room | What::Opener);
        let fifo = wait.object.as_ref().filter(|object| is_channel && object.starts_with('/'));
        let signal = || handles(wait.pid).then_some(Waker::Signal(wait.pid));
        fifo.cloned().map(Waker::Fifo).or_else(signal)
    })
}

/// Returns the mask of the signals for which a process has a handler; all if that cannot be read.
fn caught_signals(pid: u32) -> u64 {
    let status = processes::file(pid, "status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX)
}
