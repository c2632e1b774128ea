//! Where GNU grep's reads end.
//!
//! grep looks for NULs in each read before it searches the lines that end in it, and from the first read with a NUL on it
//! prints no line any more. So which lines are printed before that depends on where its reads end. A file is read by
//! 96 KiB. What is left of a read after its last line is moved to the front; if it is a page or more, the next read is
//! shorter by as many pages. Of a pipe grep reads what there is: each block that comes is taken for a read, but no more
//! than a full pipe holds, since a block may come from a file that a `cat` before it would have sent through one.

use pelton_stream::InputKind;

/// What grep's buffer holds.
const BUFFER: u64 = 96 << 10;
const PAGE: u64 = 4 << 10;
/// What a pipe holds.
const PIPE: u64 = 64 << 10;

/// Follows the reads of one input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// Where the current read ends, in bytes from the start of the input.
    end: u64,
    /// It ends at the latest with the block.
    of_pipe: bool,
}

impl Reads {
    pub(super) fn new(kind: InputKind) -> Self {
        match kind {
            InputKind::Regular { .. } => Reads { end: BUFFER, of_pipe: false },
            InputKind::Other => Reads { end: PIPE, of_pipe: true },
        }
    }

    /// No read crosses from one block to the next.
    pub(super) fn follow_blocks(&self) -> bool {
        self.of_pipe
    }

    /// How much of the block, which starts at `offset`, belongs to the current read, and whether the read ends in it.
    pub(super) fn within(&self, block: &[u8], offset: u64) -> (usize, bool) {
        let rest = usize::try_from(self.end - offset).unwrap_or(usize::MAX);
        (rest.min(block.len()), rest <= block.len() || self.of_pipe)
    }

    /// Whether a byte that came from a pipe belongs to the current read, if so many bytes have come.
    pub(super) fn has(&self, at: u64, arrived: u64) -> bool {
        self.of_pipe && at < self.end.min(arrived)
    }

    /// Goes on to the next read; the current one ends in this block, and its last line at most at `done`.
    pub(super) fn next(&mut self, block: &[u8], offset: u64, done: usize) {
        let (length, _) = self.within(block, offset);
        if self.of_pipe {
            self.end = ((offset + length as u64) / PIPE + 1) * PIPE;
            return;
        }
        let line = memchr::memrchr(b'\n', &block[..length.min(done)]).map_or(0, |newline| newline + 1);
        let moved = (length - line) as u64 / PAGE * PAGE;
        // A line that is longer than the buffer gets a bigger one.
        self.end += BUFFER.saturating_sub(moved).max(PAGE);
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
    fn what_comes_from_a_pipe_was_one_read_unless_no_pipe_holds_it() {
        let mut reads = Reads::new(InputKind::Other);
        assert_eq!(reads.within(b"a\nb\n", 12), (4, true));
        let block = b"line\n".repeat(20_000);
        assert_eq!(reads.within(&block, 0), (65_536, true));
        reads.next(&block, 0, block.len());
        assert_eq!(reads.within(&block, 0), (100_000, true));
        reads.next(&block, 0, block.len());
        assert_eq!(reads.within(&block[..1000], 100_000), (1000, true));
    }
}
