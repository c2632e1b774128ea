//! Finds what sets the pace among processes that are not deadlocked.

use super::buffered;
use super::dead::{open_other_side, read_only};
use super::seen::Seen;
use super::words::{name, names};
use super::world::{Cause, Process, Wait};
use pelton_record::diagnosis::{Health, Kind};
use std::collections::BTreeSet;

/// A process that used this share of a CPU between two snapshots is running, whatever its state in them.
const BUSY: f64 = 0.5;

/// A conclusion about processes that wait for one another, or about a single one.
pub struct Conclusion {
    pub health: Health,
    pub kind: Kind,
    pub headline: String,
    /// The process that sets the pace.
    pub root_cause: u32,
    pub cure: Option<String>,
}

/// Returns a process's most informative wait: that of its least idle thread. `None` if it has ended.
pub fn telling(process: &Process) -> Option<&Wait> {
    process.tasks.iter().map(|task| &task.wait).min_by_key(|wait| rank(&wait.cause))
}

fn rank(cause: &Cause) -> u8 {
    match cause {
        Cause::Running => 0,
        Cause::Disk => 1,
        Cause::Room => 2,
        Cause::Data => 3,
        Cause::Lock | Cause::Opener { .. } => 4,
        Cause::Child => 5,
        Cause::Any(_) => 6,
        Cause::Terminal => 7,
        Cause::Traced | Cause::Stopped => 8,
        Cause::Outside(_) => 9,
        Cause::Signal => 10,
        Cause::Timer => 11,
        Cause::Thread => 12,
        Cause::Unknown(_) => 13,
    }
}

/// Whether `pid` only waits for children, one of which is in `members`: then the children are reported.
pub fn only_waits_for_children(seen: &Seen, pid: u32, members: &BTreeSet<u32>) -> bool {
    let Some(process) = seen.world.processes.get(&pid) else { return false };
    let waits = telling(process).filter(|wait| wait.cause == Cause::Child);
    waits.is_some_and(|wait| wait.by.iter().any(|holder| members.contains(&holder.pid)))
        && cause_of(seen, pid) == Some(Cause::Child)
}

/// Whether one of these processes waits for data in a pipe or FIFO that another of them writes: a pipeline, and no server.
pub fn holds_up_a_reader(seen: &Seen, part: &BTreeSet<u32>) -> bool {
    part.iter().any(|&pid| {
        let wait = seen.world.processes.get(&pid).and_then(telling);
        wait.is_some_and(|wait| {
            wait.cause == Cause::Data
                && !super::is_socket(wait)
                && wait.by.iter().any(|holder| holder.pid != pid && part.contains(&holder.pid))
        })
    })
}

/// Draws a conclusion about `part`, whose processes are connected by waits and not all dead.
pub fn conclude(seen: &Seen, part: &BTreeSet<u32>) -> Option<Conclusion> {
    let waiting_for = |wanted: fn(&Cause) -> bool| {
        part.iter().copied().find(|&pid| cause_of(seen, pid).is_some_and(|cause| wanted(&cause)))
    };
    if let Some(writer) = waiting_for(|cause| *cause == Cause::Room) {
        return Some(slow_reader(seen, part, writer));
    }
    if let Some(pid) = waiting_for(|cause| *cause == Cause::Running) {
        return Some(busy(seen, part, pid));
    }
    if let Some(pid) = waiting_for(|cause| *cause == Cause::Disk) {
        let headline = format!(
            "{} waits for the disk or a file system, and cannot even be killed meanwhile",
            name(&seen.world, pid)
        );
        let cure =
            Some("see what that file system does: a slow disk, or a server that does not answer".to_owned());
        return Some(Conclusion { health: Health::Slow, kind: Kind::Disk, headline, root_cause: pid, cure });
    }
    idle(seen, part)
}

/// Returns the kind of a process's wait, corrected by its CPU time.
pub fn cause_of(seen: &Seen, pid: u32) -> Option<Cause> {
    let process = seen.world.processes.get(&pid)?;
    let wait = telling(process)?;
    let is_busy = seen.cpu_share(pid).is_some_and(|share| share >= BUSY);
    let may_be = !matches!(wait.cause, Cause::Stopped | Cause::Traced);
    Some(if is_busy && may_be { Cause::Running } else { wait.cause.clone() })
}

/// Returns the end of `pid`'s wait chain: a process whose wait no other process can end, or one that waits for whoever may open a
/// FIFO.
fn culprit(seen: &Seen, pid: u32) -> u32 {
    let mut visited = BTreeSet::from([pid]);
    let mut now = pid;
    let ends_here = |cause: &Cause| cause.is_outside() || matches!(cause, Cause::Opener { .. });
    while cause_of(seen, now).is_some_and(|cause| !ends_here(&cause)) {
        let Some(process) = seen.world.processes.get(&now) else { break };
        let ends = telling(process).map(all_ends).unwrap_or_default();
        let live = |pid: &u32| ![&visited, &seen.dead, &seen.own].iter().any(|of| of.contains(pid));
        match ends.into_iter().find(live) {
            Some(next) => now = next,
            None => break,
        }
        visited.insert(now);
    }
    now
}

fn all_ends(wait: &Wait) -> Vec<u32> {
    match &wait.cause {
        Cause::Any(waits) => waits.iter().flat_map(all_ends).collect(),
        _ => wait.by.iter().map(|holder| holder.pid).collect(),
    }
}

fn slow_reader(seen: &Seen, part: &BTreeSet<u32>, writer: u32) -> Conclusion {
    let root_cause = culprit(seen, writer);
    let (who, waiter) = (name(&seen.world, root_cause), name(&seen.world, writer));
    let does = doing(seen, root_cause);
    let cause = cause_of(seen, root_cause);
    let others = names(
        &seen.world,
        part.iter().copied().filter(|&pid| pid != root_cause && waits_for_others(seen, pid)),
    );
    let others = if others.is_empty() { waiter.clone() } else { others };
    let (health, cure) = match cause {
        Some(Cause::Terminal) => (Health::Idle, None),
        Some(Cause::Unknown(_)) => (Health::Unknown, None),
        Some(Cause::Running) => (
            Health::Slow,
            Some(format!("make {who} cheaper: it is the bottleneck (`pelton time` shows by how much)")),
        ),
        _ => (
            Health::Slow,
            Some(format!(
                "let {who} read sooner, or put `pelton buffer` between the two, so that {waiter} need not wait"
            )),
        ),
    };
    let kind = if health == Health::Unknown { Kind::Unseen } else { Kind::SlowReader };
    let verb = if part.len() > 2 { "wait" } else { "waits" };
    let headline = format!("{who} sets the pace, and {does}; {others} {verb} for it, and a pipe is full");
    Conclusion { health, kind, headline, root_cause, cure }
}

fn waits_for_others(seen: &Seen, pid: u32) -> bool {
    cause_of(seen, pid).is_some_and(|cause| matches!(cause, Cause::Room | Cause::Data | Cause::Any(_)))
}

fn busy(seen: &Seen, part: &BTreeSet<u32>, root_cause: u32) -> Conclusion {
    let who = name(&seen.world, root_cause);
    let does = doing(seen, root_cause);
    let readers: Vec<u32> =
        part.iter().copied().filter(|&pid| pid != root_cause && waits_for_others(seen, pid)).collect();
    let (kind, headline) = match readers.len() {
        0 => (Kind::Busy, format!("{who} {does}")),
        n => {
            let verb = if n == 1 { "waits" } else { "wait" };
            let headline = format!(
                "{who} sets the pace, and {does}; {} {verb} for its output",
                names(&seen.world, readers)
            );
            (Kind::SlowWriter, headline)
        }
    };
    Conclusion { health: Health::Slow, kind, headline, root_cause, cure: None }
}

/// Describes a process's activity, in words that follow its name.
fn doing(seen: &Seen, pid: u32) -> String {
    match (cause_of(seen, pid), seen.cpu_share(pid)) {
        (Some(Cause::Running), Some(share)) if share >= BUSY => {
            format!("computes ({:.0}% of a CPU)", share * 100.0)
        }
        // Seen running, but not for long: it lacked a CPU, or works in short bursts.
        (Some(Cause::Running), Some(share)) => {
            format!("runs or is ready to ({:.0}% of a CPU)", share * 100.0)
        }
        (Some(Cause::Running), None) => "runs or is ready to".into(),
        (Some(Cause::Lock), _) => "waits for a file lock; its holder cannot be seen".into(),
        (Some(Cause::Opener { .. }), _) => "waits until somebody opens the other side of its FIFO".into(),
        (Some(Cause::Child), _) => "waits for a process to end".into(),
        (Some(Cause::Timer), _) => "waits for a time to pass".into(),
        (Some(Cause::Terminal), _) => "waits for somebody at its terminal".into(),
        (Some(Cause::Disk), _) => "waits for the disk or a file system".into(),
        (Some(Cause::Outside(what)), _) => format!("waits for {what}"),
        (Some(Cause::Any(waits)), _) => match waits.iter().find_map(outside) {
            Some(what) => format!("waits for {what}"),
            None => "waits for others in turn".into(),
        },
        (Some(Cause::Signal), _) => "waits for a signal".into(),
        (Some(Cause::Unknown(reason)), _) => format!("cannot be looked into: {reason}"),
        (Some(_), _) => "waits for others in turn".into(),
        (None, _) => "has ended".into(),
    }
}

/// Returns what no visible process can bring about, if a wait is for that.
fn outside(wait: &Wait) -> Option<&str> {
    match &wait.cause {
        Cause::Outside(what) => Some(what),
        _ => None,
    }
}

fn idle(seen: &Seen, part: &BTreeSet<u32>) -> Option<Conclusion> {
    // The first waiting process may only wait for another of them: the end of that chain matters.
    let first =
        part.iter().copied().find(|&pid| waits_for_others(seen, pid)).or_else(|| part.first().copied())?;
    let root_cause = culprit(seen, first);
    let who = name(&seen.world, root_cause);
    let does = doing(seen, root_cause);
    let cause = cause_of(seen, root_cause);
    let waiters: Vec<u32> =
        part.iter().copied().filter(|&pid| pid != root_cause && waits_for_others(seen, pid)).collect();
    let (health, kind) = match cause {
        None => (Health::Idle, Kind::Ended),
        Some(Cause::Timer) => (Health::Idle, Kind::Timer),
        Some(Cause::Terminal) => (Health::Idle, Kind::Terminal),
        Some(Cause::Signal) => (Health::Idle, Kind::Signal),
        Some(Cause::Stopped) => (Health::Idle, Kind::Stopped),
        Some(Cause::Unknown(_) | Cause::Traced) => (Health::Unknown, Kind::Unseen),
        _ => (Health::Idle, Kind::Outside),
    };
    let opener_cure = seen.world.processes.get(&root_cause).and_then(telling).and_then(open_other_side);
    let (headline, cure) = match kind {
        Kind::Ended => (
            format!("{who} has ended, and its parent has not asked how"),
            parent(seen, root_cause).map(|parent| format!("let {parent} wait for it, or end that")),
        ),
        Kind::Stopped => (
            format!("{who} is stopped, and nobody waits for it"),
            Some(format!("fg in its shell, or kill -CONT {root_cause}")),
        ),
        _ if waiters.is_empty() => (format!("{who} {does}"), opener_cure),
        // The end of the chain is its beginning, and somebody outside might still open a FIFO.
        _ if matches!(cause, Some(Cause::Data | Cause::Room)) => (
            format!("{} wait for one another", names(&seen.world, part.iter().copied())),
            opener_cure
                .or_else(|| cure_of_own_fifo(seen, part))
                .or_else(|| buffered::cure_of_circle(seen, part)),
        ),
        _ => {
            let verb = if waiters.len() == 1 { "waits" } else { "wait" };
            (format!("{who} {does}; {} {verb} for it", names(&seen.world, waiters)), opener_cure)
        }
    };
    Some(Conclusion { health, kind, headline, root_cause, cure })
}

/// Returns what helps if one of these waits for data in a FIFO that it could write to itself.
fn cure_of_own_fifo(seen: &Seen, part: &BTreeSet<u32>) -> Option<String> {
    part.iter().find_map(|pid| read_only(&seen.world, &(*pid, telling(seen.world.processes.get(pid)?)?)))
}

/// Returns the name of a process's parent, if that is not the first of all, which nobody should end.
fn parent(seen: &Seen, pid: u32) -> Option<String> {
    let parent = seen.world.processes.get(&pid)?.stat.parent;
    (parent > 1).then(|| name(&seen.world, parent))
}
