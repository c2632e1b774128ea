//! Detects the execs that a traced process is about to make.

use crate::other_process;

/// The signal number of a system call stop.
pub const STOP: libc::c_int = libc::SIGTRAP | 0x80;

/// Returns the path that `pid`, stopped at a system call, is about to exec; `None` for other calls.
pub fn exec_path(pid: libc::pid_t) -> Option<Vec<u8>> {
    let [path, ..] = exec_arguments(pid)?;
    other_process::string(pid as u32, path)
}

/// Whether `pid`, stopped at a system call, is about to exec.
pub fn is_exec(pid: libc::pid_t) -> bool {
    exec_arguments(pid).is_some()
}

fn exec_arguments(pid: libc::pid_t) -> Option<[u64; 6]> {
    // SAFETY: an all-zero value is a valid one for the kernel to fill.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: the kernel writes at most `size` bytes to `info`, which is that large.
    if unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, &mut info) } <= 0 {
        return None;
    }
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: of an entry the kernel fills this part of the union.
    let entry = unsafe { info.u.entry };
    (entry.nr as i64 == libc::SYS_execve).then_some(entry.args)
}
