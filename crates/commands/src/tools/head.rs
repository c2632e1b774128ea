//! `head`: GNU coreutils.

use std::ops::Range;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::facts::BUFSIZ_BYTES;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Outcome};
use std::io;

use crate::Messages;
use crate::bytes::file_headers::{HeaderPrinter, Headers};
use crate::bytes::scan;
use crate::bytes::tail_buffer::{Held, Unit};
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse};
use crate::tool::count;
use crate::{
    Accept, Command, Context, Declined, EarlyStop, Facts, Input, InputFacts, OutputFacts, OverParts,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Bytes,
    Lines,
    Quiet,
    Verbose,
    ZeroTerminated,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bytes, b'c', "bytes", Takes::Value),
    opt(Id::Lines, b'n', "lines", Takes::Value),
    opt(Id::Quiet, b'q', "quiet", Takes::Nothing),
    long(Id::Quiet, "silent", Takes::Nothing),
    opt(Id::Verbose, b'v', "verbose", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
];

/// The parsed arguments of `head`.
#[derive(Clone, Debug)]
pub struct Head {
    count: u64,
    bytes: bool,
    /// Prints all but the last `count`.
    but_last: bool,
    line_end: u8,
    headers: Headers,
    messages: Messages,
    inputs: Vec<Input>,
}

/// The tool row of `head`.
pub(crate) static TOOL: Tool = Tool {
    name: "head",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: true, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors {
        write: io_errors::error_writing_standard_output,
        read: read_error,
        ..IoErrors::COREUTILS
    },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-n", "-1"], "a\nb\n", b"a\n")],
    cost: |_| Rate::both(0.0, 0.0, 0.0),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &[
            "-n@n",
            "-n @N",
            "-@n",
            "-@N",
            "-c@N",
            "-n -@n",
            "-c -@N",
            "-q",
            "-v",
            "-z",
            "-@pc",
            "-n 1k",
            "--lines=@n",
        ],
    ),
};

/// The row of busybox' `head`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-c", "1"], "ab", b"a")],
);

fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let fits = |letter, value: &[u8]| (letter == b'n' || letter == b'c') && busybox::is_number(value);
    let rest = match args {
        // `-5`
        [first, rest @ ..] if first.strip_prefix(b"-").is_some_and(busybox::is_number) => rest,
        args => args,
    };
    if busybox::has_only(rest, b"qv", fits) { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `head`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

/// A number with something behind it: `-3l`, `-n-0b`.
fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let digit = |arg: &[u8]| arg.iter().position(u8::is_ascii_digit);
    let goes_on = |arg: &Vec<u8>| {
        let signs = arg.iter().filter(|byte| **byte == b'-').count();
        let is_obsolete = arg.len() > 1 && arg[0] == b'-' && digit(arg) == Some(1);
        (is_obsolete || signs > 1) && !arg[digit(arg).unwrap_or_default()..].iter().all(u8::is_ascii_digit)
    };
    args.iter().any(goes_on).then_some("numbers with suffixes")
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::goes_on(io_errors::error_reading(caller, input, error), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let messages = context.locale.messages.clone();
    let head = Head { messages, ..Head::parse(args)? };
    head.headers.printer(&head.inputs, &head.messages)?;
    Ok(Box::new(head))
}

impl Head {
    /// Parses the arguments (without the command's name).
    pub fn parse(args: &[Vec<u8>]) -> Accept<Head> {
        let mut head = Head {
            count: 10,
            bytes: false,
            but_last: false,
            line_end: b'\n',
            headers: Headers::Several,
            messages: Messages::English,
            inputs: Vec::new(),
        };
        let obsolete = args.first().is_some_and(|arg| matches!(arg.as_slice(), [b'-', b'0'..=b'9', ..]));
        if obsolete {
            head.read_obsolete(&args[0][1..])?;
        }
        let parsed = parse(&args[usize::from(obsolete)..], OPTIONS, Order::Anywhere)?;
        for (id, value) in parsed.options() {
            match id {
                Id::Bytes | Id::Lines => {
                    head.bytes = id == Id::Bytes;
                    head.but_last = value.first() == Some(&b'-');
                    head.count = count::parse(&value[usize::from(head.but_last)..])?;
                }
                Id::Quiet => head.headers = Headers::Never,
                Id::Verbose => head.headers = Headers::Always,
                Id::ZeroTerminated => head.line_end = 0,
            }
        }
        if head.count == 0 && !head.but_last {
            return Declined::because("a count of 0 reads no input");
        }
        head.inputs = Input::from_operands(&parsed.operands());
        Ok(head)
    }

    /// Returns the number of lines and the terminator, if it only prints the first lines of one input.
    pub fn first_lines(&self) -> Option<(u64, u8)> {
        let plain =
            !self.bytes && !self.but_last && self.headers != Headers::Always && self.inputs.len() == 1;
        plain.then_some((self.count, self.line_end))
    }

    /// Parses `-5`, `-5c`, `-5q`: only as the first argument.
    fn read_obsolete(&mut self, text: &[u8]) -> Accept<()> {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.count = count::parse(&text[..digits])?;
        for letter in &text[digits..] {
            match letter {
                b'c' => self.bytes = true,
                b'l' => self.bytes = false,
                b'q' => self.headers = Headers::Never,
                b'v' => self.headers = Headers::Always,
                b'z' => self.line_end = 0,
                _ => return Declined::because("an obsolete option with a multiplier"),
            }
        }
        Ok(())
    }
}

impl Command for Head {
    fn facts(&self) -> Facts {
        let counted = self.bytes && !self.but_last;
        let read_bytes = if counted { BUFSIZ_BYTES.min(self.count as usize) } else { BUFSIZ_BYTES };
        let again = !self.but_last && self.inputs == [Input::Stdin] && self.headers != Headers::Always;
        Facts {
            over_parts: if again { OverParts::ReadAgain } else { OverParts::Unknown },
            record_end: self.line_end,
            // With a negative count it reads to the end, but then seeks a file to the end of its output, for
            // the next reader.
            input: InputFacts {
                stops_early: Some(EarlyStop::Done),
                pipe_read_bytes: Some(read_bytes.max(1)),
                needed_lines: self.first_lines().map(|(lines, _)| lines),
                ..InputFacts::default()
            },
            output: OutputFacts::of_input(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let unit = if self.bytes { Unit::Bytes } else { Unit::Records(self.line_end) };
        let headers = self.headers.printer(&self.inputs, &self.messages)?;
        if self.but_last {
            return Ok(Box::new(ButLastKernel { headers, count: self.count, unit, held: Held::new(unit) }));
        }
        let inputs_left = self.inputs.len();
        Ok(Box::new(FirstKernel { headers, count: self.count, left: self.count, unit, inputs_left }))
    }
}

struct FirstKernel {
    headers: HeaderPrinter,
    count: u64,
    left: u64,
    unit: Unit,
    inputs_left: usize,
}

impl FirstKernel {
    /// Returns how much of the block is printed, in bytes and in units.
    fn take(&self, block: &[u8]) -> (usize, u64) {
        match self.unit {
            Unit::Bytes => {
                let length = usize::try_from(self.left).map_or(block.len(), |left| left.min(block.len()));
                (length, length as u64)
            }
            Unit::Records(end) => match scan::end_of_nth(block, end, self.left) {
                Ok(length) => (length, self.left),
                Err(found) => (block.len(), found),
            },
        }
    }
}

impl Kernel for FirstKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.headers.begin(name, out);
        self.left = self.count;
        self.inputs_left -= 1;
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let (length, units) = self.take(block);
        out.extend_from_slice(&block[..length]);
        self.left -= units;
        Ok(match (self.left, self.inputs_left) {
            (0, 0) => Flow::Done,
            (0, _) => Flow::NextInput,
            _ => Flow::More,
        })
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for FirstKernel {
    /// Passes blocks on, except the last one needed.
    fn pass_on(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        let (_, units) = self.take(block);
        self.left = self.left.checked_sub(units).filter(|left| *left > 0)?;
        Some(0..block.len())
    }
}

struct ButLastKernel {
    headers: HeaderPrinter,
    count: u64,
    unit: Unit,
    held: Held,
}

impl Kernel for ButLastKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.headers.begin(name, out);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        match self.pass_on(block, out) {
            Some(piece) => out.extend_from_slice(&block[piece]),
            None => {
                self.held.append(block);
                self.held.release(self.count, true, |piece| out.extend_from_slice(piece));
            }
        }
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.held.release(self.count, false, |piece| out.extend_from_slice(piece));
        self.held.clear();
        Ok(Flow::More)
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for ButLastKernel {
    /// Passes on everything before the kept tail, if that lies in this block.
    fn pass_on(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Range<usize>> {
        let start = self.unit.last(self.count, block)?;
        self.held.take_all(|piece| out.extend_from_slice(piece));
        self.held.append(&block[start..]);
        Some(0..start)
    }
}
