//! Where GNU grep's reads end.
//!
//! grep looks for NULs in each read before it searches the lines that end in it, and prints no more lines
//! from the first read with a NUL on. So the end of its reads decides which lines are printed before that.
//!
//! The first read of a file is 96 KiB. The end of the next ones depends on the address of grep's buffer: the
//! rest of a read after its last line is moved to the front, so that the next read begins at a page; the
//! buffer comes from `malloc`, and its distance from a page changes with the locale and the expression. Only
//! one thing is certain: a read is not longer than the buffer. So the file is divided into windows of that
//! length, and the output of a window is printed once the next window has no NUL either. If it has one, and
//! something was selected shortly before it, only the real grep knows.
//!
//! Of a pipe grep reads what is available, and no more than its buffer has room for. Each block that arrives
//! counts as a read. Where the writer is faster than grep, the pipe is full each time: grep reads 64 KiB of it,
//! then the 32 KiB for which its buffer still has room, and so on.

use memchr::{memchr, memrchr};
use pelton_stream::InputKind;

/// Initial size of grep's buffer.
const BUFFER: u64 = 96 << 10;
const PAGE: u64 = 4 << 10;
/// The most buffer space that grep needs besides an incomplete line.
const PAGES: u64 = 4 * PAGE;
/// Capacity of a pipe.
const PIPE: u64 = 64 << 10;

/// Models the reads of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reads {
    /// The input offset where the current read begins.
    start: u64,
    /// The input offset where the current read, or window, ends at the latest.
    end: u64,
    /// What is read.
    kind: InputKind,
    /// The longest possible read: the size of the buffer.
    window: u64,
    /// How much of the buffer is left for the current read and the next ones of a pipe.
    room: u64,
    /// Whether it is grep's first read.
    is_first: bool,
}

impl Reads {
    pub(super) fn new(kind: InputKind) -> Self {
        let reads = Reads { start: 0, end: PIPE, kind, window: BUFFER, room: BUFFER, is_first: true };
        if reads.are_of_pipe() { reads } else { Reads { end: BUFFER, ..reads } }
    }

    /// Starts the next input: the buffer keeps its size.
    pub(super) fn go_on(&self, kind: InputKind) -> Self {
        if self.window == BUFFER {
            return Reads::new(kind);
        }
        let new = Reads { window: self.window, room: self.window, is_first: false, ..Reads::new(kind) };
        if new.are_of_pipe() { new } else { Reads { end: new.window, ..new } }
    }

    /// Whether grep would read a pipe, and could not read the input again.
    pub(super) fn are_of_pipe(&self) -> bool {
        matches!(self.kind, InputKind::Other | InputKind::FullPipe)
    }

    /// Whether the current range is a real read of grep's, not just a window.
    pub(super) fn are_known(&self) -> bool {
        self.are_of_pipe() || self.is_first
    }

    /// Returns how much of the block, which starts at `offset`, belongs to the current read, and whether the
    /// read ends in it.
    pub(super) fn within(&self, block: &[u8], offset: u64) -> (usize, bool) {
        let rest = usize::try_from(self.end - offset).unwrap_or(usize::MAX);
        (rest.min(block.len()), rest <= block.len() || self.kind == InputKind::Other)
    }

    /// Whether a byte from a pipe belongs to the current read, with this many bytes arrived.
    pub(super) fn has(&self, at: u64, arrived: u64) -> bool {
        self.are_of_pipe() && at < self.end.min(arrived)
    }

    /// Grows the buffer for the longest of these lines as grep does: each time by half its size, until it
    /// holds the line, some pages, and what it keeps besides.
    pub(super) fn make_room(&mut self, lines: &[u8], kept_besides: usize) {
        if lines.len() < STEP {
            return;
        }
        let needed = (longest(lines) + kept_besides) as u64 + PAGES;
        let window = (needed + needed / 2).next_multiple_of(PAGE);
        if needed > BUFFER && window > self.window {
            if !self.are_known() {
                self.end += window - self.window;
            }
            self.window = window;
        }
    }

    /// Whether the buffer has not grown.
    pub(super) fn are_short(&self) -> bool {
        self.window == BUFFER
    }

    /// Moves on to this offset: the output for everything before it is certain.
    pub(super) fn go_to(&mut self, offset: u64) {
        if !self.are_of_pipe() {
            (self.start, self.end, self.is_first) = (offset, offset + self.window, false);
            return;
        }
        while self.end <= offset {
            self.fill(self.end - self.start);
            (self.start, self.end) = (self.end, self.end + self.most());
        }
    }

    /// Whether where its reads end does not depend on when its input comes.
    pub(super) fn do_not_depend_on_time(&self) -> bool {
        self.kind != InputKind::Other
    }

    /// Returns the longest possible read in bytes.
    pub(super) fn longest(&self) -> u64 {
        self.window
    }

    /// Starts the next read; the current one ends in this block, with this many bytes of input arrived.
    pub(super) fn next(&mut self, block: &[u8], offset: u64, arrived: u64) {
        let block_end = offset + block.len() as u64;
        // An incomplete line has arrived too.
        let ended = if self.end < block_end { self.end } else { self.end.min(arrived.max(block_end)) };
        if self.are_of_pipe() {
            self.fill(ended - self.start);
        }
        let most = if self.are_of_pipe() { self.most() } else { self.window };
        (self.start, self.end) = (ended, ended + most);
        self.is_first = false;
    }

    /// Counts a read of a pipe. grep reads to the front of its buffer again once no page is left.
    fn fill(&mut self, bytes: u64) {
        self.room -= bytes;
        if self.room < PAGE {
            self.room = self.window;
        }
    }

    /// Returns how much grep reads of a pipe at once, at the most.
    fn most(&self) -> u64 {
        PIPE.min(self.room - self.room % PAGE)
    }
}

/// A line that may exceed grep's buffer has at least one multiple of this.
const STEP: usize = (BUFFER - PAGES) as usize / 2;

/// Returns the length of the longest line in bytes, if above [`STEP`]; otherwise any number up to that.
fn longest(lines: &[u8]) -> usize {
    let (mut longest, mut at) = (0, STEP);
    while at < lines.len() {
        let start = memrchr(b'\n', &lines[..at]).map_or(0, |newline| newline + 1);
        let end = memchr(b'\n', &lines[at..]).map_or(lines.len(), |newline| at + newline + 1);
        longest = longest.max(end - start);
        // A line is looked at once, however long it is.
        at = end.next_multiple_of(STEP);
    }
    longest
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
        assert!(reads.are_known());
        reads.next(&block, 0, block.len() as u64);
        assert!(!reads.are_known());
        assert_eq!(reads.within(&block, 0), (150_000, false));
        assert_eq!(reads.within(&block, 100_000), (96_608, true));
    }

    #[test]
    fn a_window_holds_what_the_buffer_may_have_grown_to() {
        let lines = |long: usize| [b"a\n".repeat(40_000), vec![b'b'; long], b"\nc\n".repeat(50_000)].concat();
        let mut reads = Reads::new(InputKind::Regular { bytes: 1 << 30 });
        reads.make_room(&lines(81_000), 0);
        assert_eq!(reads, Reads::new(InputKind::Regular { bytes: 1 << 30 }));
        assert!(reads.are_short());
        reads.make_room(&lines(90_112), 0);
        let window = 40 * PAGE;
        assert_eq!((reads.window, reads.end), (window, BUFFER), "the first read was over by then");
        reads.next(&[0; 100_000], 0, 100_000);
        reads.make_room(&lines(1_000_000), 0);
        assert!(!reads.are_short() && reads.window > 1_500_000);
        assert_eq!(reads.end, BUFFER + reads.window);
        let before = reads;
        reads.make_room(&lines(900_000), 0);
        assert_eq!(reads, before);
    }

    #[test]
    fn a_buffer_that_has_grown_stays() {
        let (file, pipe) = (InputKind::Regular { bytes: 1 << 30 }, InputKind::Other);
        let mut reads = Reads::new(pipe);
        assert_eq!(reads.go_on(file), Reads::new(file));
        reads.make_room(&[b'a'; 100_000], 0);
        let next = reads.go_on(file);
        assert!(!next.are_known());
        assert_eq!((next.window, next.end), (reads.window, reads.window));
        assert_eq!(next.go_on(pipe).end, PIPE);
    }

    #[test]
    fn a_full_pipe_is_read_by_its_size_and_the_rest_of_the_buffer_in_turn() {
        let mut reads = Reads::new(InputKind::FullPipe);
        let block = vec![b'\n'; 131_072];
        let mut ends = Vec::new();
        for offset in [0, 131_072] {
            while let (within, true) = reads.within(&block, offset) {
                ends.push(offset + within as u64);
                reads.next(&block, offset, offset + 131_072);
            }
        }
        assert_eq!(ends, [65_536, 98_304, 163_840, 196_608, 262_144]);
    }

    #[test]
    fn what_comes_from_a_pipe_was_one_read_unless_no_pipe_holds_it() {
        let mut reads = Reads::new(InputKind::Other);
        assert_eq!(reads.within(b"a\nb\n", 12), (4, true));
        let block = b"line\n".repeat(20_000);
        assert_eq!(reads.within(&block, 0), (65_536, true));
        reads.next(&block, 0, block.len() as u64);
        assert_eq!(reads.within(&block, 0), (98_304, true), "the rest of the buffer");
        reads.next(&block, 0, 100_003);
        assert_eq!(reads.within(&block, 0), (100_000, true));
        reads.next(&block, 0, 100_003);
        assert_eq!(reads.start, 100_003, "with the part of a line that has arrived");
        assert_eq!(reads.within(&block[..1000], 100_000), (1000, true));
    }
}
