//! Where bytes go, written without waiting.

use pelton_sys::flow::{self, Kind};
use pelton_sys::pipe;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

/// How much the writing thread moves at once, and what its pipe holds.
const THREAD_BYTES: usize = 256 * 1024;

/// The reader's end.
#[derive(Debug)]
pub enum Sink {
    /// A pipe, opened once more for this process alone. The inherited end is kept, so that both close together.
    Pipe { own: OwnedFd, _inherited: OwnedFd },
    /// A socket.
    Socket(OwnedFd),
    /// Anything that can only be written to by waiting: a thread does that, fed by a pipe, which is gone once everything
    /// is in it. `done` can be read, to its end, when the thread has ended.
    Thread { feed: Option<OwnedFd>, done: OwnedFd, writer: JoinHandle<io::Result<()>> },
}

impl Sink {
    /// For `output`, whatever it is.
    ///
    /// # Errors
    /// If there is no pipe or thread to be had.
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

    /// What to wait for room on; or, once it is closing, for the end.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Sink::Pipe { own: fd, .. } | Sink::Socket(fd) => fd.as_fd(),
            Sink::Thread { feed, done, .. } => feed.as_ref().unwrap_or(done).as_fd(),
        }
    }

    /// Nothing more comes. True if a thread has yet to write what it was fed.
    pub fn close(&mut self) -> bool {
        let Sink::Thread { feed, .. } = self else { return false };
        *feed = None;
        true
    }

    /// Whether a thread writes the last of it.
    pub fn is_closing(&self) -> bool {
        matches!(self, Sink::Thread { feed: None, .. })
    }

    /// Whether bytes can be spliced to it.
    pub fn is_pipe(&self) -> bool {
        !matches!(self, Sink::Socket(_))
    }

    /// Whether a thread of this process writes.
    pub fn has_thread(&self) -> bool {
        matches!(self, Sink::Thread { .. })
    }

    /// Writes what there is room for; `None` if there is none.
    ///
    /// # Errors
    /// As write(2). If the reader has left, or the thread has failed, `BrokenPipe`: [`finish`](Sink::finish) says which.
    pub fn write_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self {
            Sink::Socket(fd) => flow::send_now(fd.as_fd(), bytes),
            _ => flow::write_now(self.as_fd(), bytes),
        }
    }

    /// The end of it. Waits for the thread, if there is one.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<()> {
        let Sink::Thread { feed, writer, .. } = self else { return Ok(()) };
        drop(feed);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread broke off")))
    }
}

/// Moves everything on, waiting as long as it takes.
fn write_all(from: &OwnedFd, to: OwnedFd) -> io::Result<()> {
    // Into a file, splicing saves a copy; where it cannot be done, nothing has been moved.
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
