//! Derives what a thread waits for, and which processes could end the wait, from its blocking system call.

use super::holders::{Channel, Holders};
use super::raw_process::RawProcess;
use super::world::{Cause, Wait};
use crate::polled_descriptors::polled;
use pelton_record::diagnosis::Holder;
use pelton_sys::calls::{self, Call, Child, Polled};
use pelton_sys::descriptors::{self, Descriptor, Target};
use pelton_sys::file_locks::{self, Blocked};
use pelton_sys::{other_process, procfs};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

/// What a poll with a time-out counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedPolls {
    /// A wait for time: it ends by itself.
    AsTimers,
    /// A wait for any of its descriptors or for time.
    AsAny,
}

/// Resolves the waits of threads.
pub struct Resolver<'w> {
    processes: &'w BTreeMap<u32, RawProcess>,
    holders: &'w Holders,
    timed_polls: TimedPolls,
    locks: OnceCell<Vec<Blocked>>,
}

const SIGCHLD_BIT: u64 = 1 << 16;
/// Signals whose handlers report a program error: 4 to 8 and 11.
const FAULTS: u64 = 0b100_1111_1000;

impl<'w> Resolver<'w> {
    pub fn new(
        processes: &'w BTreeMap<u32, RawProcess>,
        holders: &'w Holders,
        timed_polls: TimedPolls,
    ) -> Self {
        Resolver { processes, holders, timed_polls, locks: OnceCell::new() }
    }

    /// Whether `pid` is readable.
    pub fn sees(&self, pid: u32) -> bool {
        self.holders.sees(pid)
    }

    /// Returns what a thread of `pid` in state `state` waits for in `call`.
    pub fn wait(&mut self, pid: u32, process: &RawProcess, state: char, call: Call) -> Wait {
        match call {
            Call::Child(Child::Vforked) => self.children(process, |_| true),
            _ if state == 'D' => Wait::simple(Cause::Disk),
            Call::Reads(fd) => self.data(pid, fd),
            Call::Writes(fd) => self.room(pid, fd),
            Call::Moves(from, to) => self.either(self.data(pid, from), self.room(pid, to)),
            Call::Child(child) => self.child(pid, process, child),
            Call::Polls { set, timed: true } if self.timed_polls == TimedPolls::AsAny => {
                let wait = self.polls(pid, process, set);
                let time = Wait::simple(Cause::Timer);
                if wait.cause == Cause::Signal { time } else { any(vec![wait, time]) }
            }
            Call::Sleeps | Call::Polls { timed: true, .. } | Call::Signal { timed: true } => {
                Wait::simple(Cause::Timer)
            }
            Call::Futex { timed: true, .. } => Wait::simple(Cause::Timer),
            Call::Polls { set, timed: false } => self.polls(pid, process, set),
            Call::Accepts(_) => Wait::simple(Cause::Outside("a connection".into())),
            Call::Connects(_) => Wait::simple(Cause::Outside("the other side to take its connection".into())),
            Call::Futex { address, private, .. } => self.futex(pid, address, private),
            Call::Locks(fd) => self.lock(pid, fd),
            Call::Opens { path, directory, flags } => self.opens(pid, process, path, directory, flags),
            Call::Signal { timed: false } => Wait::simple(Cause::Signal),
            Call::Disk => Wait::simple(Cause::Disk),
            Call::Resumes => unknown("it goes on with a wait that a signal interrupted"),
            Call::Other(number) => unknown(&format!("it is in system call {number}")),
        }
    }

    /// Used if system calls are not readable: the kernel function where the thread sleeps gives the kind of
    /// wait, the descriptors give the object. The kernel does not guarantee that function's name, so an
    /// unfamiliar name counts as unknown.
    pub fn by_kernel_function(&self, pid: u32, process: &RawProcess, thread: u32) -> Wait {
        let name = procfs::wchan(thread).unwrap_or_default();
        let pipes = |reads: bool| {
            let fits = move |one: &&Descriptor| {
                matches!(one.target, Target::Pipe(_) | Target::Fifo(_))
                    && if reads { one.reads } else { one.writes }
            };
            self.holders.of(pid).iter().filter(fits).map(|one| one.fd)
        };
        match () {
            () if name.contains("pipe_read") => any(pipes(true).map(|fd| self.data(pid, fd)).collect()),
            () if name.contains("pipe_write") => any(pipes(false).map(|fd| self.room(pid, fd)).collect()),
            () if name == "do_wait" => self.children(process, |_| true),
            () if name.contains("nanosleep") => Wait::simple(Cause::Timer),
            () => unknown("the system lets nobody see its system calls (kernel.yama.ptrace_scope)"),
        }
    }

    /// For splice and related calls: it waits for the side that is not ready, but which one that is cannot be
    /// seen.
    fn either(&self, data: Wait, room: Wait) -> Wait {
        match (&data.cause, &room.cause) {
            (Cause::Data, Cause::Room) => any(vec![data, room]),
            (Cause::Data, _) => data,
            _ => room,
        }
    }

    fn data(&self, pid: u32, fd: u32) -> Wait {
        self.channel(pid, fd, Cause::Data)
    }

    fn room(&self, pid: u32, fd: u32) -> Wait {
        self.channel(pid, fd, Cause::Room)
    }

    fn channel(&self, pid: u32, fd: u32, cause: Cause) -> Wait {
        let Some(one) = self.holders.descriptor(pid, fd) else {
            return unknown("the descriptor it waits on is not to be seen");
        };
        let object = Some(shown(&one.target));
        let on = |cause, by| Wait { fd: Some(fd), object: object.clone(), by, ..Wait::simple(cause) };
        match &one.target {
            Target::Terminal(_) => on(Cause::Terminal, Vec::new()),
            // Only the process itself could signal it: one of its threads, since the waiting one cannot.
            Target::Anonymous(_) if self.owns_event(pid, fd) => on(Cause::Thread, Vec::new()),
            Target::Anonymous(name) if name == "inotify" => on(self.change_of_file(pid), Vec::new()),
            Target::Anonymous(name) => on(anonymous(name), Vec::new()),
            Target::File(path) => on(file(path), Vec::new()),
            Target::Socket(inode) => self.socket(*inode, cause, on),
            Target::Pipe(_) | Target::Fifo(_) => {
                let Some(channel) = Channel::of(&one.target) else { return on(cause, Vec::new()) };
                let reads = cause == Cause::Data;
                let by = if reads { self.holders.givers(channel) } else { self.holders.takers(channel) };
                let openers = match (&one.target, self.processes.get(&pid)) {
                    (Target::Fifo(_), Some(process)) => self.might_open(pid, process),
                    _ => Vec::new(),
                };
                Wait { openers, ..on(cause, by) }
            }
        }
    }

    fn socket(&self, inode: u64, cause: Cause, on: impl Fn(Cause, Vec<Holder>) -> Wait) -> Wait {
        let by = self.holders.givers(Channel::Socket(inode));
        match self.holders.socket(inode) {
            _ if !by.is_empty() => on(cause, by),
            Some(socket) if socket.listens => on(Cause::Outside("a connection".into()), Vec::new()),
            _ => on(Cause::Outside("the network".into()), Vec::new()),
        }
    }

    fn child(&self, pid: u32, process: &RawProcess, child: Child) -> Wait {
        let group_of = |child: u32| self.processes.get(&child).map(|one| one.stat.group);
        match child {
            Child::Process(wanted) => self.children(process, |child| child == wanted),
            Child::Pidfd(fd) => {
                let wanted = descriptors::behind_pidfd(pid, fd);
                self.children(process, |child| Some(child) == wanted)
            }
            Child::Group(0) => self.children(process, |child| group_of(child) == Some(process.stat.group)),
            Child::Group(group) => self.children(process, |child| group_of(child) == Some(group)),
            Child::Any | Child::Vforked => {
                // A shell with job control waits for any child, but means the foreground job.
                let job = process.stat.foreground.filter(|&group| group != process.stat.group);
                let in_job = |child: u32| job.is_some() && group_of(child) == job;
                if process.children.iter().any(|&child| in_job(child)) {
                    self.children(process, in_job)
                } else {
                    self.children(process, |_| true)
                }
            }
        }
    }

    fn children(&self, process: &RawProcess, wanted: impl Fn(u32) -> bool) -> Wait {
        let by = process.children.iter().filter(|&&child| wanted(child));
        let by = by.map(|&pid| Holder { pid, fd: None }).collect();
        Wait { by, ..Wait::simple(Cause::Child) }
    }

    fn polls(&self, pid: u32, process: &RawProcess, set: Polled) -> Wait {
        let Some(polled) = polled(pid, set) else {
            return unknown("the set of descriptors that it waits for is not to be seen");
        };
        let mut waits: Vec<Wait> = Vec::new();
        for (fd, reads, writes) in polled {
            let wait = if reads { self.data(pid, fd) } else { self.room(pid, fd) };
            // A signal handler wakes an event loop through a pipe or event of the same process.
            let handles = process.stat.caught & !FAULTS != 0;
            let own_pipe = !wait.by.is_empty() && wait.by.iter().all(|holder| holder.pid == pid);
            waits.push(if handles && reads && (own_pipe || self.owns_event(pid, fd)) {
                Wait { cause: Cause::Signal, by: Vec::new(), ..wait }
            } else {
                wait
            });
            if reads && writes {
                waits.push(self.room(pid, fd));
            }
        }
        if process.stat.caught & SIGCHLD_BIT != 0 && !process.children.is_empty() {
            let children = self.children(process, |_| true);
            // Only a signal wakes it, and the end of a child sends one: Ruby waits for processes in this way.
            if waits.iter().all(|wait| wait.cause == Cause::Signal) {
                return children;
            }
            waits.push(children);
        }
        match waits.is_empty() {
            true => Wait::simple(Cause::Signal),
            false => any(waits),
        }
    }

    /// Returns the wait for a change of a file: by its name if `pid` has only one open, as `tail -f` has.
    fn change_of_file(&self, pid: u32) -> Cause {
        let open = self.holders.of(pid).iter().filter(|one| one.fd > 2);
        let mut files = open.filter_map(|one| match &one.target {
            Target::File(path) if file(path) == Cause::Disk => Some(path),
            _ => None,
        });
        match (files.next(), files.next()) {
            (Some(only), None) => Cause::Outside(format!("a change of {only}")),
            _ => anonymous("inotify"),
        }
    }

    /// Whether descriptor `fd` is an event that only `pid` can signal: no other readable process has it, and
    /// nothing that `pid` has open makes the kernel signal it.
    fn owns_event(&self, pid: u32, fd: u32) -> bool {
        let is_event = |one: &Descriptor| one.target == Target::Anonymous("[eventfd]".into());
        if !self.holders.descriptor(pid, fd).is_some_and(is_event) {
            return false;
        }
        let Some(event) = descriptors::event(pid, fd) else { return false };
        const HARMLESS: [&str; 5] = ["[eventfd]", "[eventpoll]", "[timerfd]", "[signalfd]", "[pidfd]"];
        let harmless = |one: &Descriptor| match &one.target {
            Target::Anonymous(name) => HARMLESS.contains(&name.as_str()),
            _ => true,
        };
        let elsewhere = || {
            self.processes.keys().filter(|&&other| other != pid).any(|&other| {
                let events = self.holders.of(other).iter().filter(|one| is_event(one));
                events.into_iter().any(|one| descriptors::event(other, one.fd) == Some(event))
            })
        };
        let maps = || pelton_sys::processes::file(pid, "maps").unwrap_or_default();
        self.holders.of(pid).iter().all(harmless) && !maps().contains("[aio]") && !elsewhere()
    }

    fn futex(&self, pid: u32, address: u64, private: bool) -> Wait {
        if private || is_private(pid, address) {
            Wait::simple(Cause::Thread)
        } else {
            unknown("it waits for a lock in memory that processes share")
        }
    }

    /// Returns the holder of a lock. The kernel's list names the process that took it, even if that has ended
    /// and only a child has the descriptor; a descriptor's own list says whether the lock was taken through
    /// it.
    fn lock(&self, pid: u32, fd: u32) -> Wait {
        let Some(one) = self.holders.descriptor(pid, fd) else {
            return unknown("the file it waits for a lock on is not to be seen");
        };
        let mut by = self.holders.of_file(&one.target, (pid, fd));
        by.retain(|holder| holder.fd.is_some_and(|fd| descriptors::is_locked(holder.pid, fd)));
        let locks = self.locks.get_or_init(file_locks::blocked);
        let taken = locks.iter().filter(|one| one.waiter == pid).filter_map(|one| one.holder);
        let taken =
            taken.filter(|holder| self.processes.get(holder).is_some_and(|one| !one.tasks.is_empty()));
        for holder in taken {
            if by.iter().all(|known| known.pid != holder) {
                by.push(Holder { pid: holder, fd: None });
            }
        }
        Wait { fd: Some(fd), object: Some(shown(&one.target)), by, ..Wait::simple(Cause::Lock) }
    }

    fn opens(&self, pid: u32, process: &RawProcess, path: u64, directory: i32, flags: u64) -> Wait {
        let outside = || Wait::simple(Cause::Disk);
        let Some(for_writing) = calls::opens_for_writing(flags) else { return outside() };
        let Some(name) = other_process::string(pid, path) else {
            return unknown("the name of the file that it opens is not to be seen");
        };
        let name = String::from_utf8_lossy(&name).into_owned();
        let Some(fifo) = descriptors::fifo(&seen_from(pid, directory, &name), &name) else {
            // A FIFO that was removed leaves those behind that are opening it.
            let opens_fifo = procfs::wchan(pid).is_some_and(|name| name.contains("wait_for_partner"));
            return match opens_fifo {
                true => {
                    Wait { object: Some(name), ..Wait::simple(Cause::Opener { for_writing, removed: true }) }
                }
                false => outside(),
            };
        };
        let start = descriptors::working_directory(pid).filter(|_| directory < 0);
        let path =
            start.map_or(fifo.path.clone(), |start| start.join(&fifo.path).to_string_lossy().into_owned());
        let might_open = self.might_open(pid, process);
        let named_by =
            might_open.iter().copied().filter(|&one| has_argument(one, Path::new(&path))).collect();
        let by = might_open.into_iter().map(|pid| Holder { pid, fd: None }).collect();
        let wait = Wait::simple(Cause::Opener { for_writing, removed: false });
        Wait { object: Some(path), by, named_by, ..wait }
    }

    /// Any process may open a FIFO. The most likely ones belong to the same job: the same process group, and
    /// the parents within the session. Behind the shell of a terminal stands a person, who did not type this: a script did.
    fn might_open(&self, pid: u32, process: &RawProcess) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let same_group = |one: &RawProcess| one.stat.group == process.stat.group;
        found.extend(self.processes.iter().filter(|(_, one)| same_group(one)).map(|(&pid, _)| pid));
        let mut parent = process.stat.parent;
        while let Some(one) =
            self.processes.get(&parent).filter(|one| one.stat.session == process.stat.session)
        {
            let is_persons = one.stat.session == parent && one.stat.foreground.is_some();
            if !is_persons || process.stat.parent == parent {
                found.push(parent);
            }
            parent = one.stat.parent;
        }
        found.retain(|&one| one != pid && self.processes.get(&one).is_some_and(|one| !one.tasks.is_empty()));
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether a process has this file among its arguments.
fn has_argument(pid: u32, file: &Path) -> bool {
    let words = pelton_sys::processes::command_line(pid);
    let start = descriptors::working_directory(pid).unwrap_or_default();
    words.iter().skip(1).any(|word| start.join(word) == file)
}

/// Returns `name`, as `pid` sees it, as a path for this process: root and working directory of `pid` may
/// differ.
fn seen_from(pid: u32, directory: i32, name: &str) -> String {
    match name.strip_prefix('/') {
        Some(rest) => format!("/proc/{pid}/root/{rest}"),
        None if directory < 0 => format!("/proc/{pid}/cwd/{name}"),
        None => format!("/proc/{pid}/fd/{directory}/{name}"),
    }
}

/// Combines waits of which any one suffices.
fn any(mut waits: Vec<Wait>) -> Wait {
    match waits.len() {
        1 => waits.remove(0),
        _ => Wait::simple(Cause::Any(waits)),
    }
}

fn unknown(reason: &str) -> Wait {
    Wait::simple(Cause::Unknown(reason.to_owned()))
}

fn shown(target: &Target) -> String {
    match target {
        Target::Pipe(inode) => format!("pipe:[{inode}]"),
        Target::Socket(inode) => format!("socket:[{inode}]"),
        Target::Fifo(fifo) => fifo.path.clone(),
        Target::Anonymous(name) | Target::Terminal(name) | Target::File(name) => name.clone(),
    }
}

fn anonymous(name: &str) -> Cause {
    match name {
        "[timerfd]" => Cause::Timer,
        "[signalfd]" => Cause::Signal,
        "inotify" | "[fanotify]" => Cause::Outside("a change of a file".into()),
        "[eventfd]" | "[eventpoll]" => Cause::Outside("an event".into()),
        other => Cause::Outside(format!("{other} of the kernel")),
    }
}

fn file(path: &str) -> Cause {
    match path {
        _ if path.starts_with("/dev/") => Cause::Outside(format!("the device {path}")),
        _ if path.starts_with("/proc/") => Cause::Outside(format!("the kernel at {path}")),
        _ => Cause::Disk,
    }
}

/// Whether the memory at `address` is private to this process.
fn is_private(pid: u32, address: u64) -> bool {
    let maps = pelton_sys::processes::file(pid, "maps").unwrap_or_default();
    maps.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let range = words.next().and_then(|range| range.split_once('-'));
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        let inside = range.is_some_and(|(start, end)| (number(start)..number(end)).contains(&address));
        inside && words.next().is_some_and(|rights| rights.ends_with('p'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_ones_own_is_private() {
        let local = 1u64;
        assert!(is_private(std::process::id(), std::ptr::from_ref(&local) as u64));
        assert!(!is_private(std::process::id(), 0));
    }
}
