//! Lines of possibly binary data: their output waits until the read is known to be text
//! ([`Reads`](super::reads::Reads)).
//!
//! ```text
//!   of a pipe, or grep's first read:  searched ─► unsure ─► the read ends without a NUL: printed
//!   of a file after that:             searched ─► unsure ─► earlier, once a window ends without a NUL ─►
//!                                       printed, once the next window does
//!                                       a NUL in `unsure` or `earlier`: the real grep prints these lines
//! ```

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use pelton_stream::HandOver;

use crate::tool::second_run::SecondRun;

use super::rerun::Again;
use super::search::{Enough, GrepKernel, take_all};

/// grep's status after an error.
const TROUBLE: i32 = 2;
/// Up to this many bytes are searched twice rather than misjudge a NUL.
const FEW_BYTES: u64 = 16 << 20;
/// Where lines of context are not counted, they are taken for no more than this. Each half of it must have as many lines.
const KEPT: usize = 24 << 10;

impl GrepKernel {
    /// Processes lines that are printed unless there is a NUL in the same read.
    pub(super) fn push_unsure(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        self.progress.reads.make_room(block, self.kept_besides(block));
        let offset = self.printer.offset();
        let nul = if self.may_hold_nuls(block) { memchr(0, block) } else { None }.unwrap_or(usize::MAX);
        // No line ends from `done` to `seen`: a long line is not scanned again.
        let (mut done, mut seen) = (0, 0);
        loop {
            let (within, ends) = self.progress.reads.within(block, offset);
            let comes =
                self.progress.nul.is_some_and(|at| self.progress.reads.has(at, self.progress.arrived));
            if comes || nul < within {
                let reads = &self.progress.reads;
                // A grep that could not continue must not get data through a pipe that is read from a file.
                return match reads.are_of_pipe() || reads.are_known() && self.progress.stuck.is_none() {
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
                self.search_unsure(block, done..lines, ends)?;
            }
            (done, seen) = (lines, within);
            if !ends {
                return Ok(false);
            }
            if let Some(reason) = self.progress.stuck {
                if self.start_over(done, out) {
                    return Ok(true);
                }
                take_all(&mut self.progress.earlier, out);
                return Err(self.give_read(done, reason));
            }
            if self.pass_read(out) {
                return Ok(true);
            }
            self.progress.reads.next(block, offset, self.progress.arrived);
            if within == block.len() {
                return Ok(false);
            }
        }
    }

    /// Returns how many bytes grep may keep in its buffer, besides the rest of a line, for lines of context before a
    /// selected one.
    fn kept_besides(&self, block: &[u8]) -> usize {
        let before = self.options.around.map_or(0, |around| around.before);
        let has_enough =
            |half: &[u8]| half.len() < KEPT / 2 || memchr_iter(b'\n', half).nth(before - 1).is_some();
        if before == 0 {
            0
        } else if self.past.kept.len() <= KEPT / 2 && block.chunks(KEPT / 2).all(has_enough) {
            KEPT
        } else {
            self.past.kept.len() + block.len()
        }
    }

    /// Passes a read, or a window, without a NUL.
    fn pass_read(&mut self, out: &mut Vec<u8>) -> Enough {
        let now = self.now(self.printer.lines());
        let progress = &mut self.progress;
        progress.kept.clear();
        take_all(&mut progress.earlier, out);
        progress.selected_earlier = std::mem::replace(&mut progress.before, now).selected;
        if progress.reads.are_known() {
            take_all(&mut progress.unsure, out);
            progress.selected_earlier = progress.selected;
            return progress.full;
        }
        std::mem::swap(&mut progress.earlier, &mut progress.unsure);
        std::mem::replace(&mut progress.full_earlier, progress.full)
    }

    /// Handles the first NUL, at the end of this range, in a read whose start is unknown.
    fn meet_nul(&mut self, block: &[u8], range: Range<usize>, out: &mut Vec<u8>) -> Result<Enough, HandOver> {
        let mut done = range.start;
        let lines = memrchr(b'\n', &block[range]).map_or(done, |newline| done + newline + 1);
        if done < lines && self.progress.stuck.is_none() && !self.progress.full {
            self.search_unsure(block, done..lines, true)?;
            if self.progress.stuck.is_none() {
                done = lines;
            }
        }
        let holds_any = !self.progress.earlier.is_empty() || !self.progress.unsure.is_empty();
        // After a selected line, lines of context may be printed of a read with a NUL.
        let is_context = self.options.around.is_some() && self.past.has_printed;
        let selected = holds_any || is_context || self.progress.selected > self.progress.selected_earlier;
        if (selected || self.progress.stuck.is_some()) && self.ask(out).is_some() {
            return Ok(true);
        }
        // The real grep cannot be run: most reads are as long as a window.
        take_all(&mut self.progress.earlier, out);
        self.turn_binary(block, done)
    }

    /// Lets the real grep read the input again, prints the new part of its output, and reports its message.
    /// `None`, with nothing printed, if it cannot be started, or does not get that far.
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let mut again = self.start_again(out.len() - self.since)?;
        let mut rest = Vec::new();
        while again.run.read_on(&mut rest) {}
        let is_short = again.run.is_short();
        let said = self.end_again(again);
        // If it was killed, the rest of its output is unknown.
        if self.trouble.take_if(|status| *status > TROUBLE).is_some() || is_short {
            return None;
        }
        out.extend_from_slice(&rest);
        self.leave_to_real(said);
        Some(())
    }

    /// Restarts with the real grep after a line in the current read that the expression does not support, if
    /// the input is a file and little of it is done: grep reads a file and a pipe differently, which shows
    /// where a NUL follows.
    pub(super) fn start_over(&mut self, done: usize, out: &mut Vec<u8>) -> bool {
        let at = self.printer.offset() + done as u64;
        // Lines of context cannot be told to a grep that goes on.
        let is_far = at > FEW_BYTES && self.options.around.is_none();
        if self.progress.reads.are_of_pipe() || is_far {
            return false;
        }
        // What it prints of the last input may come at the end.
        if self.options.inputs.len() > 1 {
            return self.ask(out).is_some();
        }
        self.real = self.start_again(out.len() - self.since);
        if self.real.is_some() {
            self.leave_to_real(Vec::new());
        }
        self.real.is_some()
    }

    /// Starts the real grep over what was read. It knows what was printed before, and `since` bytes since
    /// this block came.
    fn start_again(&self, since: usize) -> Option<Again> {
        // Its buffer may have grown for an earlier input, and lines between groups may come from one.
        let alone = self.progress.reads.are_short() && (self.options.around.is_none() || self.operands == 1);
        if !alone && self.cannot_repeat {
            return None;
        }
        let (first, before) = if alone { (self.operands - 1, self.printed_before) } else { (0, 0) };
        let name = (!self.reads_stdin).then(|| self.printer.name());
        let arguments = self.options.arguments_for(first..self.operands, name)?;
        let back = self.from_stdin.filter(|_| self.reads_stdin || !alone);
        let known = self.printed + since as u64 - before;
        let run = SecondRun::start(self.itself.as_ref(), arguments, back, known)?;
        Some(Again { run: run.with_ends_only(self.ends_only), alone })
    }

    /// Returns its message.
    fn end_again(&mut self, again: Again) -> Vec<u8> {
        let (said, status) = again.run.end();
        let status = status.unwrap_or(TROUBLE);
        self.any |= status == 0;
        if again.alone {
            self.trouble = self.trouble.max((status >= TROUBLE).then_some(status));
            return said;
        }
        // Its messages about earlier inputs were printed already.
        let message = self.is_binary();
        if said.ends_with(&message) { message } else { Vec::new() }
    }

    fn leave_to_real(&mut self, said: Vec<u8>) {
        let progress = &mut self.progress;
        progress.earlier.clear();
        progress.unsure.clear();
        progress.kept.clear();
        progress.stuck = None;
        progress.asked = Some(said);
    }

    /// Prints more output of the restarted real grep. Returns `false` at its end.
    pub(super) fn read_on(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut again) = self.real.take() else { return false };
        if again.run.read_on(out) {
            self.real = Some(again);
            return true;
        }
        let said = self.end_again(again);
        self.complaints.extend(said);
        false
    }

    /// Searches the last lines of a read without a NUL: they are printed, and so is the withheld output.
    fn search_sure(&mut self, block: &[u8], lines: Range<usize>, out: &mut Vec<u8>) -> Result<(), HandOver> {
        let before = out.len();
        out.extend_from_slice(&self.progress.unsure);
        match self.search(&block[lines.clone()], out) {
            Ok(full) => {
                self.progress.unsure.clear();
                self.progress.full = full;
            }
            Err(hand_over) if self.progress.reads.are_of_pipe() => {
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

    /// Searches lines of a read not yet known to be text. `ends`: they are the last of it.
    fn search_unsure(&mut self, block: &[u8], lines: Range<usize>, ends: bool) -> Result<(), HandOver> {
        let mut unsure = std::mem::take(&mut self.progress.unsure);
        let found = self.search(&block[lines.clone()], &mut unsure);
        self.progress.unsure = unsure;
        match found {
            Ok(full) => {
                // A read that ends without a NUL never goes to the real grep.
                if self.keeps && !ends {
                    self.progress.kept.extend_from_slice(&block[lines]);
                }
                self.progress.full = full;
            }
            Err(hand_over) => self.get_stuck(&block[lines], hand_over.reason),
        }
        Ok(())
    }

    /// Records that the expression does not support one of these lines.
    fn get_stuck(&mut self, lines: &[u8], reason: &'static str) {
        self.keep(lines);
        self.progress.stuck = Some(reason);
    }

    /// Keeps lines of the current read without a search: the real grep will get them.
    fn keep(&mut self, lines: &[u8]) {
        self.progress.kept.extend_from_slice(lines);
        self.printer.pass(lines);
    }

    /// Gives the current read to the real grep, so that it finds a NUL in it where this one would.
    pub(super) fn give_read(&mut self, consumed: usize, reason: &'static str) -> HandOver {
        let mut unconsumed = self.told(&self.progress.before);
        unconsumed.append(&mut self.progress.kept);
        self.fall_back(consumed, reason, unconsumed)
    }

    /// Handles a NUL in the current read.
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

    /// Searches text where NULs end lines. `done`: bytes of the block before it.
    pub(super) fn search_zapped(&mut self, block: &[u8], done: usize) -> Result<Enough, HandOver> {
        let mut zapped = std::mem::take(&mut self.zapped);
        zapped.clear();
        zapped.extend(block.iter().map(|&byte| if byte == 0 { b'\n' } else { byte }));
        let judged = self.judged(&zapped);
        let enough = self.count(&zapped[..judged]);
        self.zapped = zapped;
        if !enough && judged < block.len() {
            // The real grep starts at a line's start, or after a NUL: it cannot tell the two apart.
            let hand_over = self.hand_over(block, judged, "characters that only the real grep judges");
            return Err(HandOver { consumed: done + judged, ..hand_over });
        }
        self.printer.pass(block);
        Ok(enough)
    }
}
