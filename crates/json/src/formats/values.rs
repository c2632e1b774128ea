//! Values alone, one per line, without whitespace.

use std::io;

use crate::compact::Compact;
use crate::decode::{Decoder, decode};
use crate::out::Out;
use crate::selected::{Format, Prints};
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{Raw, Text};

/// Prints strings and numbers as written; top-level strings can be printed decoded.
pub struct Values<'a> {
    trail: Trail<Written>,
    compact: Compact,
    out: Out<'a>,
    shows: bool,
    /// Number of open containers that are printed.
    depth: usize,
    /// Whether top-level strings are printed without quotes and escapes.
    raw: bool,
    decoder: Decoder,
    /// A value that may contain other selected values: they are printed after it.
    held: Option<Family>,
}

/// A value, and the ranges of the selected values within it.
#[derive(Default)]
struct Family {
    text: Text,
    inner: Vec<(usize, usize)>,
    open: Vec<usize>,
}

impl<'a> Values<'a> {
    /// Makes a format that prints to `out`. `nests`: a selected value may contain another one.
    pub fn new(out: Out<'a>, raw: bool, nests: bool) -> Self {
        Values {
            trail: Trail::new(),
            compact: Compact::default(),
            out,
            shows: false,
            depth: 0,
            raw,
            decoder: Decoder::default(),
            held: nests.then(Family::default),
        }
    }

    #[inline(always)]
    fn parts(&mut self) -> (&mut Compact, &mut Text) {
        let text = match &mut self.held {
            Some(family) => &mut family.text,
            None => self.out.text(),
        };
        (&mut self.compact, text)
    }

    /// Prints the held value and the selected values within it.
    fn release(&mut self) {
        let Some(family) = &mut self.held else { return };
        let whole = (0, family.text.len());
        for (start, end) in std::iter::once(whole).chain(family.inner.drain(..)) {
            let value = &family.text.bytes()[start..end];
            if self.raw && value.first() == Some(&b'"') {
                let mut text = Vec::new();
                decode(value, &mut text);
                self.out.text().extend(&text);
            } else {
                self.out.text().extend(value);
            }
            self.out.text().push(b'\n');
            self.out.relieve();
        }
        family.text.truncate(0);
    }
}

impl Prints for Values<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Values<'_> {
    #[inline(always)]
    fn show(&mut self, shows: bool) {
        if self.shows == shows {
            return;
        }
        self.shows = shows;
        if shows {
            self.compact.begin();
        } else if self.held.is_some() {
            self.release();
        } else {
            self.out.text().push(b'\n');
            self.out.relieve();
        }
    }

    fn begin_inner(&mut self) {
        if let Some(family) = &mut self.held {
            family.open.push(family.inner.len());
            family.inner.push((family.text.len(), 0));
        }
    }

    fn end_inner(&mut self) {
        if let Some(family) = &mut self.held
            && let Some(inner) = family.open.pop()
        {
            family.inner[inner].1 = family.text.len();
        }
    }
}

impl Visitor for Values<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        if self.shows {
            let (compact, text) = self.parts();
            compact.key(raw, text);
        }
        Interest::Visit
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        if self.shows {
            let (compact, text) = self.parts();
            compact.element(text);
        }
        Interest::Visit
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        self.trail.open(kind);
        if self.shows {
            self.depth += 1;
            let (compact, text) = self.parts();
            compact.open(kind, text);
        }
        Interest::Visit
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        self.trail.close();
        if self.shows {
            self.depth -= 1;
            let (compact, text) = self.parts();
            compact.close(kind, text);
            self.out.relieve();
        }
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        if self.raw && self.depth == 0 && self.held.is_none() && raw[0] == b'"' {
            let mut meant = Vec::new();
            decode(&raw, &mut meant);
            self.out.text().extend(&meant);
            return;
        }
        let (compact, text) = self.parts();
        compact.scalar(raw, text);
        self.out.relieve();
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        if self.raw && self.depth == 0 && self.held.is_none() {
            let mut meant = Vec::new();
            self.decoder.add(raw, &mut meant);
            if place == StringPosition::Last {
                self.decoder.end(&mut meant);
            }
            self.out.text().extend(&meant);
        } else {
            let (compact, text) = self.parts();
            compact.piece(raw, text);
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
