//! The entry that an expression is asked about. What is not known of it is asked of the system when it is wanted.

use crate::message;
use crate::query::NameStyle;
use crate::walk::Sink;
use pelton_sys::directories::{self, Kind, Status};
use pelton_sys::errors;
use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

/// What evaluating an entry says.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    /// For standard output.
    pub text: Vec<u8>,
    /// For standard error.
    pub errors: Vec<u8>,
    /// How often the system was asked for a status.
    pub asked: u64,
    /// Something went wrong that counts: not that a command for one file did.
    pub failed: bool,
    /// Output could not be written.
    pub lost: Option<io::Error>,
}

impl Evaluation {
    /// Passes on what was said.
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

/// Where an entry is, as far as that is the same for all in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location<'a> {
    /// Its directory.
    pub at: BorrowedFd<'a>,
    /// The path of that, with what separates it from names; nothing for a starting point.
    pub prefix: &'a [u8],
    /// How much of it is the starting point.
    pub start: usize,
    /// How far below the starting point.
    pub depth: u32,
    /// Whether links are followed.
    pub follow: bool,
}

#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub location: Location<'a>,
    /// Its name in its directory; a starting point's is all of its path.
    pub name: &'a CStr,
    /// The last part of that.
    pub base: &'a CStr,
    pub kind: Kind,
    /// Whether the directory is not to be searched.
    pub pruned: bool,
    status: Asked,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    NotYet,
    Known(Status),
    /// It could not be had, which has been said: because it is a link that leads to itself, or otherwise.
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

    /// What stat(2) says of it. If nothing, that is said, once.
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

    /// A link that leads nowhere is the link, if links are followed; one that leads through a file is as well, but that is
    /// said.
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

    /// Finds out what it is, where its directory does not say: links are, if they are followed, what they lead to.
    /// False if it is not to be evaluated: it is a link that leads to itself.
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

    /// Says that something of it went wrong.
    pub fn complain(&self, error: &io::Error, said: &mut Evaluation, manner: NameStyle) {
        let mut path = Vec::new();
        self.path(&mut path);
        message::failed(&path, error, manner, &mut said.errors);
        said.failed = true;
    }
}
