//! The in-memory sort: index entries that carry eight bytes of what they are compared by.
//!
//! ```text
//!   range ── by eight bytes (radix) ──▶ runs of equal eight bytes
//!                                        │  few entries: compare the rest directly
//!                                        │  ended:       equal keys ──▶ the tie-break: the line's bytes, or its place
//!                                        └─ others:      load the next eight bytes, skip what the whole run shares,
//!                                                        and that run is a range again
//! ```
//! So a prefix that all lines share costs one pass, however long, and each byte that decides nothing is looked at
//! about once. Ranges wait on a stack and are independent of each other: workers can take them.

use std::cmp::Ordering;
use std::ops;
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use pelton_stream::team::Helpers;

use super::order::LineOrder;
use super::radix::sort_windows;
use super::text::{WINDOW_BYTES, common_prefix, window};

/// An index entry.
pub(crate) trait Item: Copy + Send + Sync {
    /// The eight bytes by which it is compared next, complemented where the order is descending.
    fn window(&self) -> u64;
    /// Replaces them.
    fn set_window(&mut self, window: u64);
    /// Where its key is, in the arena of keys: offset and length.
    fn key(&self) -> (usize, usize);
    /// Where its line is, in the arena of lines. The offset also tells which of two lines came first.
    fn line(&self) -> (usize, usize);
}

/// A line that is its own key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) window: u64,
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

impl Item for Plain {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        (self.offset as usize, self.len as usize)
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        self.key()
    }
}

/// A line that occurred a number of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) plain: Plain,
    pub(crate) count: u64,
}

impl Item for Counted {
    #[inline]
    fn window(&self) -> u64 {
        self.plain.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.plain.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        self.plain.key()
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        self.plain.key()
    }
}

/// A line with a key of its own: a part of the line, or something computed from it. A computed key of at most eight
/// bytes lives in the window alone: nobody ever looks behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub(crate) window: u64,
    pub(crate) line_offset: u32,
    pub(crate) line_len: u32,
    pub(crate) key_offset: u32,
    pub(crate) key_len: u32,
}

impl Item for Keyed {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }
    #[inline]
    fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    #[inline]
    fn key(&self) -> (usize, usize) {
        (self.key_offset as usize, self.key_len as usize)
    }
    #[inline]
    fn line(&self) -> (usize, usize) {
        (self.line_offset as usize, self.line_len as usize)
    }
}

/// An entry with another key than its own.
#[derive(Clone, Copy, Debug)]
struct Rekeyed {
    window: u64,
    key: (usize, usize),
    line: (usize, usize),
    /// Of the entry.
    index: usize,
}

impl Item for Rekeyed {
    fn window(&self) -> u64 {
        self.window
    }
    fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    fn key(&self) -> (usize, usize) {
        self.key
    }
    fn line(&self) -> (usize, usize) {
        self.line
    }
}

/// What decides between lines whose keys are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Nothing: such lines are identical.
    None,
    /// The bytes of the whole line.
    Line {
        /// In descending order.
        descending: bool,
    },
    /// What the order compares from this step on, which is made only where all before was the same; then which came
    /// first.
    Step(usize),
    /// Which came first.
    Place,
}

/// What is compared at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Key,
    Line,
}

/// Ranges up to this are sorted by comparing windows, and what is behind them where those are equal.
const COMPARE_MAX: usize = 24;
/// Runs of equal windows up to this are sorted by comparing what is behind them; for longer ones it pays to look at
/// each line once and load its next window.
const COMPARE_EQUAL_MAX: usize = 4;

/// What a step compares of lines with equal keys is kept for so many bytes at once, at least for one line. In bytes.
const STEP_BYTES: usize = if cfg!(test) { 200 } else { 64 << 20 };

/// Windows are loaded again if at least this much of them is the same in a whole range.
const SKIP_BYTES_MIN: usize = 4;

/// Entries `start..end` whose windows hold what they are compared by from byte `depth` on.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    end: usize,
    depth: usize,
    phase: Phase,
}

/// What some entries have in common.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The bits that are set in all of their windows, and those that are set in any.
    all: u64,
    any: u64,
    /// The length of the shortest of what they are compared by.
    shortest: usize,
}

impl Seen {
    const NOTHING: Seen = Seen { all: u64::MAX, any: 0, shortest: usize::MAX };

    #[inline]
    fn and(self, other: Seen) -> Seen {
        Seen {
            all: self.all & other.all,
            any: self.any | other.any,
            shortest: self.shortest.min(other.shortest),
        }
    }

    /// How many bytes of the windows can be skipped, if any.
    fn skipped(self, phase: Phase) -> Option<usize> {
        let shown = (self.all ^ self.any).leading_zeros() as usize / 8;
        // Keys that fit in a window must stay there.
        let stay = phase == Phase::Key && self.shortest <= WINDOW_BYTES || shown < SKIP_BYTES_MIN;
        (!stay).then_some(shown)
    }
}

/// What the entries point to, and how they are ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine<'a> {
    /// The arena of keys.
    pub(crate) keys: &'a [u8],
    /// The arena of lines.
    pub(crate) lines: &'a [u8],
    /// Keys are in descending order.
    pub(crate) descending: bool,
    /// What decides between equal keys.
    pub(crate) tie: Tie,
    /// Makes the rests.
    pub(crate) order: &'a LineOrder,
}

impl Engine<'_> {
    /// Sorts. The entries' windows must show the beginnings of their keys, complemented if the order is descending;
    /// afterwards only those of keys that fit in one still do, and only if no tie was decided by lines.
    pub(crate) fn sort<I: Item>(&self, items: &mut [I]) {
        let depth = self.skip_shared(items, 0, Phase::Key);
        self.sort_from(items, depth);
    }

    /// The same where the windows show the keys from `depth` on.
    pub(super) fn sort_from<I: Item>(&self, items: &mut [I], depth: usize) {
        self.sort_ranges(items, std::slice::from_ref(&(0..items.len())), depth);
    }

    /// The same for ranges of which each comes before the next.
    pub(super) fn sort_ranges<I: Item>(&self, items: &mut [I], ranges: &[ops::Range<usize>], depth: usize) {
        let range = |range: &ops::Range<usize>| Range {
            start: range.start,
            end: range.end,
            depth,
            phase: Phase::Key,
        };
        let mut waiting: Vec<Range> = ranges.iter().map(range).collect();
        let mut aside = Vec::new();
        while let Some(range) = waiting.pop() {
            self.sort_range(items, range, &mut aside, &mut waiting);
        }
    }

    fn sort_range<I: Item>(
        &self,
        items: &mut [I],
        range: Range,
        aside: &mut Vec<I>,
        waiting: &mut Vec<Range>,
    ) {
        let slice = &mut items[range.start..range.end];
        if slice.len() <= COMPARE_MAX && !self.takes_steps(range.phase) {
            slice.sort_unstable_by(|a, b| self.compare_windows(a, b, range.depth, range.phase));
            return;
        }
        sort_windows(slice, aside);
        let mut start = range.start;
        while start < range.end {
            let shown = items[start].window();
            let same = items[start + 1..range.end].iter().take_while(|item| item.window() == shown).count();
            let end = start + 1 + same;
            if same > 0 {
                self.sort_equal_windows(items, Range { start, end, ..range }, waiting);
            }
            start = end;
        }
    }

    /// Sorts a range whose windows are all the same.
    fn sort_equal_windows<I: Item>(&self, items: &mut [I], range: Range, waiting: &mut Vec<Range>) {
        let slice = &mut items[range.start..range.end];
        if slice.len() <= COMPARE_EQUAL_MAX && !self.takes_steps(range.phase) {
            slice.sort_unstable_by(|a, b| self.compare_rests(a, b, range.depth, range.phase));
            return;
        }
        let shown = range.depth + WINDOW_BYTES;
        // Equal windows of different lengths up to eight: NUL bytes at the end, or nothing. Longer is greater.
        let reach = |item: &I| self.place(item, range.phase).1.min(shown + 1);
        let first = reach(&slice[0]);
        if slice.iter().any(|item| reach(item) != first) {
            slice.sort_unstable_by_key(reach);
            if self.is_descending(range.phase) {
                slice.reverse();
            }
        }
        let mut start = range.start;
        while start < range.end {
            let len = reach(&items[start]);
            let same = items[start..range.end].iter().take_while(|item| reach(item) == len).count();
            let part = Range { start, end: start + same, ..range };
            if len > shown {
                self.look_further(items, Range { depth: shown, ..part }, waiting);
            } else {
                self.decide_tie(items, part, waiting);
            }
            start += same;
        }
    }

    /// Loads the windows of a range for what comes from `depth` on.
    fn look_further<I: Item>(&self, items: &mut [I], range: Range, waiting: &mut Vec<Range>) {
        let slice = &mut items[range.start..range.end];
        self.load_windows(slice, range.depth, range.phase);
        let depth = self.skip_shared(slice, range.depth, range.phase);
        waiting.push(Range { depth, ..range });
    }

    fn load_windows<I: Item>(&self, items: &mut [I], depth: usize, phase: Phase) {
        let (arena, flip) = (self.arena(phase), self.flip(phase));
        for item in items {
            let (at, len) = self.place(item, phase);
            item.set_window(window(arena, at + depth, len - depth) ^ flip);
        }
    }

    /// Where much of what the windows at `depth` show is the same in all of them, loads them again for what comes
    /// behind it. Returns the depth that they then show.
    fn skip_shared<I: Item>(&self, items: &mut [I], mut depth: usize, phase: Phase) -> usize {
        let mut windows_same = 0;
        loop {
            let seen = self.seen(items, phase);
            let Some(shown) = seen.skipped(phase) else { return depth };
            depth += shown.min(seen.shortest - depth);
            windows_same += usize::from(shown == WINDOW_BYTES);
            if windows_same == 2 {
                depth += self.shared(items, depth, phase);
            }
            self.load_windows(items, depth, phase);
            if shown < WINDOW_BYTES || windows_same == 2 {
                return depth;
            }
        }
    }

    /// The same for the keys of entries that lie in pieces, by several. Says as well which bits of the windows differ.
    pub(super) fn skip_shared_together<I: Item>(
        &self,
        pieces: &mut [&mut [I]],
        mut depth: usize,
        crew: &Helpers,
    ) -> (usize, u64) {
        let (phase, mut windows_same) = (Phase::Key, 0);
        loop {
            let all = Mutex::new(Seen::NOTHING);
            crew.each(pieces.iter(), |(): &mut (), piece| {
                let seen = self.seen(piece, phase);
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                *all = all.and(seen);
            });
            let seen = all.into_inner().unwrap_or_else(PoisonError::into_inner);
            let skipped = seen.skipped(phase).map(|shown| shown.min(seen.shortest - depth));
            let Some(skipped) = skipped.filter(|bytes| *bytes > 0) else {
                return (depth, seen.all ^ seen.any);
            };
            depth += skipped;
            windows_same += usize::from(skipped == WINDOW_BYTES);
            if windows_same == 2 {
                depth += self.shared_together(pieces, depth, phase, crew);
            }
            crew.each(pieces.iter_mut(), |(): &mut (), piece| self.load_windows(piece, depth, phase));
        }
    }

    fn shared_together<I: Item>(
        &self,
        pieces: &[&mut [I]],
        depth: usize,
        phase: Phase,
        crew: &Helpers,
    ) -> usize {
        let Some(first) = pieces.first().and_then(|piece| piece.first()) else { return 0 };
        let first = &self.bytes(first, phase)[depth..];
        let least = AtomicUsize::new(first.len());
        crew.each(pieces, |(): &mut (), piece| {
            let shared = self.shared_with(first, piece, depth, phase);
            least.fetch_min(shared, atomic::Ordering::Relaxed);
        });
        least.into_inner()
    }

    fn seen<I: Item>(&self, items: &[I], phase: Phase) -> Seen {
        items.iter().fold(Seen::NOTHING, |seen, item| {
            let (window, len) = (item.window(), self.place(item, phase).1);
            seen.and(Seen { all: window, any: window, shortest: len })
        })
    }

    /// How many bytes from `depth` on are the same in all of them.
    fn shared<I: Item>(&self, items: &[I], depth: usize, phase: Phase) -> usize {
        let Some((first, others)) = items.split_first() else { return 0 };
        self.shared_with(&self.bytes(first, phase)[depth..], others, depth, phase)
    }

    /// How many bytes of `first` all of them have from `depth` on.
    fn shared_with<I: Item>(&self, first: &[u8], items: &[I], depth: usize, phase: Phase) -> usize {
        let mut shared = first.len();
        for item in items {
            if shared == 0 {
                break;
            }
            shared = common_prefix(&first[..shared], &self.bytes(item, phase)[depth..]);
        }
        shared
    }

    /// Sorts a range whose keys are equal.
    fn decide_tie<I: Item>(&self, items: &mut [I], range: Range, waiting: &mut Vec<Range>) {
        match (self.tie, range.phase) {
            (Tie::None, _) | (_, Phase::Line) => {}
            (Tie::Step(first), Phase::Key) => self.sort_by_step(&mut items[range.start..range.end], first),
            (Tie::Place, Phase::Key) => {
                items[range.start..range.end].sort_unstable_by_key(|item| item.line().0);
            }
            (Tie::Line { .. }, Phase::Key) => {
                self.look_further(items, Range { depth: 0, phase: Phase::Line, ..range }, waiting);
            }
        }
    }

    /// Compares two entries of one range.
    #[inline]
    fn compare_windows<I: Item>(&self, a: &I, b: &I, depth: usize, phase: Phase) -> Ordering {
        a.window().cmp(&b.window()).then_with(|| self.compare_rests(a, b, depth, phase))
    }

    /// Compares two entries whose windows at `depth` are the same.
    fn compare_rests<I: Item>(&self, a: &I, b: &I, depth: usize, phase: Phase) -> Ordering {
        let shown = depth + WINDOW_BYTES;
        let (a_len, b_len) = (self.place(a, phase).1, self.place(b, phase).1);
        let order = if a_len <= shown || b_len <= shown {
            a_len.min(shown + 1).cmp(&b_len.min(shown + 1))
        } else {
            self.bytes(a, phase)[shown..].cmp(&self.bytes(b, phase)[shown..])
        };
        let order = if self.is_descending(phase) { order.reverse() } else { order };
        order.then_with(|| if phase == Phase::Key { self.compare_ties(a, b) } else { Ordering::Equal })
    }

    /// After sorting, unless ties were decided by lines: are their keys equal?
    pub(crate) fn is_same_key<I: Item>(&self, a: &I, b: &I) -> bool {
        let len = a.key().1;
        // Equal keys were never parted: their windows show the same part of them.
        if len != b.key().1 || a.window() != b.window() {
            return false;
        }
        let same = len <= WINDOW_BYTES || self.bytes(a, Phase::Key) == self.bytes(b, Phase::Key);
        let Tie::Step(first) = self.tie else { return same };
        same && self.compare_from_step(first, a, b).is_eq()
    }

    fn compare_from_step<I: Item>(&self, first: usize, a: &I, b: &I) -> Ordering {
        self.order.compare_from_step(first, self.bytes(a, Phase::Line), self.bytes(b, Phase::Line))
    }

    /// Comparing two entries may compute something of each, which is better done once.
    fn takes_steps(&self, phase: Phase) -> bool {
        matches!(self.tie, Tie::Step(_)) && phase == Phase::Key
    }

    /// Sorts entries that are equal in all that comes before this step.
    fn sort_by_step<I: Item>(&self, items: &mut [I], step: usize) {
        if items.len() <= 2 {
            return items.sort_unstable_by(|a, b| self.compare_ties(a, b));
        }
        let text = |item: &I| self.order.step_text(step, self.bytes(item, Phase::Line));
        let first = text(&items[0]);
        if items.iter().all(|item| text(item) == first) {
            return match self.order.tie_after(step) {
                Tie::Step(next) => self.sort_by_step(items, next),
                _ => items.sort_unstable_by_key(|item| item.line().0),
            };
        }
        let mut sorted = 0;
        while sorted < items.len() {
            let chunk = self.sort_chunk_by_step(&mut items[sorted..], step);
            sorted += chunk;
            if sorted == items.len() && chunk < sorted {
                // A stable sort merges what is in order already.
                items.sort_by(|a, b| self.compare_ties(a, b));
            }
        }
    }

    /// Sorts as many of the first entries as [`STEP_BYTES`] allow; returns how many.
    fn sort_chunk_by_step<I: Item>(&self, items: &mut [I], step: usize) -> usize {
        let (order, mut keys, mut rekeyed) = (self.order, Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            if keys.len() >= STEP_BYTES {
                break;
            }
            let start = keys.len();
            order.append_step(step, order.step_text(step, self.bytes(item, Phase::Line)), &mut keys);
            rekeyed.push(Rekeyed { window: 0, key: (start, keys.len() - start), line: item.line(), index });
        }
        let (descending, tie) = (order.step_descends(step), order.tie_after(step));
        let engine = Engine { keys: &keys, descending, tie, ..*self };
        engine.load_windows(&mut rekeyed, 0, Phase::Key);
        engine.sort(&mut rekeyed);
        let sorted: Vec<I> = rekeyed.iter().map(|entry| items[entry.index]).collect();
        items[..sorted.len()].copy_from_slice(&sorted);
        sorted.len()
    }

    fn compare_ties<I: Item>(&self, a: &I, b: &I) -> Ordering {
        match self.tie {
            Tie::None => Ordering::Equal,
            Tie::Place => a.line().0.cmp(&b.line().0),
            Tie::Step(first) => self.compare_from_step(first, a, b).then_with(|| a.line().0.cmp(&b.line().0)),
            Tie::Line { descending } => {
                let order = self.bytes(a, Phase::Line).cmp(self.bytes(b, Phase::Line));
                if descending { order.reverse() } else { order }
            }
        }
    }

    fn is_descending(&self, phase: Phase) -> bool {
        match phase {
            Phase::Key => self.descending,
            Phase::Line => self.tie == Tie::Line { descending: true },
        }
    }

    /// What windows are complemented with.
    fn flip(&self, phase: Phase) -> u64 {
        if self.is_descending(phase) { u64::MAX } else { 0 }
    }

    fn arena(&self, phase: Phase) -> &[u8] {
        match phase {
            Phase::Key => self.keys,
            Phase::Line => self.lines,
        }
    }

    #[inline]
    fn place<I: Item>(&self, item: &I, phase: Phase) -> (usize, usize) {
        match phase {
            Phase::Key => item.key(),
            Phase::Line => item.line(),
        }
    }

    #[inline]
    fn bytes<I: Item>(&self, item: &I, phase: Phase) -> &[u8] {
        let (at, len) = self.place(item, phase);
        &self.arena(phase)[at..at + len]
    }
}

#[cfg(test)]
mod tests {
    use crate::locale::collation::Collation;

    use super::super::key::{Conventions, Key, Kind, Start};
    use super::super::order::Judged;
    use super::*;

    /// Lines of which most are equal in what is compared first.
    fn lines() -> Vec<Vec<u8>> {
        let mut state = 7u32;
        let mut below = |end: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % end
        };
        let words = ["a", "A", "\u{e1}", "b", "ab", "aB", "\u{65e5}\u{672c}", "", "-", "2", "10"];
        let line = |_| {
            let words: Vec<&str> = (0..below(4)).map(|_| words[below(11) as usize]).collect();
            words.join(" ").into_bytes()
        };
        (0..3000).map(line).collect()
    }

    fn sorted(order: &LineOrder, lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut keys, mut arena, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            let (line_offset, key_offset, mut computed) = (arena.len() as u32, keys.len() as u32, Vec::new());
            let judged = Judged::new(line, order, &mut computed);
            let (line_len, key_len) = (line.len() as u32, judged.key.len() as u32);
            let window = judged.window ^ order.flip();
            keys.extend_from_slice(judged.key);
            arena.extend_from_slice(line);
            // No two lines begin in one place.
            arena.push(b'\n');
            items.push(Keyed { window, line_offset, line_len, key_offset, key_len });
        }
        let (descending, tie) = (order.descending(), order.tie());
        let engine = Engine { keys: &keys, lines: &arena, descending, tie, order };
        engine.sort(&mut items);
        items.iter().map(|item| engine.bytes(item, Phase::Line).to_vec()).collect()
    }

    #[test]
    fn a_locale_s_order_is_taken_step_by_step() {
        let Ok(Some(collation)) = Collation::of("en_US.UTF-8") else { return };
        let conventions = Conventions { collation: Some(collation), ..Conventions::C };
        let number = Key { kind: Kind::Numeric, ..Key::line() };
        let folded = Key { fold: true, reverse: true, ..Key::line() };
        let second = Key { start: Start { fields: 1, bytes: 0, skip_blanks: true }, ..Key::line() };
        let lines = lines();
        for keys in [
            vec![],
            vec![number.clone()],
            vec![second.clone()],
            vec![folded.clone()],
            vec![second.clone(), number.clone()],
            vec![number.clone(), second, folded, number],
        ] {
            for (reverse, stable) in [(false, false), (true, false), (false, true)] {
                let order = LineOrder::in_locale(keys.clone(), None, reverse, stable, conventions);
                let mut wanted = lines.clone();
                wanted.sort_by(|a, b| order.compare_lines(a, b));
                assert!(sorted(&order, &lines) == wanted, "{keys:?} {reverse} {stable}");
            }
        }
    }
}
