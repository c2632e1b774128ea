//! `tail`: GNU coreutils, without following.

use std::ops::Range;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::facts::BUFSIZ_BYTES;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::OtherVersions;
use crate::tool::{busybox, uutils};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Outcome};
use std::io;

use crate::Messages;
use crate::bytes::file_headers::{HeaderPrinter, Headers};
use crate::bytes::scan;
use crate::bytes::tail_buffer::{Held, Unit};
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::tool::count;
use crate::{Accept, Command, Context, Declined, Ending, Facts, Input, InputFacts, OutputFacts, OverParts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Bytes,
    Lines,
    Quiet,
    Verbose,
    ZeroTerminated,
    Follow,
    FollowWith,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bytes, b'c', "bytes", Takes::Value),
    opt(Id::Lines, b'n', "lines", Takes::Value),
    opt(Id::Quiet, b'q', "quiet", Takes::Nothing),
    long(Id::Quiet, "silent", Takes::Nothing),
    opt(Id::Verbose, b'v', "verbose", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
    short(Id::Follow, b'f', Takes::Nothing),
    short(Id::Follow, b'F', Takes::Nothing),
    long(Id::FollowWith, "follow", Takes::MaybeValue),
    long(Id::Follow, "retry", Takes::Nothing),
    long(Id::Follow, "max-unchanged-stats", Takes::Value),
    long(Id::Follow, "pid", Takes::Value),
    opt(Id::Follow, b's', "sleep-interval", Takes::Value),
];

#[derive(Clone, Debug)]
struct Tail {
    count: u64,
    bytes: bool,
    /// Prints from the `count`th on, instead of the last `count`.
    from_start: bool,
    line_end: u8,
    headers: Headers,
    messages: Messages,
    inputs: Vec<Input>,
}

/// The tool row of `tail`.
pub(crate) static TOOL: Tool = Tool {
    name: "tail",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors {
        write: io_errors::error_writing_standard_output,
        read: read_error,
        ..IoErrors::COREUTILS
    },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-n", "+2"], "a\nb\n", b"b\n")],
    cost: |args| match args.iter().any(|arg| arg.starts_with(b"+")) {
        true => Rate::both(0.35, 0.05, 1.0),
        false => Rate::both(0.35, 0.1, 0.0),
    },
    other_versions: &[
        // 9.8 prints too few lines of some files.
        OtherVersions::alike(&["8.32", "9.0", "9.2", "9.3", "9.4", "9.5", "9.6", "9.7", "9.9", "9.10"]),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &["-n@n", "-n @N", "-@n", "-c@N", "-n +@n", "-c +@N", "+@n", "-q", "-v", "-z", "-n+@N", "--lines=@n"],
    ),
};

/// The row of busybox' `tail`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-n", "+2"], "a\nb\n", b"b\n")],
);

fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let fits = |letter, value: &[u8]| {
        (letter == b'n' || letter == b'c') && busybox::is_number(value.strip_prefix(b"+").unwrap_or(value))
    };
    // A header names the standard input otherwise.
    let has_odd = args.first().is_some_and(|arg| arg.starts_with(b"+")) || args.iter().any(|arg| arg == b"-");
    match has_odd || !busybox::has_only(args, b"qv", fits) {
        true => busybox::OTHER_CALLS,
        false => None,
    }
}

/// The row of uutils' `tail`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    if args.iter().any(|arg| arg.starts_with(b"+") || memchr::memmem::find(arg, b"+0").is_some()) {
        return Some("the forms +N and +0");
    }
    uutils::may_repeat(args).then_some("options that are given twice, or with =")
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::dies(io_errors::error_reading(caller, input, error), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let mut tail = Tail {
        count: 10,
        bytes: false,
        from_start: false,
        line_end: b'\n',
        headers: Headers::Several,
        messages: context.locale.messages.clone(),
        inputs: Vec::new(),
    };
    let obsolete = tail.read_obsolete(args)?;
    let parsed = parse(&args[usize::from(obsolete)..], OPTIONS, Order::Anywhere)?;
    for (id, value) in parsed.options() {
        match id {
            Id::Bytes | Id::Lines => {
                tail.bytes = id == Id::Bytes;
                // The sign persists: `-n +3 -n 2` is `-n +2`.
                tail.from_start |= value.first() == Some(&b'+');
                let sign = matches!(value.first(), Some(b'+' | b'-'));
                tail.count = count::parse(&value[usize::from(sign)..])?;
            }
            Id::Quiet => tail.headers = Headers::Never,
            Id::Verbose => tail.headers = Headers::Always,
            Id::ZeroTerminated => tail.line_end = 0,
            Id::Follow | Id::FollowWith => return Declined::because("following a file"),
        }
    }
    if tail.count == 0 && !tail.from_start {
        return Declined::because("a count of 0 reads no input");
    }
    tail.inputs = Input::from_operands(&parsed.operands());
    tail.headers.printer(&tail.inputs, &tail.messages)?;
    Ok(Box::new(tail))
}

impl Tail {
    /// Parses `tail -5`, `tail +5`, `tail -5c`: only with at most one operand. Returns whether the first
    /// argument was one.
    fn read_obsolete(&mut self, args: &[Vec<u8>]) -> Accept<bool> {
        let (first, rest) = match args {
            [first, rest @ ..] => (first.as_slice(), rest),
            [] => return Ok(false),
        };
        let single = match rest {
            [] => true,
            [operand] => operand == b"-" || operand.first() != Some(&b'-') || operand == b"--",
            [dashes, _] => dashes == b"--",
            _ => false,
        };
        let (sign, text) = match first {
            [sign @ (b'-' | b'+'), text @ ..] if single => (*sign, text),
            _ => return Ok(false),
        };
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if sign == b'-' && digits == 0 {
            // `-c`, `-n`, `-q`: current options.
            return Ok(false);
        }
        let unit = &text[digits..];
        if !matches!(unit, b"" | b"c" | b"l") || digits == 0 {
            // `-5x` is an error, `+x` a file; `+`, `+f`, `-5b` and the like are obsolete and rare.
            return Declined::because("an obsolete option that is not plain");
        }
        self.count = count::parse(&text[..digits])?;
        self.bytes = unit == b"c";
        self.from_start = sign == b'+';
        Ok(true)
    }
}

impl Command for Tail {
    fn facts(&self) -> Facts {
        if self.from_start {
            let skips = !self.bytes && self.inputs.len() == 1 && self.headers != Headers::Always;
            let over_parts = match skips {
                true => OverParts::AfterFirst { lines: self.count.saturating_sub(1), options: None },
                false => OverParts::Unknown,
            };
            let output = OutputFacts::of_input();
            return Facts { record_end: self.line_end, over_parts, output, ..Facts::default() };
        }
        let needed_end = match self.bytes {
            true => Ending::Bytes(self.count),
            false => Ending::Records { count: self.count, end: self.line_end },
        };
        let again = self.inputs == [Input::Stdin] && self.headers != Headers::Always;
        Facts {
            over_parts: if again { OverParts::ReadAgain } else { OverParts::Unknown },
            record_end: self.line_end,
            input: InputFacts {
                needed_end: Some(needed_end),
                pipe_read_bytes: Some(BUFSIZ_BYTES),
                ..InputFacts::default()
            },
            output: OutputFacts { blocks_until_eof: true, ..OutputFacts::of_input() },
            no_gain_alone: Some("alone it looks at the end of a file, which the real one does as well"),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let unit = if self.bytes { Unit::Bytes } else { Unit::Records(self.line_end) };
        let headers = self.headers.printer(&self.inputs, &self.messages)?;
        if self.from_start {
            return Ok(Box::new(FromKernel { headers, skip: self.count.saturating_sub(1), left: 0, unit }));
        }
        let inputs_left = self.inputs.len();
        Ok(Box::new(LastKernel { headers, count: self.count, unit, held: Held::new(unit), inputs_left }))
    }
}

struct FromKernel {
    headers: HeaderPrinter,
    skip: u64,
    left: u64,
    unit: Unit,
}

impl Kernel for FromKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.headers.begin(name, out);
        self.left = self.skip;
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let skipped = self.skip(block);
        out.extend_from_slice(&block[skipped..]);
        Ok(Flow::More)
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for FromKernel {
    fn pass_on(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        Some(self.skip(block)..block.len())
    }
}

impl FromKernel {
    /// Returns how many bytes of the block are skipped.
    fn skip(&mut self, block: &[u8]) -> usize {
        match self.unit {
            _ if self.left == 0 => 0,
            Unit::Bytes => {
                let length = usize::try_from(self.left).map_or(block.len(), |left| left.min(block.len()));
                self.left -= length as u64;
                length
            }
            Unit::Records(end) => match scan::end_of_nth(block, end, self.left) {
                Ok(length) => {
                    self.left = 0;
                    length
                }
                Err(found) => {
                    self.left -= found;
                    block.len()
                }
            },
        }
    }
}

struct LastKernel {
    headers: HeaderPrinter,
    count: u64,
    unit: Unit,
    held: Held,
    /// Inputs that have not begun.
    inputs_left: usize,
}

impl Kernel for LastKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.held.take_all(|piece| out.extend_from_slice(piece));
        self.headers.begin(name, out);
        self.inputs_left = self.inputs_left.saturating_sub(1);
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        // If the block holds enough, nothing before it can be printed.
        if let Some(start) = self.unit.last(self.count, block) {
            self.held.clear();
            self.held.append(&block[start..]);
        } else {
            self.held.append(block);
            self.held.forget_chunks(self.count);
        }
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.held.release(self.count, false, |_| {});
        if self.inputs_left > 0 {
            self.held.take_all(|piece| out.extend_from_slice(piece));
        }
        Ok(Flow::More)
    }

    /// Prints the held part of the last input.
    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let more = self.held.take_first(|piece| out.extend_from_slice(piece));
        Ok(if more { Flow::More } else { Flow::Done })
    }
}
