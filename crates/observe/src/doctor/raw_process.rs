//! Reads the raw data of a process and its threads from /proc.

use pelton_sys::processes::{self, Stat};
use pelton_sys::procfs::{self, Syscall};

/// The raw data of a thread, before holders are known.
pub struct RawTask {
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
    pub tasks: Vec<RawTask>,
    pub children: Vec<u32>,
}

/// Reads the data of a process. Skips kernel threads: they hold no descriptors, and nothing waits for them.
pub fn read(pid: u32) -> Option<RawProcess> {
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
fn read_tasks(pid: u32) -> Vec<RawTask> {
    let state = |thread: u32| {
        let text = processes::file(pid, &format!("task/{thread}/stat"))?;
        Some((thread, processes::parse_stat(&text)?.state))
    };
    let alive =
        processes::tasks(pid).into_iter().filter_map(state).filter(|(_, state)| !matches!(state, 'Z' | 'X'));
    alive.map(|(thread, state)| read_task(pid, thread, state)).collect()
}

fn read_task(pid: u32, thread: u32, state: char) -> RawTask {
    let syscall = processes::file(pid, &format!("task/{thread}/syscall"));
    let evidence = evidence(pid, thread, syscall.as_deref().unwrap_or_default());
    RawTask { thread, state, syscall: syscall.as_deref().and_then(procfs::parse_syscall), evidence }
}

/// Returns values that do not change while a thread does not run: its CPU time, its time slices, and its
/// system call.
fn evidence(pid: u32, thread: u32, syscall: &str) -> String {
    let accounts = processes::file(pid, &format!("task/{thread}/schedstat"))
        .or_else(|| processes::file(pid, &format!("task/{thread}/status")))
        .unwrap_or_default();
    format!("{syscall}{accounts}")
}
