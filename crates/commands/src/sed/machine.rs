//! Runs a script line by line, as sed does: the kernel for every accepted script.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Parallel, Peer};

use super::program::{Program, Work};
use super::script::Action;
use super::spaces::{Held, Line, Space};
use super::substitute::Stop;
use crate::bytes::scan;

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SedMode {
    /// `-n`
    pub(super) quiet: bool,
    /// `-s`: each file separately.
    pub(super) separate: bool,
    /// The line terminator.
    pub(super) line_end: u8,
    /// `-l`: the column where `l` breaks lines.
    pub(super) columns: u64,
}

/// The command to continue with on the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// `n`
    Fresh(usize),
    /// `N`: the line is appended.
    Joined(usize),
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) program: Program,
    pub(super) manner: SedMode,
    /// Lines so far (of this input, with `-s`).
    number: u64,
    /// A line that may be the last, with its terminator if it has one.
    pending: Vec<u8>,
    /// Whether the last printed line lacks its terminator, which comes before any further output.
    pub(super) newline_missing: bool,
    /// The same for output by `w /dev/stdout`.
    pub(super) newline_missing_aside: bool,
    /// The command to continue with on the next line, if not the first.
    pub(super) waits: Option<Waits>,
    /// Texts of `a`, for the end of the cycle.
    pub(super) appended: Vec<u8>,
    pub(super) space: Space,
    pub(super) held: Held,
    /// Whether `s` has replaced something since a line was read, or `t` was executed.
    pub(super) replaced: bool,
    /// A buffer for the result of `s`.
    pub(super) spare: Vec<u8>,
    inputs_begun: usize,
    pub(super) quit: Option<u8>,
}

impl Machine {
    pub(super) fn new(program: Program, manner: SedMode) -> Self {
        Machine {
            program,
            manner,
            number: 0,
            pending: Vec::new(),
            newline_missing: false,
            newline_missing_aside: false,
            waits: None,
            appended: Vec::new(),
            space: Space::default(),
            held: Held::default(),
            replaced: false,
            spare: Vec::new(),
            inputs_begun: 0,
            quit: None,
        }
    }

    /// Processes one record, with its terminator if it has one.
    fn record(&mut self, record: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        let ended = record.last() == Some(&self.manner.line_end);
        let text = &record[..record.len() - usize::from(ended)];
        self.number += 1;
        let line = Line { text, last, number: self.number };
        let (before, missing) = (out.len(), (self.newline_missing, self.newline_missing_aside));
        self.cycle(line, ended, out).inspect_err(|_| {
            out.truncate(before);
            (self.newline_missing, self.newline_missing_aside) = missing;
            self.appended.clear();
        })
    }

    /// Processes the pending line, now that it is known whether it is the last.
    fn release(&mut self, last: bool, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        if self.pending.is_empty() {
            return Ok(Flow::More);
        }
        let pending = std::mem::take(&mut self.pending);
        let flow = self.record(&pending, last, out);
        if flow.is_ok() {
            self.pending = pending;
            self.pending.clear();
        } else {
            self.pending = pending;
        }
        flow
    }

    /// Processes all records of a block. The error is the number of processed bytes before a record for the
    /// real sed.
    fn records(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Flow, usize> {
        let mut at = 0;
        while at < block.len() {
            let idle = self.idle_lines();
            if idle > 0 {
                let length = scan::end_of_nth(&block[at..], self.manner.line_end, idle);
                at += self.pass(&block[at..], length, idle, out);
                continue;
            }
            let end =
                memchr::memchr(self.manner.line_end, &block[at..]).map_or(block.len(), |end| at + end + 1);
            if self.record(&block[at..end], false, out).map_err(|Stop| at)? == Flow::Done {
                return Ok(Flow::Done);
            }
            at = end;
        }
        Ok(Flow::More)
    }

    /// Processes lines without commands: prints them unchanged, or not.
    fn pass(&mut self, block: &[u8], found: Result<usize, u64>, lines: u64, out: &mut Vec<u8>) -> usize {
        let open = block.last() != Some(&self.manner.line_end);
        let (length, lines) = match found {
            Ok(length) => (length, lines),
            Err(found) => (block.len(), found + u64::from(open)),
        };
        self.number += lines;
        if !self.manner.quiet {
            self.pay_end(out);
            out.extend_from_slice(&block[..length]);
            self.newline_missing = length == block.len() && open;
        }
        length
    }

    /// Returns how many following lines have no command.
    fn idle_lines(&self) -> u64 {
        if self.waits.is_some() {
            return 0;
        }
        let mut idle = u64::MAX;
        let mut at = 0;
        while let Some(step) = self.program.steps.get(at) {
            idle = idle.min(if step.negated { 0 } else { step.lines.idle(self.number) });
            if idle == 0 {
                return 0;
            }
            at = match step.work {
                Work::Plain(Action::Block(end)) => end,
                _ => at + 1,
            };
        }
        idle
    }

    /// Processes the lines of a block that are not the last; holds the others.
    fn push_holding(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.release(false, out).map_err(|Stop| self.leave(0, LEFT))? == Flow::Done {
            return Ok(Flow::Done);
        }
        let body = &block[..block.len() - usize::from(block.last() == Some(&self.manner.line_end))];
        let last = memchr::memrchr(self.manner.line_end, body).map_or(0, |at| at + 1);
        let flow = self.records(&block[..last], out).map_err(|consumed| self.leave(consumed, LEFT))?;
        self.pending.extend_from_slice(&block[last..]);
        Ok(flow)
    }

    /// Falls back: the real sed also gets the lines that were held.
    fn leave(&mut self, consumed: usize, reason: &'static str) -> HandOver {
        HandOver::at(consumed, reason).with_unconsumed(std::mem::take(&mut self.pending))
    }
}

/// Why a line is left to the real sed.
pub(super) const LEFT: &str = "a line that is dear to search or not ASCII";
pub(super) const UNJUDGED: &str = "bytes that are no characters of the locale, or not ASCII";

impl Kernel for Machine {
    fn framing(&self) -> Framing {
        Framing::Records(self.manner.line_end)
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {
        self.inputs_begun += 1;
        if self.manner.separate && self.inputs_begun > 1 {
            self.number = 0;
            self.held.text.clear();
            self.program.steps.iter_mut().for_each(|step| step.lines.reset());
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.program.wants_last {
            return self.push_holding(block, out);
        }
        let unjudged = self.program.judges.first_unjudged(block);
        let judged = unjudged.map_or(block.len(), |at| {
            memchr::memrchr(self.manner.line_end, &block[..at]).map_or(0, |end| end + 1)
        });
        let flow = self.records(&block[..judged], out).map_err(|consumed| self.leave(consumed, LEFT))?;
        if flow == Flow::More && unjudged.is_some() {
            return Err(self.leave(judged, UNJUDGED));
        }
        Ok(flow)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        if !self.manner.separate {
            return Ok(Flow::More);
        }
        self.release(true, out).map_err(|Stop| self.leave(0, LEFT))
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.release(true, out).map_err(|Stop| self.leave(0, LEFT))?;
        Ok(Flow::Done)
    }

    fn status(&self) -> i32 {
        self.quit.unwrap_or(0).into()
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Machine {
    fn fork(&mut self) -> Option<Peer> {
        let alone = !self.program.counts && !self.newline_missing && !self.newline_missing_aside;
        alone.then(|| Peer::of_blocks(Machine::new(self.program.clone(), self.manner)))
    }
}
