//! The entry that is evaluated. Unknown facts about it are requested from the system on demand.

use crate::message::{self, NameStyle};
use crate::sink::Sink;
use pelton_sys::directories::{self, Kind, Status};
use pelton_sys::errors;
use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

/// The output of evaluations.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    /// Text for standard output.
    pub text: Vec<u8>,
    /// Text for standard error.
    pub errors: Vec<u8>,
    /// Number of stat(2) calls.
    pub asked: u64,
    /// Whether an error occurred that affects the exit status. A failed command for one file does not.
    pub failed: bool,
    /// The error of a failed write.
    pub lost: Option<io::Error>,
}

impl Evaluation {
    /// Passes the output on.
    pub fn tell(&mut self, sink: &dyn Sink) {
        if !self.text.is_empty() {
            self.lost = self.lost.take().or(sink.text(&self.text).err());
            self.text.clear();
        }
        if !self.errors.is_empty() {
            sink.error(&self.errors);
            self.errors.clear();
        }
    }
}

/// The location of an entry: what is the same for all entries of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location<'a> {
    /// Descriptor of the directory.
    pub at: BorrowedFd<'a>,
    /// Path of the directory, with a trailing separator; empty for a starting point.
    pub prefix: &'a [u8],
    /// Length of the part of `prefix` that is the starting point.
    pub start: usize,
    /// Depth below the starting point.
    pub depth: u32,
    /// Whether symbolic links are followed.
    pub follow: bool,
}

#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub location: Location<'a>,
    /// Its name in the directory; for a starting point, the whole path.
    pub name: &'a CStr,
    /// The last component of `name`.
    pub base: &'a CStr,
    pub kind: Kind,
    /// Whether the directory is to be skipped.
    pub pruned: bool,
    status: Asked,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    NotYet,
    Known(Status),
    /// The call failed, which was reported. `circular`: the entry is a link that leads to itself.
    Failed {
        circular: bool,
    },
}

impl<'a> Subject<'a> {
    pub fn new(location: Location<'a>, name: &'a CStr, base: &'a CStr, kind: Kind) -> Self {
        Subject { location, name, base, kind, pruned: false, status: Asked::NotYet }
    }

    /// Appends its path.
    pub fn path(&self, into: &mut Vec<u8>) {
        into.extend(self.location.prefix);
        into.extend(self.name.to_bytes());
    }

    /// Returns the stat(2) data. A failure is reported, once.
    pub fn status(&mut self, said: &mut Evaluation, manner: NameStyle) -> Option<Status> {
        if let Asked::NotYet = self.status {
            said.asked += 1;
            self.status = match self.ask(said, manner) {
                Ok(status) => Asked::Known(status),
                Err(error) => {
                    self.complain(&error, said, manner);
                    Asked::Failed { circular: errors::is_link_loop(&error) }
                }
            };
        }
        match self.status {
            Asked::Known(status) => Some(status),
            _ => None,
        }
    }

    /// Calls stat(2). If links are followed, a dangling link counts as the link itself; so does a link
    /// through a file, but that is reported.
    fn ask(&self, said: &mut Evaluation, manner: NameStyle) -> io::Result<Status> {
        let follow = self.location.follow;
        let error = match directories::status(self.location.at, self.name, follow) {
            Err(error) if follow => error,
            answer => return answer,
        };
        let expected = error.kind() == io::ErrorKind::NotFound;
        if !expected && error.kind() != io::ErrorKind::NotADirectory {
            return Err(error);
        }
        let link = directories::status(self.location.at, self.name, false)?;
        if !expected {
            self.complain(&error, said, manner);
        }
        Ok(link)
    }

    /// Determines the kind if the directory did not report it, or if links are followed. Returns false for a
    /// link that leads to itself, which is not evaluated.
    pub fn resolve(&mut self, said: &mut Evaluation, manner: NameStyle) -> bool {
        let wanted = match self.kind {
            Kind::Unknown => true,
            Kind::Link | Kind::Directory => self.location.follow,
            _ => false,
        };
        if !wanted {
            return true;
        }
        self.kind = self.status(said, manner).map_or(Kind::Unknown, |status| status.kind());
        !matches!(self.status, Asked::Failed { circular: true })
    }

    /// Reports an error of the entry.
    pub fn complain(&self, error: &io::Error, said: &mut Evaluation, manner: NameStyle) {
        let mut path = Vec::new();
        self.path(&mut path);
        message::failed(&path, error, manner, &mut said.errors);
        said.failed = true;
    }
}
