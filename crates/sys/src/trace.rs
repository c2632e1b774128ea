//! Seeing the system calls of a process and of all it starts begin and end, by ptrace(2): two stops for each call.
//!
//! ```text
//!   a copy of ours         the traced process
//!   seize, interrupt  ──▶  stops at its gate
//!   go on             ──▶  call begins (stop) … call ends (stop) …
//!   let go            ◀──  is about to exit (stop)
//! ```
//!
//! The one who traces is a process of its own: a parent that traces its child itself is told of each stop wherever it waits
//! for the child's end. A process that is about to exit is let go, so that its end is told to its parent alone, as always;
//! and so is everything if the one who traces ends.

use crate::spawn;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What a traced thread stopped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A system call begins.
    Begins {
        /// Number of the call.
        number: i64,
        /// Its arguments.
        arguments: [u64; 6],
    },
    /// The call that it began ends.
    Ends {
        /// What it returned.
        value: i64,
        /// Whether that is an error.
        failed: bool,
    },
    /// Another program runs in its process from now on. Its other threads are gone.
    Execs {
        /// The thread that asked for it: this one goes on under the number of the leading one.
        former: u32,
    },
    /// Anything else: it is new, it started another one, a signal came.
    Other,
}

/// How a traced thread goes on after a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// It runs.
    Runs,
    /// A signal stopped it: it stays until another one lets it go on.
    Stays,
    /// It is traced no more: it ends.
    Leaves,
}

/// Who is told of each stop, in the process that traces.
pub trait Watcher {
    /// `thread` has stopped, and stands still until it is let go on.
    fn stops(&mut self, thread: u32, stop: Stop);
    /// It is let go on now.
    fn goes_on(&mut self, _thread: u32, _onward: Onward) {}
}

/// A process that is being traced.
pub struct Trace {
    tracer: u32,
    handle: Option<OwnedFd>,
}

impl Trace {
    /// Attaches to `pid`, which must be waiting (at its gate). What `watcher` notes has to be noted in memory that is shared.
    ///
    /// # Errors
    /// If the system does not permit it, or if this process has several threads.
    pub fn attach(pid: u32, watcher: impl Watcher) -> io::Result<Self> {
        let ready = crate::pipe::pipe()?;
        let Some(tracer) = spawn::fork_copy()? else {
            let attached = alone(ready.write.as_raw_fd()).and_then(|()| seize(pid as libc::pid_t));
            // Whoever asked reads nothing but an end if this fails.
            let told = attached.and_then(|()| Ok(rustix::io::write(rustix::stdio::stdin(), b"1").map(drop)?));
            if told.is_ok() {
                close_from(0);
                Tracer(watcher).run();
            }
            spawn::exit_now(0);
        };
        drop(ready.write);
        let trace = Trace { tracer, handle: spawn::pidfd(tracer) };
        match rustix::io::read(&ready.read, &mut [0; 1])? {
            0 => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            _ => Ok(trace),
        }
    }

    /// The process that traces: a child of this one, which ends when nothing is left to trace.
    pub fn tracer(&self) -> u32 {
        self.tracer
    }
}

/// Whether a child of this process may be traced: tried on one that does nothing.
///
/// # Errors
/// As [`Trace::attach`].
pub fn try_out() -> io::Result<()> {
    struct Nobody;
    impl Watcher for Nobody {
        fn stops(&mut self, _thread: u32, _stop: Stop) {}
    }
    let gate = crate::pipe::pipe()?;
    let Some(child) = spawn::fork_copy()? else {
        // Waits until the other end is closed, whatever comes.
        if alone(gate.read.as_raw_fd()).is_ok() {
            while rustix::io::read(rustix::stdio::stdin(), &mut [0; 1]) == Err(rustix::io::Errno::INTR) {}
        }
        spawn::exit_now(0);
    };
    let attached = Trace::attach(child, Nobody);
    drop(gate);
    crate::wait::reap(child)?;
    let tracer = attached?.tracer;
    crate::wait::reap(tracer).map(drop)
}

impl Drop for Trace {
    /// Whatever is still traced goes on untraced.
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            // It fails if there was nothing left to trace, and so nothing left of the tracer.
            let _ = rustix::process::pidfd_send_signal(handle, rustix::process::Signal::KILL);
        }
    }
}

/// Keeps nothing of what was inherited but `ready`, as descriptor 0: a pipe's end that is kept open here would keep its
/// reader waiting. Signals from the keyboard are for those who are traced.
pub(crate) fn alone(ready: i32) -> io::Result<()> {
    // SAFETY: both are descriptors of this process; nothing else runs in it.
    if unsafe { libc::dup2(ready, 0) } == -1 {
        return Err(io::Error::last_os_error());
    }
    close_from(1);
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

/// A request whose address and data are numbers.
pub(crate) fn request(request: libc::c_uint, pid: libc::pid_t, data: libc::c_int) -> io::Result<()> {
    // SAFETY: none of the requests made here reads or writes memory of ours: address and data are plain numbers.
    let answer = unsafe { libc::ptrace(request, pid, 0usize, data as usize) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn seize(pid: libc::pid_t) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, pid, OPTIONS)?;
    request(libc::PTRACE_INTERRUPT, pid, 0)
}

/// What the stop at an event is about: of a fork, the new process.
pub(crate) fn event_message(pid: libc::pid_t) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one word to `message`.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, 0usize, &raw mut message) };
    (answer != -1).then_some(message as u64)
}

/// What the next traced process did.
pub(crate) enum Next {
    /// It stopped, with this status.
    Stopped(libc::pid_t, libc::c_int),
    /// It has ended without a stop, as by SIGKILL.
    Ended(libc::pid_t),
    /// There are none left.
    None,
}

/// Looks first: a stop is taken here, an end by who knows what to do about it.
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

/// The tracer's own life.
struct Tracer<W>(W);

impl<W: Watcher> Tracer<W> {
    fn run(mut self) {
        loop {
            match next() {
                Next::None => return,
                Next::Ended(pid) => {
                    self.0.goes_on(pid as u32, Onward::Leaves);
                    let mut status = 0;
                    // SAFETY: `status` is writable. Its parent is told of its end once its tracer has taken note.
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
        // One that was killed meanwhile cannot be told anything; its end is seen next.
        let _ = request(way, pid, data);
    }
}

/// The call that begins or ends.
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
