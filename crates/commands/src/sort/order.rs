//! The order that the options define, as the engine wants it: one byte string per line, and a tie-break.

use std::cmp::Ordering;

use crate::collation::Collation;
use crate::encoded::compare_encoded;

use super::engine::Tie;
use super::float::is_nan;
use super::key::{Conventions, Key, Kind};
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
    /// The beginning of what text is compared by in a locale's order.
    Beginning(Key, &'static Collation),
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
    /// For [`Tie::Rests`]: what decides, first to last.
    rests: Vec<Key>,
    /// Lines with equal keys are compared as a whole.
    whole: bool,
    conventions: Conventions,
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
    pub fn new(keys: Vec<Key>, separator: Option<u8>, reverse: bool, stable: bool) -> Self {
        LineOrder::in_locale(keys, separator, reverse, stable, Conventions::C)
    }

    /// The same in another locale.
    pub fn in_locale(
        mut keys: Vec<Key>,
        separator: Option<u8>,
        reverse: bool,
        stable: bool,
        conventions: Conventions,
    ) -> Self {
        let (whole, mut rests) = (keys.is_empty() || !stable, Vec::new());
        let (shape, descending) = match (keys.pop(), conventions.collation) {
            (None, None) => (Shape::Line, reverse),
            (None, Some(collation)) => (Shape::Beginning(Key { reverse, ..Key::line() }, collation), reverse),
            (Some(key), _) if !keys.is_empty() => {
                keys.push(key);
                (Shape::Several(keys), false)
            }
            (Some(key), Some(collation)) if key.kind == Kind::Bytes => {
                rests.push(key.clone());
                let descending = key.reverse;
                (Shape::Beginning(key, collation), descending)
            }
            (Some(key), _) => {
                let descending = key.reverse;
                (if key.is_slice() { Shape::Slice(key) } else { Shape::Computed(key) }, descending)
            }
        };
        if whole {
            rests.push(Key { reverse, ..Key::line() });
        }
        let tie = match conventions.collation {
            None if shape == Shape::Line => Tie::None,
            None if whole => Tie::Line { descending: reverse },
            Some(_) if !rests.is_empty() => Tie::Rests,
            _ => Tie::Place,
        };
        LineOrder { shape, separator, descending, tie, rests, whole, conventions }
    }

    /// Whole lines are compared by their bytes: equal lines are identical.
    pub fn is_by_line(&self) -> bool {
        self.shape == Shape::Line
    }

    /// Lines that are not identical are never equal.
    pub fn is_total(&self) -> bool {
        self.whole && self.conventions.collation.is_none()
    }

    /// Lines that are not identical are never equal if one of them is [`alone`](Self::are_alone).
    pub fn is_total_if_alone(&self) -> bool {
        self.whole
    }

    /// Does this locale know for certain no other line that equals one of these? `text` holds whole lines.
    pub(crate) fn are_alone(&self, text: &[u8], terminator: u8) -> bool {
        self.conventions.collation.is_none_or(|collation| {
            collation.is_plain(text)
                || text.split(|byte| *byte == terminator).all(|line| collation.is_alone(line))
        })
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
            Shape::Slice(key) | Shape::Computed(key) | Shape::Beginning(key, _) => std::slice::from_ref(key),
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
        matches!(self.shape, Shape::Computed(_) | Shape::Beginning(..) | Shape::Several(_))
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
                key.encode(&line[from..to], self.conventions, computed);
                KeyPlace::Appended
            }
            Shape::Beginning(key, collation) => {
                let (from, to) = key.range(line, self.separator);
                key.encode_beginning(&line[from..to], collation, computed);
                KeyPlace::Appended
            }
            Shape::Several(keys) => {
                for key in keys {
                    let (from, to) = key.range(line, self.separator);
                    key.encode_before_others(&line[from..to], self.conventions, computed);
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
            Tie::Rests => self.compare_rests(a.line, b.line),
            Tie::None | Tie::Place => Ordering::Equal,
        })
    }

    /// Appends what decides between lines whose keys are equal: such strings order as the lines do.
    pub(crate) fn append_rests(&self, line: &[u8], out: &mut Vec<u8>) {
        for key in &self.rests {
            let (from, to) = key.range(line, self.separator);
            key.encode_before_others(&line[from..to], self.conventions, out);
        }
    }

    /// Compares lines whose keys are equal, for [`Tie::Rests`].
    pub(crate) fn compare_rests(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        compare_encoded(a, b, |line, out| self.append_rests(line, out))
    }

    /// Appends what tells whether lines are the same to `-u`: they are if these strings are.
    pub(crate) fn append_identity(&self, judged: &Judged<'_>, out: &mut Vec<u8>) {
        match self.tie {
            Tie::Rests => self.append_rests(judged.line, out),
            _ => out.extend_from_slice(judged.key),
        }
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
