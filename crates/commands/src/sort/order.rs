//! The order that the options define, as the engine wants it: one byte string per line, and a tie-break.

use std::cmp::Ordering;

use super::engine::Tie;
use super::float::is_nan;
use super::key::{Key, Kind};
use super::text::window;

/// Which byte string a line is compared by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// The line.
    Line,
    /// A part of the line.
    Slice(Key),
    /// Something computed from a part of the line.
    Computed(Key),
    /// Something computed from several parts.
    Several(Vec<Key>),
}

/// How lines are ordered, and which of them are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOrder {
    shape: Shape,
    separator: Option<u8>,
    descending: bool,
    tie: Tie,
}

/// Where a line's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In the line: from, to.
    InLine(usize, usize),
    /// It was appended to the buffer.
    Appended,
}

impl LineOrder {
    /// By these keys, fields being separated by this byte (or blanks); `reverse` and `stable` as in `-r` and `-s`.
    /// With `-u`, pass `stable`: the first of equal lines is kept.
    pub fn new(mut keys: Vec<Key>, separator: Option<u8>, reverse: bool, stable: bool) -> Self {
        let tie = if stable { Tie::Place } else { Tie::Line { descending: reverse } };
        let (shape, descending, tie) = match keys.pop() {
            None => (Shape::Line, reverse, Tie::None),
            Some(key) if !keys.is_empty() => {
                keys.push(key);
                (Shape::Several(keys), false, tie)
            }
            Some(key) if key.is_slice() => {
                let descending = key.reverse;
                (Shape::Slice(key), descending, tie)
            }
            Some(key) => {
                let descending = key.reverse;
                (Shape::Computed(key), descending, tie)
            }
        };
        LineOrder { shape, separator, descending, tie }
    }

    /// Whole lines are compared: equal lines are identical.
    pub fn is_by_line(&self) -> bool {
        self.shape == Shape::Line
    }

    /// Lines that are not identical are never equal.
    pub fn is_total(&self) -> bool {
        self.tie != Tie::Place
    }

    /// Some key is compared as `-g` does: there may be lines that only the real sort can order.
    pub fn may_meet_nan(&self) -> bool {
        self.keys().iter().any(|key| key.kind == Kind::General)
    }

    /// Is a number of this line NaN?
    pub(crate) fn has_nan(&self, line: &[u8]) -> bool {
        let mut numbers = self.keys().iter().filter(|key| key.kind == Kind::General);
        numbers.any(|key| {
            let (from, to) = key.range(line, self.separator);
            is_nan(&line[from..to])
        })
    }

    fn keys(&self) -> &[Key] {
        match &self.shape {
            Shape::Line => &[],
            Shape::Slice(key) | Shape::Computed(key) => std::slice::from_ref(key),
            Shape::Several(keys) => keys,
        }
    }

    pub(crate) fn descending(&self) -> bool {
        self.descending
    }

    pub(crate) fn tie(&self) -> Tie {
        self.tie
    }

    /// Keys are computed, not parts of lines.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(self.shape, Shape::Computed(_) | Shape::Several(_))
    }

    /// What the engine complements windows with.
    pub(crate) fn flip(&self) -> u64 {
        if self.descending { u64::MAX } else { 0 }
    }

    /// The key of `line`: a part of it, or appended to `computed`.
    #[inline]
    pub(crate) fn key(&self, line: &[u8], computed: &mut Vec<u8>) -> KeyPlace {
        match &self.shape {
            Shape::Line => KeyPlace::InLine(0, line.len()),
            Shape::Slice(key) => {
                let (from, to) = key.range(line, self.separator);
                KeyPlace::InLine(from, to)
            }
            Shape::Computed(key) => {
                let (from, to) = key.range(line, self.separator);
                key.encode(&line[from..to], computed);
                KeyPlace::Appended
            }
            Shape::Several(keys) => {
                for key in keys {
                    let (from, to) = key.range(line, self.separator);
                    key.encode_before_others(&line[from..to], computed);
                }
                KeyPlace::Appended
            }
        }
    }

    /// Compares two lines with their keys at hand; where their order is [`Tie::Place`], equal ones stay equal.
    pub(crate) fn compare(&self, a: &Judged<'_>, b: &Judged<'_>) -> Ordering {
        let order = a.window.cmp(&b.window).then_with(|| a.key.cmp(b.key));
        let order = if self.descending { order.reverse() } else { order };
        order.then_with(|| match self.tie {
            Tie::Line { descending: false } => a.line.cmp(b.line),
            Tie::Line { descending: true } => b.line.cmp(a.line),
            Tie::None | Tie::Place => Ordering::Equal,
        })
    }
}

/// A line outside the engine, ready to be compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'a> {
    /// The line, without terminator.
    pub(crate) line: &'a [u8],
    /// Its key.
    pub(crate) key: &'a [u8],
    /// The first bytes of the key (never complemented).
    pub(crate) window: u64,
}

impl<'a> Judged<'a> {
    /// `line` under `order`; `computed` is scratch space.
    #[inline]
    pub(crate) fn new(line: &'a [u8], order: &LineOrder, computed: &'a mut Vec<u8>) -> Self {
        computed.clear();
        let key = match order.key(line, computed) {
            KeyPlace::InLine(from, to) => &line[from..to],
            KeyPlace::Appended => computed.as_slice(),
        };
        Judged { line, key, window: window(key, 0, key.len()) }
    }
}
