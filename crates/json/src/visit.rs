//! Who is told what a document holds.

use crate::error::Fault;
use crate::skim::Names;
use pelton_sys::padded::Raw;

/// A container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{}`
    Object,
    /// `[]`
    Array,
}

impl Kind {
    /// How it begins.
    pub fn opening(self) -> u8 {
        if self == Kind::Object { b'{' } else { b'[' }
    }

    /// How it ends.
    pub fn closing(self) -> u8 {
        if self == Kind::Object { b'}' } else { b']' }
    }
}

/// Whether a value is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Tell me of it.
    Visit,
    /// Check it, and go on behind it.
    Skip,
}

/// Is told of each value, in the order of the text.
///
/// Before each value comes [`document`](Self::document), [`key`](Self::key) or [`element`](Self::element), and if these
/// want it, the value: [`scalar`](Self::scalar), or [`open`](Self::open), what is inside, and [`close`](Self::close).
pub trait Visitor {
    /// A document begins.
    fn document(&mut self) -> Interest;
    /// A member of an object; its name as written, with its quotes.
    fn key(&mut self, raw: Raw<'_>) -> Interest;
    /// The next element of an array.
    fn element(&mut self) -> Interest;
    /// A container begins. If what is inside is skipped, its end is told nevertheless.
    fn open(&mut self, kind: Kind) -> Interest;
    /// It ends.
    fn close(&mut self, kind: Kind);
    /// A string, number or word as written.
    fn scalar(&mut self, raw: Raw<'_>);
    /// A piece of a string that is too long to be held: the first begins with its quote, the last ends with it. No escape
    /// is torn apart.
    fn piece(&mut self, raw: &[u8], place: StringPosition);
    /// The path of the value that is being read.
    fn path(&self) -> Vec<u8>;
    /// More will be read, which may take long: what was printed should be seen.
    ///
    /// # Errors
    /// If it cannot be written.
    fn pause(&mut self) -> std::io::Result<()>;
    /// The only names of the innermost object that are wanted, if no others are: it need not be told of members with other
    /// names, in which nothing is wrong.
    fn names(&self) -> Option<&Names> {
        None
    }
    /// Whether there are such.
    fn chooses(&self) -> bool {
        false
    }
    /// Why it cannot go on, if it cannot; asked once for each window.
    fn refusal(&mut self) -> Option<Fault> {
        None
    }
}

/// Where a piece stands in its string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringPosition {
    /// At its beginning.
    First,
    /// Neither.
    Middle,
    /// At its end.
    Last,
}

/// Nobody wants to know: what is skipped is checked with it.
pub(crate) struct Nobody;

impl Visitor for Nobody {
    fn document(&mut self) -> Interest {
        Interest::Visit
    }
    fn key(&mut self, _: Raw<'_>) -> Interest {
        Interest::Visit
    }
    fn element(&mut self) -> Interest {
        Interest::Visit
    }
    fn open(&mut self, _: Kind) -> Interest {
        Interest::Visit
    }
    fn close(&mut self, _: Kind) {}
    fn scalar(&mut self, _: Raw<'_>) {}
    fn piece(&mut self, _: &[u8], _: StringPosition) {}
    fn path(&self) -> Vec<u8> {
        Vec::new()
    }
    fn pause(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
