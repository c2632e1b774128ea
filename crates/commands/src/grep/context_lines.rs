//! Lines of context (`-A`, `-B`, `-C`): printed around selected lines, with `--` between groups.

use std::ops::Range;

use memchr::{memchr, memrchr};
use pelton_stream::HandOver;

use super::search::{Enough, GrepKernel};

/// How many lines are printed around a selected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Around {
    pub(super) before: usize,
    pub(super) after: usize,
}

/// What matters of the lines before the current block.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// How many more lines after the last selected one are printed. If any, the line before the block was printed.
    pending: usize,
    /// The last lines before the block, as many as stand before a selected one, since the last that was printed.
    pub(super) kept: Vec<u8>,
    /// Whether a line between the last that was printed and these was dropped.
    has_gap: bool,
    /// Whether a line of this input was printed.
    pub(super) has_printed: bool,
}

impl GrepKernel {
    /// Prints the selected lines of a block and those around them.
    pub(super) fn print_in_context(
        &mut self,
        around: Around,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Enough, HandOver> {
        let (mut at, mut matching) = (0, None);
        while let Some(line) = self.next_selected(block, at, &mut matching) {
            let unprinted = self.print_pending(block, at..line.start, out)?;
            self.print_before(around, block, unprinted, out)?;
            self.print_one(block, line.clone(), b':', out)?;
            self.select(1);
            self.past = Past { pending: around.after, has_printed: true, ..Past::default() };
            at = block.len().min(line.end + 1);
        }
        let unprinted = self.print_pending(block, at..block.len(), out)?;
        self.keep_before(around, &block[unprinted]);
        Ok(false)
    }

    /// Returns the next selected line from `at` on. `matching`: the next one that matches, if it is known.
    fn next_selected(
        &mut self,
        block: &[u8],
        mut at: usize,
        matching: &mut Option<Range<usize>>,
    ) -> Option<Range<usize>> {
        while at < block.len() {
            let known = matching.take().filter(|line| line.start >= at);
            let next = known.or_else(|| self.options.regex.next_line(block, at));
            let next = next.unwrap_or(block.len()..block.len());
            match self.options.invert {
                false => return (next.start < block.len()).then_some(next),
                true if next.start > at => {
                    let end = memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
                    *matching = Some(next);
                    return Some(at..end);
                }
                true => at = next.end + 1,
            }
        }
        None
    }

    /// Prints the lines that follow the last selected one, and returns the rest of these.
    fn print_pending(
        &mut self,
        block: &[u8],
        lines: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<Range<usize>, HandOver> {
        let mut at = lines.start;
        while self.past.pending > 0 && at < lines.end {
            let end = memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
            self.print_one(block, at..end, b'-', out)?;
            self.past.pending -= 1;
            at = lines.end.min(end + 1);
        }
        Ok(at..lines.end)
    }

    /// Prints what comes before a selected line: the line between groups, and the last of the lines that were not printed.
    fn print_before(
        &mut self,
        around: Around,
        block: &[u8],
        unprinted: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), HandOver> {
        let (start, count) = last_lines(&block[unprinted.clone()], around.before);
        let kept = std::mem::take(&mut self.past.kept);
        let (of_kept, _) = last_lines(&kept, around.before - count);
        let is_apart = self.past.has_gap || start > 0 || of_kept > 0 || !self.past.has_printed;
        if is_apart && self.any {
            out.extend_from_slice(b"--\n");
        }
        let kept = &kept[of_kept..];
        let mut back = (memchr::memchr_iter(b'\n', kept).count() as u64, kept.len() as u64);
        for line in kept.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            self.check_characters(text)?;
            self.printer.before_earlier(back, b'-', out);
            out.extend_from_slice(text);
            out.push(b'\n');
            back = (back.0 - 1, back.1 - line.len() as u64);
        }
        let mut at = unprinted.start + start;
        while at < unprinted.end {
            let end = memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end);
            self.print_one(block, at..end, b'-', out)?;
            at = end + 1;
        }
        Ok(())
    }

    /// Keeps the last of these lines, which were not printed, for a selected one in the next block.
    fn keep_before(&mut self, around: Around, unprinted: &[u8]) {
        let (start, count) = last_lines(unprinted, around.before);
        let past = &mut self.past;
        let (of_kept, _) = last_lines(&past.kept, around.before - count);
        past.has_gap |= start > 0 || of_kept > 0;
        past.kept.drain(..of_kept);
        past.kept.extend_from_slice(&unprinted[start..]);
    }

    fn print_one(
        &mut self,
        block: &[u8],
        line: Range<usize>,
        separator: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), HandOver> {
        self.check_characters(&block[line.clone()])?;
        self.printer.before(block, line.start, separator, out);
        out.extend_from_slice(&block[line]);
        out.push(b'\n');
        Ok(())
    }

    /// Leaves the input to the real grep if this line may not be printed: it then prints the lines around it once more.
    fn check_characters(&self, line: &[u8]) -> Result<(), HandOver> {
        match self.shows_invalid(line) {
            true => Err(HandOver::at(0, "an invalid character in a line of context, or near one")),
            false => Ok(()),
        }
    }
}

/// Returns where the last lines of a text begin, at most so many, and how many they are.
fn last_lines(text: &[u8], most: usize) -> (usize, usize) {
    let (mut start, mut count) = (text.len(), 0);
    while count < most && start > 0 {
        start = memrchr(b'\n', &text[..start - 1]).map_or(0, |newline| newline + 1);
        count += 1;
    }
    (start, count)
}
