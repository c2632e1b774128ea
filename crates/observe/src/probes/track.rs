//! Samples one process repeatedly: how long it ran since the last sample, how long it was runnable, and what
//! it waits for now.

use crate::polled_descriptors::polled;
use pelton_sys::calls::{self, Call};
use pelton_sys::procfs::{self, ProcFile, Syscall};
use pelton_sys::{clock, processes};
use std::collections::BTreeMap;

/// If it was blocked for less than this share of the interval, the reason is not examined.
const WORTH_LOOKING: f64 = 0.05;
/// Maximum number of threads examined per process.
const THREADS: usize = 16;

/// Why a process is blocked. The most informative states come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// On write: its output is full.
    Backpressured,
    /// On read: its input is empty.
    Starved,
    /// On other I/O.
    Io,
    /// On a timer.
    Asleep,
    /// On a lock.
    Lock,
    /// On a child.
    Child,
    /// On a signal, or unknown.
    Other,
    /// Not blocked: held by its tracer.
    Held,
}

/// Number of states.
pub const STATES: usize = 8;

/// The pipes to a stage's neighbours, by inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The pipe from the stage before it.
    pub upstream: Option<u64>,
    /// The pipe to the stage after it.
    pub downstream: Option<u64>,
}

/// Changes since the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateChange {
    /// Time on CPUs, of all threads.
    pub running_ns: u64,
    /// Time runnable without one; for several threads, time in which one was runnable and none ran.
    pub ready_ns: u64,
    /// What it waits for now; `None` if it is running or runnable.
    pub state: Option<State>,
}

/// Open files, and their last values.
pub struct Track {
    pid: u32,
    syscall: Option<ProcFile>,
    schedstat: Option<ProcFile>,
    running_ns: u64,
    ready_ns: u64,
    state: Option<State>,
    /// All threads, once there are several.
    threads: BTreeMap<u32, Thread>,
}

/// One of several threads.
struct Thread {
    syscall: Option<ProcFile>,
    schedstat: Option<ProcFile>,
    /// How long it has been running or runnable.
    active_ns: u64,
}

/// Joint activity of several threads since the last sample.
struct Together {
    /// At least this long, one of them was running or runnable.
    active_ns: u64,
    /// What they wait for now; `None` if one is running or runnable.
    state: Option<State>,
}

impl Track {
    /// Opens the files of `pid`. All of its earlier activity counts in the first step.
    pub fn open(pid: u32) -> Self {
        Track {
            pid,
            syscall: ProcFile::open(pid, "syscall"),
            schedstat: ProcFile::open(pid, "schedstat"),
            running_ns: 0,
            ready_ns: 0,
            state: None,
            threads: BTreeMap::new(),
        }
    }

    /// Does the same for a process that has lived for a while: earlier activity does not count.
    pub fn join(pid: u32) -> Self {
        let track = Track::open(pid);
        let (running_ns, ready_ns) = (clock::process_cpu_ns(pid).unwrap_or(0), track.ready().unwrap_or(0));
        Track { running_ns, ready_ns, ..track }
    }

    /// Returns the total time that its leading thread was runnable without a CPU.
    pub fn ready(&self) -> Option<u64> {
        Some(procfs::parse_schedstat(self.schedstat.as_ref()?.read(&mut [0; 128])?)?.ready_ns)
    }

    /// Returns what [`ready`](Self::ready) was at the last sample.
    pub fn last_ready(&self) -> u64 {
        self.ready_ns
    }

    /// Whether its waits are readable at all.
    pub fn sees_waits(&self) -> bool {
        self.syscall.is_some()
    }

    /// Takes a sample, `window_ns` after the last one; `None` if it is gone.
    pub fn step(&mut self, window_ns: u64, edges: Edges) -> Option<StateChange> {
        let running = clock::process_cpu_ns(self.pid)?;
        let ready = self.ready().unwrap_or(self.ready_ns);
        let running_ns = running.saturating_sub(self.running_ns);
        let ready_ns = ready.saturating_sub(self.ready_ns);
        (self.running_ns, self.ready_ns) = (running, ready);
        let blocked_ns = window_ns.saturating_sub(running_ns + ready_ns);
        let may_be_blocked = blocked_ns as f64 > WORTH_LOOKING * window_ns as f64;
        if may_be_blocked && self.has_threads() {
            let Together { active_ns, state } = self.look_at_threads(edges);
            self.state = state;
            // A thread that is runnable now may have been so since it last ran: the scheduler counts that
            // when it runs again.
            let active_ns = if state.is_none() { window_ns } else { active_ns.min(window_ns) };
            return Some(StateChange { running_ns, ready_ns: active_ns.saturating_sub(running_ns), state });
        }
        let slept = running_ns + ready_ns == 0 && self.state.is_some();
        if !slept {
            self.state = if may_be_blocked { self.look(edges) } else { None };
        }
        Some(StateChange { running_ns, ready_ns, state: self.state })
    }

    /// Whether it was seen with several threads.
    pub fn is_several(&self) -> bool {
        !self.threads.is_empty()
    }

    fn has_threads(&self) -> bool {
        // A directory of directories has two more links than entries.
        let several = || {
            use std::os::unix::fs::MetadataExt;
            std::fs::metadata(format!("/proc/{}/task", self.pid)).is_ok_and(|task| task.nlink() > 3)
        };
        !self.threads.is_empty() || several()
    }

    fn look(&self, edges: Edges) -> Option<State> {
        let mut buffer = [0; 256];
        let text = self.syscall.as_ref().and_then(|file| file.read(&mut buffer));
        text.map_or(Some(State::Other), |text| seen(self.pid, text, edges))
    }

    /// Samples all threads; all earlier activity of new threads counts.
    fn look_at_threads(&mut self, edges: Edges) -> Together {
        let tasks = processes::tasks(self.pid);
        self.threads.retain(|thread, _| tasks.contains(thread));
        let (mut active_ns, mut told, mut any_active) = (0, State::Other, false);
        for task in tasks.into_iter().take(THREADS) {
            let thread = self.threads.entry(task).or_insert_with(|| Thread::open(self.pid, task));
            active_ns = active_ns.max(thread.active());
            let mut buffer = [0; 256];
            let text = thread.syscall.as_ref().and_then(|file| file.read(&mut buffer));
            match text.map(|text| seen(self.pid, text, edges)) {
                Some(None) => any_active = true,
                Some(Some(state)) => told = told.min(state),
                None => {}
            }
        }
        Together { active_ns, state: (!any_active).then_some(told) }
    }
}

impl Thread {
    fn open(pid: u32, thread: u32) -> Self {
        let file = |name: &str| ProcFile::open(pid, &format!("task/{thread}/{name}"));
        Thread { syscall: file("syscall"), schedstat: file("schedstat"), active_ns: 0 }
    }

    /// Returns how long it was running or runnable since the last sample.
    fn active(&mut self) -> u64 {
        let mut buffer = [0; 128];
        let text = self.schedstat.as_ref().and_then(|file| file.read(&mut buffer));
        let Some(stat) = text.and_then(procfs::parse_schedstat) else { return 0 };
        let before = std::mem::replace(&mut self.active_ns, stat.running_ns + stat.ready_ns);
        self.active_ns.saturating_sub(before)
    }
}

/// Interprets /proc/PID/syscall; `None` if the thread is running or runnable.
fn seen(pid: u32, text: &str, edges: Edges) -> Option<State> {
    match procfs::parse_syscall(text) {
        None => Some(State::Other),
        Some(Syscall::Running) => None,
        // A page fault that reads a file.
        Some(Syscall::Outside) => Some(State::Io),
        Some(Syscall::Blocked { number, arguments }) => {
            Some(state_of(pid, calls::call(number, arguments), edges, by_where_it_sleeps))
        }
    }
}

/// For a thread that moves bytes from pipe to pipe: only the kernel function where it sleeps says which end
/// blocks it.
fn by_where_it_sleeps(pid: u32, _from: u32) -> State {
    match procfs::wchan(pid) {
        Some(name) if name.contains("write") || name.contains("writable") => State::Backpressured,
        Some(_) => State::Starved,
        None => State::Other,
    }
}

/// Returns what a thread blocked in this call waits for. `between` decides for a thread that moves bytes from
/// the pipe behind this descriptor to the next stage.
pub(super) fn state_of(pid: u32, call: Call, edges: Edges, between: fn(u32, u32) -> State) -> State {
    let is = |fd: u32, edge: Option<u64>| edge.is_some() && procfs::pipe_behind(pid, u64::from(fd)) == edge;
    match call {
        Call::Reads(fd) if is(fd, edges.upstream) => State::Starved,
        Call::Writes(fd) if is(fd, edges.downstream) => State::Backpressured,
        Call::Moves(from, to) => match (is(from, edges.upstream), is(to, edges.downstream)) {
            (true, false) => State::Starved,
            (false, true) => State::Backpressured,
            (true, true) => between(pid, from),
            (false, false) => State::Io,
        },
        Call::Polls { set, timed } => {
            let Some(polled) = polled(pid, set) else { return State::Other };
            // Nothing that it polls is ready: of two edges, the empty upstream one is the reason more often.
            match () {
                () if polled.is_empty() && timed => State::Asleep,
                () if polled.iter().any(|&(fd, reads, _)| reads && is(fd, edges.upstream)) => State::Starved,
                () if polled.iter().any(|&(fd, _, writes)| writes && is(fd, edges.downstream)) => {
                    State::Backpressured
                }
                () => State::Io,
            }
        }
        Call::Sleeps | Call::Signal { timed: true } | Call::Resumes => State::Asleep,
        Call::Futex { .. } | Call::Locks(_) => State::Lock,
        // timeout(1) and shells that wait for a signal wait for their children.
        Call::Child(_) | Call::Signal { timed: false } => State::Child,
        Call::Reads(_)
        | Call::Writes(_)
        | Call::Accepts(_)
        | Call::Connects(_)
        | Call::Opens { .. }
        | Call::Disk => State::Io,
        Call::Other(_) => State::Other,
    }
}
