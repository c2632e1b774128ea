//! Scripts with independent lines, run command by command over whole blocks.
//!
//! Each command becomes a pass over all lines of a block, so that expressions are searched across lines and
//! text without matches is copied at once. That equals running all commands on each line, since no command
//! looks at another line and none makes a newline.

use pelton_stream::{Flow, Framing, HandOver, Kernel, Outcome, Parallel, Peer};

use super::machine::{LEFT, SedMode, UNJUDGED};
use super::program::{At, Instruction, Program, Select, Substitution, Work};
use super::script::Action;
use super::substitute::Stop;
use crate::regex::{Judges, Regex};
use crate::{ByteMap, ByteMapKernel, ByteSet};

/// One command over a block.
#[derive(Clone, Debug)]
enum Pass {
    Map(Box<ByteMapKernel>),
    Substitute(Box<Substitution>),
    /// `s` on matching lines, or on the others.
    SubstituteIn {
        lines: Box<Regex>,
        negated: bool,
        substitution: Box<Substitution>,
    },
    /// Keeps matching lines, or the others.
    Keep {
        lines: Box<Regex>,
        negated: bool,
    },
    /// Keeps lines with a replacement: `s///p` with `-n`.
    Replaced(Box<Substitution>),
}

/// All commands.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    passes: Vec<Pass>,
    judges: Judges,
    /// Whether the last printed line lacks its terminator, which comes before any further output.
    newline_missing: bool,
    /// The output of one pass for the next.
    made: Vec<u8>,
    spare: Vec<u8>,
}

impl Passes {
    /// `None` if the script is of another kind.
    pub(super) fn new(program: &Program, manner: SedMode) -> Option<Passes> {
        if program.counts || !program.plain_lines || manner.separate {
            return None;
        }
        let (last, first) = program.steps.split_last()?;
        let mut passes = first.iter().map(pass).collect::<Option<Vec<Pass>>>()?;
        passes.push(if manner.quiet { printing_pass(last)? } else { pass(last)? });
        let judges = program.judges;
        Some(Passes { passes, judges, newline_missing: false, made: Vec::new(), spare: Vec::new() })
    }

    /// Runs all passes over whole lines.
    fn run(&mut self, lines: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let Some((last, first)) = self.passes.split_last_mut() else { return Ok(()) };
        let mut passed = false;
        for pass in first {
            self.spare.clear();
            pass.run(if passed { &self.made } else { lines }, &mut self.spare)?;
            std::mem::swap(&mut self.made, &mut self.spare);
            passed = true;
        }
        last.run(if passed { &self.made } else { lines }, out)
    }

    /// Runs all passes; adds an earlier line's missing terminator, and leaves `out` unchanged on failure.
    fn print(&mut self, lines: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let start = out.len();
        if self.newline_missing {
            out.push(b'\n');
        }
        let printed = out.len();
        let result = self.run(lines, out);
        if result.is_err() || out.len() == printed {
            out.truncate(start);
        } else {
            self.newline_missing = false;
        }
        result
    }

    /// Processes whole lines. The error is the number of processed bytes before a line for the real sed.
    fn whole_lines(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
        if self.print(block, out).is_ok() {
            return Ok(());
        }
        let mut at = 0;
        while at < block.len() {
            let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |end| at + end + 1);
            self.print(&block[at..end], out).map_err(|Stop| at)?;
            at = end;
        }
        Ok(())
    }

    /// Processes a last line without terminator.
    fn open_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let before = out.len();
        self.print(&[line, b"\n"].concat(), out)?;
        if out.len() > before {
            out.pop();
            self.newline_missing = true;
        }
        Ok(())
    }
}

impl Kernel for Passes {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let unjudged = self.judges.first_unjudged(block);
        let judged = &block[..unjudged.unwrap_or(block.len())];
        let whole = memchr::memrchr(b'\n', judged).map_or(0, |end| end + 1);
        let leave = |consumed, reason| HandOver::at(consumed, reason);
        self.whole_lines(&block[..whole], out).map_err(|consumed| leave(consumed, LEFT))?;
        if unjudged.is_some() {
            return Err(leave(whole, UNJUDGED));
        }
        if whole < block.len() {
            self.open_line(&block[whole..], out).map_err(|Stop| leave(whole, LEFT))?;
        }
        Ok(Flow::More)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for Passes {
    fn fork(&mut self) -> Option<Peer> {
        (!self.newline_missing).then(|| Peer::of_blocks(self.clone()))
    }
}

/// Makes the pass of a command that does not print.
fn pass(step: &Instruction) -> Option<Pass> {
    let negated = step.negated;
    Some(match (&step.lines, &step.work) {
        (Select::All, Work::Substitute(substitution)) if !negated && !substitution.says.prints() => {
            Pass::Substitute(substitution.clone())
        }
        (Select::All, Work::Plain(Action::Translate(to))) if !negated => {
            let mut map = ByteMap { to: **to, deleted: ByteSet::none() };
            // A line does not contain its terminator.
            map.to[usize::from(b'\n')] = b'\n';
            Pass::Map(Box::new(ByteMapKernel::new(&map)))
        }
        (Select::At(At::Matching(regex)), Work::Substitute(substitution)) if !substitution.says.prints() => {
            let (lines, substitution) = (regex.clone(), substitution.clone());
            Pass::SubstituteIn { lines, negated, substitution }
        }
        (Select::At(At::Matching(regex)), Work::Plain(Action::Delete)) => {
            Pass::Keep { lines: regex.clone(), negated: !negated }
        }
        _ => return None,
    })
}

/// Makes the pass of a script's last command with `-n`, if it prints.
fn printing_pass(step: &Instruction) -> Option<Pass> {
    match (&step.lines, &step.work) {
        (Select::At(At::Matching(regex)), Work::Plain(Action::Print)) => {
            Some(Pass::Keep { lines: regex.clone(), negated: step.negated })
        }
        (Select::All, Work::Substitute(substitution))
            if !step.negated && substitution.says.print && !substitution.says.aside =>
        {
            Some(Pass::Replaced(substitution.clone()))
        }
        _ => None,
    }
}

impl Pass {
    /// Runs over whole lines, possibly none.
    fn run(&mut self, lines: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        match self {
            _ if lines.is_empty() => {}
            Pass::Map(map) => map.apply(lines, out),
            Pass::Substitute(substitution) => substitution.lines(lines, out)?,
            Pass::SubstituteIn { lines: regex, negated: false, substitution } => {
                substitute_in(regex, substitution, lines, out)?;
            }
            Pass::SubstituteIn { lines: regex, negated: true, substitution } => {
                substitute_between(regex, substitution, lines, out)?;
            }
            Pass::Keep { lines: regex, negated } => regex.keep_lines(lines, *negated, out),
            Pass::Replaced(substitution) => replaced(substitution, lines, out)?,
        }
        Ok(())
    }
}

fn substitute_in(
    regex: &mut Regex,
    substitution: &mut Substitution,
    block: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let (mut at, mut copied) = (0, 0);
    while let Some(line) = regex.next_line(block, at) {
        out.extend_from_slice(&block[copied..line.start]);
        copied = line.start;
        if substitution.line(&block[line.clone()], out)? {
            copied = line.end;
        }
        at = line.end + 1;
    }
    out.extend_from_slice(&block[copied..]);
    Ok(())
}

/// Substitutes only in lines that do not match.
fn substitute_between(
    regex: &mut Regex,
    substitution: &mut Substitution,
    block: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut at = 0;
    while let Some(line) = regex.next_line(block, at) {
        substitution.lines(&block[at..line.start], out)?;
        out.extend_from_slice(&block[line.start..=line.end]);
        at = line.end + 1;
    }
    substitution.lines(&block[at..], out)
}

fn replaced(substitution: &mut Substitution, block: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
    let mut at = 0;
    while let Some(line) = substitution.regex.next_line(block, at) {
        at = line.end + 1;
        if substitution.line(&block[line], out)? {
            out.push(b'\n');
        }
    }
    Ok(())
}

impl Substitution {
    /// Executes `s` on each of some whole lines, possibly none.
    fn lines(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let Some(end) = block.len().checked_sub(1) else { return Ok(()) };
        match (self.says.nth, self.says.global) {
            (1, false) => self.first_of_lines(block, end, out),
            (1, true) if !self.regex.may_match_nothing() => self.all_of_lines(block, end, out),
            _ => self.line_by_line(block, out),
        }
    }

    /// Replaces the first match of each line. `end` is the offset of the last newline.
    fn first_of_lines(&mut self, block: &[u8], end: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
        let (mut at, mut copied) = (0, 0);
        while at <= end
            && let Some(found) = self.regex.find(block, at..end)?
        {
            out.extend_from_slice(&block[copied..found.0]);
            self.replace(block, found, out)?;
            copied = found.1;
            at = memchr::memchr(b'\n', &block[copied..]).map_or(block.len(), |newline| copied + newline + 1);
        }
        out.extend_from_slice(&block[copied..]);
        Ok(())
    }

    fn all_of_lines(&mut self, block: &[u8], end: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
        let mut copied = 0;
        while let Some(found) = self.regex.find(block, copied..end)? {
            out.extend_from_slice(&block[copied..found.0]);
            self.replace(block, found, out)?;
            copied = found.1;
        }
        out.extend_from_slice(&block[copied..]);
        Ok(())
    }

    /// Handles numbered or possibly empty matches.
    fn line_by_line(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let (mut at, mut copied) = (0, 0);
        while let Some(line) = self.regex.next_line(block, at) {
            out.extend_from_slice(&block[copied..line.start]);
            copied = line.start;
            if self.line(&block[line.clone()], out)? {
                copied = line.end;
            }
            at = line.end + 1;
        }
        out.extend_from_slice(&block[copied..]);
        Ok(())
    }
}
