//! A snapshot of the machine's processes as plain data: what each thread waits for, and which processes could
//! end the wait. Conclusions are drawn elsewhere, from this alone, so a test can construct any snapshot.

use pelton_record::diagnosis::Holder;
use pelton_sys::processes::Stat;
use std::collections::{BTreeMap, BTreeSet};

/// All processes, by id.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Readable and unreadable processes.
    pub processes: BTreeMap<u32, Process>,
}

impl World {
    /// Returns the parent of a process, its parent, and so on.
    pub fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |pid: &u32| self.processes.get(pid).map(|process| process.stat.parent);
        std::iter::successors(parent(&pid), parent).take(self.processes.len())
    }

    /// Notes that `observer`, if it is the parent of `command`, only waits for that.
    pub fn is_waited_for(&mut self, command: Option<u32>, observer: u32) {
        let (Some(command), Some(process)) = (command, self.processes.get_mut(&observer)) else { return };
        for task in &mut process.tasks {
            let by = vec![Holder { pid: command, fd: None }];
            task.wait = Wait { by, ..Wait::simple(Cause::Child) };
            // It runs meanwhile, to look at the others.
            task.evidence.clear();
        }
    }

    /// Removes `observer`, which is about to end and is not being examined, from the waits of others: as the
    /// holder of a pipe that others hold as well. Returns the processes that only wait for its output, such
    /// as a pager.
    pub fn leave_out(&mut self, observer: u32) -> BTreeSet<u32> {
        let mut readers = BTreeSet::from([observer]);
        loop {
            let reads = |process: &Process| {
                let mut waits = process.tasks.iter().map(|task| &task.wait);
                let for_them = |wait: &Wait| {
                    let of_them = wait.by.iter().all(|holder| readers.contains(&holder.pid));
                    wait.cause == Cause::Data && !wait.by.is_empty() && of_them
                };
                process.tasks.len() == 1 && waits.all(for_them)
            };
            let more: BTreeSet<u32> = self
                .processes
                .iter()
                .filter(|(pid, process)| !readers.contains(pid) && reads(process))
                .map(|(&pid, _)| pid)
                .collect();
            if more.is_empty() {
                break;
            }
            readers.extend(more);
        }
        for task in self.processes.values_mut().flat_map(|process| &mut process.tasks) {
            task.wait.forget(observer);
        }
        readers
    }
}

/// One process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// From /proc/PID/stat.
    pub stat: Stat,
    /// Its user.
    pub owner: u32,
    /// Whether it is unreadable.
    pub hidden: bool,
    /// Its threads.
    pub tasks: Vec<Task>,
    /// Its children.
    pub children: Vec<u32>,
}

impl Process {
    /// Whether it has ended and only waits to be reaped.
    pub fn has_ended(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// One thread.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id.
    pub thread: u32,
    /// What it waits for.
    pub wait: Wait,
    /// Values that are unchanged if it has not run in between: its system call, CPU time, and time slices.
    pub evidence: String,
}

/// A thread's wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its kind.
    pub cause: Cause,
    /// The descriptor it waits on.
    pub fd: Option<u32>,
    /// The object behind the descriptor, or the path.
    pub object: Option<String>,
    /// The processes that could end it. For a FIFO that no process has opened: those that might.
    pub by: Vec<Holder>,
    /// For an open FIFO: the processes that might open its other side as well.
    pub openers: Vec<u32>,
    /// For a FIFO that no process has opened: those of `by` that have it among their arguments.
    pub named_by: Vec<u32>,
}

impl Wait {
    /// Makes a wait that no other process can end, or none.
    pub fn simple(cause: Cause) -> Self {
        Wait { cause, fd: None, object: None, by: Vec::new(), openers: Vec::new(), named_by: Vec::new() }
    }

    /// Removes `pid` if others could end the wait too.
    fn forget(&mut self, pid: u32) {
        if let Cause::Any(waits) = &mut self.cause {
            waits.iter_mut().for_each(|wait| wait.forget(pid));
        }
        self.openers.retain(|&opener| opener != pid);
        if self.by.iter().any(|holder| holder.pid != pid) {
            self.by.retain(|holder| holder.pid != pid);
        }
    }
}

/// The kind of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing: it is running or runnable.
    Running,
    /// A time-out, possibly with other waits.
    Timer,
    /// The disk or a file system.
    Disk,
    /// Input from a terminal.
    Terminal,
    /// Another event outside, in words that follow 'waits for'.
    Outside(String),
    /// A signal.
    Signal,
    /// Its debugger.
    Traced,
    /// SIGCONT.
    Stopped,
    /// The end of a child, or of one of several.
    Child,
    /// Data or end of file.
    Data,
    /// Room to write.
    Room,
    /// A process that opens the other end of a FIFO.
    Opener {
        /// Whether the waiting process opens it for writing.
        for_writing: bool,
        /// Whether the FIFO was removed or renamed meanwhile.
        removed: bool,
    },
    /// A file lock.
    Lock,
    /// Another thread of its process.
    Thread,
    /// Any of these.
    Any(Vec<Wait>),
    /// Unknown, for this reason.
    Unknown(String),
}

impl Cause {
    /// Whether it ends without any visible process: by time, by the kernel, by a person.
    pub fn is_outside(&self) -> bool {
        use Cause::*;
        matches!(self, Running | Timer | Disk | Terminal | Outside(_) | Signal | Traced | Unknown(_))
    }
}
