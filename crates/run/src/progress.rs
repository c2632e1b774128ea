//! How far a pipeline is, for who wants to see it while it runs.
//!
//! What the first of its processes has read is told by the kernel (`/proc/PID/io`), for native passes and real commands
//! alike; only where several processes share the lines, whoever deals them out counts what it has read, in memory shared
//! with it.

use crate::stage::{StagePlan, Surroundings};
use pelton_plan::Planned;
use pelton_sys::clock;
use pelton_sys::procfs::{self, ProcFile};
use pelton_sys::shared::Counters;
use pelton_sys::spawn::{self, Action, Redirection};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// How far one pipeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which pipeline of the text that ran, from 0.
    pub pipeline: usize,
    /// Bytes that its first stage has read (or printed, if it reads nothing).
    pub done_bytes: u64,
    /// How many it has to read, if that is known.
    pub total_bytes: Option<u64>,
    /// Threads and processes that work for it.
    pub workers: usize,
    /// Since it was started, in nanoseconds.
    pub elapsed_ns: u64,
    /// It has ended: this is the last word on it.
    pub ended: bool,
}

/// Is told, again and again, how far it is.
pub type ShowProgress = fn(&Progress);

/// What was dealt out by the first stage of the pipeline that runs.
static DEALT: OnceLock<Counters> = OnceLock::new();

/// In the process that deals lines out: the first stage has read so many more bytes.
pub fn dealt(bytes: u64) {
    if let Some(counters) = DEALT.get() {
        counters.add(0, bytes);
    }
}

/// Before anything is started, if somebody wants to see progress.
pub fn prepare() {
    // Without memory for it, nothing is counted.
    if let Ok(counters) = Counters::new(1) {
        let _ = DEALT.set(counters);
    }
}

/// How often it is told.
const EVERY: Duration = Duration::from_millis(250);

/// The processes of the pipeline that runs.
pub struct Watch {
    show: ShowProgress,
    pipeline: usize,
    total_bytes: Option<u64>,
    begun_ns: u64,
    dealt_before: u64,
    first: Option<ProcFile>,
    /// The highest count so far: a process that has ended says nothing any more.
    done_bytes: u64,
    processes: Vec<(u32, Option<OwnedFd>)>,
}

impl Watch {
    /// For processes just started, the first stage's first.
    pub fn new(show: ShowProgress, pipeline: usize, total_bytes: Option<u64>, pids: &[u32]) -> Self {
        Watch {
            show,
            pipeline,
            total_bytes,
            begun_ns: clock::now_ns(),
            dealt_before: DEALT.get().map_or(0, |counters| counters.get(0)),
            first: pids.first().and_then(|pid| ProcFile::open(*pid, "io")),
            done_bytes: 0,
            processes: pids.iter().map(|pid| (*pid, spawn::pidfd(*pid))).collect(),
        }
    }

    /// Waits until one of them has ended, or it is time to tell.
    pub fn wait(&mut self) {
        let fds: Vec<_> =
            self.processes.iter().filter_map(|(_, fd)| fd.as_ref().map(|fd| fd.as_fd())).collect();
        let began_ns = clock::now_ns();
        pelton_sys::wait::wait_any(&fds, Some(EVERY));
        if clock::now_ns() - began_ns >= EVERY.as_nanos() as u64 / 2 {
            self.tell(false);
        }
    }

    /// This one has ended.
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

    /// What the first process has read, or printed if it only prints.
    fn moved(&self) -> u64 {
        let mut buffer = [0; 512];
        let io = self.first.as_ref().and_then(|file| procfs::parse_io(file.read(&mut buffer)?));
        io.map_or(0, |io| match self.total_bytes {
            Some(_) => io.read_bytes,
            None => io.read_bytes.max(io.written_bytes),
        })
    }
}

/// The threads of a process, or the processes that it has started to work for it.
fn workers(pid: u32) -> usize {
    let children = procfs::children(pid).len();
    if children > 0 {
        return children;
    }
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// What a pipeline has to read, if that can be known: what its plan says, or the files that the first stage names.
pub fn total_bytes(planned: &Planned, first: &StagePlan, around: &Surroundings<'_>) -> Option<u64> {
    if planned.input_bytes.is_some() {
        return planned.input_bytes;
    }
    let size = |name: &[u8]| {
        let metadata = std::fs::metadata(Path::new(OsStr::from_bytes(name))).ok()?;
        Some(metadata.len()).filter(|_| metadata.is_file())
    };
    let native = first.program(around).ok()?;
    let Action::Exec(exec) = native.action else { return None };
    let redirected = native.redirections.iter().rev().find_map(|redirection| match redirection {
        Redirection::Open { fd: 0, path, .. } => size(path.as_bytes()),
        _ => None,
    });
    let named: u64 = exec.argv.iter().skip(1).filter_map(|arg| size(arg.as_bytes())).sum();
    redirected.or(Some(named)).filter(|bytes| *bytes > 0)
}
