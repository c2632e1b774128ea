//! Traces this process until the shell has opened its script.

use super::Function;
use crate::tracee::{self, AuxiliaryVector};
use crate::{other_process, pipe, spawn, trace};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// Starts the tracer. `script` is the device and inode of the script; `file` holds the other bytes.
pub(super) fn attach(function: Function, script: (u64, u64), file: &File) -> io::Result<()> {
    let ready = pipe::pipe()?;
    let this = std::process::id() as libc::pid_t;
    let_trace(libc::PR_SET_PTRACER_ANY);
    // Bash must not find a child that it did not start.
    let forked = spawn::fork_orphan(&mut || {
        if seize(this, file, &ready.write).is_ok() {
            Tracer { tracee: this, function, script, breakpoint: None, signal: 0 }.follow();
        }
    });
    drop(ready.write);
    forked?;
    let attached = rustix::io::retry_on_intr(|| rustix::io::read(&ready.read, &mut [0; 1]));
    let_trace(0);
    if attached? == 0 { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// Sets which process may trace this one. Only kernels with Yama check that.
fn let_trace(by: libc::c_ulong) {
    // SAFETY: changes an attribute of this process; the arguments are numbers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, by, 0, 0, 0) };
}

/// Attaches to `tracee`, then writes to `ready` and closes it. `file` becomes descriptor 1.
fn seize(tracee: libc::pid_t, file: &File, ready: &OwnedFd) -> io::Result<()> {
    trace::alone(&[ready.as_raw_fd(), file.as_raw_fd()])?;
    trace::request(libc::PTRACE_SEIZE, tracee, libc::PTRACE_O_TRACEEXEC)?;
    trace::request(libc::PTRACE_INTERRUPT, tracee, 0)?;
    rustix::io::write(rustix::stdio::stdin(), b"1")?;
    // SAFETY: nothing uses it any more.
    unsafe { libc::close(0) };
    Ok(())
}

/// Follows the shell from its exec to its script.
struct Tracer {
    tracee: libc::pid_t,
    function: Function,
    /// Device and inode of the script.
    script: (u64, u64),
    /// The address of the function, and the word of code there.
    breakpoint: Option<(u64, u64)>,
    /// A signal that arrived while the process made calls for the tracer.
    signal: libc::c_int,
}

/// `int3`.
const BREAKPOINT: u64 = 0xcc;
/// `syscall`.
const SYSCALL: u64 = 0x050f;

impl Tracer {
    /// Follows the process until it has the other bytes, or ends.
    fn follow(mut self) {
        while let trace::Next::Stopped(pid, status) = trace::next() {
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            if event == libc::PTRACE_EVENT_EXEC {
                self.breakpoint = self.set_breakpoint();
                if self.breakpoint.is_none() {
                    break;
                }
            } else if event == 0 && signal == libc::SIGTRAP && self.is_at_breakpoint() {
                if self.has_exchanged() {
                    break;
                }
                // Another file: on to the next.
                if trace::request(libc::PTRACE_CONT, pid, std::mem::take(&mut self.signal)).is_err() {
                    break;
                }
                continue;
            }
            // A process that a signal stopped stays so until another continues it.
            let stays = event == libc::PTRACE_EVENT_STOP && signal != libc::SIGTRAP;
            let way = if stays { libc::PTRACE_LISTEN } else { libc::PTRACE_CONT };
            let forwarded = if event == 0 { signal } else { 0 };
            if trace::request(way, pid, forwarded).is_err() {
                break;
            }
        }
        // The shell, which wakes on the same processor, need not wait until this process has ended.
        // SAFETY: changes an attribute of this process; the arguments are numbers.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        // The end of this process detaches as well.
        let _ = trace::request(libc::PTRACE_DETACH, self.tracee, self.signal);
    }

    fn set_breakpoint(&self) -> Option<(u64, u64)> {
        let entry = AuxiliaryVector::read(self.tracee as u32)?.value(libc::AT_ENTRY)?;
        let address = entry.wrapping_add(self.function.after_entry);
        let code = tracee::word(self.tracee as u32, address)?;
        tracee::poke(self.tracee, address, code & !0xff | BREAKPOINT).then_some((address, code))
    }

    fn is_at_breakpoint(&self) -> bool {
        let at = tracee::registers(self.tracee).map(|registers| registers.rip);
        self.breakpoint.is_some_and(|(address, _)| at == Some(address + 1))
    }

    /// Lets the function begin, with the other bytes in the place of the script if that is what it got. Otherwise leaves the
    /// breakpoint for its next call, and returns false.
    fn has_exchanged(&mut self) -> bool {
        let (Some((address, code)), Some(mut before)) = (self.breakpoint, tracee::registers(self.tracee))
        else {
            return true;
        };
        before.rip = address;
        let fd = before.rdi;
        let opened = std::fs::metadata(format!("/proc/{}/fd/{}", self.tracee, fd as i32));
        let is_script = opened.is_ok_and(|opened| (opened.dev(), opened.ino()) == self.script);
        if is_script {
            // The stack below the red zone is free.
            let scratch = (before.rsp - 512) & !15;
            let other = format!("/proc/{}/fd/1\0", std::process::id());
            let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
            if other_process::write(self.tracee as u32, scratch, other.as_bytes())
                && tracee::poke(self.tracee, address, code & !0xffff | SYSCALL)
                && let Some(new) = self.call(&before, libc::SYS_open, [scratch, flags])
            {
                // If it fails, the script itself is read.
                let _ = self.call(&before, libc::SYS_dup2, [new, fd]);
                let _ = self.call(&before, libc::SYS_close, [new, 0]);
            }
        }
        tracee::poke(self.tracee, address, code);
        tracee::set_registers(self.tracee, &before);
        // After its first instruction the breakpoint may stand again.
        is_script || !self.step() || !tracee::poke(self.tracee, address, code & !0xff | BREAKPOINT)
    }

    /// Makes the process execute one instruction. Keeps a signal that arrives for later.
    fn step(&mut self) -> bool {
        loop {
            if trace::request(libc::PTRACE_SINGLESTEP, self.tracee, 0).is_err() {
                return false;
            }
            let trace::Next::Stopped(_, status) = trace::next() else { return false };
            if status >> 16 == 0 && libc::WSTOPSIG(status) == libc::SIGTRAP {
                return true;
            }
            if status >> 16 == 0 {
                self.signal = libc::WSTOPSIG(status);
            }
        }
    }

    /// Makes the process call the system. `None` if that fails.
    fn call(
        &mut self,
        before: &libc::user_regs_struct,
        number: i64,
        [first, second]: [u64; 2],
    ) -> Option<u64> {
        let registers_of_call = libc::user_regs_struct {
            rax: number as u64,
            orig_rax: u64::MAX,
            rdi: first,
            rsi: second,
            rdx: 0,
            ..*before
        };
        if !tracee::set_registers(self.tracee, &registers_of_call) || !self.step() {
            return None;
        }
        let answer = tracee::registers(self.tracee)?.rax as i64;
        u64::try_from(answer).ok()
    }
}
