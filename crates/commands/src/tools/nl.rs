//! `nl`: GNU coreutils, without regular expressions (`-b pREGEX`).

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::uutils;
use crate::tool::versions::{self, COREUTILS_9_2_TO_9_10, OtherVersions};
use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::bytes::decimal::Decimal;
use crate::bytes::scan;
use crate::bytes::short_copy::Gather;
use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Command, Context, Declined, Facts, Input, Lines, OutputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Body,
    Header,
    Footer,
    Start,
    Increment,
    NoRenumber,
    JoinBlank,
    Separator,
    Width,
    Format,
    Delimiter,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Header, b'h', "header-numbering", Takes::Value),
    opt(Id::Body, b'b', "body-numbering", Takes::Value),
    opt(Id::Footer, b'f', "footer-numbering", Takes::Value),
    opt(Id::Start, b'v', "starting-line-number", Takes::Value),
    opt(Id::Increment, b'i', "line-increment", Takes::Value),
    opt(Id::NoRenumber, b'p', "no-renumber", Takes::Nothing),
    opt(Id::JoinBlank, b'l', "join-blank-lines", Takes::Value),
    opt(Id::Separator, b's', "number-separator", Takes::Value),
    opt(Id::Width, b'w', "number-width", Takes::Value),
    opt(Id::Format, b'n', "number-format", Takes::Value),
    opt(Id::Delimiter, b'd', "section-delimiter", Takes::Value),
];

/// Which lines of a section are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbered {
    All,
    Nonempty,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Left,
    Right,
    Zeros,
}

#[derive(Clone, Debug)]
struct Style {
    /// Header, body, footer.
    sections: [Numbered; 3],
    start: i64,
    increment: i64,
    renumber: bool,
    join_blank: u64,
    separator: Vec<u8>,
    width: usize,
    format: Format,
    delimiter: Vec<u8>,
}

#[derive(Debug)]
struct Nl {
    style: Style,
    inputs: Vec<Input>,
}

/// The tool row of `nl`.
pub(crate) static TOOL: Tool = Tool {
    name: "nl",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&[], "é\n", "     1\té\n".as_bytes())],
    cost: |_| Rate::both(3.0, 0.4, 1.1),
    other_versions: &[
        OtherVersions::but(&["8.32"], difference),
        OtherVersions::alike(&["9.0"]),
        OtherVersions::alike(COREUTILS_9_2_TO_9_10),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &[
            "-ba", "-bt", "-bn", "-b p^a", "-v@n", "-i@p", "-w@p", "-nln", "-nrz", "-nrn", "-s@d", "-l2",
            "-p", "-ha", "-fa",
        ],
    ),
};

/// The row of uutils' `nl`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    // Where no number is, it leaves room for a separator of one character.
    let is_odd = |arg: &Vec<u8>| arg.starts_with(b"-") && arg.iter().any(u8::is_ascii_digit);
    // A section delimiter of one character of several bytes it takes for two.
    if args.iter().any(is_odd) || versions::may_have(args, b"ds") {
        return Some("separators and negative values");
    }
    let operands = args.iter().filter(|arg| *arg == b"-" || !arg.starts_with(b"-")).count();
    (operands > 1).then_some("sections that go on in another file")
}

/// 9.0 takes one character for a section delimiter, and negative increments.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"di").then_some("section delimiters and increments")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut style = Style {
        sections: [Numbered::None, Numbered::Nonempty, Numbered::None],
        start: 1,
        increment: 1,
        renumber: true,
        join_blank: 1,
        separator: b"\t".to_vec(),
        width: 6,
        format: Format::Right,
        delimiter: b"\\:".to_vec(),
    };
    for (id, value) in parsed.options() {
        match id {
            Id::Header => style.sections[0] = numbered(value)?,
            Id::Body => style.sections[1] = numbered(value)?,
            Id::Footer => style.sections[2] = numbered(value)?,
            Id::Start => style.start = number(value)?,
            Id::Increment => style.increment = number(value)?,
            Id::NoRenumber => style.renumber = false,
            Id::JoinBlank => style.join_blank = positive(value)? as u64,
            Id::Separator => style.separator = value.to_vec(),
            Id::Width => style.width = positive(value)?,
            Id::Format => style.format = format(value)?,
            Id::Delimiter => style.delimiter = delimiter(value)?,
        }
    }
    Ok(Box::new(Nl { style, inputs: Input::from_operands(&parsed.operands()) }))
}

fn numbered(value: &[u8]) -> Accept<Numbered> {
    match value {
        b"a" => Ok(Numbered::All),
        b"t" => Ok(Numbered::Nonempty),
        b"n" => Ok(Numbered::None),
        _ => Declined::because("a numbering by regular expression"),
    }
}

fn format(value: &[u8]) -> Accept<Format> {
    match value {
        b"ln" => Ok(Format::Left),
        b"rn" => Ok(Format::Right),
        b"rz" => Ok(Format::Zeros),
        _ => Declined::because("an unknown number format"),
    }
}

/// Parses small numbers only: at the limits nl reports overflows.
fn number(value: &[u8]) -> Accept<i64> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() <= 12 && !text.starts_with('+'));
    match text.and_then(|text| text.parse().ok()) {
        Some(number) => Ok(number),
        None => Declined::because("a number that is not plain"),
    }
}

fn positive(value: &[u8]) -> Accept<usize> {
    match usize::try_from(number(value)?) {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Declined::because("a number that is not positive and small"),
    }
}

/// Parses the delimiter: with one byte, `:` is the second.
fn delimiter(value: &[u8]) -> Accept<Vec<u8>> {
    match value {
        [one] => Ok(vec![*one, b':']),
        [first, second] => Ok(vec![*first, *second]),
        _ => Declined::because("a section delimiter that is empty or long"),
    }
}

impl Command for Nl {
    fn facts(&self) -> Facts {
        let makes_lines = self.style.separator.contains(&b'\n');
        let lines = if makes_lines { Lines::Changed } else { Lines::Completed };
        Facts { lines, output: OutputFacts::of_input(), ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let style = self.style.clone();
        let blank = vec![b' '; style.width + style.separator.len()];
        let counting = Counting::new(&style, style.start);
        Ok(Box::new(NlKernel { number: style.start, counting, section: 1, blanks: 0, blank, style }))
    }
}

/// A larger step might overflow when added digit by digit.
const STEP_MOST: u32 = 1_000_000;

/// A line number kept as text and incremented in place.
struct Counting {
    text: Decimal,
    step: u32,
}

impl Counting {
    /// Returns `None` if numbers must be formatted one by one: if they are negative, left-aligned or wider
    /// than `Decimal::WIDTH`, if the step is negative or over `STEP_MOST`, or if the separator is longer than
    /// `Decimal::BEHIND`.
    fn new(style: &Style, number: i64) -> Option<Self> {
        let fill = match style.format {
            Format::Left => return None,
            Format::Right => b' ',
            Format::Zeros => b'0',
        };
        let fits = style.width <= Decimal::WIDTH && style.separator.len() <= Decimal::BEHIND;
        let (number, step) = (u64::try_from(number).ok()?, u32::try_from(style.increment).ok()?);
        let fits = fits && step <= STEP_MOST;
        fits.then(|| Counting { text: Decimal::new(number, style.width, fill, &style.separator), step })
    }
}

struct NlKernel {
    style: Style,
    number: i64,
    /// The number as text, if supported.
    counting: Option<Counting>,
    section: usize,
    /// Consecutive empty lines, for -l.
    blanks: u64,
    /// The prefix of a line without number.
    blank: Vec<u8>,
}

impl NlKernel {
    /// Prints the line `block[start..end]`.
    #[inline(always)]
    fn line(&mut self, block: &[u8], start: usize, end: usize, out: &mut Gather<'_>) {
        let line = &block[start..end];
        if let Some(section) = self.delimits(line) {
            self.section = section;
            if self.style.renumber {
                self.number = self.style.start;
                self.counting = Counting::new(&self.style, self.number);
            }
            out.make_room(1);
            out.byte(b'\n');
            return;
        }
        out.make_room(Decimal::MOST + self.blank.len());
        if self.is_numbered(line) {
            self.put_number(out);
        } else {
            out.bytes(&self.blank);
        }
        out.make_room(line.len() + 1);
        out.slice(block, start, end);
        out.byte(b'\n');
    }

    /// Returns the section that a line starts: `\:\:\:` header, `\:\:` body, `\:` footer.
    #[inline(always)]
    fn delimits(&self, line: &[u8]) -> Option<usize> {
        let unit = self.style.delimiter.as_slice();
        let most = 3 * unit.len();
        if line.len() > most || line.is_empty() {
            return None;
        }
        let count = line.len() / unit.len();
        let whole = (1..=3).contains(&count) && line.len() == count * unit.len();
        (whole && line.chunks(unit.len()).all(|part| part == unit)).then(|| 3 - count)
    }

    #[inline(always)]
    fn is_numbered(&mut self, line: &[u8]) -> bool {
        match self.style.sections[self.section] {
            Numbered::None => false,
            Numbered::Nonempty => !line.is_empty(),
            Numbered::All if self.style.join_blank > 1 => {
                if line.is_empty() {
                    self.blanks += 1;
                }
                let numbered = !line.is_empty() || self.blanks == self.style.join_blank;
                if numbered {
                    self.blanks = 0;
                }
                numbered
            }
            Numbered::All => true,
        }
    }

    #[inline(always)]
    fn put_number(&mut self, out: &mut Gather<'_>) {
        match &mut self.counting {
            Some(counting) => {
                counting.text.put(out);
                counting.text.add(counting.step);
            }
            None => self.put_any_number(out),
        }
        self.number += self.style.increment;
    }

    #[cold]
    fn put_any_number(&self, out: &mut Gather<'_>) {
        let (number, width) = (self.number, self.style.width);
        let text = match self.style.format {
            Format::Left => format!("{number:<width$}"),
            Format::Right => format!("{number:>width$}"),
            Format::Zeros => format!("{number:0width$}"),
        };
        out.make_room(text.len() + self.style.separator.len());
        out.bytes(text.as_bytes());
        out.bytes(&self.style.separator);
    }
}

impl Kernel for NlKernel {
    fn framing(&self) -> Framing {
        Framing::Records(b'\n')
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut out = Gather::new(out, block.len() + block.len() / 8);
        let mut start = 0;
        scan::each(block, b'\n', |end| {
            self.line(block, start, end, &mut out);
            start = end + 1;
        });
        if start < block.len() {
            self.line(block, start, block.len(), &mut out);
        }
        out.finish();
        Ok(Flow::More)
    }
}
