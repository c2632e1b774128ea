//! Programs that gain privilege from their file (set-uid, set-gid, capabilities) do not while an ordinary
//! user traces them. So the tracer detaches before their first instruction, and makes them exec again.
//!
//! ```text
//!   stop at the exec   ──▶  does this file give privilege?  no: go on, followed
//!   stop at its end    ──▶  set registers: execve(AT_EXECFN, argv, envp) at the vDSO's `syscall`
//!   detach             ──▶  the kernel reads the file again, untraced
//! ```
//!
//! Its arguments are still where the kernel placed them; nothing of it has run, so nothing runs twice.

#[cfg(target_arch = "x86_64")]
use crate::other_process;
#[cfg(target_arch = "x86_64")]
use crate::tracee::{self, AuxiliaryVector};
use std::os::unix::fs::MetadataExt;

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2010;

/// Whether tracing withholds privilege from the program that `pid` has just exec'd.
pub(crate) fn is_withheld(pid: u32) -> bool {
    let user = rustix::process::geteuid();
    // A tracer with full privilege withholds none.
    if user.is_root() {
        return false;
    }
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = std::fs::metadata(&path) else { return false };
    let group = rustix::process::getegid().as_raw();
    (file.mode() & SET_USER != 0 && file.uid() != user.as_raw())
        || (file.mode() & SET_GROUP == SET_GROUP && file.gid() != group)
        || rustix::fs::getxattr(&path, "security.capability", &mut [0_u8; 64][..]).is_ok()
}

/// Makes `pid`, stopped at the end of its exec, exec its program again untraced. Returns false if that is not
/// possible: it is then still stopped, and unchanged.
#[cfg(target_arch = "x86_64")]
pub(crate) fn start_again(pid: u32) -> bool {
    let tracee = pid as libc::pid_t;
    let Some(registers) = tracee::registers(tracee) else { return false };
    let Some(call) = exec_call(pid, registers.rsp) else { return false };
    let changed = libc::user_regs_struct {
        rax: libc::SYS_execve as u64,
        orig_rax: u64::MAX,
        rdi: call.path,
        rsi: call.argv,
        rdx: call.envp,
        rip: call.instruction,
        ..registers
    };
    if !tracee::set_registers(tracee, &changed) {
        return false;
    }
    if crate::trace::request(libc::PTRACE_DETACH, tracee, 0).is_ok() {
        return true;
    }
    // If this fails as well, it has been killed.
    tracee::set_registers(tracee, &registers);
    false
}

/// On other architectures it stays traced and unprivileged.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn start_again(_pid: u32) -> bool {
    false
}

/// The addresses that a process needs to exec itself again.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, PartialEq, Eq)]
struct ExecCall {
    path: u64,
    argv: u64,
    envp: u64,
    instruction: u64,
}

/// Reads the initial stack of a new program, whose stack pointer refers to the argument count.
#[cfg(target_arch = "x86_64")]
fn exec_call(pid: u32, stack: u64) -> Option<ExecCall> {
    let vector = AuxiliaryVector::read(pid)?;
    let path = vector.value(libc::AT_EXECFN)?;
    // The name must still lead to the same file, otherwise the second exec would fail with no way to recover.
    let name = String::from_utf8(other_process::string(pid, path)?).ok()?;
    let seen = match name.strip_prefix('/') {
        Some(rest) => format!("/proc/{pid}/root/{rest}"),
        None => format!("/proc/{pid}/cwd/{name}"),
    };
    let (named, running) =
        (std::fs::metadata(seen).ok()?, std::fs::metadata(format!("/proc/{pid}/exe")).ok()?);
    if (named.dev(), named.ino()) != (running.dev(), running.ino()) {
        return None;
    }
    let vdso = vector.value(libc::AT_SYSINFO_EHDR)?;
    let count = tracee::word(pid, stack)?;
    let argv = stack + 8;
    Some(ExecCall { path, argv, envp: argv + 8 * (count + 1), instruction: syscall_instruction(pid, vdso)? })
}

/// Returns the address of a `syscall` instruction in the vDSO.
#[cfg(target_arch = "x86_64")]
fn syscall_instruction(pid: u32, vdso: u64) -> Option<u64> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut code = [0; 8192];
    let half = code.len() / 2;
    // The second page may not be mapped.
    let size = match other_process::memory(pid, vdso, &mut code).map(<[u8]>::len) {
        Some(size) => size,
        None => other_process::memory(pid, vdso, &mut code[..half])?.len(),
    };
    let at = code[..size].windows(2).position(|bytes| bytes == SYSCALL)?;
    Some(vdso + at as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_lose_nothing() {
        assert!(!is_withheld(std::process::id()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_kernel_lends_a_system_call() {
        let vector = AuxiliaryVector::read(std::process::id()).expect("own vector");
        let vdso = vector.value(libc::AT_SYSINFO_EHDR).expect("a vDSO");
        assert!(syscall_instruction(std::process::id(), vdso).is_some_and(|at| at >= vdso));
    }
}
