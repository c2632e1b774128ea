//! Descriptors of processes.

use std::os::fd::OwnedFd;

/// Returns a descriptor that stays valid while the child lives; `None` if the kernel has no pidfd.
pub fn open(pid: u32) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid as i32)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}
