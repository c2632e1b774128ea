//! The format of the first of the two stages: one token per line.

use std::io;

use crate::out::Out;
use crate::selected::{Format, Prints};
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{Raw, Text};

/// Prints tokens as written.
pub struct Tokens<'a> {
    trail: Trail<Written>,
    /// Whether the open container is not empty.
    begun: bool,
    shows: bool,
    out: Out<'a>,
}

impl<'a> Tokens<'a> {
    /// Makes a format that prints to `out`.
    pub fn new(out: Out<'a>) -> Self {
        Tokens { trail: Trail::new(), begun: false, shows: true, out }
    }

    #[inline(always)]
    fn comma(&mut self) {
        if self.begun && self.shows {
            self.out.text().put((*b",\n",));
        }
    }
}

impl Prints for Tokens<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Tokens<'_> {
    fn show(&mut self, shows: bool) {
        self.shows = shows;
        self.begun = false;
    }
}

impl Visitor for Tokens<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        self.comma();
        if self.shows {
            self.out.text().put((raw, *b"\n:\n"));
        }
        Interest::Visit
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        self.comma();
        Interest::Visit
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        self.trail.open(kind);
        self.begun = false;
        if self.shows {
            self.out.text().put(([kind.opening(), b'\n'],));
        }
        Interest::Visit
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        self.trail.close();
        self.begun = true;
        if self.shows {
            self.out.text().put(([kind.closing(), b'\n'],));
            self.out.relieve();
        }
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        self.begun = true;
        self.out.text().put((raw, *b"\n"));
        self.out.relieve();
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.begun = true;
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
