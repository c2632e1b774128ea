//! What a process does at a sample, and sums of it.

use super::Step;
use crate::doctor::holders::{Channel, Holders};
use crate::doctor::pace::telling;
use crate::doctor::world::{Cause, Process, Wait};
use pelton_record::process_tree::Activity;

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

/// Returns what a process does, by its least idle thread.
pub fn doing(pid: u32, process: &Process, holders: &Holders) -> Doing {
    let Some(wait) = telling(process) else { return Doing::Other };
    match waited_channels(pid, wait, holders).first() {
        Some((_, false, _)) => Doing::Reading,
        Some((_, true, _)) => Doing::Writing,
        None => by_cause(process, wait),
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

/// A channel that a process waits on: the descriptor, whether it writes, and the channel.
pub type Waited = (u32, bool, Channel);

/// Returns the channels to other processes of the tree that a wait is about, reads first.
pub fn waited_channels(pid: u32, wait: &Wait, holders: &Holders) -> Vec<Waited> {
    let mut found = Vec::new();
    collect(pid, wait, holders, &mut found);
    found.sort_by_key(|&(fd, writes, _)| (writes, fd));
    found.dedup();
    found
}

fn collect(pid: u32, wait: &Wait, holders: &Holders, found: &mut Vec<Waited>) {
    let writes = match &wait.cause {
        Cause::Any(waits) => return waits.iter().for_each(|wait| collect(pid, wait, holders, found)),
        Cause::Data => false,
        Cause::Room => true,
        _ => return,
    };
    let to_others = wait.by.iter().any(|holder| holder.pid != pid);
    let Some(fd) = wait.fd.filter(|_| to_others) else { return };
    let channel = holders.descriptor(pid, fd).and_then(|one| Channel::of(&one.target));
    found.extend(channel.and_then(|one| towards(one, writes, holders)).map(|one| (fd, writes, one)));
}

/// Returns the channel in the direction of the data: a socket is named by its reader's end.
pub fn towards(channel: Channel, writes: bool, holders: &Holders) -> Option<Channel> {
    match channel {
        Channel::Socket(inode) if writes => holders.socket(inode)?.peer.map(Channel::Socket),
        _ => Some(channel),
    }
}
