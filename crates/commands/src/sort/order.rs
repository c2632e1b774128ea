//! The order that the options define, as the engine wants it: one byte string per line, and a tie-break.

use std::cmp::Ordering;

use crate::locale::collation::Collation;
use crate::locale::encodings::compare_encoded;

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
    /// Something computed from several parts; of text in a locale's order, that beginning, which ends it.
    Several,
}

/// How much of what a key is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// For text in a locale's order: its beginning, which tells most texts apart and is a seventh of all.
    Beginning(&'static Collation),
    /// All of it.
    Whole,
}

/// What lines are compared by next, where all before was equal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    key: Key,
    extent: Extent,
}

impl Comparison {
    fn whole(key: Key) -> Self {
        Comparison { key, extent: Extent::Whole }
    }

    /// Appends what is compared of `text`, the part that the key takes.
    fn append(&self, text: &[u8], conventions: Conventions, out: &mut Vec<u8>) {
        match self.extent {
            Extent::Beginning(collation) => self.key.encode_beginning(text, collation, out),
            Extent::Whole => self.key.encode(text, conventions, out),
        }
    }

    /// Compares the parts that the key takes of two lines.
    fn compare(&self, a: &[u8], b: &[u8], conventions: Conventions) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let order = match self.extent {
            Extent::Beginning(collation) => {
                collation.compare_beginnings(&self.key.seen(a), &self.key.seen(b))
            }
            Extent::Whole if conventions.collation.is_none() && self.key.is_slice() => a.cmp(b),
            Extent::Whole => compare_encoded(a, b, |text, out| self.append(text, conventions, out)),
        };
        if self.key.reverse { order.reverse() } else { order }
    }
}

/// What a key is compared by, one step after another.
fn steps_of(key: Key, conventions: Conventions) -> impl Iterator<Item = Comparison> {
    let collation = conventions.collation.filter(|_| key.kind == Kind::Bytes);
    let beginning =
        collation.map(|collation| Comparison { key: key.clone(), extent: Extent::Beginning(collation) });
    beginning.into_iter().chain([Comparison::whole(key)])
}

/// How lines are ordered, and which of them are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOrder {
    shape: Shape,
    separator: Option<u8>,
    descending: bool,
    tie: Tie,
    /// All that is compared, one after another.
    steps: Vec<Comparison>,
    /// The shape covers so many of them. What follows decides then, for [`Tie::Step`].
    lead: usize,
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
        let (by_line, whole) = (keys.is_empty(), keys.is_empty() || !stable);
        let line = Key { reverse, ..Key::line() };
        if by_line {
            keys.push(line.clone());
        }
        let mut steps: Vec<Comparison> =
            keys.into_iter().flat_map(|key| steps_of(key, conventions)).collect();
        // Up to the first text in a locale's order, all is compared at once; what follows, only where that was equal.
        let text = steps.iter().position(|step| step.extent != Extent::Whole);
        let lead = text.map_or(steps.len(), |text| text + 1);
        if whole && !by_line && conventions.collation.is_some() {
            steps.extend(steps_of(line, conventions));
        }
        let descending = lead == 1 && steps[0].key.reverse;
        let shape = match &steps[..lead] {
            [Comparison { extent: Extent::Beginning(collation), key }] => {
                Shape::Beginning(key.clone(), collation)
            }
            [_] if by_line => Shape::Line,
            [Comparison { key, .. }] if key.is_slice() => Shape::Slice(key.clone()),
            [Comparison { key, .. }] => Shape::Computed(key.clone()),
            _ => Shape::Several,
        };
        let tie = match conventions.collation {
            _ if lead < steps.len() => Tie::Step(0),
            None if shape == Shape::Line => Tie::None,
            None if whole => Tie::Line { descending: reverse },
            _ => Tie::Place,
        };
        LineOrder { shape, separator, descending, tie, steps, lead, whole, conventions }
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
        self.general_keys().next().is_some()
    }

    /// Is a number of this line NaN?
    pub(crate) fn has_nan(&self, line: &[u8]) -> bool {
        self.general_keys().any(|key| {
            let (from, to) = key.range(line, self.separator);
            is_nan(&line[from..to])
        })
    }

    fn general_keys(&self) -> impl Iterator<Item = &Key> {
        self.steps.iter().map(|step| &step.key).filter(|key| key.kind == Kind::General)
    }

    pub(crate) fn descending(&self) -> bool {
        self.descending
    }

    pub(crate) fn tie(&self) -> Tie {
        self.tie
    }

    /// Keys are computed, not parts of lines.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(self.shape, Shape::Computed(_) | Shape::Beginning(..) | Shape::Several)
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
            Shape::Several => {
                self.steps[..self.lead]
                    .iter()
                    .for_each(|step| self.append_before_others(step, line, computed));
                KeyPlace::Appended
            }
        }
    }

    fn append_before_others(&self, step: &Comparison, line: &[u8], out: &mut Vec<u8>) {
        let (from, to) = step.key.range(line, self.separator);
        let start = out.len();
        step.append(&line[from..to], self.conventions, out);
        step.key.put_before_others(out, start);
    }

    /// Compares two lines with their keys at hand; where their order is [`Tie::Place`], equal ones stay equal.
    pub(crate) fn compare(&self, a: &Judged<'_>, b: &Judged<'_>) -> Ordering {
        let order = a.window.cmp(&b.window).then_with(|| a.key.cmp(b.key));
        let order = if self.descending { order.reverse() } else { order };
        order.then_with(|| match self.tie {
            Tie::Line { descending: false } => a.line.cmp(b.line),
            Tie::Line { descending: true } => b.line.cmp(a.line),
            Tie::Step(first) => self.compare_from_step(first, a.line, b.line),
            Tie::None | Tie::Place => Ordering::Equal,
        })
    }

    /// What the lines are compared by at this step of [`Tie::Step`] and at all after it.
    pub(crate) fn compare_from_step(&self, first: usize, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.compare_by(&self.later()[first..], a, b)
    }

    /// Compares two lines of which nothing is known.
    pub(crate) fn compare_lines(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.compare_by(&self.steps, a, b).then_with(|| match self.tie {
            Tie::Line { descending: false } => a.cmp(b),
            Tie::Line { descending: true } => b.cmp(a),
            _ => Ordering::Equal,
        })
    }

    fn compare_by(&self, steps: &[Comparison], a: &[u8], b: &[u8]) -> Ordering {
        let compared =
            |step: &Comparison| step.compare(self.taken(step, a), self.taken(step, b), self.conventions);
        steps.iter().map(compared).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn later(&self) -> &[Comparison] {
        &self.steps[self.lead..]
    }

    /// What decides between lines that are equal at this step.
    pub(crate) fn tie_after(&self, step: usize) -> Tie {
        if step + 1 < self.later().len() { Tie::Step(step + 1) } else { Tie::Place }
    }

    /// Is this step's order descending?
    pub(crate) fn step_descends(&self, step: usize) -> bool {
        self.later()[step].key.reverse
    }

    /// The part of `line` that this step looks at.
    pub(crate) fn step_text<'a>(&self, step: usize, line: &'a [u8]) -> &'a [u8] {
        self.taken(&self.later()[step], line)
    }

    /// Appends what this step compares of the part that it looks at.
    pub(crate) fn append_step(&self, step: usize, text: &[u8], out: &mut Vec<u8>) {
        self.later()[step].append(text, self.conventions, out);
    }

    fn taken<'a>(&self, step: &Comparison, line: &'a [u8]) -> &'a [u8] {
        let (from, to) = step.key.range(line, self.separator);
        &line[from..to]
    }

    /// Appends what tells whether lines are the same to `-u`: they are if these strings are.
    pub(crate) fn append_identity(&self, judged: &Judged<'_>, out: &mut Vec<u8>) {
        // A beginning is the beginning of what comes later.
        if !matches!(self.shape, Shape::Beginning(..)) {
            out.extend_from_slice(judged.key);
        }
        for step in self.later().iter().filter(|step| step.extent == Extent::Whole) {
            self.append_before_others(step, judged.line, out);
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
