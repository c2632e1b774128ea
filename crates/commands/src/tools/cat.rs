//! `cat`: GNU coreutils.
//!
//! Without options it is the identity. With options it is a small state machine that continues across files:
//! line numbers, squeezed blank lines, visible line ends and control bytes.

use std::ops::Range;

use crate::Family;
use crate::tool::cost::{self, Rate};
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{self, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_simd::byte_masks::{self, RANGES, STEP};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Outcome};

use crate::bytes::decimal::Decimal;
use crate::bytes::scan;
use crate::bytes::short_copy::Gather;
use crate::bytes::translate::{ByteMapKernel, Members};
use crate::tool::argv::{Opt, Order, Takes, opt, parse, short};
use crate::{
    Accept, ByteMap, ByteSet, Class, Command, Context, Facts, Input, InputFacts, Lines, OutputFacts,
    OverParts,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    NumberNonblank,
    Number,
    SqueezeBlank,
    ShowNonprinting,
    ShowEnds,
    ShowTabs,
    ShowAll,
    EndsAndNonprinting,
    TabsAndNonprinting,
    Ignored,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::NumberNonblank, b'b', "number-nonblank", Takes::Nothing),
    opt(Id::Number, b'n', "number", Takes::Nothing),
    opt(Id::SqueezeBlank, b's', "squeeze-blank", Takes::Nothing),
    opt(Id::ShowNonprinting, b'v', "show-nonprinting", Takes::Nothing),
    opt(Id::ShowEnds, b'E', "show-ends", Takes::Nothing),
    opt(Id::ShowTabs, b'T', "show-tabs", Takes::Nothing),
    opt(Id::ShowAll, b'A', "show-all", Takes::Nothing),
    short(Id::EndsAndNonprinting, b'e', Takes::Nothing),
    short(Id::TabsAndNonprinting, b't', Takes::Nothing),
    short(Id::Ignored, b'u', Takes::Nothing),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Numbering {
    #[default]
    None,
    All,
    Nonblank,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    numbering: Numbering,
    squeeze_blank: bool,
    ends: bool,
    tabs: bool,
    nonprinting: bool,
}

#[derive(Debug)]
struct Cat {
    style: Style,
    inputs: Vec<Input>,
}

/// The tool row of `cat`.
pub(crate) static TOOL: Tool = Tool {
    name: "cat",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: true, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Unbuffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-A"], "é\t\n", b"M-CM-)^I$\n")],
    cost: |args| match cost::has_any_option(args) {
        true => Rate::both(1.4, 0.3, 1.05),
        false => Rate::both(0.2, 0.05, 1.0),
    },
    other_versions: &[
        OtherVersions::but(&["8.32"], difference),
        // 9.6 refuses a terminal to which it appends.
        OtherVersions::alike(&["9.0", "9.2", "9.3", "9.4", "9.5", "9.7", "9.8", "9.9", "9.10"]),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &["-n", "-b", "-s", "-A", "-E", "-T", "-v", "-e", "-t", "-u", "-sn", "-bs", "--number"],
    ),
};

/// The row of busybox' `cat`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox::no_options)],
    &[Probe::prints(&[], "a", b"a")],
);

/// The row of uutils' `cat`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"s").then_some("empty lines that are left out")
}

/// 9.0 shows a carriage return before a line end as `^M`.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"AEe").then_some("carriage returns before line ends")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut style = Style::default();
    for (id, _) in parsed.options() {
        match id {
            Id::NumberNonblank => style.numbering = Numbering::Nonblank,
            // -b overrides -n in either order.
            Id::Number if style.numbering == Numbering::None => style.numbering = Numbering::All,
            Id::Number | Id::Ignored => {}
            Id::SqueezeBlank => style.squeeze_blank = true,
            Id::ShowNonprinting => style.nonprinting = true,
            Id::ShowEnds => style.ends = true,
            Id::ShowTabs => style.tabs = true,
            Id::ShowAll => (style.nonprinting, style.ends, style.tabs) = (true, true, true),
            Id::EndsAndNonprinting => (style.nonprinting, style.ends) = (true, true),
            Id::TabsAndNonprinting => (style.nonprinting, style.tabs) = (true, true),
        }
    }
    Ok(Box::new(Cat { style, inputs: Input::from_operands(&parsed.operands()) }))
}

impl Command for Cat {
    fn facts(&self) -> Facts {
        let plain = self.style == Style::default();
        let input = InputFacts { pipe_read_bytes: Some(128 << 10), ..InputFacts::default() };
        if plain && self.inputs == [Input::Stdin] {
            return Facts { input, ..Facts::of_map(&ByteMap::identity()) };
        }
        if plain {
            return Facts { class: Class::Copy, input, ..Facts::default() };
        }
        let lines = if self.style.squeeze_blank { Lines::Changed } else { Lines::Kept };
        let over_parts = match self.style.numbering {
            Numbering::None if !self.style.squeeze_blank => OverParts::Concatenated,
            Numbering::All if !self.style.squeeze_blank => OverParts::Numbered(6),
            _ => OverParts::Unknown,
        };
        Facts { lines, over_parts, input, output: OutputFacts::of_input(), ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        if self.style == Style::default() {
            return Ok(Box::new(ByteMapKernel::new(&ByteMap::identity())));
        }
        Ok(Box::new(CatKernel::new(self.style)))
    }
}

struct CatKernel {
    style: Style,
    /// For a style that formats each byte independently.
    each_byte: Option<EachByte>,
    /// The form of each byte, if some change.
    shown: Option<(Box<[Shown; 256]>, Members)>,
    /// The number of the next line: `%6d` and a tab.
    number: Decimal,
    /// Consecutive newlines: -1 inside a line, 0 at the start of one, 1 after an empty line, 2 after more.
    newlines: i8,
    /// Whether the block ended in a carriage return, whose form depends on the next byte.
    pending_cr: bool,
}

#[derive(Clone, Copy, Default)]
struct Shown {
    bytes: [u8; 4],
    len: u8,
}

impl CatKernel {
    fn new(style: Style) -> Self {
        let special = style.tabs || style.nonprinting;
        let changed = ByteSet::where_(|byte| shown(byte, style).len > 1 || byte >= 0x80 && style.nonprinting);
        let table = || Box::new(std::array::from_fn(|byte| shown(byte as u8, style)));
        let shown = special.then(|| (table(), Members::new(&changed)));
        let each_byte = EachByte::of(style);
        CatKernel {
            style,
            each_byte,
            shown,
            number: Decimal::new(1, 6, b' ', b"\t"),
            newlines: 0,
            pending_cr: false,
        }
    }

    /// Prints bytes of one line, without its newline. `ends`: whether the newline is next.
    fn text(&mut self, mut text: &[u8], ends: bool, out: &mut Vec<u8>) {
        self.flush_cr(out);
        if self.newlines >= 0 {
            if self.style.numbering != Numbering::None {
                self.put_number(out);
            }
            self.newlines = -1;
        }
        let keeps_cr = self.style.ends && !self.style.nonprinting;
        let mut cr_shown = false;
        if let (true, Some((b'\r', before))) = (keeps_cr, text.split_last()) {
            text = before;
            (cr_shown, self.pending_cr) = (ends, !ends);
        }
        match &self.shown {
            None => out.extend_from_slice(text),
            Some((shown, changed)) => changed.stretches(text, |stretch, any| {
                if any {
                    put_shown(shown, stretch, out);
                } else {
                    out.extend_from_slice(stretch);
                }
            }),
        }
        if cr_shown {
            out.extend_from_slice(b"^M");
        }
    }

    fn put_number(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.number.text());
        self.number.add(1);
    }

    /// Whether the style only numbers lines: most lines are copied with their ends.
    fn only_numbers(&self) -> bool {
        self.style.numbering != Numbering::None
            && self.style == Style { numbering: self.style.numbering, ..Style::default() }
    }

    fn push_numbered(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut out = Gather::new(out, block.len() + block.len() / 8);
        let all = self.style.numbering == Numbering::All;
        let (mut start, mut inside) = (0, self.newlines < 0);
        let number = &mut self.number;
        let mut line = |start: usize, end: usize, numbered: bool| {
            out.make_room(Decimal::MOST + end - start);
            if numbered {
                number.put(&mut out);
                number.add(1);
            }
            out.slice(block, start, end);
        };
        scan::each(block, b'\n', |at| {
            line(start, at + 1, !inside && (all || at > start));
            (start, inside) = (at + 1, false);
        });
        if start < block.len() {
            line(start, block.len(), !inside);
            inside = true;
        }
        self.newlines = if inside { -1 } else { 0 };
        out.finish();
    }

    fn newline(&mut self, out: &mut Vec<u8>) {
        self.newlines = (self.newlines + 1).min(2);
        if self.newlines > 0 {
            if self.newlines == 2 && self.style.squeeze_blank {
                return;
            }
            if self.style.numbering == Numbering::All {
                self.put_number(out);
            }
        }
        if self.style.ends {
            if std::mem::take(&mut self.pending_cr) {
                out.extend_from_slice(b"^M");
            }
            out.push(b'$');
        }
        out.push(b'\n');
    }

    fn flush_cr(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.pending_cr) {
            out.push(b'\r');
        }
    }
}

impl Kernel for CatKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if let Some(each_byte) = &self.each_byte {
            each_byte.push(block, &mut self.pending_cr, out);
            return Ok(Flow::More);
        }
        if self.only_numbers() {
            self.push_numbered(block, out);
            return Ok(Flow::More);
        }
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', block) {
            if at > start {
                self.text(&block[start..at], true, out);
            }
            self.newline(out);
            start = at + 1;
        }
        if start < block.len() {
            self.text(&block[start..], false, out);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.flush_cr(out);
        Ok(Flow::Done)
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for CatKernel {
    fn pass_on(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        let same =
            !self.pending_cr && self.each_byte.as_ref().is_some_and(|each_byte| each_byte.keeps(block));
        same.then_some(0..block.len())
    }
}

/// Formats bytes independently of lines and numbers: unchanged runs are copied whole, line ends included.
struct EachByte {
    shown: Box<[Shown; 256]>,
    /// The ranges of bytes that change.
    changed: [(u8, u8); RANGES],
    /// Whether a carriage return changes only before a line end.
    keeps_cr: bool,
}

/// Bytes scanned before they are copied.
const PIECE: usize = 4096;
/// With more changes than this among 64 bytes, each byte is looked up.
const DENSE: u32 = 16;

impl EachByte {
    fn of(style: Style) -> Option<Self> {
        if style.numbering != Numbering::None || style.squeeze_blank {
            return None;
        }
        let mut table = Box::new(std::array::from_fn(|byte| shown(byte as u8, style)));
        table[usize::from(b'\n')] = match style.ends {
            true => Shown { bytes: *b"$\n\0\0", len: 2 },
            false => Shown { bytes: *b"\n\0\0\0", len: 1 },
        };
        let is_changed = |byte: u8| {
            let Shown { bytes, len } = table[usize::from(byte)];
            bytes[..usize::from(len)] != [byte]
        };
        let changed = ranges(is_changed)?;
        Some(EachByte { shown: table, changed, keeps_cr: style.ends && !style.nonprinting })
    }

    /// Whether all of `block` stays as it is.
    fn keeps(&self, block: &[u8]) -> bool {
        let mut words = [0; PIECE / STEP];
        let ends_with_cr = self.keeps_cr && block.last() == Some(&b'\r');
        !ends_with_cr
            && block.chunks(PIECE).all(|piece| {
                let words = &mut words[..piece.len().div_ceil(STEP)];
                byte_masks::within(piece, &self.changed, words);
                words.iter().fold(0, |any, word| any | word) == 0
            })
    }

    fn push(&self, block: &[u8], pending_cr: &mut bool, out: &mut Vec<u8>) {
        let mut end = block.len();
        let mut pending = std::mem::replace(pending_cr, self.keeps_cr && block.last() == Some(&b'\r'));
        end -= usize::from(*pending_cr);
        if pending && block.first() != Some(&b'\n') {
            out.push(b'\r');
            pending = false;
        }
        let mut out = Gather::new(out, block.len() + block.len() / 8);
        let mut words = [0; PIECE / STEP];
        // The end of the processed bytes.
        let mut done = 0;
        for (index, piece) in block[..end].chunks(PIECE).enumerate() {
            let words = &mut words[..piece.len().div_ceil(STEP)];
            byte_masks::within(piece, &self.changed, words);
            for (start, &word) in (index * PIECE..).step_by(STEP).zip(&*words) {
                let mut hits = word;
                if hits.count_ones() > DENSE && !self.keeps_cr {
                    out.make_room(start - done + STEP * 4);
                    out.slice(block, done, start);
                    done = end.min(start + STEP);
                    block[start..done].iter().for_each(|&byte| self.put(byte, &mut out));
                    continue;
                }
                while hits != 0 {
                    let at = start + hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    out.make_room(at - done + 4);
                    if self.keeps_cr && block[at] == b'\n' {
                        let cr = if at > 0 { block[at - 1] == b'\r' } else { std::mem::take(&mut pending) };
                        out.slice(block, done, at - usize::from(cr && at > 0));
                        out.bytes(if cr { b"^M$\n" } else { b"$\n" });
                    } else {
                        out.slice(block, done, at);
                        self.put(block[at], &mut out);
                    }
                    done = at + 1;
                }
            }
        }
        out.make_room(end - done);
        out.slice(block, done, end);
        out.finish();
    }

    /// Always writes four bytes, and advances by the length in use.
    #[inline(always)]
    fn put(&self, byte: u8, out: &mut Gather<'_>) {
        let Shown { bytes, len } = self.shown[usize::from(byte)];
        out.some_of(bytes, usize::from(len));
    }
}

/// Returns the ranges of bytes for which `is_one` is true, the last range repeated. `None` if there are none,
/// or too many.
fn ranges(is_one: impl Fn(u8) -> bool) -> Option<[(u8, u8); RANGES]> {
    let mut found: Vec<(u8, u8)> = Vec::new();
    for byte in (0..=255).filter(|byte| is_one(*byte)) {
        match found.last_mut() {
            Some((_, high)) if byte - *high == 1 => *high = byte,
            _ => found.push((byte, byte)),
        }
    }
    let last = *found.last().filter(|_| found.len() <= RANGES)?;
    found.resize(RANGES, last);
    found.try_into().ok()
}

/// Formats a byte like `cat -v`: `^A`, `^?`, `M-a`, `M-^A`.
fn shown(byte: u8, style: Style) -> Shown {
    let mut text = Vec::with_capacity(4);
    if byte == b'\t' && !style.tabs || byte != b'\t' && !style.nonprinting {
        text.push(byte);
    } else {
        if byte >= 0x80 {
            text.extend_from_slice(b"M-");
        }
        match byte & 0x7f {
            low @ 0..0x20 => text.extend_from_slice(&[b'^', low + 0x40]),
            0x7f => text.extend_from_slice(b"^?"),
            low => text.push(low),
        }
    }
    let mut shown = Shown { bytes: [0; 4], len: text.len() as u8 };
    shown.bytes[..text.len()].copy_from_slice(&text);
    shown
}

/// Always writes four bytes, and advances by the length in use.
fn put_shown(shown: &[Shown; 256], text: &[u8], out: &mut Vec<u8>) {
    let mut end = out.len();
    out.resize(end + text.len() * 4, 0);
    for &byte in text {
        let Shown { bytes, len } = shown[usize::from(byte)];
        out[end..end + 4].copy_from_slice(&bytes);
        end += usize::from(len);
    }
    out.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all bytes, in runs of any length, cut anywhere, with one byte at a time.
    #[test]
    fn runs_are_copied_as_single_bytes_are_shown() {
        let mut data: Vec<u8> = (0..=255).chain(b'\n'..=b'\r').chain(*b"\r\r\n\n\r").collect();
        for (length, byte) in (0..200u8).zip((0..=255u8).rev().cycle().step_by(7)) {
            data.extend(std::iter::repeat_n(b'x', usize::from(length)));
            data.extend_from_slice(&[byte, b'\r', b'\n'][usize::from(length % 3)..]);
        }
        for style in (0..8).map(|of| Style {
            ends: of & 1 > 0,
            tabs: of & 2 > 0,
            nonprinting: of & 4 > 0,
            ..Style::default()
        }) {
            let mut plain = CatKernel { each_byte: None, ..CatKernel::new(style) };
            let mut expected = Vec::new();
            plain.push(&data, &mut expected).expect("taken");
            plain.finish(&mut expected).expect("done");
            for size in [1, 2, 63, 64, 65, 300, 5000, data.len()] {
                let mut kernel = CatKernel::new(style);
                let mut out = Vec::new();
                for block in data.chunks(size) {
                    match kernel.pass_on(block, &mut out) {
                        Some(piece) => out.extend_from_slice(&block[piece]),
                        None => _ = kernel.push(block, &mut out).expect("taken"),
                    }
                }
                kernel.finish(&mut out).expect("done");
                assert!(out == expected, "{style:?}, blocks of {size}");
            }
        }
    }

    #[test]
    fn invisible_bytes_are_shown() {
        let style = Style { nonprinting: true, ..Style::default() };
        let show = |byte| {
            let Shown { bytes, len } = shown(byte, style);
            bytes[..usize::from(len)].to_vec()
        };
        assert_eq!(show(1), b"^A");
        assert_eq!(show(0x7f), b"^?");
        assert_eq!(show(0xff), b"M-^?");
        assert_eq!(show(0x8a), b"M-^J");
        assert_eq!(show(b'\t'), b"\t");
    }
}
