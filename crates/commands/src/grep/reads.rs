//! Where GNU grep's reads end.
//!
//! grep looks for NULs in each read before it searches the lines that end in it, and from the first read with a NUL on it
//! prints no line any more. So which lines are printed before that depends on where its reads end. A file is read by
//! 96 KiB. What is left of a read after its last line is moved to the front; if it is a page or more, the next read is
//! shorter by as many pages. Of a pipe grep reads what there is: each block that comes is taken for a read.

use pelton_stream::InputKind;

/// What grep's buffer holds.
const BUFFER: u64 = 96 << 10;
const PAGE: u64 = 4 << 10;

/// Follows the reads of one input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// Where the current read ends, in bytes from the start of the input. `None`: with the block.
    end: Option<u64>,
}

impl Reads {
    pub(super) fn new(kind: InputKind) -> Self {
        let end = match kind {
            InputKind::Regular { .. } => Some(BUFFER),
            InputKind::Other => None,
        };
        Reads { end }
    }

    /// Each block is a read.
    pub(super) fn follow_blocks(&self) -> bool {
        self.end.is_none()
    }

    /// How much of the block, which starts at `offset`, belongs to the current read, and whether the read ends in it.
    pub(super) fn within(&self, block: &[u8], offset: u64) -> (usize, bool) {
        let rest = self.end.map_or(Ok(block.len()), |end| usize::try_from(end - offset));
        let rest = rest.unwrap_or(usize::MAX);
        (rest.min(block.len()), rest <= block.len())
    }

    /// Goes on to the next read; the current one ends in this block, and its last line at most at `done`.
    pub(super) fn next(&mut self, block: &[u8], offset: u64, done: usize) {
        let (length, _) = self.within(block, offset);
        let line = memchr::memrchr(b'\n', &block[..length.min(done)]).map_or(0, |newline| newline + 1);
        let moved = (length - line) as u64 / PAGE * PAGE;
        // A line that is longer than the buffer gets a bigger one.
        self.end = self.end.map(|end| end + BUFFER.saturating_sub(moved).max(PAGE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_by_the_buffer() {
        let block = b"line\n".repeat(30_000);
        let mut reads = Reads::new(InputKind::Regular { bytes: 150_000 });
        assert_eq!(reads.within(&block[..98_304], 0), (98_304, true));
        assert_eq!(reads.within(&block[..98_303], 0), (98_303, false));
        reads.next(&block, 0, block.len());
        assert_eq!(reads.within(&block, 0), (150_000, false));
        assert_eq!(reads.within(&block, 100_000), (96_608, true));
    }

    #[test]
    fn a_long_line_makes_the_next_read_shorter() {
        let block = [vec![b'a'; 90_000], vec![b'\n'], vec![b'b'; 200_000]].concat();
        let mut reads = Reads::new(InputKind::Regular { bytes: 290_001 });
        reads.next(&block, 0, block.len());
        assert_eq!(reads.within(&block, 0), (98_304 + 98_304 - 8192, true));
    }

    #[test]
    fn what_comes_from_a_pipe_was_one_read() {
        assert_eq!(Reads::new(InputKind::Other).within(b"a\nb\n", 12), (4, true));
    }
}
