//! `expand`: GNU coreutils.

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::argv::{Opt, Order, Takes, opt, parse, short};
use crate::{Accept, ByteSet, Class, Command, Context, Declined, Facts, Input, LastLine, Lines, Touches};

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

/// Where tabs stop.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stops {
    Every(u64),
    /// At these columns; behind the last a tab is one blank.
    At(Vec<u64>),
}

#[derive(Debug)]
struct Expand {
    stops: Stops,
    initial: bool,
    inputs: Vec<Input>,
}

/// Reads the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Digit) {
        return Declined::because("an obsolete tab list");
    }
    if parsed.options().filter(|(id, _)| *id == Id::Tabs).count() > 1 {
        return Declined::because("several tab lists");
    }
    let stops = match parsed.last_value(Id::Tabs) {
        None => Stops::Every(8),
        Some(list) => stops(list)?,
    };
    let inputs = Input::stdin_once(Input::from_operands(&parsed.operands()))?;
    Ok(Box::new(Expand { stops, initial: parsed.has(Id::Initial), inputs }))
}

fn stops(list: &[u8]) -> Accept<Stops> {
    let number = |text: &[u8]| {
        let digits = text.len() <= 6 && text.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok().filter(|&stop| stop > 0)
    };
    let separator = |byte: &u8| matches!(byte, b',' | b' ' | b'\t');
    let found: Option<Vec<u64>> = list.split(separator).map(number).collect();
    match found.as_deref() {
        Some([every]) => Ok(Stops::Every(*every)),
        Some(stops) if stops.windows(2).all(|pair| pair[0] < pair[1]) => Ok(Stops::At(stops.to_vec())),
        _ => Declined::because("a tab list that is not plain"),
    }
}

impl Command for Expand {
    fn facts(&self) -> Facts {
        let touches = Touches {
            creates: ByteSet::where_(|byte| byte == b' '),
            removes: ByteSet::where_(|byte| byte == b'\t'),
            lines: Lines::Kept,
            last_line: LastLine::Kept,
        };
        Facts::stateless(Class::LineMap, touches)
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
    /// Still among the leading blanks, or -i is not given.
    converting: bool,
}

impl ExpandKernel {
    fn next_stop(&self) -> u64 {
        match &self.stops {
            Stops::Every(size) => self.column + size - self.column % size,
            Stops::At(stops) => {
                stops.iter().copied().find(|&stop| stop > self.column).unwrap_or(self.column + 1)
            }
        }
    }

    /// Text without tabs and line ends.
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
        let stop = self.next_stop();
        out.resize(out.len() + (stop - self.column) as usize, b' ');
        self.column = stop;
    }
}

impl Kernel for ExpandKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
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
