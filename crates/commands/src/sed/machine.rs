//! Runs a script line by line, as sed does: the kernel for every script that is taken.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome};

use super::program::{At, Program, Select, State, Step, Until, Work};
use super::script::Action;
use super::substitute::Stop;
use crate::scan;

/// How sed was asked to run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// `-n`
    pub(super) quiet: bool,
    /// `-s`: each file by itself.
    pub(super) separate: bool,
    /// What ends a line.
    pub(super) line_end: u8,
}

pub(super) struct Machine {
    program: Program,
    manner: Manner,
    /// Lines so far (of this input, with `-s`).
    number: u64,
    /// The line that may turn out to be the last, with its end if it has one.
    held: Vec<u8>,
    /// What was printed last was a line without its end; whatever follows gets it.
    owes_end: bool,
    /// `n`: go on here with the next line.
    resume_at: usize,
    /// Texts of `a`, for the end of the cycle.
    appended: Vec<u8>,
    /// The pattern space, if it is no longer the line, and room for the next.
    space: Vec<u8>,
    spare: Vec<u8>,
    inputs_begun: usize,
    quit: Option<u8>,
}

/// One line and where it stands.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a [u8],
    ended: bool,
    last: bool,
    number: u64,
}

/// What comes after a command.
enum Next {
    Go(usize),
    EndCycle {
        print: bool,
    },
    Quit {
        status: u8,
        print: bool,
    },
    /// `n`: print, then the next line goes on here.
    Continue(usize),
}

impl Machine {
    pub(super) fn new(program: Program, manner: Manner) -> Self {
        Machine {
            program,
            manner,
            number: 0,
            held: Vec::new(),
            owes_end: false,
            resume_at: 0,
            appended: Vec::new(),
            space: Vec::new(),
            spare: Vec::new(),
            inputs_begun: 0,
            quit: None,
        }
    }

    /// One record with its end, if it has one.
    fn record(&mut self, record: &[u8], last: bool, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        let ended = record.last() == Some(&self.manner.line_end);
        let text = &record[..record.len() - usize::from(ended)];
        self.number += 1;
        let line = Line { text, ended, last, number: self.number };
        let (before, owed) = (out.len(), self.owes_end);
        self.cycle(line, out).inspect_err(|_| {
            out.truncate(before);
            self.owes_end = owed;
            self.appended.clear();
        })
    }

    fn cycle(&mut self, line: Line, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        let mut at = std::mem::take(&mut self.resume_at);
        let mut changed = false;
        let (print, flow) = loop {
            if at >= self.program.steps.len() {
                break (true, Flow::More);
            }
            match self.step(at, line, &mut changed, out)? {
                Next::Go(next) => at = next,
                Next::EndCycle { print } => break (print, Flow::More),
                Next::Quit { status, print } => {
                    self.quit = Some(status);
                    break (print, Flow::Done);
                }
                Next::Continue(next) => {
                    self.resume_at = next;
                    break (true, Flow::More);
                }
            }
        };
        if print && !self.manner.quiet {
            self.print(line, changed, out);
        }
        match (flow, print) {
            // Q leaves at once; q completes a last line that lacks its end.
            (Flow::Done, false) => {}
            (Flow::Done, true) => {
                self.pay_end(out);
                self.print_appended(out);
            }
            _ => self.print_appended(out),
        }
        Ok(flow)
    }

    fn step(&mut self, at: usize, line: Line, changed: &mut bool, out: &mut Vec<u8>) -> Result<Next, Stop> {
        let Machine { program, space, spare, .. } = self;
        let Step { lines, negated, work } = &mut program.steps[at];
        let text = if *changed { space.as_slice() } else { line.text };
        let chosen = lines.chooses(text, line) != *negated;
        let action = match work {
            Work::Plain(Action::Block(end)) => return Ok(Next::Go(if chosen { at + 1 } else { *end })),
            _ if !chosen => return Ok(Next::Go(at + 1)),
            Work::Substitute(substitution) => {
                spare.clear();
                if substitution.line(text, spare)? {
                    std::mem::swap(space, spare);
                    *changed = true;
                    if substitution.says.print {
                        self.print(line, true, out);
                    }
                }
                return Ok(Next::Go(at + 1));
            }
            Work::Plain(action) => action,
        };
        if let Action::Change(_) = action {
            let inside = matches!(lines, Select::Range { state: State::Inside(_), .. });
            return Ok(self.change(at, inside && !self.program.steps[at].negated, out));
        }
        Ok(self.plain(at, line, changed, out))
    }

    /// `c` prints its text for a line, or at the end of a range.
    fn change(&mut self, at: usize, inside: bool, out: &mut Vec<u8>) -> Next {
        if !inside {
            self.print_text(at, out);
        }
        Next::EndCycle { print: false }
    }

    /// What needs no expression.
    fn plain(&mut self, at: usize, line: Line, changed: &mut bool, out: &mut Vec<u8>) -> Next {
        let Work::Plain(action) = &self.program.steps[at].work else { return Next::Go(at + 1) };
        match action {
            Action::Print => self.print(line, *changed, out),
            Action::Delete => return Next::EndCycle { print: false },
            Action::Quit { status, print } => return Next::Quit { status: *status, print: *print },
            Action::Next if line.last => return Next::EndCycle { print: true },
            Action::Next => return Next::Continue(at + 1),
            Action::Append(text) => self.appended.extend_from_slice(text),
            Action::Insert(_) => self.print_text(at, out),
            Action::Number => {
                self.pay_end(out);
                out.extend_from_slice(line.number.to_string().as_bytes());
                out.push(self.manner.line_end);
            }
            Action::Translate(map) => {
                let text = if *changed { self.space.as_slice() } else { line.text };
                self.spare.clear();
                self.spare.extend(text.iter().map(|&byte| map[usize::from(byte)]));
                std::mem::swap(&mut self.space, &mut self.spare);
                *changed = true;
            }
            Action::Zap => {
                self.space.clear();
                *changed = true;
            }
            Action::Block(_) | Action::Substitute(_) | Action::Change(_) | Action::Alone => {}
        }
        Next::Go(at + 1)
    }

    fn print(&mut self, line: Line, changed: bool, out: &mut Vec<u8>) {
        self.pay_end(out);
        out.extend_from_slice(if changed { &self.space } else { line.text });
        if line.ended {
            out.push(self.manner.line_end);
        } else {
            self.owes_end = true;
        }
    }

    fn print_text(&mut self, at: usize, out: &mut Vec<u8>) {
        self.pay_end(out);
        if let Work::Plain(Action::Insert(text) | Action::Change(text)) = &self.program.steps[at].work {
            out.extend_from_slice(text);
        }
    }

    fn print_appended(&mut self, out: &mut Vec<u8>) {
        if !self.appended.is_empty() {
            self.pay_end(out);
            out.append(&mut self.appended);
        }
    }

    fn pay_end(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.owes_end) {
            out.push(self.manner.line_end);
        }
    }

    /// The line held back, now that it is known whether it is the last.
    fn release(&mut self, last: bool, out: &mut Vec<u8>) -> Result<Flow, Stop> {
        if self.held.is_empty() {
            return Ok(Flow::More);
        }
        let held = std::mem::take(&mut self.held);
        let flow = self.record(&held, last, out);
        if flow.is_ok() {
            self.held = held;
            self.held.clear();
        } else {
            self.held = held;
        }
        flow
    }

    /// All records of a block; how many bytes are done if one must be left to the real sed.
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

    /// Lines that no command is for: printed as they are, or not.
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
            self.owes_end = length == block.len() && open;
        }
        length
    }

    /// How many lines follow that no command is for.
    fn idle_lines(&self) -> u64 {
        if self.resume_at > 0 {
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

    /// The lines of a block that are known not to be the last; the others are held.
    fn push_holding(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let leave = |consumed| HandOver { consumed, reason: LEFT };
        if self.release(false, out).map_err(|Stop| leave(0))? == Flow::Done {
            return Ok(Flow::Done);
        }
        let body = &block[..block.len() - usize::from(block.last() == Some(&self.manner.line_end))];
        let last = memchr::memrchr(self.manner.line_end, body).map_or(0, |at| at + 1);
        let flow = self.records(&block[..last], out).map_err(leave)?;
        self.held.extend_from_slice(&block[last..]);
        Ok(flow)
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
        let flow =
            self.records(&block[..judged], out).map_err(|consumed| HandOver { consumed, reason: LEFT })?;
        if flow == Flow::More && unjudged.is_some() {
            return Err(HandOver { consumed: judged, reason: UNJUDGED });
        }
        Ok(flow)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        if !self.manner.separate {
            return Ok(Flow::More);
        }
        self.release(true, out).map_err(|Stop| HandOver { consumed: 0, reason: LEFT })
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.release(true, out).map_err(|Stop| HandOver { consumed: 0, reason: LEFT })?;
        Ok(Flow::Done)
    }

    fn held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn status(&self) -> i32 {
        self.quit.unwrap_or(0).into()
    }
}

impl Select {
    /// Is the command for this line? Moves a range on.
    fn chooses(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            Select::All => true,
            Select::At(at) => at.is(text, line),
            Select::Range { start, end, state } => match *state {
                State::Inside(until) => inside(end, until, state, text, line),
                State::Behind if matches!(start, At::Number(_)) => false,
                State::Before | State::Behind => {
                    let starts = start.starts(text, line);
                    if starts {
                        *state = begin(start, end, line);
                    }
                    starts && !late(start, end, line.number)
                }
            },
        }
    }

    /// How many lines after this one it is certainly not for.
    fn idle(&self, number: u64) -> u64 {
        match self {
            Select::All => 0,
            Select::At(at) => at.idle(number),
            Select::Range { state: State::Inside(_), .. } => 0,
            // It may have been jumped over.
            Select::Range { start: At::Number(start), state: State::Before, .. } if *start <= number => 0,
            Select::Range { start, .. } => start.idle(number),
        }
    }

    /// A new file, with `-s`.
    fn reset(&mut self) {
        if let Select::Range { start, state, .. } = self {
            *state = if matches!(start, At::Number(0)) { State::Inside(u64::MAX) } else { State::Before };
        }
    }
}

/// A range of numbers that is reached only behind its end, by `n`, is for no line; but one that is upside down is for
/// its first.
fn late(start: &At, end: &Until, number: u64) -> bool {
    match (start, end) {
        (At::Number(first), Until::Number(last)) => number > *last && number != *first,
        _ => false,
    }
}

/// The state of a range whose first line is this one.
fn begin(start: &At, end: &Until, line: Line) -> State {
    let number = line.number;
    let last = match end {
        Until::Number(last) => *last,
        Until::Plus(lines) => number.saturating_add(*lines),
        Until::Multiple(0) => number,
        Until::Multiple(multiple) => (number + 1).next_multiple_of(*multiple),
        Until::Last if line.last => number,
        Until::Last | Until::Matching(_) => return State::Inside(u64::MAX),
    };
    if last > number {
        State::Inside(last)
    } else if matches!(start, At::Number(_)) {
        State::Behind
    } else {
        State::Before
    }
}

/// Inside a range: does it reach this line, and does it end here?
fn inside(end: &mut Until, until: u64, state: &mut State, text: &[u8], line: Line) -> bool {
    let ends = match end {
        Until::Last => line.last,
        Until::Matching(regex) => regex.is_match(text, 0..text.len()),
        Until::Number(_) | Until::Plus(_) | Until::Multiple(_) => line.number >= until,
    };
    if ends {
        *state = State::Behind;
    }
    // Beyond the end it may be by `n`.
    line.number <= until || !matches!(end, Until::Number(_))
}

impl At {
    /// As the start of a range: a number that was jumped over still counts.
    fn starts(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            At::Number(number) => line.number >= *number,
            other => other.is(text, line),
        }
    }

    fn is(&mut self, text: &[u8], line: Line) -> bool {
        match self {
            At::Number(number) => line.number == *number,
            At::Step(first, step) => line.number >= *first && (line.number - *first).is_multiple_of(*step),
            At::Last => line.last,
            At::Matching(regex) => regex.is_match(text, 0..text.len()),
        }
    }

    /// How many lines after this one it is certainly not. The last line is never among those asked about.
    fn idle(&self, number: u64) -> u64 {
        match self {
            At::Number(wanted) if *wanted > number => wanted - number - 1,
            At::Number(_) | At::Last => u64::MAX,
            At::Step(first, _) if *first > number => first - number - 1,
            At::Step(first, step) => step - 1 - (number - first) % step,
            At::Matching(_) => 0,
        }
    }
}
