//! Pipes, always close-on-exec: a write end that leaks into another program makes a reader hang.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A pipe's two ends and its identity.
pub struct Pipe {
    /// The end to read from.
    pub read: OwnedFd,
    /// The end to write to.
    pub write: OwnedFd,
    /// Its inode, as in `pipe:[12345]`.
    pub inode: u64,
}

/// Makes a pipe whose ends are closed by exec.
pub fn pipe() -> io::Result<Pipe> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let inode = rustix::fs::fstat(read.as_fd())?.st_ino;
    Ok(Pipe { read, write, inode })
}

/// Whether `fd` becomes readable, or reaches its end, within `patience`.
pub fn is_readable_within(fd: BorrowedFd<'_>, patience: Duration) -> bool {
    // If poll fails, the caller goes on as if there were something to read.
    poll_one(fd, PollFlags::IN, patience).is_none_or(|found| !found.is_empty())
}

/// Waits for these events at a descriptor. Returns what was found; `None` if poll fails.
fn poll_one(fd: BorrowedFd<'_>, events: PollFlags, patience: Duration) -> Option<PollFlags> {
    let mut polled = [PollFd::from_borrowed_fd(fd, events)];
    rustix::event::poll(&mut polled, Some(&timeout(patience))).ok()?;
    Some(polled[0].revents())
}

fn timeout(patience: Duration) -> Timespec {
    Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) }
}

/// Waits until one of `reads` is readable or at its end, or one of `writes` is writable or has lost its
/// reader; returns which. A signal may end the wait with nothing ready.
pub fn wait_ready(reads: &[BorrowedFd<'_>], writes: &[BorrowedFd<'_>]) -> io::Result<(Vec<bool>, Vec<bool>)> {
    let reading = reads.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
    let writing = writes.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::OUT));
    let mut polled: Vec<PollFd<'_>> = reading.chain(writing).collect();
    match rustix::event::poll(&mut polled, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
    let writes = ready.split_off(reads.len());
    Ok((ready, writes))
}

/// Does the same, but waits at most `patience`.
pub fn wait_ready_within(reads: &[BorrowedFd<'_>], writes: &[BorrowedFd<'_>], patience: Duration) {
    let reading = reads.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
    let writing = writes.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::OUT));
    let mut polled: Vec<PollFd<'_>> = reading.chain(writing).collect();
    // In every case the caller retries.
    let _ = rustix::event::poll(&mut polled, Some(&timeout(patience)));
}

/// Enlarges a pipe to `bytes`, if permitted.
pub fn enlarge(fd: BorrowedFd<'_>, bytes: usize) {
    // The user's quota may be used up: the pipe then keeps its size.
    let _ = rustix::pipe::fcntl_setpipe_size(fd, bytes);
}

/// Returns how many unread bytes a pipe holds.
pub fn unread(fd: BorrowedFd<'_>) -> io::Result<usize> {
    Ok(rustix::io::ioctl_fionread(fd)? as usize)
}

/// Whether a pipe has no writer any more: no more data will come.
pub fn has_no_writer(fd: BorrowedFd<'_>) -> bool {
    poll_one(fd, PollFlags::IN, Duration::ZERO).is_some_and(|found| found.contains(PollFlags::HUP))
}

/// Whether a pipe loses its last writer within `patience`.
pub fn loses_its_writers_within(fd: BorrowedFd<'_>, patience: Duration) -> bool {
    // If poll fails, the caller goes on as if it had.
    poll_one(fd, PollFlags::empty(), patience).is_none_or(|found| !found.is_empty())
}

/// Copies up to `bytes` bytes out of a pipe without consuming them (tee(2)).
pub fn peek(fd: BorrowedFd<'_>, bytes: usize) -> io::Result<Vec<u8>> {
    let copy = pipe()?;
    let flags = rustix::pipe::SpliceFlags::NONBLOCK;
    let n = match rustix::pipe::tee(fd, copy.write.as_fd(), bytes, flags) {
        Err(rustix::io::Errno::AGAIN) => 0,
        copied => copied?,
    };
    let mut peeked = Vec::with_capacity(n);
    while peeked.len() < n {
        let got = rustix::io::read(&copy.read, rustix::buffer::spare_capacity(&mut peeked))?;
        if got == 0 {
            break;
        }
    }
    Ok(peeked)
}

/// Makes reads and writes of `fd` non-blocking.
pub fn never_wait(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?)
}

/// Returns a read descriptor that yields `bytes`, for a here-document or here-string.
///
/// Like bash, uses a pipe if the bytes fit without blocking, otherwise an unlinked temporary file.
pub fn feed(bytes: &[u8]) -> io::Result<OwnedFd> {
    const FITS_A_PIPE: usize = 4096;
    if bytes.len() <= FITS_A_PIPE {
        let pipe = pipe()?;
        let written = rustix::io::write(&pipe.write, bytes)?;
        debug_assert_eq!(written, bytes.len(), "an empty pipe holds a page");
        return Ok(pipe.read);
    }
    let file = rustix::fs::memfd_create("here-document", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let n = rustix::io::write(&file, rest)?;
        rest = &rest[n..];
    }
    // Reopened, so that the reader gets a read-only descriptor at offset zero, as from a file.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    Ok(rustix::fs::open(
        path,
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn peeking_takes_nothing() {
        let pipe = pipe().expect("a pipe");
        assert_eq!(peek(pipe.read.as_fd(), 9).expect("nothing there"), b"");
        rustix::io::write(&pipe.write, b"abcdef").expect("written");
        assert_eq!(unread(pipe.write.as_fd()).expect("known"), 6);
        assert_eq!(peek(pipe.read.as_fd(), 4).expect("there"), b"abcd");
        let mut all = [0; 9];
        assert_eq!(rustix::io::read(&pipe.read, &mut all[..]).expect("read"), 6);
    }

    #[test]
    fn feeds_small_and_large() {
        for size in [0, 1, 4096, 4097, 300_000] {
            let bytes: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let mut back = Vec::new();
            std::fs::File::from(feed(&bytes).expect("feed")).read_to_end(&mut back).expect("read");
            assert_eq!(back, bytes);
        }
    }
}
