//! Moves bytes between possibly shared descriptors, without blocking and without side effects on other
//! processes.
//!
//! `O_NONBLOCK` belongs to the open file description, not to the descriptor: setting it on an inherited
//! standard output sets it for every process that shares it. So each call here is non-blocking by its own
//! flags, or works on an open file description of its own.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// The kind of a descriptor, as far as moving bytes is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pipe or FIFO.
    Pipe,
    /// A socket.
    Socket,
    /// A file on a disk: reads never block on a writer.
    File,
    /// A terminal or another device.
    Device,
}

/// Returns the kind of `fd`.
pub fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    Ok(match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::RegularFile | FileType::Directory | FileType::BlockDevice => Kind::File,
        _ => Kind::Device,
    })
}

/// Whether both are the same open pipe, file or device.
pub fn are_the_same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// Maps `WouldBlock` to `None`.
fn now<T>(answer: Result<T, Errno>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Moves up to `bytes` from one pipe to another without copying. `None` if that would block: the first is
/// empty or the second is full. `Some(0)` at the end.
///
/// # Errors
/// `InvalidInput` if one of them is not a pipe.
pub fn splice_now(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<Option<usize>> {
    use rustix::pipe::SpliceFlags;
    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    now(rustix::pipe::splice(from, None, to, None, bytes, flags))
}

/// Moves up to `bytes` from a pipe to any descriptor, blocking on both; returns 0 at the end.
///
/// # Errors
/// `InvalidInput` if the descriptor does not support it; and those of writing.
pub fn splice_on(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(rustix::pipe::splice(from, None, to, None, bytes, rustix::pipe::SpliceFlags::MOVE)?)
}

/// Writes as much as fits. `None` if nothing fits. `fd` is a pipe opened by [`own_writer`].
pub fn write_now(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    now(rustix::io::write(fd, bytes))
}

/// Sends as much as fits. `None` if nothing fits.
pub fn send_now(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    use rustix::net::SendFlags;
    now(rustix::net::send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL))
}

/// Opens the same pipe again, for non-blocking writes.
///
/// # Errors
/// If it has no reader, belongs to another user, or there is no /proc.
pub fn own_writer(pipe: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Returns the capacity of a pipe in bytes; `None` if it is not a pipe.
pub fn pipe_bytes(pipe: BorrowedFd<'_>) -> Option<usize> {
    rustix::pipe::fcntl_getpipe_size(pipe).ok()
}

/// Requests a larger pipe. A refusal is harmless.
pub fn enlarge_pipe(pipe: BorrowedFd<'_>, bytes: usize) {
    if pipe_bytes(pipe).is_some_and(|now| now < bytes) {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, bytes);
    }
}

/// Returns how many bytes are ready to be read; 0 if unknown.
pub fn readable_bytes(fd: BorrowedFd<'_>) -> u64 {
    rustix::io::ioctl_fionread(fd).unwrap_or(0)
}

/// Duplicates a descriptor, close-on-exec.
pub fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 10)?)
}

/// Opens /dev/null for reading and writing.
pub fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// The event awaited on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Data to read, or the end.
    Input,
    /// Room to write, or the loss of its reader.
    Room,
    /// The loss of its reader.
    Loss,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read or write will not block: it is readable or writable, or the other end was closed.
    pub ready: bool,
    /// It has no reader any more.
    pub lost: bool,
}

/// Waits until a descriptor is ready, a signal arrives, or `timeout_ns` nanoseconds have passed (`None`: without
/// limit). Returns one answer for each descriptor, in order; none is ready after a signal or the timeout.
///
/// # Errors
/// Those of poll(2).
pub fn wait(wanted: &[(BorrowedFd<'_>, For)], timeout_ns: Option<u64>) -> io::Result<Vec<Readiness>> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    let flags = |what| match what {
        For::Input => PollFlags::IN,
        For::Room => PollFlags::OUT,
        For::Loss => PollFlags::empty(),
    };
    let mut polled: Vec<PollFd<'_>> =
        wanted.iter().map(|(fd, what)| PollFd::from_borrowed_fd(*fd, flags(*what))).collect();
    let timeout = timeout_ns
        .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let readiness = |(fd, (_, what)): (&PollFd<'_>, &(BorrowedFd<'_>, For))| {
        let events = fd.revents();
        let lost =
            *what != For::Input && events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        Readiness { ready: !events.is_empty(), lost }
    };
    Ok(polled.iter().zip(wanted).map(readiness).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::pipe;
    use std::os::fd::AsFd;

    #[test]
    fn a_pipe_is_written_without_waiting_and_without_changing_it() {
        let pipe = pipe().expect("a pipe");
        let own = own_writer(pipe.write.as_fd()).expect("reopened");
        let written = write_now(own.as_fd(), &[7; 1 << 20]).expect("written").expect("room");
        assert_eq!(Some(written), pipe_bytes(pipe.read.as_fd()));
        assert_eq!(write_now(own.as_fd(), b"x").expect("no error"), None);
        assert_eq!(readable_bytes(pipe.read.as_fd()), written as u64);
        let shared = rustix::fs::fcntl_getfl(&pipe.write).expect("flags");
        assert!(!shared.contains(OFlags::NONBLOCK), "the one that others have is as it was");
    }

    #[test]
    fn splicing_says_when_it_would_wait_and_when_it_is_over() {
        let (from, to) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
        assert_eq!(splice_now(from.read.as_fd(), to.write.as_fd(), 100).expect("no error"), None);
        rustix::io::write(&from.write, b"abc").expect("written");
        drop(from.write);
        assert_eq!(splice_now(from.read.as_fd(), to.write.as_fd(), 100).expect("moved"), Some(3));
        assert_eq!(splice_now(from.read.as_fd(), to.write.as_fd(), 100).expect("the end"), Some(0));
        let null = null().expect("a device");
        assert!(splice_now(null.as_fd(), null.as_fd(), 1).is_err());
    }

    #[test]
    fn waiting_tells_room_from_loss() {
        let pipe = pipe().expect("a pipe");
        let wanted = [(pipe.read.as_fd(), For::Input), (pipe.write.as_fd(), For::Loss)];
        assert_eq!(wait(&wanted, Some(0)).expect("asked"), [Readiness::default(); 2]);
        let room = wait(&[(pipe.write.as_fd(), For::Room)], None).expect("asked");
        assert_eq!(room, [Readiness { ready: true, lost: false }]);
        drop(pipe.read);
        let lost = wait(&[(pipe.write.as_fd(), For::Loss)], None).expect("asked");
        assert_eq!(lost, [Readiness { ready: true, lost: true }]);
        let (one, other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        drop(other);
        let lost = wait(&[(one.as_fd(), For::Loss)], None).expect("asked");
        assert_eq!(lost, [Readiness { ready: true, lost: true }]);
    }

    #[test]
    fn kinds() {
        let pipe = pipe().expect("a pipe");
        assert_eq!(kind(pipe.read.as_fd()).expect("asked"), Kind::Pipe);
        assert_eq!(kind(null().expect("a device").as_fd()).expect("asked"), Kind::Device);
        let (one, _other) = std::os::unix::net::UnixStream::pair().expect("sockets");
        assert_eq!(kind(one.as_fd()).expect("asked"), Kind::Socket);
        assert!(are_the_same(pipe.read.as_fd(), pipe.write.as_fd()));
        assert!(!are_the_same(pipe.read.as_fd(), one.as_fd()));
    }
}
