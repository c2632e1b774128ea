//! `expand`: GNU coreutils.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_10, OtherVersions};
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::bytes::tab_stops::Stops;
use crate::tool::argv::{Opt, Order, Takes, opt, parse, short};
use crate::{Accept, Command, Context, Declined, Facts, Input, Lines, OutputFacts, OverParts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Initial,
    Tabs,
    Digit,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Initial, b'i', "initial", Takes::Nothing),
    opt(Id::Tabs, b't', "tabs", Takes::Value),
    short(Id::Digit, b'0', Takes::MaybeValue),
];

#[derive(Debug)]
struct Expand {
    stops: Stops,
    initial: bool,
    inputs: Vec<Input>,
}

/// The tool row of `expand`.
pub(crate) static TOOL: Tool = Tool {
    name: "expand",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors { write: io_errors::write_error_twice_if_early, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-t4"], "é\tx\n", "é  x\n".as_bytes())],
    cost: |_| Rate::both(3.5, 0.15, 1.1),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &["-i", "-t@p", "-t @p", "-t 3,@p", "-t 2,9,20", "-@p", "--tabs=@p", "-it@p", "-t /4"],
    ),
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Digit) {
        return Declined::because("an obsolete tab list");
    }
    if parsed.options().filter(|(id, _)| *id == Id::Tabs).count() > 1 {
        return Declined::because("several tab lists");
    }
    let stops = match parsed.last_value(Id::Tabs) {
        None => Stops::USUAL,
        Some(list) => Stops::parse(list)?,
    };
    let inputs = Input::from_operands(&parsed.operands());
    Ok(Box::new(Expand { stops, initial: parsed.has(Id::Initial), inputs }))
}

impl Command for Expand {
    fn facts(&self) -> Facts {
        Facts {
            lines: Lines::Kept,
            over_parts: OverParts::Concatenated,
            output: OutputFacts::of_input(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let stops = self.stops.clone();
        Ok(Box::new(ExpandKernel { stops, initial: self.initial, column: 0, converting: true }))
    }
}

struct ExpandKernel {
    stops: Stops,
    initial: bool,
    column: u64,
    /// Whether tabs are still converted: among the leading blanks, or without -i.
    converting: bool,
}

impl ExpandKernel {
    /// Prints text without tabs and line ends.
    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(text);
        if !self.converting {
            return;
        }
        if memchr::memchr(0x08, text).is_none() {
            self.column += text.len() as u64;
        } else {
            for &byte in text {
                self.column = if byte == 0x08 { self.column.saturating_sub(1) } else { self.column + 1 };
            }
        }
        self.converting = !self.initial || text.iter().all(|&byte| byte == b' ');
    }

    fn tab(&mut self, out: &mut Vec<u8>) {
        if !self.converting {
            out.push(b'\t');
            return;
        }
        // After the last stop a tab is one blank.
        let stop = self.stops.after(self.column).unwrap_or(self.column + 1);
        out.resize(out.len() + (stop - self.column) as usize, b' ');
        self.column = stop;
    }
}

impl Kernel for ExpandKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut whole = 0;
        if let Some(end) = memchr::memrchr(b'\n', block)
            && memchr::memchr(b'\t', &block[..end]).is_none()
        {
            // Whole lines without tabs or backspaces are unchanged, with or without -i.
            out.extend_from_slice(&block[..=end]);
            (self.column, self.converting) = (0, true);
            whole = end + 1;
        }
        let block = &block[whole..];
        let mut start = 0;
        for at in memchr::memchr2_iter(b'\t', b'\n', block) {
            if at > start {
                self.text(&block[start..at], out);
            }
            if block[at] == b'\t' {
                self.tab(out);
            } else {
                out.push(b'\n');
                (self.column, self.converting) = (0, true);
            }
            start = at + 1;
        }
        if start < block.len() {
            self.text(&block[start..], out);
        }
        Ok(Flow::More)
    }
}
