//! The format of the two-stage awk parser: a line for each value, and a line for the end of each container.
//!
//! ```text
//! @."menu" <=> {
//! @."menu"."id": "file"
//! @."menu" <=> }
//! ```

use std::io;

use crate::out::Out;
use crate::selected::{Format, Prints};
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{Raw, Text};

/// Prints names, strings and numbers as written.
pub struct Lines<'a> {
    trail: Trail<Written>,
    shows: bool,
    out: Out<'a>,
}

impl<'a> Lines<'a> {
    /// Makes a format that prints to `out`.
    pub fn new(out: Out<'a>) -> Self {
        Lines { trail: Trail::new(), shows: true, out }
    }

    #[inline(always)]
    fn bracket(&mut self, byte: u8) {
        if !self.shows {
            return;
        }
        self.out.text().put((self.trail.path(), [b' ', b'<', b'=', b'>', b' ', byte, b'\n']));
        self.out.relieve();
    }
}

impl Prints for Lines<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Lines<'_> {
    fn show(&mut self, shows: bool) {
        self.shows = shows;
    }
}

impl Visitor for Lines<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        Interest::Visit
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        Interest::Visit
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        self.bracket(kind.opening());
        self.trail.open(kind);
        Interest::Visit
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        self.trail.close();
        self.bracket(kind.closing());
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        self.out.text().put((self.trail.path(), *b": ", raw, *b"\n"));
        self.out.relieve();
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        if place == StringPosition::First {
            self.out.text().put((self.trail.path(),));
            self.out.text().extend(b": ");
        }
        self.out.text().extend(raw);
        if place == StringPosition::Last {
            self.out.text().push(b'\n');
        }
        self.out.relieve();
    }

    fn path(&self) -> Vec<u8> {
        self.trail.path().bytes().to_vec()
    }

    fn pause(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
