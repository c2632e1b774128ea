//! The progress of a running pipeline.
//!
//! The kernel reports what the first process has read (`/proc/PID/io`), for native passes and real commands
//! alike. Only where several processes share the lines, their dispatcher counts what it has read, in shared
//! memory.

use crate::stage::{StagePlan, Surroundings};
use pelton_plan::Planned;
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::shared::Counters;
use pelton_sys::spawn::{Action, Redirection};
use pelton_sys::{clock, pidfd};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// The progress of one pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The index of the pipeline among those that ran, from 0.
    pub pipeline: usize,
    /// Bytes that its first stage has read (or printed, if it reads nothing).
    pub done_bytes: u64,
    /// Total bytes to read, if known.
    pub total_bytes: Option<u64>,
    /// Threads and processes that work for it.
    pub workers: usize,
    /// Time since its start, in nanoseconds.
    pub elapsed_ns: u64,
    /// Whether it has ended: this is the last report.
    pub ended: bool,
}

/// The callback for progress, called repeatedly.
pub type ShowProgress = fn(&Progress);

/// The count of the current pipeline's dispatcher.
static DEALT: OnceLock<Counters> = OnceLock::new();

/// Counts bytes that the first stage has read, in the dispatcher process.
pub fn dealt(bytes: u64) {
    if let Some(counters) = DEALT.get() {
        counters.add(0, bytes);
    }
}

/// Prepares the counter before anything is started, if progress is shown.
pub fn prepare() {
    // Without memory for it, nothing is counted.
    if let Ok(counters) = Counters::new(1) {
        let _ = DEALT.set(counters);
    }
}

/// The interval between two reports.
const EVERY: Duration = Duration::from_millis(250);

/// The processes of the running pipeline.
pub struct Watch {
    show: ShowProgress,
    pipeline: usize,
    total_bytes: Option<u64>,
    begun_ns: u64,
    dealt_before: u64,
    first: Option<ProcFile>,
    /// The highest count so far: a process that has ended reports none.
    done_bytes: u64,
    processes: Vec<(u32, Option<OwnedFd>)>,
}

impl Watch {
    /// Starts watching these new processes, the first stage's first.
    pub fn new(show: ShowProgress, pipeline: usize, total_bytes: Option<u64>, pids: &[u32]) -> Self {
        Watch {
            show,
            pipeline,
            total_bytes,
            begun_ns: clock::now_ns(),
            dealt_before: DEALT.get().map_or(0, |counters| counters.get(0)),
            first: pids.first().and_then(|pid| ProcFile::open(*pid, "io")),
            done_bytes: 0,
            processes: pids.iter().map(|pid| (*pid, pidfd::open(*pid))).collect(),
        }
    }

    /// Waits until one of them has ended, or a report is due.
    pub fn wait(&mut self) {
        let fds: Vec<_> =
            self.processes.iter().filter_map(|(_, fd)| fd.as_ref().map(|fd| fd.as_fd())).collect();
        let began_ns = clock::now_ns();
        pelton_sys::wait::wait_any(&fds, Some(EVERY));
        if clock::now_ns() - began_ns >= EVERY.as_nanos() as u64 / 2 {
            self.tell(false);
        }
    }

    /// Removes a process that has ended.
    pub fn ended(&mut self, pid: u32) {
        self.processes.retain(|(process, _)| *process != pid);
        if self.processes.is_empty() {
            self.tell(true);
        }
    }

    fn tell(&mut self, ended: bool) {
        let dealt = DEALT.get().map_or(0, |counters| counters.get(0)) - self.dealt_before;
        self.done_bytes = self.done_bytes.max(if dealt > 0 { dealt } else { self.moved() });
        (self.show)(&Progress {
            pipeline: self.pipeline,
            done_bytes: self.total_bytes.map_or(self.done_bytes, |total| self.done_bytes.min(total)),
            total_bytes: self.total_bytes,
            workers: self.processes.iter().map(|(pid, _)| workers(*pid)).sum(),
            elapsed_ns: clock::now_ns() - self.begun_ns,
            ended,
        });
    }

    /// Returns what the first process has read, or printed if it only prints.
    fn moved(&self) -> u64 {
        let mut buffer = [0; 512];
        let io = self.first.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?));
        io.map_or(0, |io| match self.total_bytes {
            Some(_) => io.read_bytes,
            None => io.read_bytes.max(io.written_bytes),
        })
    }
}

/// Returns the number of threads of a process, or of the processes that work for it.
fn workers(pid: u32) -> usize {
    let children = procfs::children(pid).len();
    if children > 0 {
        return children;
    }
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// Returns how many bytes a pipeline has to read: as planned, or else the size of the file that the first
/// stage's standard input is redirected from, or else of all regular files among its arguments. `None` if
/// that is 0 or unknown.
pub fn total_bytes(planned: &Planned, first: &StagePlan, around: &Surroundings<'_>) -> Option<u64> {
    if planned.input_bytes.is_some() {
        return planned.input_bytes;
    }
    let size = |name: &[u8]| {
        let metadata = std::fs::metadata(Path::new(OsStr::from_bytes(name))).ok()?;
        Some(metadata.len()).filter(|_| metadata.is_file())
    };
    let child = first.program(around).ok()?.child;
    let Action::Exec(exec) = child.action else { return None };
    let redirected = child.redirections.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 0, path, .. } => size(path.as_bytes()),
        _ => None,
    });
    let named: u64 = exec.argv.iter().skip(1).filter_map(|arg| size(arg.as_bytes())).sum();
    redirected.or(Some(named)).filter(|bytes| *bytes > 0)
}
