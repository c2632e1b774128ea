//! Stops a thread for some microseconds and reads its registers.
//!
//! By ptrace(2), which needs no privilege for one's own children and what they start. Only a thread that runs should
//! be stopped: some calls that block (`epoll_wait`, `sem_timedop`) would return `EINTR`.

use crate::trace::request;
use std::io;
use std::time::{Duration, Instant};

/// For so long a stop is awaited without sleeping: a thread that runs stops within some microseconds, a runnable one when
/// it gets a CPU, and one that reads a disk when it has read.
const SPIN: Duration = Duration::from_micros(60);
const NAP: Duration = Duration::from_micros(50);

/// The registers with which unwinding begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer, if the code keeps one.
    pub frame_pointer: u64,
    /// The return address, on machines that keep it in a register.
    pub link: Option<u64>,
}

/// Stops `thread`, calls `look` with its registers, and lets it go on. `is_child`: it is the main thread of a child of
/// this process, whose end is reaped elsewhere. `None` if it has ended or is traced already.
///
/// To be called by a thread of which no other waits for children meanwhile: it would see the stop.
pub fn while_stopped<T>(thread: u32, is_child: bool, look: impl FnOnce(Registers) -> T) -> Option<T> {
    let thread = thread as libc::pid_t;
    request(libc::PTRACE_SEIZE, thread, 0).ok()?;
    // Fails only if it has ended.
    let _ = request(libc::PTRACE_INTERRUPT, thread, 0);
    let signal = until_stopped(thread, is_child)?;
    let seen = registers(thread).map(look);
    let _ = request(libc::PTRACE_DETACH, thread, signal);
    seen
}

/// Waits until it has stopped, and returns the signal with which it goes on: one that arrived at the same time is
/// delivered.
fn until_stopped(thread: libc::pid_t, is_child: bool) -> Option<libc::c_int> {
    let begin = Instant::now();
    loop {
        match peek(thread)? {
            Seen::Nothing if begin.elapsed() < SPIN => std::hint::spin_loop(),
            Seen::Nothing => std::thread::sleep(NAP),
            Seen::Stop => {
                let status = take(thread)?;
                let is_event = status >> 16 != 0;
                return Some(if is_event { 0 } else { libc::WSTOPSIG(status) });
            }
            Seen::End => {
                // A tracer takes note of the end before the parent can.
                if !is_child {
                    take(thread);
                }
                return None;
            }
        }
    }
}

/// What became of a thread.
enum Seen {
    Nothing,
    Stop,
    End,
}

/// Looks what became of a traced thread, and leaves it to be waited for.
fn peek(thread: libc::pid_t) -> Option<Seen> {
    // SAFETY: an all-zero siginfo_t is a valid value for waitid to fill.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::WNOHANG | libc::__WALL;
    // SAFETY: `info` is writable.
    if unsafe { libc::waitid(libc::P_PID, thread as libc::id_t, &mut info, flags) } != 0 {
        let is_interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        return is_interrupted.then_some(Seen::Nothing);
    }
    // SAFETY: waitid succeeded; if nothing happened, the pid is the zero it was initialised with.
    let happened = unsafe { info.si_pid() } != 0;
    Some(match info.si_code {
        _ if !happened => Seen::Nothing,
        libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED => Seen::End,
        _ => Seen::Stop,
    })
}

/// Takes what [`peek`] has seen, and returns its status.
fn take(thread: libc::pid_t) -> Option<libc::c_int> {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let answer = unsafe { libc::waitpid(thread, &mut status, libc::__WALL | libc::WNOHANG) };
    (answer == thread).then_some(status)
}

/// Reads the registers of a stopped thread.
fn registers(thread: libc::pid_t) -> Option<Registers> {
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut all: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut place = libc::iovec { iov_base: (&raw mut all).cast(), iov_len: size_of_val(&all) };
    let kind = libc::NT_PRSTATUS as usize;
    // SAFETY: the kernel writes at most `iov_len` bytes to `all`, which `place` describes.
    let answer = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread, kind, &raw mut place) };
    (answer != -1).then(|| named(&all))
}

#[cfg(target_arch = "x86_64")]
fn named(all: &libc::user_regs_struct) -> Registers {
    Registers { pc: all.rip, stack: all.rsp, frame_pointer: all.rbp, link: None }
}

#[cfg(target_arch = "aarch64")]
fn named(all: &libc::user_regs_struct) -> Registers {
    Registers { pc: all.pc, stack: all.sp, frame_pointer: all.regs[29], link: Some(all.regs[30]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_running_child_is_seen_and_runs_on() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7";
        let mut child = Command::new("sh").args(["-c", busy]).spawn().expect("sh starts");
        let mut seen = 0;
        while let Ok(None) = child.try_wait() {
            std::thread::sleep(Duration::from_millis(1));
            let Some(registers) = while_stopped(child.id(), true, |registers| registers) else { continue };
            assert!(registers.pc != 0 && registers.stack != 0, "{registers:?}");
            seen += 1;
        }
        assert!(seen > 0);
        assert_eq!(child.wait().expect("waited for").code(), Some(7));
    }

    #[test]
    fn one_that_has_ended_is_not_seen() {
        let mut child = Command::new("true").spawn().expect("starts");
        while_stopped(child.id(), true, |_| ());
        assert_eq!(child.wait().expect("waited for").code(), Some(0));
        assert_eq!(while_stopped(child.id(), true, |_| ()), None);
    }
}
