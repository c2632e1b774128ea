//! Tail buffer: the last lines or bytes of the input so far.
//!
//! Bytes are kept in chunks, each with the number of its units, and dropped by whole chunks: nothing is moved
//! or counted twice.

use std::collections::VecDeque;

use crate::bytes::scan;

/// A queue of bytes that drops from the front.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    chunks: VecDeque<Chunk>,
    /// Buffers of dropped chunks.
    spare: Vec<Vec<u8>>,
    /// Complete units in all chunks.
    units: u64,
    unit: Unit,
}

#[derive(Clone, Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The offset of the first kept byte.
    start: usize,
    /// Units that end after `start`.
    units: u64,
}

/// Size of a chunk.
const CHUNK_BYTES: usize = 64 * 1024;
/// Number of buffers kept for reuse.
const SPARE_MAX: usize = 2;

/// The unit that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Records that end with this byte; the last one may lack it.
    Records(u8),
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Returns where the last `count` units of a block begin, if it holds more: an incomplete last record is
    /// kept in addition. Also `None` if finding out is expensive.
    pub(crate) fn last(self, count: u64, block: &[u8]) -> Option<usize> {
        let count = usize::try_from(count).ok()?;
        match self {
            Unit::Bytes => block.len().checked_sub(count),
            Unit::Records(end) => {
                let most = block.len() / 2;
                let before = (count <= most).then(|| memchr::memrchr_iter(end, block).nth(count))??;
                Some(before + 1)
            }
        }
    }

    fn count(self, bytes: &[u8]) -> u64 {
        match self {
            Unit::Bytes => bytes.len() as u64,
            Unit::Records(end) => scan::count(bytes, end) as u64,
        }
    }
}

impl Held {
    pub(crate) fn new(unit: Unit) -> Self {
        Held { chunks: VecDeque::new(), spare: Vec::new(), units: 0, unit }
    }

    pub(crate) fn append(&mut self, mut block: &[u8]) {
        while !block.is_empty() {
            let room = self.chunks.back().map_or(0, |last| CHUNK_BYTES - last.bytes.len());
            if room == 0 {
                let bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES));
                self.chunks.push_back(Chunk { bytes, start: 0, units: 0 });
                continue;
            }
            let (now, later) = block.split_at(room.min(block.len()));
            let units = self.unit.count(now);
            self.units += units;
            if let Some(last) = self.chunks.back_mut() {
                last.bytes.extend_from_slice(now);
                last.units += units;
            }
            block = later;
        }
    }

    pub(crate) fn clear(&mut self) {
        while self.drop_first() {}
    }

    /// Drops chunks that lie before the last `keep` units, without a scan.
    pub(crate) fn forget_chunks(&mut self, keep: u64) {
        // Keeps one unit more, so that the start of the first one stays known.
        while self.chunks.front().is_some_and(|first| self.units - first.units > keep) {
            self.drop_first();
        }
    }

    /// Removes everything before the last `keep` units, and calls `each` with it, piece by piece. While more
    /// input may come (`open`), an incomplete last record does not count.
    pub(crate) fn release(&mut self, keep: u64, open: bool, mut each: impl FnMut(&[u8])) {
        let incomplete = !open && self.ends_within_record();
        let mut too_many = (self.units + u64::from(incomplete)).saturating_sub(keep);
        if too_many > self.units {
            // All units and the incomplete one.
            self.take_all(each);
            return;
        }
        while let Some(first) = self.chunks.front_mut().filter(|_| too_many > 0) {
            let held = &first.bytes[first.start..];
            let (length, units) = match self.unit {
                _ if first.units < too_many => (held.len(), first.units),
                Unit::Bytes => (too_many as usize, too_many),
                Unit::Records(end) => (scan::end_of_nth(held, end, too_many).unwrap_or(held.len()), too_many),
            };
            each(&held[..length]);
            first.start += length;
            first.units -= units;
            self.units -= units;
            too_many -= units;
            if first.start == first.bytes.len() {
                self.drop_first();
            }
        }
    }

    /// Removes the first piece, and calls `each` with it. Returns whether there was one.
    pub(crate) fn take_first(&mut self, each: impl FnOnce(&[u8])) -> bool {
        if let Some(first) = self.chunks.front() {
            each(&first.bytes[first.start..]);
        }
        self.drop_first()
    }

    /// Removes everything, and calls `each` with it, piece by piece.
    pub(crate) fn take_all(&mut self, mut each: impl FnMut(&[u8])) {
        while self.take_first(&mut each) {}
    }

    fn ends_within_record(&self) -> bool {
        let last = self.chunks.back().and_then(|chunk| chunk.bytes.last());
        matches!((self.unit, last), (Unit::Records(end), Some(&last)) if last != end)
    }

    fn drop_first(&mut self) -> bool {
        let Some(Chunk { mut bytes, units, .. }) = self.chunks.pop_front() else { return false };
        self.units -= units;
        if self.spare.len() < SPARE_MAX {
            bytes.clear();
            self.spare.push(bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn released(held: &mut Held, keep: u64, open: bool) -> Vec<u8> {
        let mut all = Vec::new();
        held.release(keep, open, |piece| all.extend_from_slice(piece));
        all
    }

    fn rest(mut held: Held) -> Vec<u8> {
        let mut all = Vec::new();
        held.take_all(|piece| all.extend_from_slice(piece));
        all
    }

    #[test]
    fn the_last_lines_stay() {
        let mut held = Held::new(Unit::Records(b'\n'));
        held.append(b"a\nb\nc\nd");
        assert_eq!(released(&mut held.clone(), 2, true), b"a\n");
        assert_eq!(released(&mut held.clone(), 2, false), b"a\nb\n");
        assert_eq!(released(&mut held.clone(), 0, false), b"a\nb\nc\nd");
        assert_eq!(released(&mut held, 1, true), b"a\nb\n");
        assert_eq!(released(&mut held.clone(), 9, false), b"");
        assert_eq!(rest(held), b"c\nd");
    }

    #[test]
    fn chunks_hold_as_much_as_one_text() {
        let text: Vec<u8> = (0..60_000u32).flat_map(|i| format!("{}\n", i * i).into_bytes()).collect();
        for unit in [Unit::Records(b'\n'), Unit::Bytes] {
            for (keep, block) in [(0, 1000), (1, 70_000), (5000, 999), (50_000, 65_536), (u64::MAX, 4096)] {
                let mut whole = Held::new(unit);
                whole.append(&text);
                let front = released(&mut whole, keep, false);
                let (mut shed, mut given) = (Held::new(unit), Vec::new());
                let mut lazy = Held::new(unit);
                for block in text.chunks(block) {
                    shed.append(block);
                    given.extend(released(&mut shed, keep, true));
                    lazy.append(block);
                    lazy.forget_chunks(keep);
                }
                given.extend(released(&mut shed, keep, false));
                lazy.release(keep, false, |_| {});
                assert!(given == front && rest(shed) == text[front.len()..], "{keep} {block}");
                assert!(rest(lazy) == text[front.len()..], "{keep} {block}");
            }
        }
    }
}
