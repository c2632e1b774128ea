//! A run: lines in order. Sorting makes runs and merging takes them.
//!
//! All later steps work on runs: they are printed, merged, and can be spilled and read back if memory is
//! short.

use std::ops::Range;

use super::item::{Counted, Keyed, Plain};
use super::text::WINDOW_BYTES;

/// Returns the items at these indices, as far as they exist.
fn some<T>(items: &[T], places: Range<usize>) -> &[T] {
    &items[places.start.min(items.len())..places.end.min(items.len())]
}

/// Lines in order, each followed by its terminator in the arena.
#[derive(Debug)]
pub(crate) struct SortedRun {
    pub(crate) arena: Vec<u8>,
    /// The index, in pieces that come one after another.
    pub(crate) pieces: Vec<Index>,
    /// The mask for complementing the windows of the index.
    pub(crate) flip: u64,
}

/// Some consecutive lines of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    arena: &'a [u8],
    index: &'a Index,
    flip: u64,
}

/// A buffer for a short line and its terminator.
pub(crate) type Short = [u8; 2 * WINDOW_BYTES];

/// The positions of a run's lines, in order.
#[derive(Debug)]
pub(crate) enum Index {
    Plain(Vec<Plain>),
    Keyed(Vec<Keyed>),
    /// Distinct lines, and how often each occurred.
    Counted(Vec<Counted>),
    /// The same with keys; the count follows the line in the arena.
    KeyedCounted(Vec<Keyed>),
    /// The whole arena is one line, too long for an index.
    One,
}

impl SortedRun {
    /// Returns a piece of its lines.
    pub(crate) fn piece(&self, at: usize) -> Option<Piece<'_>> {
        let SortedRun { arena, pieces, flip } = self;
        pieces.get(at).map(|index| Piece { arena, index, flip: *flip })
    }

    /// Returns its size in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let size = |index: &Index| match index {
            Index::Plain(items) => size_of_val(items.as_slice()),
            Index::Keyed(items) | Index::KeyedCounted(items) => size_of_val(items.as_slice()),
            Index::Counted(items) => size_of_val(items.as_slice()),
            Index::One => 0,
        };
        self.arena.len() + self.pieces.iter().map(size).sum::<usize>()
    }

    /// Whether it has no lines.
    pub(crate) fn is_empty(&self) -> bool {
        (0..self.pieces.len()).all(|at| self.piece(at).is_none_or(|piece| piece.len() == 0))
    }
}

impl<'a> Piece<'a> {
    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        match self.index {
            Index::Plain(items) => items.len(),
            Index::Keyed(items) | Index::KeyedCounted(items) => items.len(),
            Index::Counted(items) => items.len(),
            Index::One => 1,
        }
    }

    /// Returns an entry: the line with its terminator, and how often it occurs.
    #[inline]
    pub(crate) fn entry(&self, index: usize) -> (&'a [u8], u64) {
        let (at, len, count) = match self.index {
            Index::Plain(items) => (items[index].offset, items[index].len, 1),
            Index::Keyed(items) => (items[index].line_offset, items[index].line_len, 1),
            Index::Counted(items) => {
                let Counted { plain, count } = items[index];
                (plain.offset, plain.len, count)
            }
            Index::KeyedCounted(items) => {
                let Keyed { line_offset, line_len, .. } = items[index];
                (line_offset, line_len, self.count_behind(line_offset as usize + line_len as usize + 1))
            }
            Index::One => return (self.arena, 1),
        };
        let at = at as usize;
        (&self.arena[at..=at + len as usize], count)
    }

    /// Returns an entry without reading the arena if the line fits in the window of its index entry: saves a
    /// cache miss per line, the main cost of printing short lines.
    #[inline]
    pub(crate) fn show<'b>(&self, index: usize, terminator: u8, short: &'b mut Short) -> (&'b [u8], u64)
    where
        'a: 'b,
    {
        let (plain, count) = match self.index {
            Index::Plain(items) => (items[index], 1),
            Index::Counted(items) => (items[index].plain, items[index].count),
            _ => return self.entry(index),
        };
        let len = plain.len as usize;
        if len > WINDOW_BYTES {
            let at = plain.offset as usize;
            return (&self.arena[at..=at + len], count);
        }
        short[..WINDOW_BYTES].copy_from_slice(&(plain.window ^ self.flip).to_be_bytes());
        short[len] = terminator;
        (&short[..=len], count)
    }

    /// Reads the ends of lines that will soon be shown. They are scattered in the arena: the processor loads
    /// them in parallel, where printing would wait for each.
    pub(crate) fn fetch(&self, places: Range<usize>) {
        let is_long = |plain: &Plain| plain.len as usize > WINDOW_BYTES;
        let place = |plain: Plain| (plain.offset, plain.len);
        match self.index {
            Index::Plain(items) => {
                let items = some(items, places).iter().copied();
                self.touch(items.filter(is_long).map(place));
            }
            Index::Counted(items) => {
                let items = some(items, places).iter().map(|item| item.plain);
                self.touch(items.filter(is_long).map(place));
            }
            Index::Keyed(items) | Index::KeyedCounted(items) => {
                self.touch(some(items, places).iter().map(|item| (item.line_offset, item.line_len)));
            }
            Index::One => {}
        }
    }

    #[inline]
    fn touch(&self, lines: impl Iterator<Item = (u32, u32)>) {
        let ends = |(at, len): (u32, u32)| self.arena[at as usize] ^ self.arena[at as usize + len as usize];
        std::hint::black_box(lines.fold(0, |seen, line| seen ^ ends(line)));
    }

    /// Returns how often an entry occurs.
    #[inline]
    pub(crate) fn count(&self, index: usize) -> u64 {
        match self.index {
            Index::Plain(_) | Index::Keyed(_) | Index::One => 1,
            Index::Counted(items) => items[index].count,
            Index::KeyedCounted(_) => self.entry(index).1,
        }
    }

    /// Returns the bytes of an entry printed once.
    #[inline]
    pub(crate) fn bytes(&self, index: usize) -> usize {
        let len = match self.index {
            Index::Plain(items) => items[index].len,
            Index::Keyed(items) | Index::KeyedCounted(items) => items[index].line_len,
            Index::Counted(items) => items[index].plain.len,
            Index::One => return self.arena.len(),
        };
        len as usize + 1
    }

    fn count_behind(&self, at: usize) -> u64 {
        self.arena.get(at..).and_then(<[u8]>::first_chunk).map_or(1, |bytes| u64::from_le_bytes(*bytes))
    }
}
