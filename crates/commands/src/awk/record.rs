//! `$0` and its fields. Fields are found on demand; `$0` is joined again when it is read after a field
//! changed. A record stays in its block until it is assigned.

use std::ops::Range;

use super::char_index;
use super::fields::{self, Block, Piece, Pieces, Separator};
use super::number;
use super::rules;
use super::text::{Text, append};
use super::value::{Operand, Value};

/// The state of `$0`.
#[derive(Clone, Debug)]
enum Whole {
    /// As read: the source of the pieces.
    Source,
    /// As read or assigned, but a string, not a number.
    SourceText,
    /// A field changed: it must be joined.
    Stale,
    /// Joined, in `text`.
    Joined { like_input: bool },
    /// Assigned, or its only field was, and not a string.
    Own(Value),
}

/// A record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    block: Block,
    /// The assigned `$0`.
    assigned: Vec<u8>,
    in_block: bool,
    /// Its range in one of these.
    span: Range<usize>,
    /// The joined record.
    text: Vec<u8>,
    whole: Whole,
    pieces: Pieces,
    /// The values of assigned fields.
    values: Vec<Value>,
    count: Option<usize>,
    separator: Separator,
    record_end: u8,
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

    /// Assigns its [`value`](Self::value) to another.
    #[inline]
    pub(super) fn put(self, to: &mut Value) {
        match self {
            Found::Input(bytes) => to.be_input(bytes),
            Found::Text(bytes) => to.be_text(bytes),
            Found::Own(value) => to.be_like(value),
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
            Found::Input(bytes) | Found::Text(bytes) => append(bytes, out),
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

    /// Returns its bytes, unless it is a number that must be formatted.
    #[inline(always)]
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Found::Input(bytes) | Found::Text(bytes) => Some(bytes),
            Found::Own(value) => value.bytes(),
        }
    }
}

impl Record {
    pub(super) fn new(separator: Separator, record_end: u8) -> Self {
        Record {
            block: Block::default(),
            assigned: Vec::new(),
            in_block: true,
            span: 0..0,
            text: Vec::new(),
            whole: Whole::SourceText,
            pieces: Pieces { complete: true, ..Pieces::default() },
            values: Vec::new(),
            count: None,
            separator,
            record_end,
        }
    }

    /// Returns the separator of the fields, to be exchanged for one that finds the same fields.
    pub(super) fn separator_mut(&mut self) -> &mut Separator {
        &mut self.separator
    }

    /// Sets a single record.
    pub(super) fn enter_alone(&mut self, record: &[u8]) {
        self.block.set(record);
        self.enter(0..record.len());
    }

    /// Sets the records of a block, each of which is then [entered](Self::enter).
    pub(super) fn set_block(&mut self, block: &[u8]) {
        self.block.set(block);
    }

    /// Returns the bytes of a record before it is entered.
    #[inline]
    pub(super) fn lying(&self, span: &Range<usize>) -> &[u8] {
        &self.block.bytes[span.start..span.end]
    }

    /// Enters a record of the block.
    #[inline]
    pub(super) fn enter(&mut self, span: Range<usize>) {
        self.in_block = true;
        self.span = span;
        self.whole = Whole::Source;
        self.start_over();
    }

    #[inline]
    fn start_over(&mut self) {
        self.pieces.start_over(self.span.start);
        self.values.clear();
        self.count = None;
    }

    #[inline]
    fn source(&self) -> &[u8] {
        if self.in_block { &self.block.bytes } else { &self.assigned }
    }

    /// Sets `$0 = text`; swaps the buffer with an old one.
    pub(super) fn set_text(&mut self, text: &mut Vec<u8>) {
        std::mem::swap(&mut self.assigned, text);
        self.be_assigned(Whole::SourceText);
    }

    fn be_assigned(&mut self, whole: Whole) {
        char_index::is_new(&self.assigned);
        self.in_block = false;
        self.span = 0..self.assigned.len();
        self.whole = whole;
        self.start_over();
    }

    /// Sets `$0 = value`.
    pub(super) fn set_value(&mut self, value: Value) {
        self.assigned.clear();
        value.write(&mut self.assigned);
        self.be_assigned(match value {
            Value::Input(_) => Whole::Source,
            Value::Text(_) => Whole::SourceText,
            own => Whole::Own(own),
        });
    }

    /// Returns the length of a field, if immediately known.
    #[inline]
    pub(super) fn known_length(&self, number: usize) -> Option<usize> {
        let piece = self.pieces.found.get(number.wrapping_sub(1)).filter(|piece| !piece.is_own())?;
        Some(piece.end - piece.start)
    }

    /// Returns the number of fields.
    #[inline]
    pub(super) fn count(&mut self) -> usize {
        if self.pieces.complete {
            return self.pieces.found.len();
        }
        self.count_made()
    }

    fn count_made(&mut self) -> usize {
        if self.in_block && self.count.is_none() {
            self.count =
                fields::count_in_block(&mut self.block, &self.span, &self.separator, self.record_end);
        }
        if let Some(count) = self.count {
            return count;
        }
        self.find(usize::MAX);
        self.pieces.found.len()
    }

    /// Finds the fields up to this one.
    #[inline]
    pub(super) fn find_up_to(&mut self, number: usize) {
        if self.pieces.found.len() < number && !self.pieces.complete {
            self.find(number);
        }
    }

    /// Returns a field from 1. A missing one is an empty string.
    #[inline]
    pub(super) fn field(&mut self, number: usize) -> Found<'_> {
        self.find_up_to(number);
        match self.pieces.found.get(number - 1) {
            Some(piece) if piece.is_own() => Found::Own(&self.values[piece.end]),
            Some(piece) => Found::Input(&self.source()[piece.start..piece.end]),
            None => Found::Text(b""),
        }
    }

    /// Returns a field, expecting other numbers next.
    #[inline]
    pub(super) fn any_field(&mut self, number: usize) -> Found<'_> {
        if self.pieces.found.len() < number {
            self.find(usize::MAX);
        }
        self.field(number)
    }

    /// Returns the text from a field on: to the end of the record, as long as the field lies in that.
    pub(super) fn text_from_field(&mut self, number: usize, between: &Value) -> Vec<u8> {
        let mut text = Vec::new();
        self.any_field(number).write(&mut text);
        let Some(piece) = self.pieces.found.get(number - 1).filter(|piece| !piece.is_own()) else {
            return text;
        };
        if !matches!(self.whole, Whole::Joined { .. }) {
            return self.source()[piece.start..self.span.end].to_vec();
        }
        let mut before = Vec::new();
        for earlier in 1..number {
            self.field(earlier).write(&mut before);
            between.write(&mut before);
        }
        self.text.get(before.len()..).map_or(text, <[u8]>::to_vec)
    }

    /// Returns `$0`, joining it with `between` if necessary.
    #[inline]
    pub(super) fn whole(&mut self, between: &Value) -> Found<'_> {
        if matches!(self.whole, Whole::Source) {
            return Found::Input(&self.source()[self.span.start..self.span.end]);
        }
        self.whole_made(between)
    }

    fn whole_made(&mut self, between: &Value) -> Found<'_> {
        if matches!(self.whole, Whole::Stale) {
            self.join(between);
        }
        match &self.whole {
            Whole::Own(value) => Found::Own(value),
            Whole::Source => Found::Input(&self.source()[self.span.clone()]),
            Whole::SourceText => Found::Text(&self.source()[self.span.clone()]),
            Whole::Joined { like_input: true } => Found::Input(&self.text),
            Whole::Joined { like_input: false } | Whole::Stale => Found::Text(&self.text),
        }
    }

    /// Returns the range of fields not yet searched, if they look as in a joined record; otherwise finds all.
    fn rest(&mut self, between: &Value) -> Option<Range<usize>> {
        let rest = self.pieces.at..self.span.end;
        let even = self.in_block
            && !self.pieces.complete
            && rest.start <= rest.end
            && between.bytes().is_some_and(|between| self.separator.is_joined_by(between))
            && (!matches!(self.separator, Separator::Blanks)
                || self.block.is_even(&(rest.start - 1..rest.end)));
        if !even {
            self.find(usize::MAX);
        }
        even.then_some(rest)
    }

    fn join(&mut self, between: &Value) {
        let rest = self.rest(between);
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let mut like_input = false;
        if rules::is_mawk()
            && let ([piece], None) = (self.pieces.found.as_slice(), &rest)
        {
            match self.values.get(piece.end).filter(|_| piece.is_own()) {
                None | Some(Value::Input(_)) => like_input = true,
                Some(own @ (Value::Number(_) | Value::Unset)) => {
                    own.write(&mut text);
                    self.whole = Whole::Own(own.clone());
                    self.text = text;
                    return;
                }
                Some(Value::Text(_)) => {}
            }
        }
        self.join_fields(between, &mut text);
        if let Some(rest) = rest {
            between.write(&mut text);
            text.extend_from_slice(&self.source()[rest]);
        }
        char_index::is_new(&text);
        self.text = text;
        self.whole = Whole::Joined { like_input };
    }

    /// Joins the fields. Adjacent ones with the right separator between them are copied together.
    fn join_fields(&self, between: &Value, text: &mut Vec<u8>) {
        let mut separator = Vec::new();
        let separator = match between.bytes() {
            Some(bytes) => bytes,
            None => {
                between.write(&mut separator);
                &separator
            }
        };
        let source = self.source();
        let only = if let [byte] = separator { Some(byte) } else { None };
        let pieces = self.pieces.found.as_slice();
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            if at > 0 {
                append(separator, text);
            }
            at += 1;
            if piece.is_own() {
                self.values[piece.end].write(text);
                continue;
            }
            let mut end = piece.end;
            while let Some(next) = pieces.get(at)
                && next.start == end + 1
                && source.get(end) == only
            {
                end = next.end;
                at += 1;
            }
            text.extend_from_slice(&source[piece.start..end]);
        }
    }

    /// Assigns a field from 1.
    pub(super) fn assign(&mut self, number: usize, value: Value) {
        if self.pieces.found.len() < number {
            self.find(number);
            self.extend(number);
        }
        let piece = &mut self.pieces.found[number - 1];
        if piece.is_own() {
            self.values[piece.end] = value;
        } else {
            *piece = Piece::own(self.values.len());
            self.values.push(value);
        }
        self.whole = Whole::Stale;
    }

    /// Adds empty fields up to this one, and leaves the record as it is, as gawk does where a field may be assigned.
    pub(super) fn reach(&mut self, field: usize) {
        if self.count() < field {
            self.find(usize::MAX);
            self.extend(field);
            self.count = None;
        }
    }

    /// Assigns NF.
    pub(super) fn resize(&mut self, count: usize) {
        self.find(usize::MAX);
        self.pieces.found.truncate(count);
        self.extend(count);
        self.whole = Whole::Stale;
    }

    /// Adds empty fields up to `count`.
    fn extend(&mut self, count: usize) {
        while self.pieces.found.len() < count {
            self.pieces.found.push(Piece::own(self.values.len()));
            self.values.push(Value::Text(Text::EMPTY));
        }
    }

    /// Finds fields until there are `wanted`, or no more.
    fn find(&mut self, wanted: usize) {
        let Record { pieces, separator, .. } = self;
        if pieces.complete {
            return;
        }
        if self.in_block {
            pieces.find_in_block(&mut self.block, &self.span, separator, self.record_end, wanted);
        } else {
            pieces.find(&self.assigned, separator, wanted);
        }
    }
}
