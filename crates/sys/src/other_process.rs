//! Inspects another process within a few microseconds: its memory, and the fill level of its pipes.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::os::fd::{BorrowedFd, OwnedFd};

/// The fill level of a pipe or socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Unread bytes.
    pub bytes: u64,
    /// Its capacity in bytes; `None` for a socket. A pipe can be full with less: it counts pages, not bytes.
    pub capacity_bytes: Option<u64>,
}

/// Reads up to `buffer.len()` bytes at `address` of `pid`'s memory; `None` if not permitted or not mapped.
pub fn memory(pid: u32, address: u64, buffer: &mut [u8]) -> Option<&[u8]> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: `local` describes `buffer`, which is writable; the kernel checks the other process's side.
    let n = unsafe { libc::process_vm_readv(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
    let n = usize::try_from(n).ok().filter(|&n| n > 0)?;
    Some(&buffer[..n])
}

/// Writes `bytes` to `address` of `pid`'s memory; false if not permitted, or not mapped.
pub fn write(pid: u32, address: u64, bytes: &[u8]) -> bool {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: `local` describes `bytes`, which is only read; the kernel checks the other process's side.
    let written = unsafe { libc::process_vm_writev(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
    usize::try_from(written).is_ok_and(|written| written == bytes.len())
}

/// Reads the NUL-terminated string at `address` of `pid`'s memory, up to 4095 bytes.
pub fn string(pid: u32, address: u64) -> Option<Vec<u8>> {
    let mut buffer = [0; 4096];
    // The next page may be unreadable, which would fail the whole read.
    let until_page_ends = 4096 - (address % 4096) as usize;
    let first = memory(pid, address, &mut buffer[..until_page_ends])?.to_vec();
    if let Some(end) = first.iter().position(|&byte| byte == 0) {
        return Some(first[..end].to_vec());
    }
    let rest = memory(pid, address + first.len() as u64, &mut buffer)?;
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some([&first, &rest[..end]].concat())
}

/// Duplicates descriptor `fd` of `pid`. Close it at once: while open, it counts as a reader or a writer.
fn duplicate(pid: u32, fd: u32) -> Option<OwnedFd> {
    let pidfd = crate::pidfd::open(pid)?;
    rustix::process::pidfd_getfd(pidfd, fd as i32, rustix::process::PidfdGetfdFlags::empty()).ok()
}

/// Returns the fill level of the pipe or socket behind descriptor `fd` of `pid`; `None` if not permitted.
pub fn fill(pid: u32, fd: u32) -> Option<Fill> {
    let own = duplicate(pid, fd)?;
    let bytes = rustix::io::ioctl_fionread(&own).ok()?;
    let capacity_bytes = rustix::pipe::fcntl_getpipe_size(&own).ok().map(|bytes| bytes as u64);
    Some(Fill { bytes, capacity_bytes })
}

/// A pipe, as seen through a descriptor of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeState {
    /// Its inode.
    pub inode: u64,
    /// Its fill level.
    pub fill: Fill,
    /// Whether a write would block. Only the writing end can tell.
    pub is_full: bool,
}

/// Returns the pipe behind descriptor `fd` of a process; `None` if not permitted, or not a pipe. Use the
/// writing end: while a copy of the reading end is open, even for microseconds, a write succeeds without a
/// reader.
pub fn pipe_state(pidfd: BorrowedFd<'_>, fd: u32) -> Option<PipeState> {
    let own =
        rustix::process::pidfd_getfd(pidfd, fd as i32, rustix::process::PidfdGetfdFlags::empty()).ok()?;
    let status = rustix::fs::fstat(&own).ok()?;
    let capacity = rustix::pipe::fcntl_getpipe_size(&own).ok()?;
    let bytes = rustix::io::ioctl_fionread(&own).ok()?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(&own, PollFlags::OUT)];
    let has_room = rustix::event::poll(&mut polled, Some(&now)).ok()? > 0;
    let fill = Fill { bytes, capacity_bytes: Some(capacity as u64) };
    Some(PipeState { inode: status.st_ino, fill, is_full: !has_room })
}

/// Whether descriptor `fd` of `pid` is readable or at its end now; `None` if not permitted.
pub fn is_readable(pid: u32, fd: u32) -> Option<bool> {
    let own = duplicate(pid, fd)?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(&own, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&now)).ok().map(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::pipe;
    use std::os::fd::{AsFd, AsRawFd};

    #[test]
    fn reads_memory_and_strings() {
        let text = std::ffi::CString::new("x".repeat(4090)).expect("no NUL");
        let own = std::process::id();
        let address = text.as_ptr() as u64;
        assert_eq!(memory(own, address, &mut [0; 3]), Some(&b"xxx"[..]));
        assert_eq!(string(own, address), Some(text.as_bytes().to_vec()));
        assert_eq!(memory(own, 8, &mut [0; 3]), None, "nothing is mapped there");
    }

    #[test]
    fn tells_how_full_a_pipe_is() {
        let pipe = pipe().expect("pipe");
        let (own, fd) = (std::process::id(), pipe.read.as_raw_fd() as u32);
        assert_eq!(is_readable(own, fd), Some(false));
        rustix::io::write(&pipe.write, b"12345").expect("room");
        let fill = fill(own, fd).expect("own pipe");
        assert_eq!(fill.bytes, 5);
        assert!(fill.capacity_bytes >= Some(4096), "{fill:?}");
        assert_eq!(is_readable(own, fd), Some(true));
    }

    #[test]
    fn a_pipe_is_full_when_its_pages_are_used_up() {
        let pipe = pipe().expect("pipe");
        let own = crate::pidfd::open(std::process::id()).expect("pidfd");
        let state = || pipe_state(own.as_fd(), pipe.write.as_raw_fd() as u32).expect("own pipe");
        assert_eq!((state().inode, state().fill.bytes, state().is_full), (pipe.inode, 0, false));
        crate::pipe::never_wait(pipe.write.as_fd()).expect("set");
        // More than half a page each: no page holds two.
        while rustix::io::write(&pipe.write, &[0; 2049]).is_ok() {}
        assert!(state().is_full);
        assert!(Some(state().fill.bytes) < state().fill.capacity_bytes);
        assert_eq!(pipe_state(own.as_fd(), 9_999), None);
    }
}
