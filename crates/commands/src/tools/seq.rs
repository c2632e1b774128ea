//! `seq`: GNU coreutils, for integers. The real seq computes fractions with long double and printf.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{COREUTILS_8_32_TO_9_0, COREUTILS_TO_9_7, COREUTILS_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_stream::{BLOCK_BYTES, Flow, Framing, Kernel, Outcome};

use crate::bytes::decimal::Decimal;
use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Command, Context, Declined, Facts, Input, OutputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    EqualWidth,
    Format,
    Separator,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::EqualWidth, b'w', "equal-width", Takes::Nothing),
    opt(Id::Format, b'f', "format", Takes::Value),
    opt(Id::Separator, b's', "separator", Takes::Value),
];

#[derive(Clone, Debug)]
struct Seq {
    first: i64,
    step: i64,
    last: i64,
    /// Minimum number of digits, filled with zeros.
    width: usize,
    separator: Vec<u8>,
}

/// The tool row of `seq`.
pub(crate) static TOOL: Tool = Tool {
    name: "seq",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-w", "9", "10"], "", b"09\n10\n")],
    cost: |_| Rate::both(0.8, 0.25, 1.0),
    other_versions: &[
        OtherVersions::alike(COREUTILS_8_32_TO_9_0),
        OtherVersions::alike(COREUTILS_TO_9_7),
        OtherVersions::but(COREUTILS_TO_9_10, difference),
    ],
    verifiable: true,
    grammar: Grammar {
        role: Role::Source,
        needs: &[],
        options: &["-w", "-s@d", "-f %05g"],
        operands: &["@p", "@N", "@n @N", "1 3 @N", "@N -2 1", "-- -5 5", "0.5 3"],
    },
};

/// The row of busybox' `seq`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-w", "9", "10"], "", b"09\n10\n")],
);

/// It widens numbers to the step as well.
fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let numbers = args.iter().rev().take_while(|arg| busybox::is_number(arg)).count();
    let (options, numbers) = args.split_at(args.len() - numbers);
    let flags: &[u8] = if numbers.len() < 3 { b"w" } else { b"" };
    let is_simple = !numbers.is_empty()
        && options.iter().all(|arg| arg.len() > 1 && arg.starts_with(b"-"))
        && busybox::has_only(options, flags, |letter, _| letter == b's');
    if is_simple { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `seq`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    if args.iter().any(|arg| arg == b"--" || arg.starts_with(b"-s-")) || uutils::has_odd_value(args, b"sf") {
        return Some("a value that begins with a dash, or behind several letters");
    }
    // It adds some steps wrongly: `seq 21 985 10002`.
    let numbers =
        args.iter().filter(|arg| !arg.starts_with(b"-") || arg.get(1).is_some_and(u8::is_ascii_digit));
    if numbers.count() > 2 {
        return Some("steps");
    }
    uutils::may_repeat(args).then_some("options that are given twice, or with =")
}

/// 9.8 is more accurate with large integers.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    args.iter().any(|arg| arg.len() > 15).then_some("large integers")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    // A negative number is an operand, not an option: seq checks for it before getopt does.
    let is_number = |arg: &[u8]| matches!(arg, [b'-', b'0'..=b'9' | b'.', ..]);
    let numbers_at = args.iter().position(|arg| is_number(arg)).unwrap_or(args.len());
    let parsed = parse(&args[..numbers_at], OPTIONS, Order::First)?;
    if parsed.has(Id::Format) {
        return Declined::because("a format");
    }
    if numbers_at < args.len()
        && parsed.operands().is_empty()
        && args[..numbers_at].iter().any(|arg| arg == b"-s")
    {
        return Declined::because("a separator that looks like a number");
    }
    let operands: Vec<&[u8]> =
        parsed.operands().into_iter().chain(args[numbers_at..].iter().map(Vec::as_slice)).collect();
    let numbers = operands.iter().map(|text| whole(text)).collect::<Accept<Vec<i64>>>()?;
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] => (*first, *step, *last),
        _ => return Declined::because("as many numbers as it does not take"),
    };
    if step == 0 {
        return Declined::because("a step of 0");
    }
    let digits = |number: i64| number.to_string().len();
    let width = if parsed.has(Id::EqualWidth) { digits(first).max(digits(last)) } else { 0 };
    let separator = parsed.last_value(Id::Separator).unwrap_or(b"\n").to_vec();
    Ok(Box::new(Seq { first, step, last, width, separator }))
}

/// Parses plain digits with an optional minus, small enough to be exact everywhere.
fn whole(text: &[u8]) -> Accept<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = match digits {
        b"0" => text.len() == 1,
        [b'1'..=b'9', ..] => digits.len() <= 15 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    match std::str::from_utf8(text).ok().filter(|_| plain).and_then(|text| text.parse().ok()) {
        Some(number) => Ok(number),
        None => Declined::because("a number that is not whole and plain"),
    }
}

impl Seq {
    /// Returns the size of its output, summed up by number of digits; only for sequences that count up from 0
    /// or more.
    fn bytes(&self) -> Option<u64> {
        if self.first < 0 || self.step < 0 {
            return None;
        }
        let upto = |number: i64| match number.min(self.last) {
            number if number < self.first => 0,
            number => ((number - self.first) / self.step + 1) as u64,
        };
        // Exact: no number has more than 15 digits.
        let digits = |count: u32| {
            upto(10i64.pow(count) - 1) - upto(if count == 1 { -1 } else { 10i64.pow(count - 1) - 1 })
        };
        let numbers: u64 =
            (1..=15).map(|count| digits(count) * u64::from(count).max(self.width as u64)).sum();
        let between = upto(self.last).saturating_sub(1) * self.separator.len() as u64;
        Some(numbers + between + u64::from(upto(self.last) > 0))
    }
}

impl Command for Seq {
    fn facts(&self) -> Facts {
        Facts { output: OutputFacts { bytes: self.bytes(), ..OutputFacts::of_input() }, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let counts = self.first >= 0 && self.step > 0 && self.step < 1000;
        let counting = (counts && self.separator == b"\n").then(|| Counting::new(self.first, self.width));
        Ok(Box::new(SeqKernel { seq: self.clone(), next: self.first, started: false, counting }))
    }
}

struct SeqKernel {
    seq: Seq,
    next: i64,
    started: bool,
    counting: Option<Counting>,
}

/// Prints a thousand lines at a time if the step is 1, or increments a number as text.
struct Counting {
    number: Decimal,
    width: usize,
    /// The lines of a thousand numbers, and the first number.
    thousand: Vec<u8>,
    first: i64,
}

/// Numbers that share their leading digits.
const THOUSAND: i64 = 1000;

impl Counting {
    fn new(first: i64, width: usize) -> Self {
        let number = Counting::decimal(first, width);
        Counting { number, width, thousand: Vec::new(), first: 0 }
    }

    fn decimal(number: i64, width: usize) -> Decimal {
        Decimal::new(number.unsigned_abs(), width, b'0', b"\n")
    }

    /// Returns the lines from `first` on, which is a multiple of a thousand and not 0, so that all have one
    /// length.
    fn thousand(&mut self, first: i64) -> &[u8] {
        let start = Counting::decimal(first, self.width);
        let length = start.text().len();
        if self.thousand.len() == length * THOUSAND as usize && first == self.first + THOUSAND {
            // Only leading digits change, and mostly one of them.
            let digits = start.text();
            for at in (0..length).rev().filter(|at| self.thousand[*at] != digits[*at]).collect::<Vec<_>>() {
                self.thousand.iter_mut().skip(at).step_by(length).for_each(|digit| *digit = digits[at]);
            }
        } else {
            self.thousand.clear();
            let mut number = start;
            for _ in 0..THOUSAND {
                self.thousand.extend_from_slice(number.text());
                number.add(1);
            }
        }
        self.first = first;
        &self.thousand
    }
}

impl SeqKernel {
    /// Prints as many lines as fit. Returns whether that was all.
    fn count(&mut self, enough: usize, out: &mut Vec<u8>) -> bool {
        let Some(counting) = &mut self.counting else { return false };
        let Seq { step, last, .. } = self.seq;
        while self.next <= last && out.len() < enough {
            let whole = step == 1 && self.next > 0 && self.next % THOUSAND == 0;
            if whole && last - self.next >= THOUSAND - 1 {
                out.extend_from_slice(counting.thousand(self.next));
                self.next += THOUSAND;
                if self.next > last - (THOUSAND - 1) {
                    counting.number = Counting::decimal(self.next, counting.width);
                }
                continue;
            }
            out.extend_from_slice(counting.number.text());
            counting.number.add(step as u32);
            self.next += step;
        }
        self.next > last
    }

    fn is_over(&self) -> bool {
        if self.seq.step > 0 { self.next > self.seq.last } else { self.next < self.seq.last }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = self.next.unsigned_abs();
        let sign = usize::from(self.next < 0);
        let least = self.seq.width.saturating_sub(sign).max(1);
        while left > 0 || digits.len() - at < least {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
        }
        if sign == 1 {
            out.push(b'-');
        }
        out.extend_from_slice(&digits[at..]);
    }
}

impl Kernel for SeqKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        let enough = out.len() + BLOCK_BYTES;
        if self.counting.is_some() {
            return Ok(if self.count(enough, out) { Flow::Done } else { Flow::More });
        }
        while !self.is_over() {
            if out.len() >= enough {
                return Ok(Flow::More);
            }
            if std::mem::replace(&mut self.started, true) {
                out.extend_from_slice(&self.seq.separator);
            }
            self.put(out);
            self.next += self.seq.step;
        }
        if std::mem::take(&mut self.started) {
            out.push(b'\n');
        }
        Ok(Flow::Done)
    }
}
