//! grep's inner loop.

use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memrchr};
use pelton_stream::{
    BLOCK_BYTES, Flow, Framing, HandOver, InputKind, Kernel, Means, Outcome, Peer, Programs, known,
};
use pelton_sys::wait::Ended;

use crate::regex::{GaveUp, Judges};

use super::options::{Options, Show};
use super::print::{Printer, has_invalid};
use super::reads::Reads;

/// What was found of an input so far.
#[derive(Debug)]
struct Progress {
    /// Lines selected.
    selected: u64,
    /// A NUL was found after so many of them: no line is printed any more.
    binary: Option<u64>,
    /// This could not be printed for an invalid character.
    withheld: Option<Vec<u8>>,
    reads: Reads,
    /// Bytes that came.
    arrived: u64,
    /// Where the first NUL among those that came last is.
    nul: Option<u64>,
    /// There was one among those that came.
    any_nul: bool,
    /// What was printed of the lines that end in grep's current read: if a NUL comes in it, nothing.
    unsure: Vec<u8>,
    /// The same of the window before it, where nobody knows grep's reads: they may reach into this one.
    earlier: Vec<u8>,
    /// What was known before the window before.
    before_earlier: Before,
    /// The real grep printed what was left to be printed, and said that it is binary, or did not.
    asked: Option<bool>,
    /// The lines of that read so far, if the real grep may have to see them.
    kept: Vec<u8>,
    /// What was known before that read.
    before: Before,
    /// The expression cannot judge a line of that read: at its end the real grep gets all of it.
    stuck: Option<&'static str>,
    /// No more lines are wanted, but the current read may still turn out to be no text.
    full: bool,
    /// That was so before this window.
    full_earlier: bool,
}

/// What the real grep must be told of what came before.
#[derive(Clone, Debug, Default)]
struct Before {
    /// Lines.
    lines: u64,
    /// Lines selected.
    selected: u64,
    /// What could not be printed.
    withheld: Option<Vec<u8>>,
}

impl Progress {
    fn new(reads: Reads) -> Self {
        Progress {
            earlier: Vec::new(),
            before_earlier: Before::default(),
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
    options: Options,
    judges: Judges,
    kinds: Vec<InputKind>,
    /// Inputs begun.
    begun: usize,
    /// The current input is the standard input.
    reads_stdin: bool,
    /// Nothing more is wanted of the current input, which is read to its end all the same.
    drains: bool,
    progress: Progress,
    printer: Printer,
    /// A line was selected in any input.
    any: bool,
    /// Standard output is `/dev/null`.
    unread: bool,
    complaints: Vec<u8>,
    /// Bytes.
    printed: u64,
    /// So long the output was when this block came.
    since: usize,
    /// It may hand over.
    keeps: bool,
    /// What the real grep must see first after a hand-over.
    held: Vec<u8>,
    /// A short line that was selected, for counts.
    sample: Vec<u8>,
    /// Lines in which NULs are ends.
    zapped: Vec<u8>,
    /// Whole lines are printed as newlines: they are only counted.
    ends_only: bool,
    /// Who starts the real grep.
    itself: Option<Arc<dyn Programs>>,
    /// There was an input that cannot be read once more.
    cannot_repeat: bool,
    /// Bytes that were printed before this input.
    printed_before: u64,
    /// How many of the operands have been come to.
    operands: usize,
    /// Bytes that came from the standard input, if that is read.
    from_stdin: Option<u64>,
    /// Another one absorbs what it knows.
    is_peer: bool,
}

/// What the C library buffers for a pipe: with no more than that, grep learns at its end that its reader has left.
const BUFFER_BYTES: u64 = 4096;

/// Nothing of what it prints is wanted, or there can be no more of it.
type Enough = bool;

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
            (Show::Count, _) => (self.options.limit.unwrap_or(u64::MAX), 0),
            (_, Some(before)) => (1, before),
            _ if self.unread => (1, 0),
            _ => (self.options.limit.unwrap_or(u64::MAX), 0),
        };
        limit.saturating_sub(self.progress.selected - before)
    }

    /// Searches whole lines without NULs.
    fn search(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let judged = self.judged(block);
        let enough = self.search_judged(&block[..judged], out)?;
        if !enough && judged < block.len() {
            return Err(self.hand_over(block, judged, "characters that only the real grep judges"));
        }
        self.printer.pass(block);
        Ok(enough)
    }

    /// How much of the block, in whole lines, the expression can judge.
    fn judged(&self, block: &[u8]) -> usize {
        match self.judges.first_unjudged(block) {
            None => block.len(),
            Some(at) => memrchr(b'\n', &block[..at]).map_or(0, |newline| newline + 1),
        }
    }

    /// What came without a NUL need not be looked through again.
    fn may_hold_nuls(&self, block: &[u8]) -> bool {
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
    fn count(&mut self, block: &[u8]) -> Enough {
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

    /// Lines that are printed unless there is a NUL in the same read.
    fn push_unsure(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        self.progress.reads.make_room(block);
        let offset = self.printer.offset();
        let nul = if self.may_hold_nuls(block) { memchr(0, block) } else { None }.unwrap_or(usize::MAX);
        // From `done` to `seen` no line ends: what a long line was looked through for is not looked through again.
        let (mut done, mut seen) = (0, 0);
        loop {
            let (within, ends) = self.progress.reads.within(block, offset);
            let comes =
                self.progress.nul.is_some_and(|at| self.progress.reads.has(at, self.progress.arrived));
            if comes || nul < within {
                let reads = &self.progress.reads;
                // Who could not go on had better not be given by a pipe what is read from a file.
                return match reads.follow_blocks() || reads.are_known() && self.progress.stuck.is_none() {
                    true => self.turn_binary(block, done),
                    false => self.meet_nul(block, done..nul, out),
                };
            }
            let lines = match memrchr(b'\n', &block[seen..within]) {
                _ if within == block.len() => within,
                Some(newline) => seen + newline + 1,
                None => done,
            };
            if self.progress.stuck.is_some() {
                self.keep(&block[done..lines]);
            } else if self.progress.full {
                self.printer.pass(&block[done..lines]);
            } else if done < lines && ends && self.progress.reads.are_known() {
                self.search_sure(block, done..lines, out)?;
            } else if done < lines {
                self.search_unsure(block, done..lines)?;
            }
            (done, seen) = (lines, within);
            if !ends {
                return Ok(false);
            }
            if let Some(reason) = self.progress.stuck {
                take_all(&mut self.progress.earlier, out);
                return Err(self.give_read(done, reason));
            }
            if self.pass_read(out) {
                return Ok(true);
            }
            self.progress.reads.next(block, offset);
            if within == block.len() {
                return Ok(false);
            }
        }
    }

    /// There was no NUL in this read, or in as much as one can hold.
    fn pass_read(&mut self, out: &mut Vec<u8>) -> Enough {
        let now = self.now(self.printer.lines());
        let progress = &mut self.progress;
        progress.kept.clear();
        take_all(&mut progress.earlier, out);
        progress.before_earlier = std::mem::replace(&mut progress.before, now);
        if progress.reads.are_known() {
            take_all(&mut progress.unsure, out);
            progress.before_earlier = progress.before.clone();
            return progress.full;
        }
        std::mem::swap(&mut progress.earlier, &mut progress.unsure);
        std::mem::replace(&mut progress.full_earlier, progress.full)
    }

    /// The first NUL is at the end of this range, in a read of which nobody knows where it begins.
    fn meet_nul(&mut self, block: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let mut done = range.start;
        let lines = memrchr(b'\n', &block[range]).map_or(done, |newline| done + newline + 1);
        if done < lines && self.progress.stuck.is_none() && !self.progress.full {
            self.search_unsure(block, done..lines)?;
            if self.progress.stuck.is_none() {
                done = lines;
            }
        }
        let selected = self.progress.selected > self.progress.before_earlier.selected;
        if (selected || self.progress.stuck.is_some()) && self.ask(out).is_some() {
            return Ok(true);
        }
        // Nobody can be asked: most reads are as long as a window.
        take_all(&mut self.progress.earlier, out);
        self.turn_binary(block, done)
    }

    /// Lets the real grep read the input once more, prints what it prints of it behind what was printed, and says what it says.
    /// `None`, and nothing printed, if it cannot be started, or does not get so far.
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let itself = self.itself.as_ref()?;
        // Where its buffer has grown, that may have been for an input before this one.
        let alone = self.progress.reads.are_short();
        let first = if alone { self.operands - 1 } else { 0 };
        if !alone && self.cannot_repeat {
            return None;
        }
        let name = (!self.reads_stdin).then(|| self.printer.name());
        let arguments = self.options.arguments_for(first..self.operands, name)?;
        let back = self.from_stdin.filter(|_| self.reads_stdin || !alone);
        let before = if alone { self.printed_before } else { 0 };
        let mut known = self.printed + (out.len() - self.since) as u64 - before;
        let mut real = itself.start_again(arguments, back).ok()?;
        let (mut rest, mut block) = (Vec::new(), vec![0; BLOCK_BYTES]);
        // What cannot be read on is at its end.
        while let Ok(read @ 1..) = real.read(&mut block) {
            let ends = if self.ends_only { lines_ended(&block[..read]) as usize } else { read };
            let skipped = known.min(ends as u64) as usize;
            known -= skipped as u64;
            match self.ends_only {
                true => rest.resize(rest.len() + ends - skipped, b'\n'),
                false => rest.extend_from_slice(&block[skipped..read]),
            }
        }
        let said = real.said();
        let status = real.end().map_or(2, Ended::status);
        // 2: a file could not be opened, as was said.
        if status > 2 || known > 0 {
            return None;
        }
        out.extend_from_slice(&rest);
        self.any |= status == 0;
        self.progress.earlier.clear();
        self.progress.unsure.clear();
        self.progress.stuck = None;
        self.progress.asked = Some(said.ends_with(&self.is_binary()));
        Some(())
    }

    /// What is said of an input that is not text.
    fn is_binary(&self) -> Vec<u8> {
        [b"grep: ", self.printer.name(), b": binary file matches\n"].concat()
    }

    /// The last lines of a read without a NUL: they are printed, and so is what was unsure.
    fn search_sure(&mut self, block: &[u8], lines: Range<usize>, out: &mut Vec<u8>) -> Result<(), HandOver> {
        let before = out.len();
        out.extend_from_slice(&self.progress.unsure);
        match self.search(&block[lines.clone()], out) {
            Ok(full) => {
                self.progress.unsure.clear();
                self.progress.full = full;
            }
            Err(hand_over) if self.progress.reads.follow_blocks() => {
                self.progress.unsure.clear();
                return Err(HandOver { consumed: lines.start + hand_over.consumed, ..hand_over });
            }
            Err(hand_over) => {
                out.truncate(before);
                self.get_stuck(&block[lines], hand_over.reason);
            }
        }
        Ok(())
    }

    /// Lines of a read that is not over.
    fn search_unsure(&mut self, block: &[u8], lines: Range<usize>) -> Result<(), HandOver> {
        let mut unsure = std::mem::take(&mut self.progress.unsure);
        let found = self.search(&block[lines.clone()], &mut unsure);
        self.progress.unsure = unsure;
        match found {
            Ok(full) => {
                if self.keeps {
                    self.progress.kept.extend_from_slice(&block[lines]);
                }
                self.progress.full = full;
            }
            Err(hand_over) => self.get_stuck(&block[lines], hand_over.reason),
        }
        Ok(())
    }

    /// The expression cannot judge one of these lines.
    fn get_stuck(&mut self, lines: &[u8], reason: &'static str) {
        self.keep(lines);
        self.progress.stuck = Some(reason);
    }

    /// Lines of the current read that are not searched: the real grep will get them.
    fn keep(&mut self, lines: &[u8]) {
        self.progress.kept.extend_from_slice(lines);
        self.printer.pass(lines);
    }

    /// The real grep gets the current read, so that it finds a NUL in it where this one would.
    fn give_read(&mut self, consumed: usize, reason: &'static str) -> HandOver {
        self.hold(&self.progress.before.clone());
        self.held.append(&mut self.progress.kept);
        HandOver { consumed, reason }
    }

    /// There is a NUL in the current read.
    fn turn_binary(&mut self, block: &[u8], done: usize) -> Result<Enough, HandOver> {
        self.progress.unsure.clear();
        self.progress.binary = Some(self.progress.before.selected);
        if let Some(reason) = self.progress.stuck {
            return Err(self.give_read(done, reason));
        }
        if self.progress.selected > self.progress.before.selected {
            return Ok(true);
        }
        self.search_zapped(&block[done..], done)
    }

    /// Where NULs end lines. `done`: bytes of the block that lie before.
    fn search_zapped(&mut self, block: &[u8], done: usize) -> Result<Enough, HandOver> {
        let mut zapped = std::mem::take(&mut self.zapped);
        zapped.clear();
        zapped.extend(block.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }));
        let judged = self.judged(&zapped);
        let enough = self.count(&zapped[..judged]);
        self.zapped = zapped;
        if !enough && judged < block.len() {
            // The real grep starts at a line's start, or behind a NUL: it cannot tell the two apart.
            let hand_over = self.hand_over(block, judged, "characters that only the real grep judges");
            return Err(HandOver { consumed: done + judged, ..hand_over });
        }
        self.printer.pass(block);
        Ok(enough)
    }

    /// What is known now, after so many lines.
    fn now(&self, lines: u64) -> Before {
        Before { lines, selected: self.progress.selected, withheld: self.progress.withheld.clone() }
    }

    fn hand_over(&mut self, block: &[u8], consumed: usize, reason: &'static str) -> HandOver {
        let lines = if self.options.line_numbers { self.printer.lines_before(block, consumed) } else { 0 };
        self.hold(&self.now(lines));
        HandOver { consumed, reason }
    }

    /// Makes up what the real grep must see first to know what this one knows: as many lines that it does not select
    /// for line numbers, as many that it does for a count, a NUL or an invalid character for the message.
    fn hold(&mut self, before: &Before) {
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
        let matches = self.progress.asked.unwrap_or(nul || self.progress.withheld.is_some());
        if !self.options.is_quiet() && !self.unread && matches {
            self.complaints.extend_from_slice(&self.is_binary());
        }
    }
}

/// Moves all of it behind `out`.
fn take_all(from: &mut Vec<u8>, out: &mut Vec<u8>) {
    if out.is_empty() { std::mem::swap(from, out) } else { out.append(from) }
}

fn lines_ended(block: &[u8]) -> u64 {
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

    fn inputs_are(&mut self, kinds: &[InputKind]) {
        self.kinds = kinds.to_vec();
    }

    fn input_is(&mut self, kind: InputKind) {
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

    fn lend(&mut self, means: &Means) {
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

    fn insists(&mut self) -> bool {
        !self.options.text && !self.options.is_quiet() && self.printed <= BUFFER_BYTES
    }

    fn nobody_reads(&mut self) {
        self.unread = true;
    }

    fn complaints(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        i32::from(!self.any)
    }

    fn status_after(&self, real: i32) -> i32 {
        if real == 1 { self.status() } else { real }
    }
}
