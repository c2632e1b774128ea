//! The order that the options define, in the engine's form: one byte string per line, and a tie-break.

use std::cmp::Ordering;

use crate::locale::collation::Collation;
use crate::locale::encodings::compare_encoded;

use super::float::is_nan;
use super::key::{Conventions, Key, Kind};
use super::number::is_plain;
use super::text::window;

/// The tie-break between lines with equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// None: such lines are identical.
    None,
    /// The bytes of the whole line.
    Line {
        /// In descending order.
        descending: bool,
    },
    /// The comparisons from this step on, made only if all earlier ones are equal; then the original order.
    Step(usize),
    /// The original order.
    Place,
}

/// The byte string that represents a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// The line.
    Line,
    /// A part of the line.
    Slice(Key),
    /// A string computed from a part of the line.
    Computed(Key),
    /// The beginning of the encoding of text in a locale's order.
    Beginning(Key, &'static Collation),
    /// A string computed from several parts; of text in a locale's order, that beginning, which ends it.
    Several,
}

/// How much of a key's encoding is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// For text in a locale's order: its beginning, which distinguishes most texts and is a seventh of the
    /// whole.
    Beginning(&'static Collation),
    /// All of it.
    Whole,
}

/// The next comparison, if all earlier ones are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    key: Key,
    extent: Extent,
}

impl Comparison {
    fn whole(key: Key) -> Self {
        Comparison { key, extent: Extent::Whole }
    }

    /// Appends the encoding of `text`, the key's part.
    fn append(&self, text: &[u8], conventions: Conventions, out: &mut Vec<u8>) {
        match self.extent {
            Extent::Beginning(collation) => self.key.encode_beginning(text, collation, out),
            Extent::Whole => self.key.encode(text, conventions, out),
        }
    }

    /// Compares the key's parts of two lines.
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

/// Returns the comparisons of a key, in order.
fn steps_of(key: Key, conventions: Conventions) -> impl Iterator<Item = Comparison> {
    let collation = conventions.collation.filter(|_| key.kind == Kind::Bytes);
    let beginning =
        collation.map(|collation| Comparison { key: key.clone(), extent: Extent::Beginning(collation) });
    beginning.into_iter().chain([Comparison::whole(key)])
}

/// The order of lines, and their equality.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineOrder {
    shape: Shape,
    separator: Option<u8>,
    descending: bool,
    tie: Tie,
    /// All comparisons, in order.
    steps: Vec<Comparison>,
    /// How many of them the shape covers. The others break ties, for [`Tie::Step`].
    lead: usize,
    /// Whether lines with equal keys are compared as a whole.
    whole: bool,
    conventions: Conventions,
}

/// The order of lines, and the treatment of equal ones.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) order: LineOrder,
    pub(super) terminator: u8,
    pub(super) unique: bool,
}

/// Where the bytes of a line's key are: in the line itself, or encoded at the end of the key buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// In the line: from, to.
    InLine(usize, usize),
    /// Appended to the buffer.
    Appended,
}

/// So many NaNs the kernel orders as the real sort does.
pub(super) const NANS_MAX: usize = 1;

impl LineOrder {
    /// Orders by these keys, with this field separator (or blanks); `reverse` and `stable` as in `-r` and
    /// `-s`. With `-u`, pass `stable`: the first of equal lines is kept.
    pub fn new(keys: Vec<Key>, separator: Option<u8>, reverse: bool, stable: bool) -> Self {
        LineOrder::in_locale(keys, separator, reverse, stable, Conventions::C)
    }

    /// Orders in another locale.
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
        // Up to the first text in a locale's order, everything is compared at once; the rest only if that is
        // equal.
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

    /// Whether whole lines are compared by their bytes: equal lines are identical.
    pub fn is_by_line(&self) -> bool {
        self.shape == Shape::Line
    }

    /// Whether different lines are never equal.
    pub fn is_total(&self) -> bool {
        self.whole && self.conventions.collation.is_none()
    }

    /// Whether different lines are never equal if one of them is [`alone`](Self::are_alone).
    pub fn is_total_if_alone(&self) -> bool {
        self.whole
    }

    /// Whether certainly no other line equals one of these in this locale. `text` holds whole lines.
    pub(crate) fn are_alone(&self, text: &[u8], terminator: u8) -> bool {
        self.conventions.collation.is_none_or(|collation| {
            collation.is_plain(text)
                || text.split(|byte| *byte == terminator).all(|line| collation.is_alone(line))
        })
    }

    /// Whether some key is compared as in `-g`, or as in `-n` of busybox: there may be lines that only the real sort can
    /// order.
    pub fn may_meet_nan(&self) -> bool {
        self.keys_of(Kind::General).next().is_some() || self.strtod_keys().next().is_some()
    }

    /// Returns how far this line is from being ordered by the kernel: 1 if a number of it is NaN, of which it orders one;
    /// more if another number is only known to the real sort.
    pub(crate) fn nans(&self, line: &[u8]) -> usize {
        let number = |key: &Key| {
            let (from, to) = key.range(line, self.separator);
            &line[from..to]
        };
        let has_nan = self.keys_of(Kind::General).any(|key| is_nan(number(key)));
        let is_beyond = self.strtod_keys().any(|key| !is_plain(number(key)));
        usize::from(has_nan) + if is_beyond { NANS_MAX + 1 } else { 0 }
    }

    fn keys_of(&self, kind: Kind) -> impl Iterator<Item = &Key> {
        self.steps.iter().map(|step| &step.key).filter(move |key| key.kind == kind)
    }

    /// Returns the keys whose numbers `strtod` reads.
    fn strtod_keys(&self) -> impl Iterator<Item = &Key> {
        self.keys_of(Kind::Numeric).filter(|_| self.conventions.signs.as_strtod)
    }

    pub(crate) fn descending(&self) -> bool {
        self.descending
    }

    pub(crate) fn tie(&self) -> Tie {
        self.tie
    }

    /// Whether keys are computed, not parts of lines.
    pub(crate) fn is_computed(&self) -> bool {
        matches!(self.shape, Shape::Computed(_) | Shape::Beginning(..) | Shape::Several)
    }

    /// Returns the mask for complementing windows.
    pub(crate) fn flip(&self) -> u64 {
        if self.descending { u64::MAX } else { 0 }
    }

    /// Returns the key of `line`: a part of it, or appended to `computed`.
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

    /// Returns the window of a line's key, if it takes less than the key does.
    #[inline]
    pub(crate) fn quick_window(&self, line: &[u8]) -> Option<u64> {
        match &self.shape {
            Shape::Beginning(key, collation) => key.quick_window(line, self.separator, collation),
            _ => None,
        }
    }

    /// Returns the first eight bytes of what this step compares of a line, if they take less than all of it.
    pub(crate) fn quick_window_of_step(&self, step: usize, line: &[u8]) -> Option<u64> {
        match &self.later()[step] {
            Comparison { extent: Extent::Beginning(collation), key } => {
                key.quick_window(line, self.separator, collation)
            }
            _ => None,
        }
    }

    fn append_before_others(&self, step: &Comparison, line: &[u8], out: &mut Vec<u8>) {
        let (from, to) = step.key.range(line, self.separator);
        let start = out.len();
        step.append(&line[from..to], self.conventions, out);
        step.key.put_before_others(out, start);
    }

    /// Compares two lines with their keys; with [`Tie::Place`], equal keys stay equal.
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

    /// Compares two lines at this step of [`Tie::Step`] and all later ones.
    pub(crate) fn compare_from_step(&self, first: usize, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.compare_by(&self.later()[first..], a, b)
    }

    /// Compares two lines without prepared keys.
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

    /// Returns the tie-break for lines that are equal at this step.
    pub(crate) fn tie_after(&self, step: usize) -> Tie {
        if step + 1 < self.later().len() { Tie::Step(step + 1) } else { Tie::Place }
    }

    /// Whether this step's order is descending.
    pub(crate) fn step_descends(&self, step: usize) -> bool {
        self.later()[step].key.reverse
    }

    /// Returns the part of `line` for this step.
    pub(crate) fn step_text<'a>(&self, step: usize, line: &'a [u8]) -> &'a [u8] {
        self.taken(&self.later()[step], line)
    }

    /// Whether two texts are the same to this step before they are encoded; `false` if that takes longer.
    pub(crate) fn is_same_in_step(&self, step: usize, a: &[u8], b: &[u8]) -> bool {
        a == b || self.later()[step].key.only_folds() && a.eq_ignore_ascii_case(b)
    }

    /// Appends this step's encoding of its part.
    pub(crate) fn append_step(&self, step: usize, text: &[u8], out: &mut Vec<u8>) {
        self.later()[step].append(text, self.conventions, out);
    }

    fn taken<'a>(&self, step: &Comparison, line: &'a [u8]) -> &'a [u8] {
        let (from, to) = step.key.range(line, self.separator);
        &line[from..to]
    }

    /// Appends the identity of a line for `-u`: lines are equal if these strings are.
    pub(crate) fn append_identity(&self, judged: &Judged<'_>, out: &mut Vec<u8>) {
        // A beginning is a prefix of a later encoding.
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
    /// Prepares `line` under `order`; `computed` is scratch space.
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
