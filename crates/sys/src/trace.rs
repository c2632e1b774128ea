//! Traces the system calls of a process and its descendants with ptrace(2): two stops per call.
//!
//! ```text
//!   a fork of pelton       the traced process
//!   seize, interrupt  ──▶  stops at its gate
//!   resume            ──▶  call begins (stop) … call ends (stop) …
//!   detach            ◀──  is about to exit (stop)
//! ```
//!
//! The tracer is a separate process: a parent that traces its own child gets each stop wherever it waits for
//! the child's end. The tracer detaches from a process that is about to exit, so that only its parent is
//! notified, as usual; if the tracer ends, all processes are detached.

use crate::{pidfd, spawn};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Why a traced thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A system call entry.
    Begins {
        /// Number of the call.
        number: i64,
        /// Its arguments.
        arguments: [u64; 6],
    },
    /// The exit of that call.
    Ends {
        /// Return value.
        value: i64,
        /// Whether it is an error.
        failed: bool,
    },
    /// Its process exec'd. Its other threads are gone.
    Execs {
        /// The thread that called exec: it continues under the leading thread's number.
        former: u32,
    },
    /// Anything else: a new thread, a fork, a signal.
    Other,
}

/// How a traced thread continues after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// It runs.
    Runs,
    /// A signal stopped it: it stays stopped until a signal continues it.
    Stays,
    /// It is detached: it exits.
    Leaves,
}

/// Receives each stop, in the tracer.
pub trait Watcher {
    /// `thread` has stopped, and stays stopped until it is resumed.
    fn stops(&mut self, thread: u32, stop: Stop);
    /// `thread` is resumed now.
    fn goes_on(&mut self, _thread: u32, _onward: Onward) {}
}

/// A traced process.
pub struct Trace {
    tracer: u32,
    handle: Option<OwnedFd>,
}

impl Trace {
    /// Attaches to `pid`, which must be waiting at its gate. `watcher` must record its results in shared
    /// memory.
    ///
    /// # Errors
    /// If the system does not permit it, or if this process has several threads.
    pub fn attach(pid: u32, watcher: impl Watcher) -> io::Result<Self> {
        let ready = crate::pipe::pipe()?;
        let Some(tracer) = spawn::fork_copy()? else {
            let attached = alone(&[ready.write.as_raw_fd()]).and_then(|()| seize(pid as libc::pid_t));
            // On failure the caller reads only an end of file.
            let told = attached.and_then(|()| Ok(rustix::io::write(rustix::stdio::stdin(), b"1").map(drop)?));
            if told.is_ok() {
                close_from(0);
                Tracer(watcher).run();
            }
            spawn::exit_now(0);
        };
        drop(ready.write);
        let trace = Trace { tracer, handle: pidfd::open(tracer) };
        match rustix::io::read(&ready.read, &mut [0; 1])? {
            0 => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            _ => Ok(trace),
        }
    }

    /// Returns the tracer: a child of this process, which ends when nothing is left to trace.
    pub fn tracer(&self) -> u32 {
        self.tracer
    }
}

/// Checks that a child of this process may be traced, with one that does nothing.
///
/// # Errors
/// As [`Trace::attach`].
pub fn try_out() -> io::Result<()> {
    struct IgnoreStops;
    impl Watcher for IgnoreStops {
        fn stops(&mut self, _thread: u32, _stop: Stop) {}
    }
    let gate = crate::pipe::pipe()?;
    let Some(child) = spawn::fork_copy()? else {
        // Waits until the other end is closed, whatever happens.
        if alone(&[gate.read.as_raw_fd()]).is_ok() {
            while rustix::io::read(rustix::stdio::stdin(), &mut [0; 1]) == Err(rustix::io::Errno::INTR) {}
        }
        spawn::exit_now(0);
    };
    let attached = Trace::attach(child, IgnoreStops);
    drop(gate);
    crate::wait::reap(child)?;
    let tracer = attached?.tracer;
    crate::wait::reap(tracer).map(drop)
}

impl Drop for Trace {
    /// All traced processes continue untraced.
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            // Fails if the tracer has ended because nothing was left to trace.
            let _ = rustix::process::pidfd_send_signal(handle, rustix::process::Signal::KILL);
        }
    }
}

/// Keeps these descriptors, none of them below 3, as 0, 1, …, and closes all others: an inherited pipe end kept open
/// here would block its reader. Signals from the keyboard are left to the traced processes.
pub(crate) fn alone(kept: &[RawFd]) -> io::Result<()> {
    for (number, fd) in (0..).zip(kept) {
        // SAFETY: both are descriptors of this process; nothing else runs in it.
        if unsafe { libc::dup2(*fd, number) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    close_from(kept.len() as u32);
    crate::signals::block_all();
    Ok(())
}

fn close_from(first: u32) {
    // SAFETY: this process is a copy whose only work is below; none of its descriptors is used again.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0u32) };
}

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

/// Makes a request whose address and data are numbers.
pub(crate) fn request(request: libc::c_uint, pid: libc::pid_t, data: libc::c_int) -> io::Result<()> {
    // SAFETY: none of the requests made here reads or writes memory of ours: address and data are plain
    // numbers.
    let answer = unsafe { libc::ptrace(request, pid, 0usize, data as usize) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn seize(pid: libc::pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, OPTIONS)?;
    request(libc::PTRACE_INTERRUPT, pid, 0)
}

/// Returns the message of an event stop: for a fork, the new process.
pub(crate) fn event_message(pid: libc::pid_t) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word to `message`.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, 0usize, &raw mut message) };
    (answer != -1).then_some(message as u64)
}

/// The next event of a traced process.
pub(crate) enum Next {
    /// It stopped, with this status.
    Stopped(libc::pid_t, libc::c_int),
    /// It has ended without a stop, as after SIGKILL.
    Ended(libc::pid_t),
    /// No traced process is left.
    None,
}

/// Peeks first: a stop is consumed here, an end is left to the caller.
pub(crate) fn next() -> Next {
    const OWN: libc::c_int = libc::__WALL;
    loop {
        // SAFETY: an all-zero siginfo_t is a valid value for waitid to fill.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | OWN;
        // SAFETY: `info` is writable.
        if unsafe { libc::waitid(libc::P_ALL, 0, &mut info, flags) } != 0 {
            match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => continue,
                _ => return Next::None,
            }
        }
        // SAFETY: waitid succeeded without WNOHANG, so it filled the fields of a child.
        let pid = unsafe { info.si_pid() };
        if matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
            return Next::Ended(pid);
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        if unsafe { libc::waitpid(pid, &mut status, OWN | libc::WNOHANG) } == pid {
            return Next::Stopped(pid, status);
        }
    }
}

/// The tracer's loop.
struct Tracer<W>(W);

impl<W: Watcher> Tracer<W> {
    fn run(mut self) {
        loop {
            match next() {
                Next::None => return,
                Next::Ended(pid) => {
                    self.0.goes_on(pid as u32, Onward::Leaves);
                    let mut status = 0;
                    // SAFETY: `status` is writable. Its parent is told of its end once its tracer has taken
                    // note.
                    unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
                }
                Next::Stopped(pid, status) => self.stopped(pid, status),
            }
        }
    }

    fn stopped(&mut self, pid: libc::pid_t, status: libc::c_int) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let stop = match event {
            libc::PTRACE_EVENT_EXEC => {
                Stop::Execs { former: event_message(pid).map_or(pid as u32, |former| former as u32) }
            }
            0 if signal == libc::SIGTRAP | 0x80 => call(pid).unwrap_or(Stop::Other),
            _ => Stop::Other,
        };
        self.0.stops(pid as u32, stop);
        let (onward, way, data) = match event {
            libc::PTRACE_EVENT_EXIT => (Onward::Leaves, libc::PTRACE_DETACH, 0),
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => (Onward::Stays, libc::PTRACE_LISTEN, 0),
            0 if signal != libc::SIGTRAP | 0x80 => (Onward::Runs, libc::PTRACE_SYSCALL, signal),
            _ => (Onward::Runs, libc::PTRACE_SYSCALL, 0),
        };
        self.0.goes_on(pid as u32, onward);
        // One that was killed meanwhile cannot be resumed; its end is seen next.
        let _ = request(way, pid, data);
    }
}

/// Returns the call that begins or ends.
fn call(pid: libc::pid_t) -> Option<Stop> {
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes to `info`, which is that large.
    if unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &mut info) } <= 0 {
        return None;
    }
    match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: of an entry the kernel fills this part of the union.
            let entry = unsafe { info.u.entry };
            Some(Stop::Begins { number: entry.nr as i64, arguments: entry.args })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: of an exit the kernel fills this part of the union.
            let exit = unsafe { info.u.exit };
            Some(Stop::Ends { value: exit.sval, failed: exit.is_error != 0 })
        }
        _ => None,
    }
}
