//! Counting the system calls of a process and of all it starts, by ptrace(2): two stops for each call.
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

use crate::shared::Counters;
use crate::{clock, spawn};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// What was counted of one system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often it was made.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Time from its beginning to its end, waiting and the tracing itself included.
    pub time_ns: u64,
    /// What it returned where that is a number of bytes that it moved, in all.
    pub bytes: Option<u64>,
}

/// Calls with a number from here on are counted as this one.
const NUMBERS: usize = 1024;
/// Counters of one call: calls, errors, time, bytes.
const FIELDS: usize = 4;

/// A process whose calls are being counted.
pub struct Trace {
    tracer: u32,
    handle: Option<OwnedFd>,
    counters: Arc<Counters>,
}

impl Trace {
    /// Attaches to `pid`, which must be waiting (at its gate), and counts from its next exec on.
    ///
    /// # Errors
    /// If the system does not permit it, or if this process has several threads.
    pub fn attach(pid: u32) -> io::Result<Self> {
        let counters = Arc::new(Counters::new(NUMBERS * FIELDS)?);
        let ready = crate::pipe::pipe()?;
        let Some(tracer) = spawn::fork_copy()? else {
            let attached = alone(ready.write.as_raw_fd()).and_then(|()| seize(pid as libc::pid_t));
            // Whoever asked reads nothing but an end if this fails.
            let told = attached.and_then(|()| Ok(rustix::io::write(rustix::stdio::stdin(), b"1").map(drop)?));
            if told.is_ok() {
                close_from(0);
                Tracer { begun: false, calls: HashMap::new(), counters }.run();
            }
            spawn::exit_now(0);
        };
        drop(ready.write);
        match rustix::io::read(&ready.read, &mut [0; 1])? {
            0 => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            _ => Ok(Trace { tracer, handle: spawn::pidfd(tracer), counters }),
        }
    }

    /// The process that traces: a child of this one, which ends when nothing is left to trace.
    pub fn tracer(&self) -> u32 {
        self.tracer
    }

    /// What was counted so far, by number. Of a process that has ended: all.
    pub fn counts(&self) -> BTreeMap<i64, Count> {
        (0..NUMBERS)
            .map(|number| (number as i64, self.count(number)))
            .filter(|(_, count)| count.calls > 0)
            .collect()
    }

    fn count(&self, number: usize) -> Count {
        let [calls, errors, time_ns, bytes] =
            [0, 1, 2, 3].map(|field| self.counters.get(number * FIELDS + field));
        let bytes = crate::calls::moves_bytes(number as i64).then_some(bytes);
        Count { calls, errors, time_ns, bytes }
    }
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
    // SAFETY: an all-zero set is a valid value for sigfillset to fill.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `all` is writable.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: `all` was filled; the old set is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &all, std::ptr::null_mut()) };
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

/// A call that has begun.
#[derive(Clone, Copy)]
struct Begun {
    number: i64,
    start_ns: u64,
}

struct Tracer {
    /// Whether the program itself runs: what comes before is ours.
    begun: bool,
    calls: HashMap<libc::pid_t, Begun>,
    counters: Arc<Counters>,
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

impl Tracer {
    fn run(mut self) {
        loop {
            match next() {
                Next::None => return,
                Next::Ended(pid) => {
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
        // One that was killed meanwhile cannot be told anything; its end is seen next.
        let _ = match event {
            libc::PTRACE_EVENT_EXIT => {
                self.calls.remove(&pid);
                request(libc::PTRACE_DETACH, pid, 0)
            }
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => request(libc::PTRACE_LISTEN, pid, 0),
            libc::PTRACE_EVENT_EXEC => {
                self.begun = true;
                request(libc::PTRACE_SYSCALL, pid, 0)
            }
            0 if signal == libc::SIGTRAP | 0x80 => {
                self.call(pid);
                request(libc::PTRACE_SYSCALL, pid, 0)
            }
            0 => request(libc::PTRACE_SYSCALL, pid, signal),
            _ => request(libc::PTRACE_SYSCALL, pid, 0),
        };
    }

    /// A call begins or ends.
    fn call(&mut self, pid: libc::pid_t) {
        // SAFETY: an all-zero value is a valid one for the kernel to fill.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::ptrace_syscall_info>();
        // SAFETY: the kernel writes at most `size` bytes to `info`, which is that large.
        if unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &mut info) } <= 0 {
            return;
        }
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: of an entry the kernel fills this part of the union.
                let number = unsafe { info.u.entry.nr } as i64;
                self.calls.insert(pid, Begun { number, start_ns: clock::now_ns() });
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => {
                // SAFETY: of an exit the kernel fills this part of the union.
                let exit = unsafe { info.u.exit };
                if let Some(begun) = self.calls.remove(&pid).filter(|_| self.begun) {
                    self.count(begun, exit.sval, exit.is_error != 0);
                }
            }
            _ => {}
        }
    }

    fn count(&self, begun: Begun, value: i64, failed: bool) {
        let first = (begun.number.max(0) as usize).min(NUMBERS - 1) * FIELDS;
        self.counters.add(first, 1);
        self.counters.add(first + 1, u64::from(failed));
        self.counters.add(first + 2, clock::now_ns() - begun.start_ns);
        if !failed && crate::calls::moves_bytes(begun.number) {
            self.counters.add(first + 3, u64::try_from(value).unwrap_or(0));
        }
    }
}
