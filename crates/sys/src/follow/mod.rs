//! Follows a process and its descendants with ptrace(2): stops at each fork, exec and exit, and nowhere else.
//!
//! ```text
//!   a fork of pelton       the followed process
//!   seize             ──▶  forks (stop) … execs (stop) …
//!   reads its files   ◀──  is about to exit (stop): descriptors and counters are still there
//!   reads its clock   ◀──  has ended, not yet reaped: its CPU time is complete
//!   detaches          ──▶  its parent is notified
//! ```
//!
//! The kernel's notifications of forks and exits (the process connector) need root and come without a stop: a
//! short process is gone before it can be inspected. The tracer's events come through a pipe; a slow reader
//! delays the followed processes at their next fork, exec or exit. If this process ends, so does the tracer,
//! and all processes continue unfollowed.

mod calls;
mod event;
mod place;

pub use event::Event;
pub use place::LinePlace;

use crate::descriptors::{self, Descriptor, Target};
use crate::procfs::{self, ProcFile};
use crate::trace::{self, Next};
use crate::wait::Ended;
use crate::{clock, pidfd, pipe, processes, spawn, traced_set_uid};
use event::{Frame, OPTIONS, frame, tell};
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// How many bytes of a command line are kept.
const COMMAND_LINE: usize = 4096;

/// A followed process.
pub struct Follow {
    tracer: u32,
    handle: Option<OwnedFd>,
    events: OwnedFd,
    unread: Vec<u8>,
    ended: bool,
}

impl Follow {
    /// Follows `pid`, which must be waiting at its gate, from its next exec on. With `place`, the line place
    /// of the shell that `pid` becomes, events of the processes that this shell starts include their line.
    ///
    /// # Errors
    /// If the system does not permit it, or if this process has several threads.
    pub fn attach(pid: u32, place: Option<LinePlace>) -> io::Result<Self> {
        let events = pipe::pipe()?;
        let Some(tracer) = spawn::fork_copy()? else {
            let attached = trace::alone(&[events.write.as_raw_fd()])
                .and_then(|()| trace::request(libc::PTRACE_SEIZE, pid as libc::pid_t, OPTIONS));
            if attached.is_ok() && tell(&[1]).is_ok() {
                Follower::new(pid, place).run();
            }
            spawn::exit_now(0);
        };
        drop(events.write);
        if rustix::io::read(&events.read, &mut [0; 1])? == 0 {
            return Err(io::Error::from(io::ErrorKind::PermissionDenied));
        }
        pipe::never_wait(events.read.as_fd())?;
        let handle = pidfd::open(tracer);
        Ok(Follow { tracer, handle, events: events.read, unread: Vec::new(), ended: false })
    }

    /// Returns the tracer: a child of this process, which ends when nothing is left to follow.
    pub fn tracer(&self) -> u32 {
        self.tracer
    }

    /// Returns a descriptor that is readable when [`read`](Follow::read) has events.
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.events.as_fd())
    }

    /// Returns the events since the last call.
    pub fn read(&mut self) -> Vec<Event> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match rustix::io::read(&self.events, &mut buffer) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.unread.extend_from_slice(&buffer[..n]);
                    continue;
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => {}
            }
            break;
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((event, used)) = frame(&self.unread[at..]) {
            found.extend(event);
            at += used;
        }
        self.unread.drain(..at);
        found
    }
}

impl Drop for Follow {
    /// All followed processes continue unfollowed.
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            // Fails if the tracer has ended because nothing was left to follow.
            let _ = rustix::process::pidfd_send_signal(handle, rustix::process::Signal::KILL);
        }
    }
}

/// Maximum number of system calls before an exec: a process that makes more is not a command.
const BEFORE_EXEC: u32 = 64;

/// The tracer's loop. Standard input is the pipe that it writes to: see [`trace::alone`].
struct Follower {
    root: u32,
    /// Whether the program itself runs: earlier events are pelton's.
    begun: bool,
    /// Tasks that are threads, not processes.
    threads: HashSet<u32>,
    /// Processes whose fork was reported. The first stop of a new process may be seen before its parent's,
    /// and it must wait: the reader needs to know its parent before any other event.
    known: HashSet<u32>,
    held: HashSet<u32>,
    /// Processes to detach at the end of their exec: see [`traced_set_uid`].
    leaving: HashSet<u32>,
    lines: Lines,
}

/// The script lines of a shell, if requested.
#[derive(Default)]
struct Lines {
    place: Option<LinePlace>,
    /// Address of the line number in the shell and in its forks.
    addresses: HashMap<u32, u64>,
    /// Forks watched until their exec: number of system calls, and the line.
    watched: HashMap<u32, (u32, Option<u32>)>,
}

impl Lines {
    /// Handles an exec of `pid`.
    fn execed(&mut self, pid: u32, is_root: bool) -> Option<u32> {
        self.addresses.remove(&pid);
        if let Some(address) = self.place.filter(|_| is_root).and_then(|place| place.address(pid)) {
            self.addresses.insert(pid, address);
        }
        self.watched.remove(&pid)?.1
    }

    /// Returns the line where `pid` forked `child`, if known by then.
    fn forked(&mut self, pid: u32, child: u32) -> Option<u32> {
        let address = *self.addresses.get(&pid)?;
        self.addresses.insert(child, address);
        // A process that forks is not a command.
        self.watched.remove(&pid);
        if self.place?.before_exec {
            self.watched.insert(child, (0, None));
            return None;
        }
        place::line(pid, address)
    }

    /// Handles a system call stop of `pid`.
    fn called(&mut self, pid: u32) {
        let Some((calls, line)) = self.watched.get_mut(&pid) else { return };
        *calls += 1;
        if calls::is_exec(pid as libc::pid_t) {
            *line = self.addresses.get(&pid).and_then(|&address| place::line(pid, address));
        }
    }

    fn ended(&mut self, pid: u32) {
        self.addresses.remove(&pid);
        self.watched.remove(&pid);
    }

    /// Returns the request that resumes `pid`: to its next system call, or to its next event.
    fn way_on(&self, pid: u32) -> libc::c_uint {
        match self.watched.get(&pid) {
            Some((0..BEFORE_EXEC, None)) => libc::PTRACE_SYSCALL,
            _ => libc::PTRACE_CONT,
        }
    }
}

impl Follower {
    fn new(root: u32, place: Option<LinePlace>) -> Self {
        let known = HashSet::from([root]);
        Follower {
            root,
            begun: false,
            threads: HashSet::new(),
            known,
            held: HashSet::new(),
            leaving: HashSet::new(),
            lines: Lines { place, ..Lines::default() },
        }
    }

    fn run(mut self) {
        loop {
            let told = match trace::next() {
                Next::None => return,
                Next::Ended(pid) => self.ended(pid as u32),
                Next::Stopped(pid, status) => self.stopped(pid, status),
            };
            // The reader has gone: without a tracer, all processes continue as they are.
            if told.is_err() {
                return;
            }
        }
    }

    fn stopped(&mut self, pid: libc::pid_t, status: libc::c_int) -> io::Result<()> {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if event == 0 && signal == calls::STOP {
            if self.leaving.remove(&(pid as u32)) {
                return self.leave(pid as u32);
            }
            self.lines.called(pid as u32);
            let _ = trace::request(self.lines.way_on(pid as u32), pid, 0);
            return Ok(());
        }
        let told = match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.forked(pid as u32)
            }
            libc::PTRACE_EVENT_EXEC => self.execed(pid as u32),
            libc::PTRACE_EVENT_EXIT => self.exiting(pid as u32),
            _ => Ok(()),
        };
        if event == libc::PTRACE_EVENT_STOP && !self.known.contains(&(pid as u32)) {
            self.held.insert(pid as u32);
            return told;
        }
        // One that was killed meanwhile cannot be resumed; its end is seen next.
        let _ = match event {
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => trace::request(libc::PTRACE_LISTEN, pid, 0),
            0 => trace::request(self.lines.way_on(pid as u32), pid, signal),
            libc::PTRACE_EVENT_EXEC if traced_set_uid::is_withheld(pid as u32) => {
                self.leaving.insert(pid as u32);
                trace::request(libc::PTRACE_SYSCALL, pid, 0)
            }
            _ => trace::request(self.lines.way_on(pid as u32), pid, 0),
        };
        told
    }

    /// Detaches a process that gains privilege: neither it nor its descendants are followed any further.
    fn leave(&mut self, pid: u32) -> io::Result<()> {
        if !traced_set_uid::start_again(pid) {
            let _ = trace::request(libc::PTRACE_CONT, pid as libc::pid_t, 0);
            return Ok(());
        }
        self.known.remove(&pid);
        tell(&Frame::of(b'l', &[u64::from(pid)], &[]))
    }

    fn forked(&mut self, pid: u32) -> io::Result<()> {
        let Some(child) = trace::event_message(pid as libc::pid_t) else { return Ok(()) };
        let child = child as u32;
        let told = self.born(pid, child);
        self.known.insert(child);
        if self.held.remove(&child) {
            let _ = trace::request(self.lines.way_on(child), child as libc::pid_t, 0);
        }
        told
    }

    fn born(&mut self, pid: u32, child: u32) -> io::Result<()> {
        // A thread is not listed in /proc, but can be looked up there.
        let group = processes::file(child, "status").and_then(|text| number(&text, "Tgid:"));
        if group.is_some_and(|group| group != u64::from(child)) {
            self.threads.insert(child);
            return Ok(());
        }
        if !self.begun {
            return Ok(());
        }
        let line = self.lines.forked(pid, child).unwrap_or(0);
        let numbers = [clock::now_ns(), u64::from(pid), u64::from(child), u64::from(line)];
        tell(&Frame::of(b'f', &numbers, &[]))
    }

    fn execed(&mut self, pid: u32) -> io::Result<()> {
        self.begun |= pid == self.root;
        self.threads.remove(&pid);
        let number = self.lines.execed(pid, pid == self.root).unwrap_or(0);
        let line = ProcFile::open(pid, "cmdline").and_then(|file| {
            let mut buffer = vec![0; COMMAND_LINE];
            let size = file.read_bytes(&mut buffer)?;
            buffer.truncate(size);
            Some(buffer)
        });
        let line = line.unwrap_or_default();
        let words: Vec<&[u8]> = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0).collect();
        let [mut stdin, mut stdout] = pipes(pid);
        let mut in_another_place = 0;
        // A shell's process substitution: <(a), >(b). A pipe named there is used; others may only have
        // leaked.
        for named in words.iter().skip(1).filter_map(|word| named_descriptor(pid, word)) {
            match named {
                Descriptor { target: Target::Pipe(pipe), reads: true, .. } if stdin == 0 => {
                    stdin = pipe;
                    in_another_place |= 1;
                }
                Descriptor { target: Target::Pipe(pipe), writes: true, .. } if stdout == 0 => {
                    stdout = pipe;
                    in_another_place |= 2;
                }
                _ => {}
            }
        }
        let cpu_ns = clock::process_cpu_ns(pid).unwrap_or(0);
        let numbers =
            [clock::now_ns(), u64::from(pid), cpu_ns, stdin, stdout, in_another_place, u64::from(number)];
        tell(&Frame::of(b'x', &numbers, &words))
    }

    fn exiting(&mut self, pid: u32) -> io::Result<()> {
        if self.threads.contains(&pid) || !self.begun {
            return Ok(());
        }
        let mut buffer = [0; 512];
        let io = ProcFile::open(pid, "io").and_then(|file| procfs::parse_io(file.read(&mut buffer)?));
        let known = u64::from(io.is_some());
        let io = io.unwrap_or_default();
        let status = processes::file(pid, "status").unwrap_or_default();
        let peak = number(&status, "VmHWM:").unwrap_or(0) * 1024;
        let [stdin, stdout] = pipes(pid);
        let numbers = [
            u64::from(pid),
            stdin,
            stdout,
            known,
            io.read_bytes,
            io.written_bytes,
            io.read_calls,
            io.write_calls,
            peak,
        ];
        tell(&Frame::of(b'q', &numbers, &[]))
    }

    fn ended(&mut self, pid: u32) -> io::Result<()> {
        let cpu_ns = clock::process_cpu_ns(pid).unwrap_or(0);
        let (ended, usage) = crate::wait::reap(pid)?;
        self.known.remove(&pid);
        self.held.remove(&pid);
        self.lines.ended(pid);
        if self.threads.remove(&pid) || !self.begun {
            return Ok(());
        }
        let (how, code) = match ended {
            Ended::Exited(code) => (0, code),
            Ended::Signalled(signal, core) => (1 + u64::from(core), signal),
        };
        let mut numbers = vec![clock::now_ns(), u64::from(pid), how, code as u64, cpu_ns];
        numbers.extend(usage.as_array());
        tell(&Frame::of(b'e', &numbers, &[]))
    }
}

/// Returns the descriptor that an argument such as `/dev/fd/63` names.
fn named_descriptor(pid: u32, word: &[u8]) -> Option<Descriptor> {
    let number = word.strip_prefix(b"/dev/fd/").or_else(|| word.strip_prefix(b"/proc/self/fd/"))?;
    descriptors::one(pid, std::str::from_utf8(number).ok()?.parse().ok()?)
}

/// Returns the inodes of the pipes behind descriptors 0 and 1; 0 for none.
fn pipes(pid: u32) -> [u64; 2] {
    [0, 1].map(|fd| procfs::pipe_behind(pid, fd).unwrap_or(0))
}

fn number(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers() {
        assert_eq!(number("Name:\tx\nTgid:\t42\n", "Tgid:"), Some(42));
    }
}
