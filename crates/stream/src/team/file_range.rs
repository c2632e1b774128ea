//! Ranges of a regular file: the worker that takes one reads it, block by block.

use crate::{PlainFile, block_bytes};
use memchr::memrchr;
use pelton_sys::spare_capacity;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// One or several blocks of a regular file.
pub struct FileRange {
    /// The file.
    pub file: Arc<dyn PlainFile + Send>,
    /// The byte range.
    pub range: Range<u64>,
}

impl fmt::Debug for FileRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.range)
    }
}

impl FileRange {
    /// Appends the whole range to `into`. Returns whether it could be read.
    pub(super) fn read(&self, into: &mut Vec<u8>) -> bool {
        self.append(self.range.clone(), into)
    }

    fn append(&self, range: Range<u64>, into: &mut Vec<u8>) -> bool {
        let size = (range.end - range.start) as usize;
        let fill = |room: spare_capacity::Room<'_>| {
            // The bytes are appended to `into`.
            let _ = self.file.fill(room, range.start);
        };
        spare_capacity::append_parts(into, &[size], |rooms| rooms.into_iter().for_each(fill)) == 1
    }

    /// Calls `work` for the whole range, in blocks that end with `cut` as the range does. Returns `false` as
    /// soon as `work` does, or on a read error.
    pub(super) fn each(
        &self,
        cut: Option<u8>,
        block: &mut Vec<u8>,
        mut work: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        let Range { start: mut until, end } = self.range;
        block.clear();
        while until < end {
            let seen = block.len();
            let next = end.min(until + block_bytes() as u64);
            if !self.append(until..next, block) {
                return false;
            }
            until = next;
            let whole = match cut {
                Some(cut) if until < end => memrchr(cut, &block[seen..]).map_or(0, |last| seen + last + 1),
                _ => block.len(),
            };
            if whole > 0 && !work(&block[..whole]) {
                return false;
            }
            let begun = block.len() - whole;
            if whole > 0 && begun <= REREAD_BYTES {
                block.clear();
                until -= begun as u64;
            } else {
                block.drain(..whole);
            }
        }
        true
    }
}

/// An incomplete record of at most this length is read again with the next block: reading to the same memory
/// each time stays in cache, and keeping a record would move the destination.
const REREAD_BYTES: usize = 4096;

/// The number of blocks in a range: for cheap blocks, handing over each one costs as much as its work.
#[derive(Debug)]
pub(super) struct BatchSize(usize);

/// The wanted time per range: ordered output waits for it, and so do other users of the core.
const PART_TIME: [Duration; 2] = [Duration::from_micros(150), Duration::from_micros(600)];
/// The output of a range stays in cache, as long as it is not larger than its input.
pub(super) const MOST_BLOCKS: usize = 4;

impl BatchSize {
    pub fn one() -> Self {
        BatchSize(1)
    }

    pub fn blocks(&self) -> usize {
        self.0
    }

    /// Adapts the size after a range that took this long.
    pub fn measure(&mut self, took: Duration) {
        if took < PART_TIME[0] {
            self.0 = MOST_BLOCKS.min(self.0 * 2);
        } else if took > PART_TIME[1] {
            self.0 = 1.max(self.0 / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BLOCK_BYTES;
    use std::fs::File;

    fn part(bytes: &[u8], range: Range<u64>, name: &str) -> FileRange {
        let path = std::env::temp_dir().join(format!("pelton-part-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("written");
        let file = File::open(&path).expect("opened");
        std::fs::remove_file(&path).expect("removed");
        FileRange { file: Arc::new(file), range }
    }

    /// Returns lines of which every eleventh is longer than a block.
    fn lines() -> Vec<u8> {
        let of = |number: usize| match number % 11 {
            10 => vec![b'x'; BLOCK_BYTES + number],
            _ => vec![b'y'; number * 997],
        };
        (0..50).flat_map(|number| [of(number), vec![b'\n']].concat()).collect()
    }

    #[test]
    fn blocks_are_whole_lines_and_all_of_it() {
        let lines = lines();
        let starts = 1 + memchr::memchr(b'\n', &lines[1000..]).expect("one") + 1000;
        for cut in [Some(b'\n'), None] {
            let part =
                part(&lines, starts as u64..lines.len() as u64, if cut.is_some() { "cut" } else { "uncut" });
            let (mut seen, mut blocks) = (Vec::new(), 0);
            let all = part.each(cut, &mut Vec::new(), |block| {
                assert!(cut.is_none() || block.last() == Some(&b'\n'));
                assert!(block.len() <= 3 * BLOCK_BYTES);
                seen.extend_from_slice(block);
                blocks += 1;
                true
            });
            assert!(all && seen == lines[starts..] && blocks > 10, "{blocks} blocks");
        }
    }

    #[test]
    fn who_wants_no_more_gets_no_more() {
        let lines = lines();
        let mut turns = 0;
        let part = part(&lines, 0..lines.len() as u64, "odd");
        assert!(!part.each(Some(b'\n'), &mut Vec::new(), |_| {
            turns += 1;
            turns < 3
        }));
        assert_eq!(turns, 3);
    }

    #[test]
    fn a_file_that_is_shorter_cannot_be_read() {
        let lines = lines();
        let part = part(&lines, 0..lines.len() as u64 + 1, "shorter");
        let mut bytes = 0;
        assert!(!part.each(Some(b'\n'), &mut Vec::new(), |block| {
            bytes += block.len();
            true
        }));
        assert!(bytes < lines.len() && lines.len() - bytes <= 3 * BLOCK_BYTES);
    }

    #[test]
    fn parts_grow_as_long_as_they_take_little() {
        let mut grain = BatchSize::one();
        let mut after = |us: u64| {
            grain.measure(Duration::from_micros(us));
            grain.blocks()
        };
        assert_eq!([10, 20, 40, 40, 300, 300].map(&mut after), [2, 4, 4, 4, 4, 4]);
        assert_eq!([5000, 5000, 5000, 400].map(&mut after), [2, 1, 1, 1]);
    }
}
