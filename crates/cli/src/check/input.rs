//! Standard input that every run can reread.

use pelton_sys::stdio;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// The input of the runs.
pub enum Input {
    /// A file, from this position.
    File(u64),
    /// A terminal: each run reads it itself.
    Terminal,
    /// A pipe, with a copy of what has been read from it.
    Pipe(Box<Copied>),
}

/// A pipe and a copy of what was read.
pub struct Copied {
    source: File,
    copy: File,
    length: u64,
    ended: bool,
}

impl Input {
    /// Prepares standard input.
    pub fn hold() -> io::Result<Self> {
        if let Some(position) = stdio::stdin_position() {
            return Ok(Input::File(position));
        }
        if io::stdin().is_terminal() {
            return Ok(Input::Terminal);
        }
        let source = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Input::Pipe(Box::new(Copied { source, copy: tempfile::tempfile()?, length: 0, ended: false })))
    }

    /// Prepares the next run. Returns its feed, unless it reads standard input itself.
    pub fn again(&mut self) -> io::Result<Option<Feed<'_>>> {
        match self {
            Input::File(position) => stdio::rewind_stdin(*position).map(|()| None),
            Input::Terminal => Ok(None),
            Input::Pipe(copied) => Ok(Some(Feed { copied, at: 0 })),
        }
    }
}

/// Feeds one run.
pub struct Feed<'a> {
    copied: &'a mut Copied,
    at: u64,
}

impl Feed<'_> {
    /// Returns the descriptor to poll for more; `None` if the copy has bytes left.
    pub fn wants(&self) -> Option<BorrowedFd<'_>> {
        (self.at == self.copied.length && !self.copied.ended).then(|| self.copied.source.as_fd())
    }

    /// Reads the pipe into the copy.
    pub fn take_in(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        match self.copied.source.read(&mut buffer)? {
            0 => self.copied.ended = true,
            n => {
                self.copied.copy.write_all_at(&buffer[..n], self.copied.length)?;
                self.copied.length += n as u64;
            }
        }
        Ok(())
    }

    /// Writes what fits. Returns false once all is given, or the reader has left.
    pub fn give(&mut self, to: &OwnedFd) -> io::Result<bool> {
        let left = self.copied.length - self.at;
        if left == 0 {
            return Ok(!self.copied.ended);
        }
        let mut buffer = vec![0; left.min(64 * 1024) as usize];
        self.copied.copy.read_exact_at(&mut buffer, self.at)?;
        match io::Write::write(&mut &File::from(to.try_clone()?), &buffer) {
            Ok(n) => self.at += n as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}
