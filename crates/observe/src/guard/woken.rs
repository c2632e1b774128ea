//! Whether something outside could wake processes that wait for one another.

use pelton_record::diagnosis::Finding;
use pelton_sys::{processes, procfs};

/// ALRM, USR1, USR2, VTALRM, PROF and IO: signals that timers and other processes send, as bits of a mask.
const WAKING: u64 = 1 << 13 | 1 << 9 | 1 << 11 | 1 << 25 | 1 << 26 | 1 << 28;
/// CHLD, as a bit of a mask.
const CHILD: u64 = 1 << 16;

/// Whether the processes of a finding could go on after all: one handles a signal that a timer, a child or another
/// process may send, or waits at a FIFO, which anyone may open.
pub fn may_be_woken(finding: &Finding) -> bool {
    let pids: Vec<u32> = finding.waits.iter().map(|wait| wait.pid).collect();
    let has_other_child =
        |pid: u32| procfs::children_of_all_threads(pid).iter().any(|child| !pids.contains(child));
    let handles = |pid: u32| {
        let caught = caught_signals(pid);
        caught & WAKING != 0 || caught & CHILD != 0 && has_other_child(pid)
    };
    let is_named = |object: &String| object.starts_with('/');
    finding.waits.iter().any(|wait| handles(wait.pid) || wait.object.as_ref().is_some_and(is_named))
}

/// Returns the mask of the signals for which a process has a handler; all if that cannot be read.
fn caught_signals(pid: u32) -> u64 {
    let status = processes::file(pid, "status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX)
}
