//! Errors of a buffer.

use std::fmt;
use std::io;

/// The failed operation, and the system's error.
#[derive(Debug)]
pub enum Error {
    /// Reading from this stream.
    Read(&'static str, io::Error),
    /// Writing data of this stream.
    Write(&'static str, io::Error),
    /// Reading held data back from disk: it is lost.
    ReadBack(io::Error),
    /// Allocating memory for a block, a pipe or a thread.
    Resources(io::Error),
}

impl Error {
    /// Returns the system's error.
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
