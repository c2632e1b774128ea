//! `$0` and its fields. Fields are found as far as they are asked for; `$0` is put together again when it is asked for
//! after one of them was changed.

use std::ops::Range;

use super::number;
use super::pattern::Pattern;
use super::value::{Operand, Text, Value};

/// What stands between fields.
#[derive(Clone, Debug)]
pub(super) enum Separator {
    /// Blanks, tabs and newlines, which also may stand around all fields.
    Blanks,
    Byte(u8),
    Pattern(Box<Pattern>),
}

#[derive(Clone, Debug)]
enum Cell {
    /// In the record as it was read.
    Piece(Range<usize>),
    /// Assigned.
    Own(Value),
}

/// What `$0` is.
#[derive(Clone, Debug)]
enum Whole {
    /// As read: what the pieces lie in.
    Source,
    /// As read or assigned, but a string and not a number.
    SourceText,
    /// A field was changed: it must be put together.
    Stale,
    /// Put together, in `text`.
    Joined { like_input: bool },
    /// Assigned, or its only field was, and no string.
    Own(Value),
}

/// A record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    source: Vec<u8>,
    text: Vec<u8>,
    whole: Whole,
    cells: Vec<Cell>,
    /// Where the next field is looked for.
    at: usize,
    complete: bool,
    separator: Separator,
}

/// A field, or the record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// From the input: a number if it looks like one.
    Input(&'a [u8]),
    Text(&'a [u8]),
    Own(&'a Value),
}

impl<'a> Found<'a> {
    pub(super) fn value(self) -> Value {
        match self {
            Found::Input(bytes) => Value::input(bytes),
            Found::Text(bytes) => Value::text(bytes),
            Found::Own(value) => value.clone(),
        }
    }

    #[inline]
    pub(super) fn number(self) -> f64 {
        match self {
            Found::Input(bytes) | Found::Text(bytes) => number::prefix(bytes),
            Found::Own(value) => value.number(),
        }
    }

    pub(super) fn is_true(self) -> bool {
        match self {
            Found::Input(bytes) => super::value::input_is_true(bytes),
            Found::Text(bytes) => !bytes.is_empty(),
            Found::Own(value) => value.is_true(),
        }
    }

    #[inline]
    pub(super) fn write(self, out: &mut Vec<u8>) {
        match self {
            Found::Input(bytes) | Found::Text(bytes) => out.extend_from_slice(bytes),
            Found::Own(value) => value.write(out),
        }
    }

    #[inline]
    pub(super) fn operand(self) -> Operand<'a> {
        match self {
            Found::Input(bytes) => Operand::of_input(bytes),
            Found::Text(bytes) => Operand::Text(bytes),
            Found::Own(value) => value.as_operand(),
        }
    }
}

impl Record {
    pub(super) fn new(separator: Separator) -> Self {
        Record {
            source: Vec::new(),
            text: Vec::new(),
            whole: Whole::SourceText,
            cells: Vec::new(),
            at: 0,
            complete: true,
            separator,
        }
    }

    /// A new record from the input.
    #[inline]
    pub(super) fn set_input(&mut self, text: &[u8]) {
        self.source.clear();
        self.source.extend_from_slice(text);
        self.whole = Whole::Source;
        self.start_over();
    }

    #[inline]
    fn start_over(&mut self) {
        self.cells.clear();
        self.at = 0;
        self.complete = false;
    }

    /// `$0 = text`; the buffer is taken, and an old one left in its place.
    pub(super) fn set_text(&mut self, text: &mut Vec<u8>) {
        std::mem::swap(&mut self.source, text);
        self.whole = Whole::SourceText;
        self.start_over();
    }

    /// `$0 = value`.
    pub(super) fn set_value(&mut self, value: Value) {
        self.source.clear();
        value.write(&mut self.source);
        self.whole = match value {
            Value::Input(_) => Whole::Source,
            Value::Text(_) => Whole::SourceText,
            own => Whole::Own(own),
        };
        self.start_over();
    }

    /// How many fields there are.
    pub(super) fn count(&mut self) -> usize {
        self.find(usize::MAX);
        self.cells.len()
    }

    /// A field from 1. One that is not there is an empty string.
    #[inline]
    pub(super) fn field(&mut self, number: usize) -> Found<'_> {
        if self.cells.len() < number && !self.complete {
            self.find(number);
        }
        match self.cells.get(number - 1) {
            Some(Cell::Piece(range)) => Found::Input(&self.source[range.clone()]),
            Some(Cell::Own(value)) => Found::Own(value),
            None => Found::Text(b""),
        }
    }

    /// `$0`; what is put between fields if it must be put together.
    #[inline]
    pub(super) fn whole(&mut self, between: &Value) -> Found<'_> {
        if matches!(self.whole, Whole::Stale) {
            self.join(between);
        }
        match &self.whole {
            Whole::Own(value) => Found::Own(value),
            Whole::Source => Found::Input(&self.source),
            Whole::SourceText => Found::Text(&self.source),
            Whole::Joined { like_input: true } => Found::Input(&self.text),
            Whole::Joined { like_input: false } | Whole::Stale => Found::Text(&self.text),
        }
    }

    fn join(&mut self, between: &Value) {
        self.text.clear();
        let like_input = match self.cells.as_slice() {
            [Cell::Piece(_)] | [Cell::Own(Value::Input(_))] => true,
            [Cell::Own(own @ (Value::Number(_) | Value::Unset))] => {
                own.write(&mut self.text);
                self.whole = Whole::Own(own.clone());
                return;
            }
            _ => false,
        };
        for (index, cell) in self.cells.iter().enumerate() {
            if index > 0 {
                between.write(&mut self.text);
            }
            match cell {
                Cell::Piece(range) => self.text.extend_from_slice(&self.source[range.clone()]),
                Cell::Own(value) => value.write(&mut self.text),
            }
        }
        self.whole = Whole::Joined { like_input };
    }

    /// Assigns a field from 1.
    pub(super) fn assign(&mut self, number: usize, value: Value) {
        self.find(usize::MAX);
        if self.cells.len() < number {
            self.cells.resize(number, Cell::Own(Value::Text(Text::EMPTY)));
        }
        self.cells[number - 1] = Cell::Own(value);
        self.whole = Whole::Stale;
    }

    /// Assigns NF.
    pub(super) fn resize(&mut self, count: usize) {
        self.find(usize::MAX);
        self.cells.resize(count, Cell::Own(Value::Text(Text::EMPTY)));
        self.whole = Whole::Stale;
    }

    /// Finds fields until there are so many, or no more.
    fn find(&mut self, wanted: usize) {
        if self.complete {
            return;
        }
        if self.source.is_empty() {
            self.complete = true;
            return;
        }
        match &mut self.separator {
            Separator::Blanks => {
                while self.cells.len() < wanted {
                    match next_word(&self.source, &mut self.at) {
                        Some(range) => self.cells.push(Cell::Piece(range)),
                        None => {
                            self.complete = true;
                            return;
                        }
                    }
                }
            }
            Separator::Byte(byte) => {
                while self.cells.len() < wanted {
                    let start = self.at;
                    match memchr::memchr(*byte, &self.source[start..]) {
                        Some(length) => {
                            self.cells.push(Cell::Piece(start..start + length));
                            self.at = start + length + 1;
                        }
                        None => {
                            self.cells.push(Cell::Piece(start..self.source.len()));
                            self.complete = true;
                            return;
                        }
                    }
                }
            }
            Separator::Pattern(pattern) => {
                while self.cells.len() < wanted {
                    let start = self.at;
                    match pattern.find(&self.source, start..self.source.len()) {
                        Some((from, to)) => {
                            self.cells.push(Cell::Piece(start..from));
                            self.at = to;
                        }
                        None => {
                            self.cells.push(Cell::Piece(start..self.source.len()));
                            self.complete = true;
                            return;
                        }
                    }
                }
            }
        }
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// The next run of what is no blank.
#[inline]
fn next_word(text: &[u8], at: &mut usize) -> Option<Range<usize>> {
    let mut start = *at;
    while start < text.len() && is_blank(text[start]) {
        start += 1;
    }
    if start == text.len() {
        *at = start;
        return None;
    }
    let mut end = start + 1;
    while end < text.len() && !is_blank(text[end]) {
        end += 1;
    }
    *at = end;
    Some(start..end)
}

/// `split`: the pieces of a text.
pub(super) fn split(text: &[u8], separator: &mut Separator, mut piece: impl FnMut(&[u8])) {
    if text.is_empty() {
        return;
    }
    let mut at = 0;
    match separator {
        Separator::Blanks => {
            while let Some(range) = next_word(text, &mut at) {
                piece(&text[range]);
            }
        }
        Separator::Byte(byte) => text.split(|found| found == byte).for_each(piece),
        Separator::Pattern(pattern) => {
            while let Some((from, to)) = pattern.find(text, at..text.len()) {
                piece(&text[at..from]);
                at = to;
            }
            piece(&text[at..]);
        }
    }
}
