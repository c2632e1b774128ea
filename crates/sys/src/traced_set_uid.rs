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
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let tracee = pid as libc::pid_t;
    // SAFETY: the kernel writes one such structure to `registers`.
    if unsafe { libc::ptrace(libc::PTRACE_GETREGS, tracee, 0usize, &raw mut registers) } == -1 {
        return false;
    }
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
    // SAFETY: the kernel reads one such structure.
    if unsafe { libc::ptrace(libc::PTRACE_SETREGS, tracee, 0usize, &raw const changed) } == -1 {
        return false;
    }
    if crate::trace::request(libc::PTRACE_DETACH, tracee, 0).is_ok() {
        return true;
    }
    // SAFETY: as above. If this fails as well, it has been killed.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, tracee, 0usize, &raw const registers) };
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

/// Reads the initial stack of a new program, whose stack pointer refers to the argument count: see
/// `getauxval(3)`.
#[cfg(target_arch = "x86_64")]
fn exec_call(pid: u32, stack: u64) -> Option<ExecCall> {
    const AT_EXECFN: u64 = 31;
    const AT_SYSINFO_EHDR: u64 = 33;
    let vector = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let (words, _) = vector.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
    let value = |key: u64| words.chunks(2).find(|pair| pair[0] == key).and_then(|pair| pair.get(1).copied());
    let path = value(AT_EXECFN)?;
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
    let vdso = value(AT_SYSINFO_EHDR)?;
    let count = word(pid, stack)?;
    let argv = stack + 8;
    Some(ExecCall { path, argv, envp: argv + 8 * (count + 1), instruction: syscall_instruction(pid, vdso)? })
}

#[cfg(target_arch = "x86_64")]
fn word(pid: u32, address: u64) -> Option<u64> {
    let mut buffer = [0; 8];
    Some(u64::from_ne_bytes(*other_process::memory(pid, address, &mut buffer)?.first_chunk()?))
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
        let vector = std::fs::read("/proc/self/auxv").expect("own vector");
        let (words, _) = vector.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let vdso = words.chunks(2).find(|pair| pair[0] == 33).expect("a vDSO")[1];
        assert!(syscall_instruction(std::process::id(), vdso).is_some_and(|at| at >= vdso));
    }
}
