//! Descriptors of processes.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Returns a descriptor that stays valid while the child lives; `None` if the kernel has no pidfd.
pub fn open(pid: u32) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid as i32)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

/// Sends `signal` to the process. One that has ended gets none, and nor does another with its number.
pub fn send(process: BorrowedFd<'_>, signal: i32) {
    crate::signals::send_through(process.as_raw_fd(), signal);
}
