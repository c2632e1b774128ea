//! grep's inner loop: searches lines and prints, copies or counts the selected ones.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use pelton_stream::{HandOver, InputKind, Programs};

use crate::bytes::scan;
use crate::regex::{GaveUp, Judges, LineMarks};

use super::context_lines::Past;
use super::line_prefix::{Printer, has_invalid};
use super::options::{Options, Show};
use super::reads::Reads;
use super::rerun::Again;

/// The results of an input so far.
#[derive(Debug)]
pub(super) struct Progress {
    /// Lines selected.
    pub(super) selected: u64,
    /// After how many of them a NUL was found: no more lines are printed.
    pub(super) binary: Option<u64>,
    /// Text that was not printed because of an invalid character.
    pub(super) withheld: Option<Vec<u8>>,
    pub(super) reads: Reads,
    /// Bytes that arrived.
    pub(super) arrived: u64,
    /// The offset of the first NUL in the last arrival.
    pub(super) nul: Option<u64>,
    /// Whether a NUL has arrived.
    pub(super) any_nul: bool,
    /// Output for the lines that end in grep's current read: dropped if a NUL comes in it.
    pub(super) unsure: Vec<u8>,
    /// Output of the previous window, where grep's reads are unknown: they may extend into this one.
    pub(super) earlier: Vec<u8>,
    /// Lines selected before the previous window.
    pub(super) selected_earlier: u64,
    /// The message of the real grep, which has printed the rest.
    pub(super) asked: Option<Vec<u8>>,
    /// The lines of that read so far, if the real grep may need them.
    pub(super) kept: Vec<u8>,
    /// The state before that read.
    pub(super) before: Before,
    /// Why the expression does not support a line of that read: at its end the real grep gets all of it.
    pub(super) stuck: Option<&'static str>,
    /// Whether no more lines are wanted, though the current read may still be binary.
    pub(super) full: bool,
    /// Whether that was so before this window.
    pub(super) full_earlier: bool,
}

/// What the real grep must be told about earlier data.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Number of lines.
    pub(super) lines: u64,
    /// Number of selected lines.
    pub(super) selected: u64,
    /// Text that was not printed.
    pub(super) withheld: Option<Vec<u8>>,
}

impl Progress {
    pub(super) fn new(reads: Reads) -> Self {
        Progress {
            earlier: Vec::new(),
            selected_earlier: 0,
            asked: None,
            full_earlier: false,
            selected: 0,
            binary: None,
            withheld: None,
            reads,
            arrived: 0,
            nul: None,
            any_nul: false,
            unsure: Vec::new(),
            kept: Vec::new(),
            before: Before::default(),
            stuck: None,
            full: false,
        }
    }
}

pub(super) struct GrepKernel {
    pub(super) options: Options,
    pub(super) judges: Judges,
    pub(super) kinds: Vec<InputKind>,
    /// Inputs begun.
    pub(super) begun: usize,
    /// Whether the current input is the standard input.
    pub(super) reads_stdin: bool,
    /// Whether the current input is only read to its end.
    pub(super) drains: bool,
    /// Whether the input has been ended.
    pub(super) ended: bool,
    pub(super) progress: Progress,
    pub(super) printer: Printer,
    /// Whether a line was selected in any input.
    pub(super) any: bool,
    /// Whether standard output is `/dev/null`.
    pub(super) unread: bool,
    pub(super) complaints: Vec<u8>,
    /// Number of bytes.
    pub(super) printed: u64,
    /// Length of the output when this block came.
    pub(super) since: usize,
    /// Whether it may fall back.
    pub(super) keeps: bool,
    /// A short selected line, for counts.
    pub(super) sample: Vec<u8>,
    /// The lines before the current block, for lines of context.
    pub(super) past: Past,
    /// Whether no input holds a NUL.
    pub(super) gets_no_nul: bool,
    /// Lines in which NULs are line ends.
    pub(super) zapped: Vec<u8>,
    /// The lines that match, for blocks where they are marked.
    pub(super) marks: LineMarks,
    /// Whether whole lines are printed as newlines: they are only counted.
    pub(super) ends_only: bool,
    /// Starts the real grep.
    pub(super) itself: Option<Arc<dyn Programs>>,
    /// Whether there was an input that cannot be read again.
    pub(super) cannot_repeat: bool,
    /// Bytes printed before this input.
    pub(super) printed_before: u64,
    /// Number of operands reached.
    pub(super) operands: usize,
    /// Bytes from the standard input, if it is read.
    pub(super) from_stdin: Option<u64>,
    /// Whether another kernel merges its state.
    pub(super) is_peer: bool,
    /// The real grep that prints the rest.
    pub(super) real: Option<Again>,
    /// Its status, after an error.
    pub(super) trouble: Option<i32>,
}

/// grep's status if no line is selected.
const NONE_SELECTED: i32 = 1;

/// Whether no more output is wanted or possible.
pub(super) type Enough = bool;

impl GrepKernel {
    pub(super) fn new(options: &Options) -> Self {
        GrepKernel {
            judges: options.judges(),
            kinds: Vec::new(),
            begun: 0,
            reads_stdin: false,
            drains: false,
            ended: false,
            progress: Progress::new(Reads::new(InputKind::Other)),
            printer: Printer::new(options),
            any: false,
            unread: false,
            complaints: Vec::new(),
            printed: 0,
            since: 0,
            keeps: options.may_meet_unjudged(),
            sample: Vec::new(),
            past: Past::default(),
            gets_no_nul: false,
            zapped: Vec::new(),
            marks: LineMarks::default(),
            ends_only: false,
            itself: None,
            cannot_repeat: false,
            printed_before: 0,
            operands: 0,
            from_stdin: None,
            is_peer: false,
            real: None,
            trouble: None,
            options: options.clone(),
        }
    }

    /// Prints only the ends of whole lines.
    pub(super) fn printing_ends_only(self) -> Self {
        GrepKernel { ends_only: true, ..self }
    }

    /// Whether lines are searched but not printed.
    pub(super) fn is_quiet(&self) -> bool {
        self.options.is_quiet() || self.unread || self.progress.binary.is_some()
    }

    /// Returns how many more lines of this input may be selected.
    fn left(&self) -> u64 {
        let (limit, before) = match (self.options.show, self.progress.binary) {
            (Show::Names { .. } | Show::Nothing, _) => (1, 0),
            (Show::Count, _) if self.unread => (1, 0),
            (Show::Count, _) => (self.options.limit.unwrap_or(u64::MAX), 0),
            (_, Some(before)) => (1, before),
            _ if self.unread => (1, 0),
            _ => (self.options.limit.unwrap_or(u64::MAX), 0),
        };
        limit.saturating_sub(self.progress.selected - before)
    }

    /// Searches whole lines without NULs.
    pub(super) fn search(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let judged = self.judged(block);
        let enough = self.search_judged(&block[..judged], out)?;
        if !enough && judged < block.len() {
            return Err(self.hand_over(block, judged, "characters that only the real grep judges"));
        }
        self.printer.pass(block);
        Ok(enough)
    }

    /// Returns how much of the block, in whole lines, the expression supports.
    pub(super) fn judged(&self, block: &[u8]) -> usize {
        match self.judges.first_unjudged(block) {
            None => block.len(),
            Some(at) => memrchr(b'\n', &block[..at]).map_or(0, |newline| newline + 1),
        }
    }

    /// Whether the block may have NULs: an arrival without one is not scanned again.
    pub(super) fn may_hold_nuls(&self, block: &[u8]) -> bool {
        let came = self.progress.arrived >= self.printer.offset() + block.len() as u64;
        self.progress.any_nul || !came
    }

    fn search_judged(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        if self.is_quiet() {
            return Ok(self.count(block));
        }
        if let Some(around) = self.options.around {
            return self.print_in_context(around, block, out);
        }
        if self.options.show == Show::Lines && self.printer.is_plain() && self.options.limit.is_none() {
            return Ok(self.copy(block, out));
        }
        if self.options.prints_all_matches() && self.print_all_matches(block, out) {
            return Ok(false);
        }
        self.print(block, out)
    }

    /// Counts selected lines, up to the limit.
    pub(super) fn count(&mut self, block: &[u8]) -> Enough {
        let left = self.left();
        let selected = match self.options.invert {
            true if left == 1 => u64::from(self.leaves_any(block)),
            true => (lines(block) - self.count_matching(block, u64::MAX)).min(left),
            false => self.count_matching(block, left),
        };
        self.select(selected);
        selected == left
    }

    fn count_matching(&mut self, block: &[u8], wanted: u64) -> u64 {
        if self.sample.is_empty() {
            let Some(line) = self.options.regex.next_line(block, 0) else { return 0 };
            self.sample = block[line].to_vec();
        }
        self.options.regex.count_lines(block, wanted)
    }

    /// Whether any line does not match.
    fn leaves_any(&mut self, block: &[u8]) -> bool {
        let mut at = 0;
        while at < block.len() {
            match self.options.regex.next_line(block, at) {
                Some(line) if line.start == at => at = line.end + 1,
                _ => return true,
            }
        }
        false
    }

    pub(super) fn select(&mut self, lines: u64) {
        self.progress.selected += lines;
        self.any |= lines > 0;
    }

    /// Copies unchanged lines: adjacent ones at once.
    fn copy(&mut self, block: &[u8], out: &mut Vec<u8>) -> Enough {
        if self.copy_marked(block, out) || self.options.invert && self.copy_unmatched(block, out) {
            return false;
        }
        let (mut at, mut run) = (0, 0..0);
        while at < block.len() {
            let matching = self.options.regex.next_line(block, at);
            let line =
                matching.map_or(block.len()..block.len(), |line| line.start..(line.end + 1).min(block.len()));
            let printed = if self.options.invert { at..line.start } else { line.clone() };
            if run.end == printed.start {
                run.end = printed.end;
            } else if !printed.is_empty() {
                self.copy_run(&block[std::mem::replace(&mut run, printed)], out);
            }
            at = line.end;
        }
        self.copy_run(&block[run], out);
        false
    }

    /// Copies all selected lines at once. Returns `false`, with nothing copied, if that does not pay or a line may
    /// not be printed.
    fn copy_marked(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let (whole, last) = block.split_at(whole_lines(block));
        let before = out.len();
        let Some(selected) = self.options.regex.copy_lines(whole, self.options.invert, out) else {
            return false;
        };
        if self.shows_invalid(&out[before..]) {
            out.truncate(before);
            return false;
        }
        if self.ends_only {
            out.truncate(before);
            out.resize(before + selected as usize, b'\n');
        }
        self.select(selected);
        if !last.is_empty() && self.options.regex.next_line(last, 0).is_some() != self.options.invert {
            self.copy_run(last, out);
        }
        true
    }

    /// Copies the few lines that do not match, if almost all do. Otherwise copies nothing and returns `false`.
    fn copy_unmatched(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let marked = self.options.regex.each_unmatched(block, |line| {
            let end = (line.end + 1).min(block.len());
            match runs.last_mut() {
                Some(last) if last.end == line.start => last.end = end,
                _ => runs.push(line.start..end),
            }
        });
        runs.into_iter().for_each(|run| self.copy_run(&block[run], out));
        marked
    }

    /// Prints whole lines, possibly none.
    fn copy_run(&mut self, run: &[u8], out: &mut Vec<u8>) {
        if run.is_empty() {
            return;
        }
        self.select(1);
        if self.shows_invalid(run) {
            for line in run.split_inclusive(|byte| *byte == b'\n') {
                if self.shows_invalid(line) {
                    self.withhold(line);
                } else {
                    self.put(line, out);
                }
            }
        } else {
            self.put(run, out);
        }
        if out.last().is_some_and(|last| *last != b'\n') {
            out.push(b'\n');
        }
    }

    /// Appends whole lines, or only their ends.
    fn put(&self, run: &[u8], out: &mut Vec<u8>) {
        if self.ends_only {
            out.resize(out.len() + lines(run) as usize, b'\n');
        } else {
            out.extend_from_slice(run);
        }
    }

    /// Whether printing this would show an invalid character.
    pub(super) fn shows_invalid(&self, bytes: &[u8]) -> bool {
        self.options.utf8 && !self.options.text && has_invalid(bytes)
    }

    fn withhold(&mut self, bytes: &[u8]) {
        if self.progress.withheld.is_none() {
            self.progress.withheld = Some(bytes.trim_ascii_end().to_vec());
        }
    }

    /// Prints all matches, wherever their lines begin. Returns `false`, with nothing printed, if a line takes
    /// too long to search.
    fn print_all_matches(&mut self, block: &[u8], out: &mut Vec<u8>) -> bool {
        let (before, mark, mut at) = (out.len(), self.printer.mark(), 0);
        loop {
            let (start, end) = match self.options.regex.find(block, at..block.len()) {
                Ok(None) => return true,
                Ok(Some(found)) => found,
                Err(GaveUp) => {
                    out.truncate(before);
                    self.printer.go_back(mark);
                    return false;
                }
            };
            self.select(1);
            if self.shows_invalid(&block[start..end]) {
                self.withhold(&block[start..end]);
            } else {
                self.printer.before(block, start, b':', out);
                out.extend_from_slice(&block[start..end]);
                out.push(b'\n');
            }
            at = end;
        }
    }

    /// Prints lines with a prefix, or parts of lines, or a limited number.
    fn print(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let whole = whole_lines(block);
        let mut marks = std::mem::take(&mut self.marks);
        let marked =
            self.options.limit.is_none() && self.options.regex.mark_lines(&block[..whole], &mut marks);
        let enough = self.print_found(block, marked.then_some((&marks, whole)), out);
        self.marks = marks;
        enough
    }

    /// Prints them. `marked`: the marks of whole lines, up to an offset.
    fn print_found(
        &mut self,
        block: &[u8],
        marked: Option<(&LineMarks, usize)>,
        out: &mut Vec<u8>,
    ) -> Result<Enough, HandOver> {
        let (mut at, mut next) = (0, None);
        while at < block.len() {
            let matching: &Range<usize> = next.get_or_insert_with(|| {
                let found = marked.and_then(|(marks, _)| marks.next_line(at));
                let from = marked.map_or(at, |(_, whole)| at.max(whole));
                let found = found.or_else(|| self.options.regex.next_line(block, from));
                found.unwrap_or(block.len()..block.len())
            });
            let line = match self.options.invert {
                true if matching.start > at => {
                    at..memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end)
                }
                _ if matching.start == block.len() => break,
                invert => {
                    let line = matching.clone();
                    next = None;
                    at = line.end + 1;
                    if invert {
                        continue;
                    }
                    line
                }
            };
            at = line.end + 1;
            self.print_line(block, line, out)?;
            self.select(1);
            if self.left() == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn print_line(&mut self, block: &[u8], line: Range<usize>, out: &mut Vec<u8>) -> Result<(), HandOver> {
        if self.options.show == Show::Matches {
            return match self.options.invert {
                true => Ok(()),
                false => self.print_matches(block, line, out),
            };
        }
        if self.shows_invalid(&block[line.clone()]) {
            self.withhold(&block[line]);
            return Ok(());
        }
        self.printer.before(block, line.start, b':', out);
        out.extend_from_slice(&block[line]);
        out.push(b'\n');
        Ok(())
    }

    fn print_matches(&mut self, block: &[u8], line: Range<usize>, out: &mut Vec<u8>) -> Result<(), HandOver> {
        let before = out.len();
        let mut at = line.start;
        while at < line.end {
            let (start, end) = match self.options.regex.find(block, at..line.end) {
                Ok(None) => break,
                Ok(Some(found)) => found,
                Err(GaveUp) => {
                    out.truncate(before);
                    return Err(self.hand_over(block, line.start, "a line that takes too long to search"));
                }
            };
            at = end;
            if start == end {
                // An empty match is not printed, and the search continues one byte further.
                at = end + 1;
            } else if self.shows_invalid(&block[start..end]) {
                self.withhold(&block[start..end]);
            } else {
                self.printer.before(block, start, b':', out);
                out.extend_from_slice(&block[start..end]);
                out.push(b'\n');
            }
        }
        Ok(())
    }

    /// Returns the message about a binary input.
    pub(super) fn is_binary(&self) -> Vec<u8> {
        let words = &self.options.binary;
        let at = words.windows(2).position(|part| part == b"%s").unwrap_or(words.len());
        let (before, behind) = (&words[..at], words.get(at + 2..).unwrap_or_default());
        [b"grep: ", before, self.printer.name(), behind, b"\n"].concat()
    }

    /// Returns the state after this many lines.
    pub(super) fn now(&self, lines: u64) -> Before {
        Before { lines, selected: self.progress.selected, withheld: self.progress.withheld.clone() }
    }

    pub(super) fn hand_over(&mut self, block: &[u8], consumed: usize, reason: &'static str) -> HandOver {
        let lines = if self.options.line_numbers { self.printer.lines_before(block, consumed) } else { 0 };
        self.fall_back(consumed, reason, self.told(&self.now(lines)))
    }

    /// Falls back: the real grep gets `unconsumed` first. It does not know of lines selected before.
    pub(super) fn fall_back(&self, consumed: usize, reason: &'static str, unconsumed: Vec<u8>) -> HandOver {
        HandOver::at(consumed, reason)
            .with_unconsumed(unconsumed)
            .with_status(NONE_SELECTED, self.exit_status())
    }

    pub(super) fn exit_status(&self) -> i32 {
        self.trouble.unwrap_or(i32::from(!self.any))
    }

    /// Returns the input that tells the real grep this state: as many unselected lines as needed for line
    /// numbers, as many selected ones for a count, a NUL or an invalid character for the message.
    pub(super) fn told(&self, before: &Before) -> Vec<u8> {
        if self.is_peer {
            // The first kernel will know it too.
            return Vec::new();
        }
        let innocent = self.options.innocent.as_deref().unwrap_or_default();
        let guilty = self.options.guilty.as_deref().unwrap_or(&self.sample);
        let numbered = if self.options.line_numbers { before.lines } else { 0 };
        let (line, count, last) = match (self.options.show, self.progress.binary, &before.withheld) {
            (Show::Count, ..) => (guilty, before.selected, Vec::new()),
            (_, Some(_), _) => (innocent, 0, [innocent, b"\0"].concat()),
            (.., Some(withheld)) => (innocent, numbered.saturating_sub(1), [withheld, &b"\n"[..]].concat()),
            _ => (innocent, numbered, Vec::new()),
        };
        let mut input = [line, b"\n"].concat().repeat(count as usize);
        input.extend(last);
        input
    }
}

/// Returns the length of the whole lines.
fn whole_lines(block: &[u8]) -> usize {
    memrchr(b'\n', block).map_or(0, |newline| newline + 1)
}

/// Counts lines. A last line without terminator counts too.
fn lines(block: &[u8]) -> u64 {
    scan::count(block, b'\n') as u64 + u64::from(block.last().is_some_and(|last| *last != b'\n'))
}

/// Moves all of `from` to the end of `out`.
pub(super) fn take_all(from: &mut Vec<u8>, out: &mut Vec<u8>) {
    if out.is_empty() { std::mem::swap(from, out) } else { out.append(from) }
}
