//! `fold`: GNU coreutils. Columns are bytes in this version, except for tabs, backspaces and carriage
//! returns.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_0, COREUTILS_TO_9_7, OtherVersions};
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::bytes::scan;
use crate::bytes::short_copy::Gather;
use crate::tool::argv::{Opt, Order, Takes, opt, parse, short};
use crate::{Accept, Command, Context, Declined, Facts, Input, OutputFacts, OverParts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Bytes,
    Spaces,
    Width,
    /// `-80`: the digit is part of the number.
    Digit(u8),
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bytes, b'b', "bytes", Takes::Nothing),
    opt(Id::Spaces, b's', "spaces", Takes::Nothing),
    opt(Id::Width, b'w', "width", Takes::Value),
    short(Id::Digit(b'0'), b'0', Takes::MaybeValue),
    short(Id::Digit(b'1'), b'1', Takes::MaybeValue),
    short(Id::Digit(b'2'), b'2', Takes::MaybeValue),
    short(Id::Digit(b'3'), b'3', Takes::MaybeValue),
    short(Id::Digit(b'4'), b'4', Takes::MaybeValue),
    short(Id::Digit(b'5'), b'5', Takes::MaybeValue),
    short(Id::Digit(b'6'), b'6', Takes::MaybeValue),
    short(Id::Digit(b'7'), b'7', Takes::MaybeValue),
    short(Id::Digit(b'8'), b'8', Takes::MaybeValue),
    short(Id::Digit(b'9'), b'9', Takes::MaybeValue),
];

#[derive(Clone, Copy, Debug)]
struct Style {
    width: usize,
    bytes: bool,
    spaces: bool,
}

#[derive(Debug)]
struct Fold {
    style: Style,
    inputs: Vec<Input>,
}

/// The tool row of `fold`.
pub(crate) static TOOL: Tool = Tool {
    name: "fold",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-w2"], "éé\n", "é\né\n".as_bytes())],
    cost: |_| Rate::both(4.5, 0.5, 1.05),
    other_versions: &[
        OtherVersions::alike(COREUTILS_8_32_TO_9_0),
        // 9.8 counts characters and their widths, and takes bytes that are none otherwise in C, too.
        OtherVersions::alike(COREUTILS_TO_9_7),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &["-w@p", "-w @p", "-s", "-b", "-bs", "-@p", "-sw20", "--width=30", "-w 100000"],
    ),
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut style = Style { width: 80, bytes: false, spaces: false };
    for (id, value) in parsed.options() {
        match id {
            Id::Bytes => style.bytes = true,
            Id::Spaces => style.spaces = true,
            Id::Width => style.width = width(value)?,
            Id::Digit(digit) => style.width = width(&[&[digit], value].concat())?,
        }
    }
    Ok(Box::new(Fold { style, inputs: Input::from_operands(&parsed.operands()) }))
}

fn width(text: &[u8]) -> Accept<usize> {
    let digits = text.len() <= 9 && text.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok()) {
        Some(width) if width > 0 => Ok(width),
        _ => Declined::because("a width that is not a plain number"),
    }
}

impl Command for Fold {
    fn facts(&self) -> Facts {
        Facts { over_parts: OverParts::Concatenated, output: OutputFacts::of_input(), ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(FoldKernel { style: self.style, column: 0, started: false, held: Vec::new() }))
    }
}

struct FoldKernel {
    style: Style,
    column: usize,
    /// Whether the current output line is not empty.
    started: bool,
    /// With -s, the current output line: a later byte may still break it at a blank.
    held: Vec<u8>,
}

impl FoldKernel {
    fn advance(&self, column: usize, byte: u8) -> usize {
        match byte {
            _ if self.style.bytes => column + 1,
            0x08 => column.saturating_sub(1),
            b'\r' => 0,
            b'\t' => column + 8 - column % 8,
            _ => column + 1,
        }
    }

    /// Wraps lines in which every byte is one column and which break anywhere: by arithmetic.
    fn cut(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let width = self.style.width;
        // At most one line end per `width` bytes, and one pending from the previous block.
        let mut out = Gather::new(out, block.len() + block.len() / width + 1);
        let (mut start, mut room) = (0, width.saturating_sub(self.column));
        let mut pieces = |mut start: usize, end: usize, mut room: usize, line_end: usize| {
            while end - start > room {
                out.slice(block, start, start + room);
                out.byte(b'\n');
                start += room;
                room = width;
            }
            out.slice(block, start, end + line_end);
            room - (end - start)
        };
        scan::each(block, b'\n', |at| {
            pieces(start, at, room, 1);
            (start, room) = (at + 1, width);
        });
        if start < block.len() {
            room = pieces(start, block.len(), room, 0);
        }
        out.finish();
        self.column = width - room;
        self.started = self.column > 0;
    }

    /// Wraps text of one line in which every byte is one column.
    fn plain(&mut self, mut text: &[u8], out: &mut Vec<u8>) {
        while !text.is_empty() {
            let room = self.style.width.saturating_sub(self.column);
            if room == 0 {
                self.wrap(out);
                continue;
            }
            let (part, rest) = text.split_at(room.min(text.len()));
            self.emit(part, out);
            self.column += part.len();
            text = rest;
        }
    }

    /// Wraps text of one line with tabs, backspaces or carriage returns.
    fn special(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for &byte in text {
            let mut column = self.advance(self.column, byte);
            while column > self.style.width && self.started {
                self.wrap(out);
                column = self.advance(self.column, byte);
            }
            self.emit(&[byte], out);
            self.column = column;
        }
    }

    fn emit(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.started = true;
        if self.style.spaces {
            self.held.extend_from_slice(text);
        } else {
            out.extend_from_slice(text);
        }
    }

    /// Ends the output line, with -s after its last blank, if any.
    fn wrap(&mut self, out: &mut Vec<u8>) {
        let blank = memchr::memrchr2(b' ', b'\t', &self.held).map_or(self.held.len(), |at| at + 1);
        out.extend_from_slice(&self.held[..blank]);
        self.held.drain(..blank);
        out.push(b'\n');
        self.column = self.held.iter().fold(0, |column, &byte| self.advance(column, byte));
        self.started = !self.held.is_empty();
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        (self.column, self.started) = (0, false);
    }
}

impl Kernel for FoldKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let style = self.style;
        if !style.spaces && (style.bytes || memchr::memchr3(0x08, b'\t', b'\r', block).is_none()) {
            self.cut(block, out);
            return Ok(Flow::More);
        }
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match line.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (line, false),
            };
            let special = |&byte: &u8| matches!(byte, 0x08 | b'\t' | b'\r');
            if !self.style.bytes && text.iter().any(special) {
                self.special(text, out);
            } else {
                self.plain(text, out);
            }
            if ended {
                self.flush(out);
                out.push(b'\n');
            }
        }
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.flush(out);
        Ok(Flow::More)
    }
}
