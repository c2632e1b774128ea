//! Ends a process tree: first by a request, then by SIGKILL.

use super::tree::{Member, Tree};
use pelton_sys::{clock, processes, signals, stand_in};
use std::time::Duration;

/// The interval between two looks at the tree.
const LOOK: Duration = Duration::from_millis(20);
/// How long SIGKILL may take; a process in an uninterruptible wait may never end.
const KILLED_WITHIN_NS: u64 = 2_000_000_000;

/// Sends `signal` to every process of the tree and, after `grace_ns`, SIGKILL to those that are left. `reap` is called
/// between looks, to wait for children that have ended. Returns the processes that even SIGKILL did not end.
pub fn end(tree: &mut Tree, signal: i32, grace_ns: u64, reap: &mut dyn FnMut()) -> Vec<Member> {
    for member in running(tree) {
        stand_in::send(member.pid, member.start_ticks, signal);
        // A stopped process acts on a signal only once it continues.
        stand_in::send(member.pid, member.start_ticks, signals::CONT);
    }
    if !is_empty_within(tree, grace_ns, reap, None) {
        is_empty_within(tree, KILLED_WITHIN_NS, reap, Some(signals::KILL));
    }
    running(tree)
}

/// Waits until no process of the tree is left; sends `signal`, if one is given, to what there is at each look.
fn is_empty_within(tree: &mut Tree, ns: u64, reap: &mut dyn FnMut(), signal: Option<i32>) -> bool {
    let end_ns = clock::now_ns() + ns;
    loop {
        reap();
        tree.sample(0);
        let left = running(tree);
        if left.is_empty() {
            return true;
        }
        if clock::now_ns() >= end_ns {
            return false;
        }
        if let Some(signal) = signal {
            for member in &left {
                stand_in::send(member.pid, member.start_ticks, signal);
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Returns the processes that have not ended.
fn running(tree: &Tree) -> Vec<Member> {
    let runs = |member: &&Member| {
        let stat = processes::file(member.pid, "stat").and_then(|text| processes::parse_stat(&text));
        stat.is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
    };
    tree.members().filter(runs).cloned().collect()
}
