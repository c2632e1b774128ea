//! `uniq` of GNU coreutils 9.1: compares lines by their bytes in every locale.
//!
//! Declined: `--group`, an output operand, obsolete `-N` and `+N`, and whatever uniq reports as an error.

use crate::Family;
use crate::bytes::nul_line_ends::NulEndsLines;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool};
use crate::tool::versions::{self, OtherVersions};
use crate::tool::{busybox, uutils};
use std::io;
use std::ops::Range;

use pelton_stream::{Flow, Framing, Kernel, Outcome};

use crate::sort::{LineLength, each_line, push_count};
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Charset, Command, Context, Declined, Facts, Input, OutputFacts, OverParts};

/// The position of empty lines with `-D`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimit {
    /// Before each group.
    Prepend,
    /// Between groups.
    Separate,
}

/// The parsed arguments of uniq.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqOptions {
    /// Prints lines that occur once.
    pub single: bool,
    /// Prints one line of each repeated group: the first, or with `others_of_many` the last.
    pub one_of_many: bool,
    /// Prints the other lines of a repeated group (`-D`).
    pub others_of_many: bool,
    /// Prints the counts (`-c`).
    pub counted: bool,
    /// Separates groups.
    pub delimit: Option<Delimit>,
    /// Ignores case (`-i`).
    pub ignore_case: bool,
    /// Fields to skip (`-f`).
    pub skip_fields: usize,
    /// Bytes to skip after the fields (`-s`).
    pub skip_bytes: usize,
    /// Bytes to compare after the skipped ones (`-w`).
    pub compared_bytes: usize,
    /// The line terminator.
    pub terminator: u8,
    /// The inputs.
    pub inputs: Vec<Input>,
}

impl Default for UniqOptions {
    /// Returns the options of a plain `uniq`.
    fn default() -> Self {
        UniqOptions {
            single: true,
            one_of_many: true,
            others_of_many: false,
            counted: false,
            delimit: None,
            ignore_case: false,
            skip_fields: 0,
            skip_bytes: 0,
            compared_bytes: usize::MAX,
            terminator: b'\n',
            inputs: vec![Input::Stdin],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Count,
    Repeated,
    AllRepeated,
    AllRepeatedBy,
    Group,
    IgnoreCase,
    Unique,
    SkipFields,
    SkipBytes,
    ComparedBytes,
    Zero,
}

const TABLE: &[Opt<Id>] = &[
    opt(Id::Count, b'c', "count", Takes::Nothing),
    opt(Id::Repeated, b'd', "repeated", Takes::Nothing),
    short(Id::AllRepeated, b'D', Takes::Nothing),
    long(Id::AllRepeatedBy, "all-repeated", Takes::MaybeValue),
    long(Id::Group, "group", Takes::MaybeValue),
    opt(Id::IgnoreCase, b'i', "ignore-case", Takes::Nothing),
    opt(Id::Unique, b'u', "unique", Takes::Nothing),
    opt(Id::SkipFields, b'f', "skip-fields", Takes::Value),
    opt(Id::SkipBytes, b's', "skip-chars", Takes::Value),
    opt(Id::ComparedBytes, b'w', "check-chars", Takes::Value),
    opt(Id::Zero, b'z', "zero-terminated", Takes::Nothing),
];

impl UniqOptions {
    /// Parses the arguments (without the command's name).
    pub fn parse(args: &[Vec<u8>], context: &Context) -> Accept<UniqOptions> {
        let parsed = parse(args, TABLE, Order::Anywhere)?;
        context.locale.check_characters(parsed.has(Id::IgnoreCase))?;
        let operands = parsed.operands();
        if operands.len() > 1 {
            return Declined::because("an output file");
        }
        if operands.iter().any(|operand| operand.starts_with(b"+")) {
            return Declined::because("an operand that may be an obsolete option (+1)");
        }
        let mut options = UniqOptions { inputs: Input::from_operands(&operands), ..UniqOptions::default() };
        for (id, value) in parsed.options() {
            options.read(id, value)?;
        }
        if options.counted && options.others_of_many {
            return Declined::because("-c with -D");
        }
        Ok(options)
    }

    fn read(&mut self, id: Id, value: &[u8]) -> Accept<()> {
        match id {
            Id::Count => self.counted = true,
            Id::Repeated => self.single = false,
            Id::AllRepeated => self.repeat_all(None),
            Id::AllRepeatedBy => self.repeat_all(match value {
                b"" | b"none" => None,
                b"prepend" => Some(Delimit::Prepend),
                b"separate" => Some(Delimit::Separate),
                _ => return Declined::because(format!("--all-repeated={}", value.escape_ascii())),
            }),
            Id::Group => return Declined::because("--group is not native"),
            Id::IgnoreCase => self.ignore_case = true,
            Id::Unique => self.one_of_many = false,
            Id::SkipFields => self.skip_fields = number(value)?,
            Id::SkipBytes => self.skip_bytes = number(value)?,
            Id::ComparedBytes => self.compared_bytes = number(value)?,
            Id::Zero => self.terminator = 0,
        }
        Ok(())
    }

    fn repeat_all(&mut self, delimit: Option<Delimit>) {
        (self.single, self.others_of_many, self.delimit) = (false, true, delimit);
    }

    /// Whether it compares all bytes of a line.
    pub fn compares_whole_lines(&self) -> bool {
        let UniqOptions { ignore_case, skip_fields, skip_bytes, compared_bytes, .. } = *self;
        !ignore_case && (skip_fields, skip_bytes, compared_bytes) == (0, 0, usize::MAX)
    }

    /// Whether it only drops lines that are identical to the previous one.
    pub fn only_drops_repeats(&self) -> bool {
        self.compares_whole_lines() && self.prints_at_once() && !self.others_of_many && self.delimit.is_none()
    }

    /// Whether it decides about each line when it is read.
    fn prints_at_once(&self) -> bool {
        self.single && self.one_of_many && !self.counted
    }

    /// Whether groups have identical lines, and it prints at most one line of each.
    fn prints_one_of_a_group(&self) -> bool {
        self.compares_whole_lines() && !self.others_of_many && self.delimit.is_none()
    }

    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        let (a, b) = (self.compared(a), self.compared(b));
        if self.ignore_case { a.eq_ignore_ascii_case(b) } else { a == b }
    }

    /// Returns the compared part of a line.
    fn compared<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
        let mut rest = line;
        for _ in 0..self.skip_fields {
            if rest.is_empty() {
                break;
            }
            let blanks = rest.iter().take_while(|byte| is_blank(byte)).count();
            let field = rest[blanks..].iter().take_while(|byte| !is_blank(byte)).count();
            rest = &rest[blanks + field..];
        }
        let rest = &rest[self.skip_bytes.min(rest.len())..];
        &rest[..self.compared_bytes.min(rest.len())]
    }
}

/// Compares the last byte first: adjacent lines differ in it more often than in the first, since most input
/// is sorted.
#[inline]
fn same_line(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.last() == b.last() && a == b
}

fn number(text: &[u8]) -> Accept<usize> {
    const DIGITS_MAX: usize = 15;
    if !(1..=DIGITS_MAX).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
        return Declined::because(format!("a number like {}", text.escape_ascii()));
    }
    Ok(text.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// 9.5 knows the blanks and characters of UTF-8.
fn difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    let compares_lines = versions::has_only(args, b"cduDz");
    let by_bytes = compares_lines || context.locale.ctype == Charset::C;
    (!by_bytes).then_some("characters of UTF-8")
}

/// The tool row of `uniq`.
pub(crate) static TOOL: Tool = Tool {
    name: "uniq",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints,
    io_errors: IoErrors { read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[
        Probe::prints(&["-i"], "É\né\n", "É\né\n".as_bytes()),
        Probe::prints(&["-w1"], "éa\nèa\n", "éa\n".as_bytes()),
    ],
    cost: |_| Rate::by_line(3.6, 50.0, 1.7, 0.1),
    other_versions: &[
        OtherVersions::but(versions::COREUTILS_8_32_TO_9_0, versions::in_c_utf8),
        OtherVersions::alike(&["9.2", "9.3", "9.4"]),
        OtherVersions {
            probes: Some(&[
                Probe::prints(&["-i"], "É\né\n", "É\né\n".as_bytes()),
                Probe::prints(&["-w1"], "éa\nèa\n", "éa\nèa\n".as_bytes()),
            ]),
            ..OtherVersions::but(&["9.5", "9.6", "9.7", "9.8", "9.9", "9.10"], difference)
        },
    ],
    verifiable: true,
    grammar: Grammar {
        // A second operand is written. /dev/stdin would be the pipe that it reads, for ever.
        operands: &["@f", "@f", "-", "@f @f", "- @f", "@f -", "-- @f", "- -", "/dev/stdin"],
        ..Grammar::reader(
            &[],
            &[
                "-c",
                "-d",
                "-u",
                "-D",
                "-i",
                "-f@n",
                "-s@n",
                "-w@n",
                "-z",
                "-cd",
                "-ci",
                "--group",
                "-@n",
                "+@n",
                "--all-repeated=separate",
            ],
        )
    },
};

/// The row of busybox' `uniq`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(|args, context| accept(args, context).map(NulEndsLines::of)),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-c"], "a\na\n", b"      2 a\n")],
);

fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    if busybox::has_only(args, b"cdu", |_, _| false) { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `uniq`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    if uutils::has_odd_value(args, b"sw") {
        return Some("a value behind several letters");
    }
    if context.locale.ctype != Charset::C && versions::may_have(args, b"sw") {
        return Some("characters in UTF-8");
    }
    if versions::may_have(args, b"f") {
        return Some("fields that are skipped");
    }
    uutils::may_repeat(args).then_some("options that are given twice, or with =")
}

/// Whether it writes no file: a second operand is an output file.
fn only_prints(args: &[&str]) -> bool {
    args.iter().filter(|arg| !arg.starts_with('-') || **arg == "-").count() < 2
}

fn read_error(caller: &Caller, input: Option<&[u8]>, _error: &io::Error) -> Unreadable {
    let quoted = format!("'{}'", io_errors::file_name(input, "-"));
    let what = caller.translated("error reading %s").replace("%s", &quoted);
    Unreadable::dies(format!("{}: {what}\n", caller.called), 1)
}

/// Parses uniq's arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    Ok(Box::new(Uniq { options: UniqOptions::parse(args, context)? }))
}

/// The `uniq` command.
#[derive(Clone, Debug)]
pub struct Uniq {
    /// The parsed options.
    pub options: UniqOptions,
}

impl Command for Uniq {
    fn facts(&self) -> Facts {
        let options = &self.options;
        let is_plain = options.single
            && options.one_of_many
            && !options.others_of_many
            && options.delimit.is_none()
            && options.inputs.len() == 1;
        let compares_all = !options.ignore_case
            && (options.skip_fields, options.skip_bytes, options.compared_bytes) == (0, 0, usize::MAX);
        let over_parts = match (is_plain, options.counted) {
            (true, false) => OverParts::ReadAgain,
            (true, true) if compares_all => OverParts::Counted,
            _ => OverParts::Unknown,
        };
        // It ends a last line that has no terminator.
        let output = if options.terminator == 0 { OutputFacts::default() } else { OutputFacts::of_input() };
        Facts { record_end: options.terminator, over_parts, output, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &self.options.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(UniqKernel::new(&self.options)))
    }
}

/// uniq's inner loop.
#[derive(Debug)]
pub struct UniqKernel {
    options: UniqOptions,
    /// The line that the next one is compared with, without terminator.
    previous: Vec<u8>,
    /// Whether there is one.
    any: bool,
    /// Lines after the first of this group.
    matches: u64,
    /// Whether a group has ended, so that the next is separated from it.
    past_first_group: bool,
    length: LineLength,
}

impl UniqKernel {
    /// Makes the kernel for these options.
    pub fn new(options: &UniqOptions) -> Self {
        UniqKernel {
            options: options.clone(),
            previous: Vec::new(),
            any: false,
            matches: 0,
            past_first_group: false,
            length: LineLength::new(),
        }
    }

    /// Processes whole lines; `text` ends with a terminator.
    fn push_lines(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mean = self.length.mean(text, self.options.terminator);
        let held = std::mem::take(&mut self.previous);
        let count = if self.options.prints_at_once() {
            let whole = self.options.compares_whole_lines();
            let options = self.options.clone();
            match whole {
                true => self.print_changes(text, held, mean, same_line, out),
                false => self.print_changes(text, held, mean, |a, b| options.same(a, b), out),
            }
        } else if self.options.prints_one_of_a_group() {
            self.print_one_of_each(text, held, mean, out)
        } else {
            self.print_groups(text, held, mean, out)
        };
        self.length.saw(text.len(), count);
    }

    /// Prints each line that differs from the previous one. Adjacent output lines are copied at once.
    fn print_changes(
        &mut self,
        text: &[u8],
        held: Vec<u8>,
        mean: usize,
        same: impl Fn(&[u8], &[u8]) -> bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut printed: Range<usize> = 0..0;
        let mut previous = held.as_slice();
        let mut count = 0;
        let mut any = self.any;
        each_line(text, self.options.terminator, mean, |start, end| {
            let line = &text[start..end];
            count += 1;
            if any && same(line, previous) {
                return;
            }
            any = true;
            if printed.end != start {
                out.extend_from_slice(&text[printed.clone()]);
                printed.start = start;
            }
            printed.end = end + 1;
            previous = line;
        });
        out.extend_from_slice(&text[printed]);
        self.any = any;
        self.previous = previous.to_vec();
        count
    }

    /// Works like [`print_groups`](Self::print_groups), if the state is one number.
    fn print_one_of_each(&mut self, text: &[u8], held: Vec<u8>, mean: usize, out: &mut Vec<u8>) -> usize {
        let UniqOptions { single, one_of_many, counted, terminator, .. } = self.options;
        let (mut previous, mut any, mut matches) = (held.as_slice(), self.any, self.matches);
        let mut count = 0;
        each_line(text, terminator, mean, |start, end| {
            let line = &text[start..end];
            count += 1;
            if any && same_line(line, previous) {
                matches += 1;
                return;
            }
            if any && (if matches == 0 { single } else { one_of_many }) {
                if counted {
                    push_count(matches + 1, out);
                }
                out.extend_from_slice(previous);
                out.push(terminator);
            }
            (previous, any, matches) = (line, true, 0);
        });
        (self.previous, self.any, self.matches) = (previous.to_vec(), any, matches);
        count
    }

    fn print_groups(&mut self, text: &[u8], held: Vec<u8>, mean: usize, out: &mut Vec<u8>) -> usize {
        let mut previous = held.as_slice();
        let mut count = 0;
        each_line(text, self.options.terminator, mean, |start, end| {
            let line = &text[start..end];
            count += 1;
            if self.any {
                self.follow(previous, line, out).then(|| previous = line);
            } else {
                self.any = true;
                previous = line;
            }
        });
        self.previous = previous.to_vec();
        count
    }

    /// Prints what is decided about `previous` once `line` follows it. Returns whether the next line is
    /// compared with `line`.
    #[inline]
    fn follow(&mut self, previous: &[u8], line: &[u8], out: &mut Vec<u8>) -> bool {
        let matched = self.options.same(line, previous);
        self.matches += u64::from(matched);
        if self.options.delimit.is_some() {
            self.separate(matched, out);
        }
        if matched && !self.options.others_of_many {
            return false;
        }
        self.print_line(previous, matched, out);
        if !matched {
            self.matches = 0;
        }
        true
    }

    fn separate(&mut self, matched: bool, out: &mut Vec<u8>) {
        let wanted = self.options.delimit == Some(Delimit::Prepend) || self.past_first_group;
        if !matched {
            self.past_first_group |= self.matches > 0;
        } else if self.matches == 1 && wanted {
            out.push(self.options.terminator);
        }
    }

    /// Prints `line` if the options select it. With `matched`, the next line matches and `line` is one of the
    /// others.
    fn print_line(&self, line: &[u8], matched: bool, out: &mut Vec<u8>) {
        let UniqOptions { single, one_of_many, others_of_many, counted, terminator, .. } = self.options;
        let wanted = match (self.matches, matched) {
            (0, _) => single,
            (_, false) => one_of_many,
            (_, true) => others_of_many,
        };
        if !wanted {
            return;
        }
        if counted {
            push_count(self.matches + 1, out);
        }
        out.extend_from_slice(line);
        out.push(terminator);
    }
}

impl Kernel for UniqKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.options.terminator)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let whole = memchr::memrchr(self.options.terminator, block).map_or(0, |last| last + 1);
        let (lines, rest) = block.split_at(whole);
        if !lines.is_empty() {
            self.push_lines(lines, out);
        }
        if !rest.is_empty() {
            let mut line = rest.to_vec();
            line.push(self.options.terminator);
            self.push_lines(&line, out);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if self.any && !self.options.prints_at_once() {
            self.print_line(&self.previous, false, out);
        }
        Ok(Flow::Done)
    }
}
