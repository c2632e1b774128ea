//! Takes a snapshot of all processes: from /proc to a [`World`].

use super::holders::Holders;
use super::resolve::Resolver;
use super::world::{Cause, Process, Task, Wait, World};
use pelton_sys::processes::{self, Stat};
use pelton_sys::procfs::{self, Syscall};
use std::collections::BTreeMap;

/// The raw data of a thread, before holders are known.
pub struct Raw {
    pub thread: u32,
    pub state: char,
    /// `None` if unreadable.
    pub syscall: Option<Syscall>,
    pub evidence: String,
}

/// The raw data of a process.
pub struct RawProcess {
    pub stat: Stat,
    pub owner: u32,
    pub tasks: Vec<Raw>,
    pub children: Vec<u32>,
}

/// Takes one snapshot of these processes.
pub fn look(pids: &[u32]) -> World {
    let mut raw: BTreeMap<u32, RawProcess> = pids.iter().filter_map(|&pid| Some((pid, read(pid)?))).collect();
    let parents: Vec<(u32, u32)> = raw.iter().map(|(&pid, process)| (pid, process.stat.parent)).collect();
    for (pid, parent) in parents {
        if let Some(parent) = raw.get_mut(&parent) {
            parent.children.push(pid);
        }
    }
    let holders =
        Holders::read(raw.iter().filter(|(_, process)| !process.tasks.is_empty()).map(|(&pid, _)| pid));
    let mut resolver = Resolver::new(&raw, &holders);
    let processes = raw.iter().map(|(&pid, process)| (pid, resolved(pid, process, &mut resolver))).collect();
    World { processes }
}

/// Skips kernel threads: they hold no descriptors, and nothing waits for them.
fn read(pid: u32) -> Option<RawProcess> {
    let stat = processes::parse_stat(&processes::file(pid, "stat")?)?;
    let owner = processes::owner(pid)?;
    if stat.is_kernel {
        return None;
    }
    let tasks = match (stat.state, stat.threads) {
        ('Z' | 'X', 0 | 1) => Vec::new(),
        (_, 0 | 1) => vec![read_task(pid, pid, stat.state)],
        _ => read_tasks(pid),
    };
    Some(RawProcess { stat, owner, tasks, children: Vec::new() })
}

/// Reads the threads. A leader that has ended before its threads waits for nothing.
fn read_tasks(pid: u32) -> Vec<Raw> {
    let state = |thread: u32| {
        let text = processes::file(pid, &format!("task/{thread}/stat"))?;
        Some((thread, processes::parse_stat(&text)?.state))
    };
    let alive =
        processes::tasks(pid).into_iter().filter_map(state).filter(|(_, state)| !matches!(state, 'Z' | 'X'));
    alive.map(|(thread, state)| read_task(pid, thread, state)).collect()
}

fn read_task(pid: u32, thread: u32, state: char) -> Raw {
    let syscall = processes::file(pid, &format!("task/{thread}/syscall"));
    let evidence = evidence(pid, thread, syscall.as_deref().unwrap_or_default());
    Raw { thread, state, syscall: syscall.as_deref().and_then(procfs::parse_syscall), evidence }
}

/// Returns values that do not change while a thread does not run: its CPU time, its time slices, and its
/// system call.
fn evidence(pid: u32, thread: u32, syscall: &str) -> String {
    let accounts = processes::file(pid, &format!("task/{thread}/schedstat"))
        .or_else(|| processes::file(pid, &format!("task/{thread}/status")))
        .unwrap_or_default();
    format!("{syscall}{accounts}")
}

fn resolved(pid: u32, raw: &RawProcess, resolver: &mut Resolver<'_>) -> Process {
    let hidden = !raw.tasks.is_empty() && !resolver.sees(pid);
    let task = |task: &Raw| Task {
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

fn wait(pid: u32, process: &RawProcess, task: &Raw, hidden: bool, resolver: &mut Resolver<'_>) -> Wait {
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
