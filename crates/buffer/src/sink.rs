//! The reader's end, written without blocking.

use pelton_sys::flow::{self, Kind};
use pelton_sys::pipe;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

/// Bytes that the writing thread moves at once, and the capacity of its pipe.
const THREAD_BYTES: usize = 256 * 1024;

/// The reader's end.
#[derive(Debug)]
pub enum Sink {
    /// A pipe, reopened for this process alone. The inherited descriptor is kept, so that both close
    /// together.
    Pipe { own: OwnedFd, _inherited: OwnedFd },
    /// A socket.
    Socket(OwnedFd),
    /// Anything that can only be written to with blocking calls: a thread writes, fed by a pipe. `feed` is
    /// `None` once everything is in the pipe. `done` reaches its end when the thread ends.
    Thread { feed: Option<OwnedFd>, done: OwnedFd, writer: JoinHandle<io::Result<()>> },
}

impl Sink {
    /// Makes a sink for any kind of `output`.
    ///
    /// # Errors
    /// If no pipe or thread can be made.
    pub fn new(output: OwnedFd) -> io::Result<Self> {
        match flow::kind(output.as_fd())? {
            Kind::Socket => return Ok(Sink::Socket(output)),
            Kind::Pipe => {
                if let Ok(own) = flow::own_writer(output.as_fd()) {
                    return Ok(Sink::Pipe { own, _inherited: output });
                }
                // Another user's pipe, or no /proc.
            }
            Kind::File | Kind::Device => {}
        }
        let feed = pipe::pipe()?;
        pipe::never_wait(feed.write.as_fd())?;
        flow::enlarge_pipe(feed.write.as_fd(), THREAD_BYTES);
        let (done, read) = (pipe::pipe()?, feed.read);
        let ended = done.write;
        let writer = std::thread::Builder::new().name("writer".into()).spawn(move || {
            let written = write_all(&read, output);
            drop(ended);
            written
        })?;
        Ok(Sink::Thread { feed: Some(feed.write), done: done.read, writer })
    }

    /// Returns the descriptor to poll for room or, while closing, for the end.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Sink::Pipe { own: fd, .. } | Sink::Socket(fd) => fd.as_fd(),
            Sink::Thread { feed, done, .. } => feed.as_ref().unwrap_or(done).as_fd(),
        }
    }

    /// Announces the end of the data. Returns whether a thread still has to write.
    pub fn close(&mut self) -> bool {
        let Sink::Thread { feed, .. } = self else { return false };
        *feed = None;
        true
    }

    /// Whether a thread is writing the last data.
    pub fn is_closing(&self) -> bool {
        matches!(self, Sink::Thread { feed: None, .. })
    }

    /// Whether splice(2) works on it.
    pub fn is_pipe(&self) -> bool {
        !matches!(self, Sink::Socket(_))
    }

    /// Whether a thread of this process writes.
    pub fn has_thread(&self) -> bool {
        matches!(self, Sink::Thread { .. })
    }

    /// Writes as much as fits; `None` if nothing does.
    ///
    /// # Errors
    /// As write(2). `BrokenPipe` if the reader has left or the thread has failed: [`finish`](Sink::finish)
    /// tells which.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self {
            Sink::Socket(fd) => flow::send_now(fd.as_fd(), bytes),
            _ => flow::write_now(self.as_fd(), bytes),
        }
    }

    /// Ends the output. Waits for the thread, if there is one.
    ///
    /// # Errors
    /// Errors of the writing thread.
    pub fn finish(self) -> io::Result<()> {
        let Sink::Thread { feed, writer, .. } = self else { return Ok(()) };
        drop(feed);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")))
    }
}

/// Copies everything, blocking as needed.
fn write_all(from: &OwnedFd, to: OwnedFd) -> io::Result<()> {
    // Splicing into a file saves a copy. If it is not possible, it fails before any byte is moved.
    loop {
        match flow::splice_on(from.as_fd(), to.as_fd(), THREAD_BYTES) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
            Err(error) => return Err(error),
        }
    }
    let mut from = std::fs::File::from(from.try_clone()?);
    let mut to = std::fs::File::from(to);
    let mut buffer = vec![0; THREAD_BYTES];
    loop {
        match io::Read::read(&mut from, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => to.write_all(&buffer[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
