//! What a process does at a sample, and sums of it.

use super::Step;
use crate::doctor::holders::{Channel, Holders};
use crate::doctor::world::{Cause, Process, Task, Wait, World};
use pelton_record::diagnosis::Holder;
use pelton_record::process_tree::Activity;
use std::collections::BTreeSet;

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Running,
    /// Blocked on read from a channel of the tree.
    Reading,
    /// Blocked on write to a channel of the tree.
    Writing,
    Child,
    Asleep,
    Lock,
    Disk,
    Outside,
    Other,
}

/// Sums of activity.
pub trait Tally {
    /// Adds time spent in a state.
    fn spend(&mut self, doing: Doing, ns: u64);
    /// Counts a sample.
    fn count(&mut self, step: &Step);
}

impl Tally for Activity {
    fn spend(&mut self, doing: Doing, ns: u64) {
        self.seen_ns += ns;
        let sum = match doing {
            Doing::Running => &mut self.running_ns,
            Doing::Reading => &mut self.reading_ns,
            Doing::Writing => &mut self.writing_ns,
            Doing::Child => &mut self.child_ns,
            Doing::Asleep => &mut self.asleep_ns,
            Doing::Lock => &mut self.lock_ns,
            Doing::Disk => &mut self.disk_ns,
            Doing::Outside => &mut self.outside_ns,
            Doing::Other => &mut self.other_ns,
        };
        *sum += ns;
    }

    fn count(&mut self, step: &Step) {
        self.samples += 1;
        self.spend(Doing::Running, step.running_ns);
        self.spend(step.doing, step.blocked_ns());
    }
}

/// A channel to other processes of the tree that a thread waits on.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub fd: u32,
    pub writes: bool,
    pub channel: Channel,
    /// Who could end the wait.
    pub by: Vec<Holder>,
}

/// Returns the channels on which a process is blocked on write: whoever polls them for input does not read.
pub fn full_channels(world: &World, holders: &Holders) -> BTreeSet<Channel> {
    let tasks =
        world.processes.iter().flat_map(|(&pid, process)| process.tasks.iter().map(move |task| (pid, task)));
    let blocked = tasks.filter(|(_, task)| task.wait.cause == Cause::Room);
    blocked.filter_map(|(pid, task)| channel(pid, task.wait.fd?, true, holders)).collect()
}

/// Returns what a process does and the channels that it waits on, by its most telling thread.
pub fn doing(
    pid: u32,
    process: &Process,
    holders: &Holders,
    full: &BTreeSet<Channel>,
) -> (Doing, Vec<Waiting>) {
    let task = |task: &Task| {
        let mut waiting = Vec::new();
        collect(pid, &task.wait, holders, &mut waiting);
        waiting.retain(|one| one.writes || !full.contains(&one.channel));
        let reads = waiting.iter().any(|one| !one.writes);
        // A thread that polls for both waits for input.
        waiting.retain(|one| one.writes != reads);
        let doing = match waiting.first() {
            Some(_) if reads => Doing::Reading,
            Some(_) => Doing::Writing,
            None => by_cause(process, &task.wait),
        };
        (rank(doing, task.thread == pid), doing, waiting)
    };
    let all = process.tasks.iter().map(task);
    all.min_by_key(|(rank, ..)| *rank)
        .map_or((Doing::Other, Vec::new()), |(_, doing, waiting)| (doing, waiting))
}

/// The lowest rank tells most. Threads of a run-time system wait for time and for children at any time, so the
/// first thread's such wait comes before theirs.
fn rank(doing: Doing, is_first: bool) -> u8 {
    match doing {
        Doing::Running => 0,
        Doing::Disk => 1,
        Doing::Writing => 2,
        Doing::Reading => 3,
        Doing::Child | Doing::Asleep | Doing::Outside if is_first => 4,
        Doing::Child => 5,
        Doing::Asleep => 6,
        Doing::Outside => 7,
        Doing::Lock => 8,
        Doing::Other => 9,
    }
}

fn by_cause(process: &Process, wait: &Wait) -> Doing {
    match &wait.cause {
        Cause::Running => Doing::Running,
        Cause::Timer => Doing::Asleep,
        Cause::Disk => Doing::Disk,
        Cause::Child => Doing::Child,
        // Shells and timeout(1) wait for the signal of a child's end.
        Cause::Signal if !process.children.is_empty() => Doing::Child,
        Cause::Lock | Cause::Thread => Doing::Lock,
        Cause::Data | Cause::Room | Cause::Terminal | Cause::Outside(_) | Cause::Opener { .. } => {
            Doing::Outside
        }
        Cause::Any(waits) => {
            let all: Vec<Doing> = waits.iter().map(|wait| by_cause(process, wait)).collect();
            let order = [Doing::Asleep, Doing::Child, Doing::Outside];
            order.into_iter().find(|one| all.contains(one)).unwrap_or(Doing::Other)
        }
        Cause::Signal | Cause::Traced | Cause::Stopped | Cause::Unknown(_) => Doing::Other,
    }
}

fn collect(pid: u32, wait: &Wait, holders: &Holders, found: &mut Vec<Waiting>) {
    let writes = match &wait.cause {
        Cause::Any(waits) => return waits.iter().for_each(|wait| collect(pid, wait, holders, found)),
        Cause::Data => false,
        Cause::Room => true,
        _ => return,
    };
    let to_others = wait.by.iter().any(|holder| holder.pid != pid);
    let Some(fd) = wait.fd.filter(|_| to_others) else { return };
    let channel = channel(pid, fd, writes, holders);
    found.extend(channel.map(|channel| Waiting { fd, writes, channel, by: wait.by.clone() }));
}

/// Returns the channel behind a descriptor, in the direction of the data: a socket is named by its reader's end.
fn channel(pid: u32, fd: u32, writes: bool, holders: &Holders) -> Option<Channel> {
    match Channel::of(&holders.descriptor(pid, fd)?.target)? {
        Channel::Socket(inode) if writes => holders.socket(inode)?.peer.map(Channel::Socket),
        channel => Some(channel),
    }
}
