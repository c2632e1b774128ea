//! Lines on their way into a run: an arena of text, an index, and at the end the order restored.
//!
//! Offsets in a run are 32 bits wide, which keeps the index at 16 bytes a line (24 with keys).

use super::engine::{Engine, Keyed, Plain};
use super::order::{KeyPlace, LineOrder};
use super::room::make_room;
use super::run::{Index, SortedRun};
use super::text::{LineLength, WINDOW_BYTES, each_line, window};

/// Lines to be sorted, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Each line with its terminator.
    arena: Vec<u8>,
    /// Computed keys that do not fit in a window.
    keys: Vec<u8>,
    index: Unsorted,
    /// How many lines have a NaN among their numbers.
    nans: usize,
}

#[derive(Debug)]
enum Unsorted {
    Plain(Vec<Plain>),
    Keyed(Vec<Keyed>),
}

impl Default for Unsorted {
    fn default() -> Self {
        Unsorted::Plain(Vec::new())
    }
}

impl Lines {
    pub(crate) fn new(order: &LineOrder) -> Self {
        let index =
            if order.is_by_line() { Unsorted::Plain(Vec::new()) } else { Unsorted::Keyed(Vec::new()) };
        Lines { index, ..Lines::default() }
    }

    /// The larger of its arenas.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len().max(self.keys.len())
    }

    pub(crate) fn nans(&self) -> usize {
        self.nans
    }

    /// All lines, as they came.
    pub(crate) fn text(&self) -> &[u8] {
        &self.arena
    }

    pub(crate) fn count(&self) -> usize {
        match &self.index {
            Unsorted::Plain(items) => items.len(),
            Unsorted::Keyed(items) => items.len(),
        }
    }

    /// Adds lines; `text` ends with a terminator.
    pub(crate) fn push(&mut self, text: &[u8], terminator: u8, order: &LineOrder, length: &mut LineLength) {
        let base = self.arena.len();
        make_room(&mut self.arena, text.len());
        self.arena.extend_from_slice(text);
        let mean = length.mean(text, terminator);
        let before = self.count();
        let Lines { arena, keys, index, nans } = self;
        if order.may_meet_nan() {
            each_line(text, terminator, mean, |start, end| {
                *nans += usize::from(order.has_nan(&text[start..end]))
            });
        }
        match index {
            Unsorted::Plain(items) => each_line(text, terminator, mean, |start, end| {
                make_room(items, 1);
                items.push(plain_item(arena, base + start, end - start, order.flip()));
            }),
            Unsorted::Keyed(items) => each_line(text, terminator, mean, |start, end| {
                make_room(items, 1);
                items.push(keyed_item(arena, keys, base + start, end - start, order));
            }),
        }
        length.saw(text.len(), self.count() - before);
    }

    /// Adds the lines of another one behind its own.
    pub(crate) fn append(&mut self, other: &mut Lines, order: &LineOrder) {
        let base = self.arena.len();
        // Keys lie with the other computed ones, or in their lines.
        let key_base = if order.is_computed() { self.keys.len() } else { base };
        make_room(&mut self.arena, other.arena.len());
        self.arena.append(&mut other.arena);
        self.keys.append(&mut other.keys);
        self.nans += other.nans;
        match (&mut self.index, &mut other.index) {
            (Unsorted::Plain(own), Unsorted::Plain(items)) => {
                make_room(own, items.len());
                own.extend(items.drain(..).map(|item| Plain { offset: item.offset + base as u32, ..item }));
            }
            (Unsorted::Keyed(own), Unsorted::Keyed(items)) => {
                make_room(own, items.len());
                own.extend(items.drain(..).map(|item| Keyed {
                    line_offset: item.line_offset + base as u32,
                    key_offset: item.key_offset + key_base as u32,
                    ..item
                }));
            }
            // Both were made for the same order.
            _ => debug_assert!(false, "two kinds of index"),
        }
    }

    /// The same line many times, for orders that keep identical lines together.
    pub(crate) fn push_repeated(&mut self, line: &[u8], count: u64, order: &LineOrder) {
        let offset = self.arena.len();
        let len = line.len() - 1;
        self.arena.extend_from_slice(line);
        let Lines { arena, keys, index, .. } = self;
        match index {
            Unsorted::Plain(items) => {
                let item = plain_item(arena, offset, len, order.flip());
                items.extend(std::iter::repeat_n(item, count as usize));
            }
            Unsorted::Keyed(items) => {
                let item = keyed_item(arena, keys, offset, len, order);
                items.extend(std::iter::repeat_n(item, count as usize));
            }
        }
    }

    /// A line that stands for many; [`sort_counted`](Lines::sort_counted) must follow. The count stands behind the
    /// line in the arena.
    pub(crate) fn push_counted(&mut self, line: &[u8], count: u64, order: &LineOrder) {
        self.push_repeated(line, 1, order);
        self.arena.extend_from_slice(&count.to_le_bytes());
    }

    /// Sorts lines pushed with their counts.
    pub(crate) fn sort_counted(self, order: &LineOrder, unique: bool) -> SortedRun {
        let SortedRun { arena, index, flip } = self.sort(order, unique);
        let index = match index {
            Index::Keyed(items) => Index::KeyedCounted(items),
            other => other,
        };
        SortedRun { arena, index, flip }
    }

    /// Sorts them; of equal lines only the first stays, if `unique`.
    pub(crate) fn sort(self, order: &LineOrder, unique: bool) -> SortedRun {
        let Lines { arena, keys, index, .. } = self;
        let keys = if order.is_computed() { &keys } else { &arena };
        let engine = Engine { keys, lines: &arena, descending: order.descending(), tie: order.tie(), order };
        let index = match index {
            Unsorted::Plain(mut items) => {
                engine.sort(&mut items);
                if unique {
                    items.dedup_by(|a, b| engine.is_same_key(a, b));
                }
                Index::Plain(items)
            }
            Unsorted::Keyed(mut items) => {
                engine.sort(&mut items);
                if unique {
                    items.dedup_by(|a, b| engine.is_same_key(a, b));
                }
                Index::Keyed(items)
            }
        };
        SortedRun { arena, index, flip: order.flip() }
    }
}

#[inline]
pub(crate) fn plain_item(arena: &[u8], offset: usize, len: usize, flip: u64) -> Plain {
    Plain { window: window(arena, offset, len) ^ flip, offset: offset as u32, len: len as u32 }
}

/// The index entry of a line, its key computed once.
#[inline]
pub(crate) fn keyed_item(
    arena: &[u8],
    keys: &mut Vec<u8>,
    offset: usize,
    len: usize,
    order: &LineOrder,
) -> Keyed {
    let free = keys.len();
    let (key_offset, key_len, shown) = match order.key(&arena[offset..offset + len], keys) {
        KeyPlace::InLine(from, to) => (offset + from, to - from, window(arena, offset + from, to - from)),
        KeyPlace::Appended => {
            let key_len = keys.len() - free;
            let shown = window(keys, free, key_len);
            if key_len <= WINDOW_BYTES {
                keys.truncate(free);
            }
            (free, key_len, shown)
        }
    };
    Keyed {
        window: shown ^ order.flip(),
        line_offset: offset as u32,
        line_len: len as u32,
        key_offset: key_offset as u32,
        key_len: key_len as u32,
    }
}
