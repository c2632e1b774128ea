//! Counts identical lines, and sorts the distinct ones: a hash table, and an arena that holds each of them once.
//!
//! Open addressing, linear probing, at most half full. A slot has enough of the line to avoid most reads of
//! the arena, where most words of most texts would be a cache miss each: the whole line up to sixteen bytes,
//! above that its hash and its end. Two slots fill a cache line. The hash is seeded per process, so that no
//! input can be made to collide; the order of slots never shows.

use pelton_parallel::Helpers;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use super::engine::Engine;
use super::item::{Counted, Plain};
use super::lines::Lines;
use super::memory_budget::{filled, make_room};
use super::order::LineOrder;
use super::parts::sort_lists;
use super::run::{Index, SortedRun};
use super::text::{WINDOW_BYTES, each_line, window};

/// Initial size: small, since a call over a few lines makes several tables and fills none.
const SLOTS_MIN: usize = 1 << 7;
const EMPTY: Slot = Slot { tag: [0; 2], offset: 0, len: 0, count: 0 };
/// Lines up to this length are compared by their tags alone.
const SHORT_BYTES: usize = 2 * WINDOW_BYTES;

/// Lines looked up together.
const BATCH_LINES: usize = 64;

/// A distinct line: its position in the arena, and its count; 0 if the slot is free.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Slot {
    tag: [u64; 2],
    offset: u32,
    len: u32,
    count: u64,
}

/// The lookup key of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Probe {
    start: usize,
    len: usize,
    /// Its first eight bytes, and its last eight if it is longer than eight; above sixteen, its hash and its
    /// last.
    tag: [u64; 2],
    hash: u64,
}

/// Distinct lines with their counts.
#[derive(Debug)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    used: usize,
    arena: Vec<u8>,
    terminator: u8,
    seeds: [u64; 3],
}

impl Table {
    pub(crate) fn new(terminator: u8) -> Self {
        Table { slots: vec![EMPTY; SLOTS_MIN], used: 0, arena: Vec::new(), terminator, seeds: seeds() }
    }

    /// Returns the number of distinct lines.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Returns their counts, in no order.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().map(|slot| slot.count).filter(|count| *count > 0)
    }

    /// Returns the bytes of distinct lines.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Returns the bytes that it holds, and those that sorting will take in addition.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.arena.len() + self.slots.len() * size_of::<Slot>() + 2 * self.used * size_of::<Counted>()
    }

    /// Counts lines; `text` ends with a terminator. Returns their number.
    pub(crate) fn add_lines(&mut self, text: &[u8], mean: usize) -> usize {
        let mut batch = [Probe::default(); BATCH_LINES];
        let (mut filled, mut count) = (0, 0);
        each_line(text, self.terminator, mean, |start, end| {
            batch[filled] = self.probe(text, start, end - start);
            filled += 1;
            if filled == BATCH_LINES {
                self.add_batch(text, &batch);
                count += filled;
                filled = 0;
            }
        });
        self.add_batch(text, &batch[..filled]);
        count + filled
    }

    /// Adds `count` occurrences of a line with its terminator.
    pub(crate) fn add_counted(&mut self, line: &[u8], count: u64) {
        let probe = self.probe(line, 0, line.len() - 1);
        self.add(line, &probe, count);
    }

    /// Merges another table, from the smaller into the larger one: lines in slot order would cluster in a
    /// smaller table. In that order, slots of both tables are visited sequentially.
    pub(crate) fn merge(&mut self, mut other: Table) {
        if other.slots.len() > self.slots.len() {
            std::mem::swap(self, &mut other);
        }
        for slot in other.slots.iter().filter(|slot| slot.count > 0) {
            let (start, len) = (slot.offset as usize, slot.len as usize);
            let probe = Probe { start, len, tag: slot.tag, hash: self.hash_of(slot) };
            self.add(&other.arena, &probe, slot.count);
        }
    }

    /// Sorts the distinct lines with their counts.
    pub(super) fn sort(self, order: &LineOrder, unique: bool, helpers: &Helpers) -> SortedRun {
        if order.is_by_line() {
            return self.sort_by_line(order, helpers);
        }
        let mut lines = Lines::new(order, self.terminator, helpers);
        self.each_in_order_of_arrival(|line, count| lines.push_counted(line, count, order));
        lines.sort_counted(order, unique)
    }

    fn sort_by_line(self, order: &LineOrder, helpers: &Helpers) -> SortedRun {
        let (arena, mut items) = self.into_parts();
        items.iter_mut().for_each(|item| item.plain.window ^= order.flip());
        let engine =
            Engine { keys: &arena, lines: &arena, descending: order.descending(), tie: order.tie(), order };
        let pieces =
            sort_lists(&engine, vec![items], false, helpers).into_iter().map(Index::Counted).collect();
        SortedRun { arena, pieces, flip: order.flip() }
    }

    /// First loads the slots of all lines, which the processor does in parallel, then looks up each line.
    fn add_batch(&mut self, text: &[u8], batch: &[Probe]) {
        let mask = self.slots.len() - 1;
        let fetched = batch.iter().fold(0, |seen, probe| seen ^ self.slots[probe.hash as usize & mask].len);
        std::hint::black_box(fetched);
        batch.iter().for_each(|probe| self.add(text, probe, 1));
    }

    #[inline]
    fn probe(&self, text: &[u8], start: usize, len: usize) -> Probe {
        let last =
            if len > WINDOW_BYTES { window(text, start + len - WINDOW_BYTES, WINDOW_BYTES) } else { 0 };
        if len <= SHORT_BYTES {
            let tag = [window(text, start, len), last];
            return Probe { start, len, tag, hash: self.hash_short(tag, len) };
        }
        let hash = self.hash_long(&text[start..start + len]);
        Probe { start, len, tag: [hash, last], hash }
    }

    #[inline]
    fn add(&mut self, text: &[u8], probe: &Probe, count: u64) {
        let Probe { start, len, tag, hash } = *probe;
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.count == 0 {
                break;
            }
            if slot.tag == tag && slot.len as usize == len {
                let there = slot.offset as usize;
                if len <= SHORT_BYTES || self.arena[there..there + len] == text[start..start + len] {
                    slot.count += count;
                    return;
                }
            }
            at = (at + 1) & mask;
        }
        self.insert(at, tag, &text[start..start + len], count);
    }

    fn insert(&mut self, at: usize, tag: [u64; 2], line: &[u8], count: u64) {
        let (offset, len) = (self.arena.len() as u32, line.len() as u32);
        make_room(&mut self.arena, line.len() + 1);
        self.arena.extend_from_slice(line);
        self.arena.push(self.terminator);
        self.slots[at] = Slot { tag, offset, len, count };
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = filled(EMPTY, self.slots.len() * 2);
        let mask = larger.len() - 1;
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.into_iter().filter(|slot| slot.count > 0) {
            let mut at = self.hash_of(&slot) as usize & mask;
            while self.slots[at].count > 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }

    /// Returns the distinct lines in no order, with their windows, and their arena.
    fn into_parts(self) -> (Vec<u8>, Vec<Counted>) {
        let counted = |slot: &Slot| {
            let Slot { offset, len, count, .. } = *slot;
            let window = window(&self.arena, offset as usize, len as usize);
            Counted { plain: Plain { window, offset, len }, count }
        };
        let distinct = self.slots.iter().filter(|slot| slot.count > 0).map(counted).collect();
        (self.arena, distinct)
    }

    /// Visits each distinct line with its terminator and its count, in order of first occurrence.
    pub(crate) fn each_in_order_of_arrival(self, mut line: impl FnMut(&[u8], u64)) {
        let (arena, mut slots) = self.into_parts();
        slots.sort_unstable_by_key(|slot| slot.plain.offset);
        for Counted { plain, count } in slots {
            let at = plain.offset as usize;
            line(&arena[at..=at + plain.len as usize], count);
        }
    }

    /// Returns the hash without reading the line: seeds are the same in all tables.
    #[inline]
    fn hash_of(&self, slot: &Slot) -> u64 {
        let len = slot.len as usize;
        if len <= SHORT_BYTES { self.hash_short(slot.tag, len) } else { slot.tag[0] }
    }

    #[inline]
    fn hash_short(&self, tag: [u64; 2], len: usize) -> u64 {
        let [a, b, _] = self.seeds;
        fold(tag[0] ^ a, tag[1] ^ b ^ len as u64)
    }

    /// Hashes sixteen bytes per step; the last step may overlap the previous one.
    #[inline]
    fn hash_long(&self, line: &[u8]) -> u64 {
        const STEP: usize = 2 * WINDOW_BYTES;
        let [a, b, c] = self.seeds;
        let word = |at| window(line, at, WINDOW_BYTES);
        let mut state = a ^ line.len() as u64;
        let mut at = 0;
        while at + STEP < line.len() {
            state = fold(word(at) ^ b, word(at + WINDOW_BYTES) ^ state);
            at += STEP;
        }
        let last = line.len() - WINDOW_BYTES;
        let before = last.min(at);
        fold(fold(word(before) ^ b, word(last) ^ state), c)
    }
}

/// Combines both halves of the product: every bit of the result depends on every bit of both.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Returns the seeds, drawn once per process.
fn seeds() -> [u64; 3] {
    static SEEDS: OnceLock<[u64; 3]> = OnceLock::new();
    // Odd, so that no seed is zero.
    *SEEDS.get_or_init(|| std::array::from_fn(|index| RandomState::new().hash_one(index) | 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_of_all_lengths() {
        let mut table = Table::new(b'\n');
        let mut text = Vec::new();
        for len in 0..100u8 {
            for first in 0..100u8 {
                text.extend((0..len).map(|at| first.wrapping_add(at) | 0x80));
                text.push(b'\n');
            }
        }
        for round in 0..3 {
            assert_eq!(table.add_lines(&text, 10 + 40 * round), 100 * 100);
            assert_eq!(table.len(), 99 * 100 + 1, "after round {round}");
        }
        let (arena, slots) = table.into_parts();
        for slot in slots {
            let (at, len) = (slot.plain.offset as usize, slot.plain.len as usize);
            assert_eq!(arena[at + len], b'\n');
            assert_eq!(slot.count, if len == 0 { 300 } else { 3 });
            assert_eq!(slot.plain.window, window(&arena, at, len));
        }
    }
    /// Small into large, large into small, equal sizes: the sums are the same, for any lengths.
    #[test]
    fn two_tables_become_one() {
        let lines = |from: usize, to: usize| -> Vec<u8> {
            (from..to).flat_map(|at| format!("{}{at}\n", "-".repeat(at % 40)).into_bytes()).collect()
        };
        for (own, other) in [(0..0, 0..5000), (0..10, 5..3000), (0..3000, 5..10), (0..3000, 2000..6000)] {
            let (mut table, mut more) = (Table::new(b'\n'), Table::new(b'\n'));
            table.add_lines(&lines(own.start, own.end), 20);
            more.add_lines(&lines(other.start, other.end), 20);
            table.merge(more);
            let mut seen = 0;
            table.each_in_order_of_arrival(|line, count| {
                let digits = line.iter().filter(|byte| byte.is_ascii_digit()).copied().collect();
                let at: usize = String::from_utf8(digits).expect("digits").parse().expect("a number");
                assert_eq!(line.len(), at % 40 + at.to_string().len() + 1);
                assert_eq!(count, u64::from(own.contains(&at)) + u64::from(other.contains(&at)));
                seen += 1;
            });
            assert_eq!(seen, own.len().max(other.end.max(own.end)));
        }
    }
}
