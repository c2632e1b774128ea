//! Standard input, made so that every run finds the same.

use pelton_sys::stdio;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// What the runs read.
pub enum Input {
    /// A file, from this position on.
    File(u64),
    /// A terminal: each run reads it itself.
    Terminal,
    /// A pipe, with a copy of what has come through it so far.
    Pipe(Box<Copied>),
}

/// A pipe and a copy of what came from it.
pub struct Copied {
    source: File,
    copy: File,
    length: u64,
    ended: bool,
}

impl Input {
    /// Looks at standard input.
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

    /// Makes ready for the next run; what feeds it, unless it reads standard input itself.
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
    /// What must be readable before there is more to give; `None` if there is some already.
    pub fn wants(&self) -> Option<BorrowedFd<'_>> {
        (self.at == self.copied.length && !self.copied.ended).then(|| self.copied.source.as_fd())
    }

    /// Takes in what the pipe has.
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

    /// Gives what there is room for; false once all has been given, or nobody wants it.
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
