//! Takes a snapshot of all processes: from /proc to a [`World`].

use super::holders::Holders;
use super::raw_process::{RawProcess, RawTask, read};
use super::resolve::{Resolver, TimedPolls};
use super::world::{Cause, Process, Task, Wait, World};
use pelton_sys::procfs::Syscall;
use std::collections::BTreeMap;

/// Takes one snapshot of these processes.
pub fn look(pids: &[u32]) -> World {
    look_with_holders(pids, TimedPolls::AsTimers).0
}

/// Takes one snapshot of these processes, with their descriptors.
pub fn look_with_holders(pids: &[u32], timed_polls: TimedPolls) -> (World, Holders) {
    let mut raw: BTreeMap<u32, RawProcess> = pids.iter().filter_map(|&pid| Some((pid, read(pid)?))).collect();
    let parents: Vec<(u32, u32)> = raw.iter().map(|(&pid, process)| (pid, process.stat.parent)).collect();
    for (pid, parent) in parents {
        if let Some(parent) = raw.get_mut(&parent) {
            parent.children.push(pid);
        }
    }
    let holders =
        Holders::read(raw.iter().filter(|(_, process)| !process.tasks.is_empty()).map(|(&pid, _)| pid));
    let mut resolver = Resolver::new(&raw, &holders, timed_polls);
    let processes = raw.iter().map(|(&pid, process)| (pid, resolved(pid, process, &mut resolver))).collect();
    (World { processes }, holders)
}

fn resolved(pid: u32, raw: &RawProcess, resolver: &mut Resolver<'_>) -> Process {
    let hidden = !raw.tasks.is_empty() && !resolver.sees(pid);
    let task = |task: &RawTask| Task {
        thread: task.thread,
        wait: wait(pid, raw, task, hidden, resolver),
        evidence: task.evidence.clone(),
    };
    Process {
        stat: raw.stat.clone(),
        owner: raw.owner,
        hidden,
        tasks: raw.tasks.iter().map(task).collect(),
        children: raw.children.clone(),
    }
}

fn wait(pid: u32, process: &RawProcess, task: &RawTask, hidden: bool, resolver: &mut Resolver<'_>) -> Wait {
    match (task.state, task.syscall) {
        ('T', _) => Wait::simple(Cause::Stopped),
        ('t', _) => Wait::simple(Cause::Traced),
        ('R', _) => Wait::simple(Cause::Running),
        _ if hidden => Wait::simple(Cause::Unknown("it belongs to another user".into())),
        (_, Some(Syscall::Running)) => Wait::simple(Cause::Running),
        (_, Some(Syscall::Blocked { number, arguments })) => {
            resolver.wait(pid, process, task.state, pelton_sys::calls::call(number, arguments))
        }
        // Blocked, but not in a system call: a page fault that reads a file.
        ('D', _) | (_, Some(Syscall::Outside)) => Wait::simple(Cause::Disk),
        (_, None) => resolver.by_kernel_function(pid, process, task.thread),
    }
}
