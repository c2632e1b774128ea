//! The in-memory sort: index entries that hold eight bytes of their key.
//!
//! ```text
//!   range ── by eight bytes (radix) ──▶ runs of equal eight bytes
//!                                        │  few entries: compare the rest directly
//!                                        │  ended:       equal keys ──▶ tie-break: the line, or its offset
//!                                        └─ others:      load the next eight bytes, skip the common prefix,
//!                                                        and that run is a range again
//! ```
//! A prefix that all lines share costs one pass of any length, and each byte that decides nothing is read
//! about once. Ranges wait on a stack and are independent of each other: workers can take them.

use pelton_parallel::Helpers;
use std::cmp::Ordering;
use std::ops;
use std::sync::atomic::{self, AtomicUsize};
use std::sync::{Mutex, PoisonError};

use super::item::Item;
use super::order::{LineOrder, Tie};
use super::radix::sort_windows;
use super::text::{WINDOW_BYTES, common_prefix, window};

/// An entry with a temporary key.
#[derive(Clone, Copy, Debug)]
struct Rekeyed {
    window: u64,
    key: (usize, usize),
    line: (usize, usize),
    /// The index of the entry.
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

/// What is being compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Key,
    Line,
}

/// Ranges up to this length are sorted by comparing windows, then the bytes after equal windows.
const COMPARE_MAX: usize = 24;
/// Runs of equal windows up to this length are sorted by comparing the later bytes; for longer ones it pays
/// to load each line's next window once.
const COMPARE_EQUAL_MAX: usize = 4;

/// Limit in bytes for step keys of lines with equal keys held at once, at least one line.
const STEP_BYTES: usize = if cfg!(test) { 200 } else { 64 << 20 };

/// Windows are reloaded if at least this many of their bytes are equal in a whole range.
const SKIP_BYTES_MIN: usize = 4;

/// Entries `start..end` whose windows hold their bytes from `depth` on.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    end: usize,
    depth: usize,
    phase: Phase,
}

/// The common bits of some entries.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The bits set in all of their windows, and those set in any.
    all: u64,
    any: u64,
    /// The length of the shortest compared string.
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

    /// Returns how many bytes of the windows can be skipped, if any.
    fn skipped(self, phase: Phase) -> Option<usize> {
        let shown = (self.all ^ self.any).leading_zeros() as usize / 8;
        // Keys that fit in a window must stay there.
        let stay = phase == Phase::Key && self.shortest <= WINDOW_BYTES || shown < SKIP_BYTES_MIN;
        (!stay).then_some(shown)
    }
}

/// The arenas of the entries, and their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine<'a> {
    /// The arena of keys.
    pub(crate) keys: &'a [u8],
    /// The arena of lines.
    pub(crate) lines: &'a [u8],
    /// Whether keys are in descending order.
    pub(crate) descending: bool,
    /// The tie-break of equal keys.
    pub(crate) tie: Tie,
    /// Makes step keys.
    pub(crate) order: &'a LineOrder,
}

impl Engine<'_> {
    /// Sorts. The windows must hold the starts of the keys, complemented if the order is descending.
    /// Afterwards only windows of keys that fit in one still do, and only if no tie was broken by lines.
    pub(crate) fn sort<I: Item>(&self, items: &mut [I]) {
        let depth = self.skip_shared(items, 0, Phase::Key);
        self.sort_from(items, depth);
    }

    /// Sorts entries whose windows hold the keys from `depth` on.
    pub(super) fn sort_from<I: Item>(&self, items: &mut [I], depth: usize) {
        self.sort_ranges(items, std::slice::from_ref(&(0..items.len())), depth);
    }

    /// Sorts ranges of which each comes before the next.
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

    /// Sorts a range of equal windows.
    fn sort_equal_windows<I: Item>(&self, items: &mut [I], range: Range, waiting: &mut Vec<Range>) {
        let slice = &mut items[range.start..range.end];
        if slice.len() <= COMPARE_EQUAL_MAX && !self.takes_steps(range.phase) {
            slice.sort_unstable_by(|a, b| self.compare_rests(a, b, range.depth, range.phase));
            return;
        }
        let shown = range.depth + WINDOW_BYTES;
        // Equal windows of different lengths up to eight: NUL bytes at the end, or nothing. Longer is
        // greater.
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

    /// Loads the windows of a range from `depth` on.
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

    /// Reloads the windows at `depth` if much of them is equal in all entries. Returns their new depth.
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

    /// Skips the common prefix of the keys of entries in pieces, with several threads. Also returns which
    /// bits of the windows differ.
    pub(super) fn skip_shared_together<I: Item>(
        &self,
        pieces: &mut [&mut [I]],
        mut depth: usize,
        helpers: &Helpers,
    ) -> (usize, u64) {
        let (phase, mut windows_same) = (Phase::Key, 0);
        loop {
            let all = Mutex::new(Seen::NOTHING);
            helpers.each(pieces.iter(), |(): &mut (), piece| {
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
                depth += self.shared_together(pieces, depth, phase, helpers);
            }
            helpers.each(pieces.iter_mut(), |(): &mut (), piece| self.load_windows(piece, depth, phase));
        }
    }

    fn shared_together<I: Item>(
        &self,
        pieces: &[&mut [I]],
        depth: usize,
        phase: Phase,
        helpers: &Helpers,
    ) -> usize {
        let Some(first) = pieces.first().and_then(|piece| piece.first()) else { return 0 };
        let first = &self.bytes(first, phase)[depth..];
        let least = AtomicUsize::new(first.len());
        helpers.each(pieces, |(): &mut (), piece| {
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

    /// Returns how many bytes from `depth` on are equal in all entries.
    fn shared<I: Item>(&self, items: &[I], depth: usize, phase: Phase) -> usize {
        let Some((first, others)) = items.split_first() else { return 0 };
        self.shared_with(&self.bytes(first, phase)[depth..], others, depth, phase)
    }

    /// Returns how many bytes of `first` all of them share from `depth` on.
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

    /// Sorts a range of equal keys.
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

    /// Compares two entries with equal windows at `depth`.
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

    /// Whether the keys of two sorted entries are equal, unless ties were broken by lines.
    pub(crate) fn is_same_key<I: Item>(&self, a: &I, b: &I) -> bool {
        let len = a.key().1;
        // Equal keys were never separated: their windows hold the same part of them.
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

    /// Whether a comparison may compute a string of each entry, which is better done once.
    fn takes_steps(&self, phase: Phase) -> bool {
        matches!(self.tie, Tie::Step(_)) && phase == Phase::Key
    }

    /// Sorts entries that are equal before this step.
    fn sort_by_step<I: Item>(&self, items: &mut [I], step: usize) {
        if items.len() <= 2 {
            return items.sort_unstable_by(|a, b| self.compare_ties(a, b));
        }
        let text = |item: &I| self.order.step_text(step, self.bytes(item, Phase::Line));
        let first = text(&items[0]);
        if items.iter().all(|item| self.order.is_same_in_step(step, text(item), first)) {
            return match self.order.tie_after(step) {
                Tie::Step(next) => self.sort_by_step(items, next),
                _ => items.sort_unstable_by_key(|item| item.line().0),
            };
        }
        if !self.sort_by_quick_windows(items, step) {
            self.sort_by_whole_step(items, step);
        }
    }

    /// Sorts by the beginnings of what this step compares, and by the rest those of which they are equal. Returns
    /// `false`, with nothing done, if the beginnings take no less to make than all of it.
    fn sort_by_quick_windows<I: Item>(&self, items: &mut [I], step: usize) -> bool {
        let flip = if self.order.step_descends(step) { u64::MAX } else { 0 };
        let window = |item: &I| self.order.quick_window_of_step(step, self.bytes(item, Phase::Line));
        // Equal keys have equal windows, which are needed again.
        let of_key = items[0].window();
        for at in 0..items.len() {
            let Some(window) = window(&items[at]) else {
                items[..at].iter_mut().for_each(|item| item.set_window(of_key));
                return false;
            };
            items[at].set_window(window ^ flip);
        }
        items.sort_unstable_by_key(Item::window);
        for alike in items.chunk_by_mut(|a, b| a.window() == b.window()) {
            alike.iter_mut().for_each(|item| item.set_window(of_key));
            match alike.len() {
                1 => {}
                2 => alike.sort_unstable_by(|a, b| self.compare_ties(a, b)),
                _ => self.sort_by_whole_step(alike, step),
            }
        }
        true
    }

    fn sort_by_whole_step<I: Item>(&self, items: &mut [I], step: usize) {
        let mut sorted = 0;
        while sorted < items.len() {
            let chunk = self.sort_chunk_by_step(&mut items[sorted..], step);
            sorted += chunk;
            if sorted == items.len() && chunk < sorted {
                // A stable sort merges ordered parts.
                items.sort_by(|a, b| self.compare_ties(a, b));
            }
        }
    }

    /// Sorts as many of the first entries as [`STEP_BYTES`] allows. Returns their number.
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

    /// Returns the mask for complementing windows.
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

    use super::super::item::Keyed;
    use super::super::key::{Conventions, Key, Kind, Start};
    use super::super::order::Judged;
    use super::*;

    /// Returns lines that are mostly equal in the first comparison.
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
            // No two lines start at one offset.
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
