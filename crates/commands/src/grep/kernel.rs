//! grep's inner loop.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use pelton_stream::{
    Flow, Framing, HandOver, InputKind, Kernel, Outcome, Peer, PlainFile, Programs, Resources, known,
};

use crate::regex::{GaveUp, Judges};

use super::binary_lookahead::{Again, take_all};
use super::options::{Options, Show};
use super::print::{Printer, has_invalid};
use super::reads::Reads;

/// What was found of an input so far.
#[derive(Debug)]
pub(super) struct Progress {
    /// Lines selected.
    pub(super) selected: u64,
    /// A NUL was found after so many of them: no line is printed any more.
    pub(super) binary: Option<u64>,
    /// This could not be printed for an invalid character.
    pub(super) withheld: Option<Vec<u8>>,
    pub(super) reads: Reads,
    /// Bytes that came.
    pub(super) arrived: u64,
    /// Where the first NUL among those that came last is.
    pub(super) nul: Option<u64>,
    /// There was one among those that came.
    pub(super) any_nul: bool,
    /// What was printed of the lines that end in grep's current read: if a NUL comes in it, nothing.
    pub(super) unsure: Vec<u8>,
    /// The same of the window before it, where nobody knows grep's reads: they may reach into this one.
    pub(super) earlier: Vec<u8>,
    /// Lines selected before the window before.
    pub(super) selected_earlier: u64,
    /// The real grep printed what was left to be printed, and said this.
    pub(super) asked: Option<Vec<u8>>,
    /// The lines of that read so far, if the real grep may have to see them.
    pub(super) kept: Vec<u8>,
    /// What was known before that read.
    pub(super) before: Before,
    /// The expression cannot judge a line of that read: at its end the real grep gets all of it.
    pub(super) stuck: Option<&'static str>,
    /// No more lines are wanted, but the current read may still turn out to be no text.
    pub(super) full: bool,
    /// That was so before this window.
    pub(super) full_earlier: bool,
}

/// What the real grep must be told of what came before.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Lines.
    pub(super) lines: u64,
    /// Lines selected.
    pub(super) selected: u64,
    /// What could not be printed.
    pub(super) withheld: Option<Vec<u8>>,
}

impl Progress {
    fn new(reads: Reads) -> Self {
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
    judges: Judges,
    kinds: Vec<InputKind>,
    /// Inputs begun.
    begun: usize,
    /// The current input is the standard input.
    pub(super) reads_stdin: bool,
    /// Nothing more is wanted of the current input, which is read to its end all the same.
    drains: bool,
    pub(super) progress: Progress,
    pub(super) printer: Printer,
    /// A line was selected in any input.
    pub(super) any: bool,
    /// Standard output is `/dev/null`.
    unread: bool,
    pub(super) complaints: Vec<u8>,
    /// Bytes.
    pub(super) printed: u64,
    /// So long the output was when this block came.
    pub(super) since: usize,
    /// It may hand over.
    pub(super) keeps: bool,
    /// What the real grep must see first after a hand-over.
    pub(super) held: Vec<u8>,
    /// A short line that was selected, for counts.
    sample: Vec<u8>,
    /// Lines in which NULs are ends.
    pub(super) zapped: Vec<u8>,
    /// Whole lines are printed as newlines: they are only counted.
    pub(super) ends_only: bool,
    /// Who starts the real grep.
    pub(super) itself: Option<Arc<dyn Programs>>,
    /// There was an input that cannot be read once more.
    pub(super) cannot_repeat: bool,
    /// Bytes that were printed before this input.
    pub(super) printed_before: u64,
    /// How many of the operands have been come to.
    pub(super) operands: usize,
    /// Bytes that came from the standard input, if that is read.
    pub(super) from_stdin: Option<u64>,
    /// Another one absorbs what it knows.
    is_peer: bool,
    /// The real grep prints what is left.
    pub(super) real: Option<Again>,
    /// Its status, where it had trouble.
    pub(super) trouble: Option<i32>,
}

/// What the C library buffers for a pipe: with no more than that, grep learns at its end that its reader has left.
const BUFFER_BYTES: u64 = 4096;

/// Nothing of what it prints is wanted, or there can be no more of it.
pub(super) type Enough = bool;

impl GrepKernel {
    pub(super) fn new(options: &Options) -> Self {
        GrepKernel {
            judges: options.judges(),
            kinds: Vec::new(),
            begun: 0,
            reads_stdin: false,
            drains: false,
            progress: Progress::new(Reads::new(InputKind::Other)),
            printer: Printer::new(options),
            any: false,
            unread: false,
            complaints: Vec::new(),
            printed: 0,
            since: 0,
            keeps: options.may_meet_unjudged(),
            held: Vec::new(),
            sample: Vec::new(),
            zapped: Vec::new(),
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

    /// The same, printing the ends of whole lines and nothing else of them.
    pub(super) fn printing_ends_only(self) -> Self {
        GrepKernel { ends_only: true, ..self }
    }

    /// Lines are looked for, but none is printed.
    fn is_quiet(&self) -> bool {
        self.options.is_quiet() || self.unread || self.progress.binary.is_some()
    }

    /// How many more lines of this input may be selected.
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

    /// How much of the block, in whole lines, the expression can judge.
    pub(super) fn judged(&self, block: &[u8]) -> usize {
        match self.judges.first_unjudged(block) {
            None => block.len(),
            Some(at) => memrchr(b'\n', &block[..at]).map_or(0, |newline| newline + 1),
        }
    }

    /// What came without a NUL need not be looked through again.
    pub(super) fn may_hold_nuls(&self, block: &[u8]) -> bool {
        let came = self.progress.arrived >= self.printer.offset() + block.len() as u64;
        self.progress.any_nul || !came
    }

    fn search_judged(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        if self.is_quiet() {
            return Ok(self.count(block));
        }
        if self.options.show == Show::Lines && self.printer.is_plain() && self.options.limit.is_none() {
            return Ok(self.copy(block, out));
        }
        if self.options.prints_all_matches() && self.print_all_matches(block, out) {
            return Ok(false);
        }
        self.print(block, out)
    }

    /// Counts what is selected, up to what is wanted.
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

    /// Does any line not match?
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

    fn select(&mut self, lines: u64) {
        self.progress.selected += lines;
        self.any |= lines > 0;
    }

    /// Lines as they are: neighbours that are printed are copied at once.
    fn copy(&mut self, block: &[u8], out: &mut Vec<u8>) -> Enough {
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

    /// Prints whole lines, perhaps none.
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

    /// Whole lines, or their ends if nobody asks for more.
    fn put(&self, run: &[u8], out: &mut Vec<u8>) {
        if self.ends_only {
            out.resize(out.len() + lines(run) as usize, b'\n');
        } else {
            out.extend_from_slice(run);
        }
    }

    /// Would printing this show an invalid character?
    fn shows_invalid(&self, bytes: &[u8]) -> bool {
        self.options.utf8 && !self.options.text && has_invalid(bytes)
    }

    fn withhold(&mut self, bytes: &[u8]) {
        if self.progress.withheld.is_none() {
            self.progress.withheld = Some(bytes.trim_ascii_end().to_vec());
        }
    }

    /// What matches, wherever its lines begin. False, and nothing printed, if a line takes too long to search.
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
                self.printer.before(block, start, out);
                out.extend_from_slice(&block[start..end]);
                out.push(b'\n');
            }
            at = end;
        }
    }

    /// Lines with something in front, or parts of lines, or only so many.
    fn print(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let (mut at, mut next) = (0, None);
        while at < block.len() {
            let matching: &Range<usize> = next.get_or_insert_with(|| {
                self.options.regex.next_line(block, at).unwrap_or(block.len()..block.len())
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
        self.printer.before(block, line.start, out);
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
                // Nothing is not printed, and the search goes on one byte further.
                at = end + 1;
            } else if self.shows_invalid(&block[start..end]) {
                self.withhold(&block[start..end]);
            } else {
                self.printer.before(block, start, out);
                out.extend_from_slice(&block[start..end]);
                out.push(b'\n');
            }
        }
        Ok(())
    }

    /// What is said of an input that is not text.
    pub(super) fn is_binary(&self) -> Vec<u8> {
        let words = &self.options.binary;
        let at = words.windows(2).position(|part| part == b"%s").unwrap_or(words.len());
        let (before, behind) = (&words[..at], words.get(at + 2..).unwrap_or_default());
        [b"grep: ", before, self.printer.name(), behind, b"\n"].concat()
    }

    /// What is known now, after so many lines.
    pub(super) fn now(&self, lines: u64) -> Before {
        Before { lines, selected: self.progress.selected, withheld: self.progress.withheld.clone() }
    }

    pub(super) fn hand_over(&mut self, block: &[u8], consumed: usize, reason: &'static str) -> HandOver {
        let lines = if self.options.line_numbers { self.printer.lines_before(block, consumed) } else { 0 };
        self.hold(&self.now(lines));
        HandOver { consumed, reason }
    }

    /// Makes up what the real grep must see first to know what this one knows: as many lines that it does not select
    /// for line numbers, as many that it does for a count, a NUL or an invalid character for the message.
    pub(super) fn hold(&mut self, before: &Before) {
        if self.is_peer {
            // The first one will know it as well.
            return;
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
        self.held = [line, b"\n"].concat().repeat(count as usize);
        self.held.extend(last);
    }

    /// The end of an input, reached or not needed.
    fn conclude(&mut self, out: &mut Vec<u8>) {
        match self.options.show {
            Show::Count => {
                self.printer.name_before(out);
                out.extend_from_slice(format!("{}\n", self.progress.selected).as_bytes());
            }
            Show::Names { matching } if matching == (self.progress.selected > 0) => {
                out.extend_from_slice(self.printer.name());
                out.push(b'\n');
            }
            _ => {}
        }
        let nul = self.progress.binary.is_some_and(|before| before < self.progress.selected);
        if let Some(said) = self.progress.asked.take() {
            self.complaints.extend(said);
        } else if !self.options.is_quiet() && !self.unread && (nul || self.progress.withheld.is_some()) {
            self.complaints.extend_from_slice(&self.is_binary());
        }
    }
}

pub(super) fn lines_ended(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

/// A last line that lacks its end is one as well.
fn lines(block: &[u8]) -> u64 {
    lines_ended(block) + u64::from(block.last().is_some_and(|last| *last != b'\n'))
}

impl Kernel for GrepKernel {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn set_inputs(&mut self, kinds: &[InputKind]) {
        self.kinds = kinds.to_vec();
    }

    fn set_input(&mut self, kind: InputKind) {
        self.kinds.push(kind);
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.printer.begin(name);
        self.reads_stdin = name.is_none();
        self.drains = false;
        let kind = self.kinds.get(self.begun).copied().unwrap_or(InputKind::Other);
        self.operands = self.options.inputs_until(name, self.operands);
        let reads = if self.begun == 0 { Reads::new(kind) } else { self.progress.reads.go_on(kind) };
        self.cannot_repeat |= reads.follow_blocks();
        self.printed_before = self.printed;
        self.progress = Progress::new(reads);
        self.begun += 1;
    }

    fn attach(&mut self, means: &Resources) {
        self.itself = means.itself.clone();
    }

    fn arrives(&mut self, bytes: &[u8]) {
        if self.options.text {
            return;
        }
        if self.reads_stdin {
            *self.from_stdin.get_or_insert(0) += bytes.len() as u64;
        }
        let progress = &mut self.progress;
        progress.nul = memchr(0, bytes).map(|at| progress.arrived + at as u64);
        progress.any_nul |= progress.nul.is_some();
        progress.arrived += bytes.len() as u64;
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.drains {
            return Ok(Flow::More);
        }
        self.since = out.len();
        let enough = match self.options.text {
            true => self.search(block, out)?,
            false if !self.is_quiet() => self.push_unsure(block, out)?,
            false if self.may_hold_nuls(block) && memchr(0, block).is_some() => {
                self.search_zapped(block, 0)?
            }
            false => self.search(block, out)?,
        };
        self.printed += (out.len() - self.since) as u64;
        Ok(match enough {
            true if self.options.show == Show::Nothing => Flow::Done,
            // Where it leaves its standard input, that stands now.
            true if self.progress.asked.is_some() => Flow::NextInput,
            true if self.options.limit != Some(self.progress.selected) && self.reads_stdin => {
                // grep leaves nothing of its standard input to others, and breaks no pipe.
                self.drains = true;
                Flow::More
            }
            true => Flow::NextInput,
            false => Flow::More,
        })
    }

    /// What it reads only to leave nothing of it need not be read at all.
    fn prefers_reading_itself(&self, _bytes: u64) -> bool {
        self.drains
    }

    fn read_range(&mut self, _file: &dyn PlainFile, range: Range<u64>) -> (u64, Flow) {
        (range.end.saturating_sub(range.start), Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        if let Some(reason) = self.progress.stuck {
            take_all(&mut self.progress.earlier, out);
            return Err(self.give_read(0, reason));
        }
        let before = out.len();
        take_all(&mut self.progress.earlier, out);
        take_all(&mut self.progress.unsure, out);
        self.conclude(out);
        self.printed += (out.len() - before) as u64;
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        Ok(if self.read_on(out) { Flow::More } else { Flow::Done })
    }

    /// Where data that is not text shows reads of the real grep, it works alone.
    fn another(&self) -> Option<Peer> {
        let Options { show, text, line_numbers, offsets, limit, .. } = self.options;
        if limit.is_some() || self.unread {
            return None;
        }
        let ends_only = self.ends_only;
        let mut peer = GrepKernel { ends_only, is_peer: true, ..GrepKernel::new(&self.options) };
        peer.printer.begin_as(&self.printer);
        match show {
            Show::Count => Some(Peer::of_fold(peer)),
            Show::Lines | Show::Matches if text && !line_numbers && !offsets => Some(Peer::of_blocks(peer)),
            _ => None,
        }
    }

    fn absorb(&mut self, peer: Box<dyn Kernel>) {
        let Some(peer) = known::<Self>(peer) else { return };
        self.any |= peer.any;
        if self.options.show == Show::Count {
            self.progress.selected += peer.progress.selected;
        }
        if self.sample.is_empty() {
            self.sample = peer.sample;
        }
    }

    fn held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn ignores_epipe(&mut self) -> bool {
        !self.options.text && !self.options.is_quiet() && self.printed <= BUFFER_BYTES
    }

    fn output_is_discarded(&mut self) {
        self.unread = true;
    }

    fn complaints(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        self.trouble.unwrap_or(i32::from(!self.any))
    }

    fn status_after(&self, real: i32) -> i32 {
        if real == 1 { self.status() } else { real }
    }
}
