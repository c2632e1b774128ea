//! What can go wrong with a buffer.

use std::fmt;
use std::io;

/// What was being done, and the system's reason why it failed.
#[derive(Debug)]
pub enum Error {
    /// Reading this stream.
    Read(&'static str, io::Error),
    /// Writing what came from this stream.
    Write(&'static str, io::Error),
    /// Reading back what was held on disk: it is lost.
    ReadBack(io::Error),
    /// Getting memory for a block, or a pipe, or a thread.
    Resources(io::Error),
}

impl Error {
    /// The system's reason.
    pub fn reason(&self) -> &io::Error {
        match self {
            Error::Read(_, error)
            | Error::Write(_, error)
            | Error::ReadBack(error)
            | Error::Resources(error) => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read("stdin", _) => f.write_str("cannot read standard input"),
            Error::Read(name, _) => write!(f, "cannot read the command's {name}"),
            Error::Write("stderr", _) => f.write_str("cannot write to standard error"),
            Error::Write(..) => f.write_str("cannot write to standard output"),
            Error::ReadBack(_) => f.write_str("cannot read back what was held on disk; the rest is lost"),
            Error::Resources(_) => f.write_str("cannot set up the buffer"),
        }
    }
}

impl std::error::Error for Error {}
