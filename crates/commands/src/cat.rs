//! `cat`: GNU coreutils.
//!
//! Without options it is the identity. With them it is a small state machine that lives across files: line numbers,
//! blank lines squeezed, ends and invisible bytes shown.

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::argv::{Opt, Order, Takes, opt, parse, short};
use crate::decimal::Decimal;
use crate::gather::Gather;
use crate::translate::{ByteMapKernel, Members};
use crate::{
    Accept, ByteMap, ByteSet, Class, Command, Context, Facts, Input, LastLine, Lines, Touches, scan,
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

/// Reads the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut style = Style::default();
    for (id, _) in parsed.options() {
        match id {
            Id::NumberNonblank => style.numbering = Numbering::Nonblank,
            // -b wins over -n, in whatever order.
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
        if plain && self.inputs == [Input::Stdin] {
            return Facts::stateless(Class::ByteMap(Box::new(ByteMap::identity())), Touches::nothing());
        }
        if plain {
            return Facts::stateless(Class::Source, Touches::nothing());
        }
        let visible = self.style.tabs || self.style.nonprinting || self.style.ends;
        let touches = Touches {
            creates: if self.style.numbering == Numbering::None && !visible {
                ByteSet::none()
            } else {
                ByteSet::where_(|byte| byte != b'\n')
            },
            removes: ByteSet::where_(|byte| visible && byte != b'\n'),
            lines: if self.style.squeeze_blank { Lines::Fewer } else { Lines::Kept },
            last_line: LastLine::Kept,
        };
        let stateful = self.style.numbering != Numbering::None || self.style.squeeze_blank;
        if stateful || self.inputs.len() > 1 {
            Facts::serial(Class::LineNumbered, touches)
        } else {
            Facts::stateless(Class::LineMap, touches)
        }
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
    /// How each byte is shown, if some are shown otherwise than they are.
    shown: Option<(Box<[Shown; 256]>, Members)>,
    /// The number before the next line: `%6d` and a tab.
    number: Decimal,
    /// Newlines in a row: -1 inside a line, 0 at the start of one, 1 after an empty line, 2 after more.
    newlines: i8,
    /// A carriage return at the end of a block: how it is shown depends on what comes next.
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
        CatKernel { style, shown, number: Decimal::new(1, 6, b' ', b"\t"), newlines: 0, pending_cr: false }
    }

    /// Bytes of one line, without its newline. `ends` tells whether the newline is next.
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

    /// Numbers, and nothing else: most lines are copied with their ends.
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
}

/// As `cat -v` writes a byte: `^A`, `^?`, `M-a`, `M-^A`.
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

/// Always writes four bytes and steps on by as many as count.
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
