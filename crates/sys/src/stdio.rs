//! Replaces this process's standard descriptors, for its children to inherit.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Makes standard input a copy of `fd`.
pub fn set_stdin(fd: BorrowedFd<'_>) -> io::Result<()> {
    set(0, fd)
}

/// Makes standard output a copy of `fd`; returns the previous one.
pub fn set_stdout(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 10)?;
    set(1, fd)?;
    Ok(before)
}

/// Makes standard error a copy of `fd`; returns the previous one.
pub fn set_stderr(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let before = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 10)?;
    set(2, fd)?;
    Ok(before)
}

/// Ends standard output: its reader sees the end, and what this process still writes goes to /dev/null.
pub fn leave_stdout() -> io::Result<()> {
    set(1, File::options().write(true).open("/dev/null")?.as_fd())
}

fn set(number: i32, fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: dup2 onto a standard descriptor touches no memory; nobody in this process owns 0 or 1
    // exclusively.
    let answer = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    if answer == number { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads `fd` to its end and discards the data; returns the number of bytes.
pub fn drain(fd: BorrowedFd<'_>) -> u64 {
    let mut bytes = 0;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match rustix::io::read(fd, &mut buffer) {
            Ok(0) => return bytes,
            Ok(n) => bytes += n as u64,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return bytes,
        }
    }
}

/// Puts bytes that were read from a terminal back, as if they were typed again: its next reader gets them.
///
/// # Errors
/// Kernels from 6.2 on refuse it unless `dev.tty.legacy_tiocsti` is set or the process is root's (ioctl_tty(2), TIOCSTI).
pub fn give_back(terminal: BorrowedFd<'_>, typed: &[u8]) -> io::Result<()> {
    for byte in typed {
        // SAFETY: TIOCSTI reads one byte, at an address that is valid while `byte` is borrowed.
        let answer = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, std::ptr::from_ref(byte)) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns standard input's position, if it is a seekable file.
pub fn stdin_position() -> Option<u64> {
    rustix::fs::tell(rustix::stdio::stdin()).ok()
}

/// Resets standard input to `position`.
pub fn rewind_stdin(position: u64) -> io::Result<()> {
    rustix::fs::seek(rustix::stdio::stdin(), rustix::fs::SeekFrom::Start(position))?;
    Ok(())
}
