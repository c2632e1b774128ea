//! A line for each record, made of the values that paths select in it: columns, or a text with placeholders.

use std::io;

use crate::collect::Collector;
use crate::decode::decode;
use crate::out::Out;
use crate::select::Paths;
use crate::selected::{Format, Prints};
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{Raw, Text};

/// A part of the line that is printed for a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputField {
    /// Literal text.
    Text(Vec<u8>),
    /// The value that the path with this number selects.
    Field(usize),
}

/// How a field is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Strings decoded; objects and arrays as JSON.
    Plain,
    /// As `Plain`, with `\t`, `\n`, `\r` and `\\` escaped as in `@tsv` of jq; null is empty.
    Columns,
}

/// Prints one line per record. If a path selects several values, the last one is printed; a missing field is
/// empty.
pub struct Records<'a> {
    trail: Trail<Written>,
    collector: Collector,
    parts: Vec<OutputField>,
    shown: Shown,
    fields: Vec<Vec<u8>>,
    shows: bool,
    begins: bool,
    out: Out<'a>,
}

impl<'a> Records<'a> {
    /// Makes a format that prints `parts` of each record, with the fields that `paths` select.
    pub fn new(out: Out<'a>, paths: Paths, count: usize, parts: Vec<OutputField>, shown: Shown) -> Self {
        let fields = vec![Vec::new(); count];
        let collector = Collector::new(paths);
        Records { trail: Trail::new(), collector, parts, shown, fields, shows: true, begins: true, out }
    }

    fn take(&mut self) {
        if self.collector.is_closed() {
            let fields = &mut self.fields;
            self.collector.take(|path, value| {
                fields[path].clear();
                fields[path].extend_from_slice(value);
            });
        }
    }

    fn print(&mut self) {
        let text = self.out.text();
        for part in &self.parts {
            match part {
                OutputField::Text(bytes) => text.extend(bytes),
                OutputField::Field(number) => {
                    let field = &self.fields[*number];
                    let mut meant = Vec::new();
                    let value = match field.first() {
                        Some(b'"') => {
                            decode(field, &mut meant);
                            meant.as_slice()
                        }
                        Some(b'n') if self.shown == Shown::Columns => b"",
                        _ => field,
                    };
                    match self.shown {
                        Shown::Plain => text.extend(value),
                        Shown::Columns => escape(value, text),
                    }
                }
            }
        }
        for field in &mut self.fields {
            field.clear();
        }
        self.out.relieve();
    }

    /// Begins the record's value, unless it has begun.
    fn begin(&mut self) {
        if std::mem::take(&mut self.begins) {
            self.collector.begin();
        }
    }
}

fn escape(value: &[u8], to: &mut Text) {
    if memchr::memchr3(b'\t', b'\n', b'\r', value).is_none() && memchr::memchr(b'\\', value).is_none() {
        return to.extend(value);
    }
    for byte in value {
        match byte {
            b'\t' => to.extend(b"\\t"),
            b'\n' => to.extend(b"\\n"),
            b'\r' => to.extend(b"\\r"),
            b'\\' => to.extend(b"\\\\"),
            _ => to.push(*byte),
        }
    }
}

impl Prints for Records<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Records<'_> {
    fn show(&mut self, shows: bool) {
        if self.shows && !shows && !self.begins {
            self.print();
        }
        self.shows = shows;
        self.begins = true;
    }
}

impl Visitor for Records<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        if self.shows { self.collector.key(raw) } else { Interest::Visit }
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        if self.shows { self.collector.element() } else { Interest::Visit }
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        self.trail.open(kind);
        if !self.shows {
            return Interest::Visit;
        }
        self.begin();
        self.collector.open(kind)
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        self.trail.close();
        if self.shows {
            self.collector.close(kind);
            self.take();
        }
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        self.begin();
        self.collector.scalar(raw);
        self.take();
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        self.begin();
        self.collector.piece(raw, place);
        self.take();
    }

    fn path(&self) -> Vec<u8> {
        self.trail.path().bytes().to_vec()
    }

    fn pause(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
