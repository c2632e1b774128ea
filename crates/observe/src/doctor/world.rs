//! The processes of the machine at one moment, as plain data: what each thread waits for, and who could end the wait.
//! What can be concluded is decided elsewhere, from this alone, so that any world can be made up for a test.

use pelton_record::diagnosis::Holder;
use pelton_sys::processes::Stat;
use std::collections::{BTreeMap, BTreeSet};

/// All processes, by id.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Those that can be looked into, and those that cannot.
    pub processes: BTreeMap<u32, Process>,
}

impl World {
    /// Forgets that others could wait for `observer`, which is about to end and is not what is asked about: as the holder of a
    /// pipe that others hold as well. Returns those who only wait for its output, such as a pager.
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
    /// Whose it is.
    pub owner: u32,
    /// Whether it may not be looked into.
    pub hidden: bool,
    /// Its threads.
    pub tasks: Vec<Task>,
    /// Its children.
    pub children: Vec<u32>,
}

impl Process {
    /// Whether it has ended and only waits to be noticed.
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
    /// What must not have changed if it has not run in between: its system call, its time on a CPU, its time slices.
    pub evidence: String,
}

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// In kind.
    pub cause: Cause,
    /// The descriptor it waits on.
    pub fd: Option<u32>,
    /// What is behind the descriptor, or the path.
    pub object: Option<String>,
    /// Who could end it. Of a FIFO that nobody has opened: those who might.
    pub by: Vec<Holder>,
}

impl Wait {
    /// A wait that no other process can end, or none.
    pub fn simple(cause: Cause) -> Self {
        Wait { cause, fd: None, object: None, by: Vec::new() }
    }

    /// Without `pid`, if others could end it too.
    fn forget(&mut self, pid: u32) {
        if let Cause::Any(waits) = &mut self.cause {
            waits.iter_mut().for_each(|wait| wait.forget(pid));
        }
        if self.by.iter().any(|holder| holder.pid != pid) {
            self.by.retain(|holder| holder.pid != pid);
        }
    }
}

/// What a thread waits for, in kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nothing: it runs, or is ready to.
    Running,
    /// A time, whatever else.
    Timer,
    /// The disk, or a file system.
    Disk,
    /// Somebody to type.
    Terminal,
    /// Something else outside, in words that follow 'waits for'.
    Outside(String),
    /// A signal.
    Signal,
    /// Its debugger.
    Traced,
    /// To be continued.
    Stopped,
    /// A child, or one of several, to end.
    Child,
    /// Data or the end of them.
    Data,
    /// Room for data.
    Room,
    /// Somebody to open a FIFO: for reading, if it opens it for writing itself.
    Opener {
        /// Whether it opens for writing.
        for_writing: bool,
    },
    /// A file lock.
    Lock,
    /// Another thread of its process.
    Thread,
    /// Any of these.
    Any(Vec<Wait>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl Cause {
    /// Whether it ends without any process that can be seen: by time, by the kernel, by a person.
    pub fn is_outside(&self) -> bool {
        use Cause::*;
        matches!(self, Running | Timer | Disk | Terminal | Outside(_) | Signal | Traced | Unknown(_))
    }
}
