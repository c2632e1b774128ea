//! The callbacks that report a document's contents.

use crate::error::Fault;
use crate::names::Names;
use pelton_simd::padded::Raw;

/// A kind of container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{}`
    Object,
    /// `[]`
    Array,
}

impl Kind {
    /// Returns the opening bracket.
    pub fn opening(self) -> u8 {
        if self == Kind::Object { b'{' } else { b'[' }
    }

    /// Returns the closing bracket.
    pub fn closing(self) -> u8 {
        if self == Kind::Object { b'}' } else { b']' }
    }
}

/// Whether a value is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Report it.
    Visit,
    /// Validate and skip it.
    Skip,
}

/// Receives each value, in the order of the text.
///
/// Before each value comes [`document`](Self::document), [`key`](Self::key) or [`element`](Self::element). If
/// it returns [`Interest::Visit`], the value follows: [`scalar`](Self::scalar), or [`open`](Self::open), the
/// contents, and [`close`](Self::close).
pub trait Visitor {
    /// Begins a document.
    fn document(&mut self) -> Interest;
    /// Begins a member of an object. `raw` is its name as written, with quotes.
    fn key(&mut self, raw: Raw<'_>) -> Interest;
    /// Begins the next element of an array.
    fn element(&mut self) -> Interest;
    /// Begins a container. `close` is called even if the contents are skipped.
    fn open(&mut self, kind: Kind) -> Interest;
    /// Ends a container.
    fn close(&mut self, kind: Kind);
    /// Receives a string, number or word as written.
    fn scalar(&mut self, raw: Raw<'_>);
    /// Receives a piece of a string that is too long to be held. The first piece begins with the opening
    /// quote, the last ends with the closing quote. No escape is split.
    fn piece(&mut self, raw: &[u8], place: StringPosition);
    /// Returns the path of the current value.
    fn path(&self) -> Vec<u8>;
    /// Called before a read, which may block: the output so far should be written.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn pause(&mut self) -> std::io::Result<()>;
    /// Returns the selected names of the innermost object, if only members of these names are selected. Valid
    /// members with other names need not be reported.
    fn names(&self) -> Option<&Names> {
        None
    }
    /// Whether [`names`](Self::names) returns some.
    fn chooses(&self) -> bool {
        false
    }
    /// Returns why the visitor cannot continue, if it cannot. Called once per window.
    fn refusal(&mut self) -> Option<Fault> {
        None
    }
}

/// The position of a piece in its string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringPosition {
    /// At its beginning.
    First,
    /// In between.
    Middle,
    /// At its end.
    Last,
}

/// Ignores all values: validates skipped text.
pub(crate) struct Discard;

impl Visitor for Discard {
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
