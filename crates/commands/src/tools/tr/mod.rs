//! `tr`: GNU coreutils. Bytes in every locale.
//!
//! [`sets`] parses the operands; this module turns them into one byte map, and a set to squeeze.

mod sets;

use crate::Family;
use crate::tool::cost::{self, LineLength, Rate};
use crate::tool::detect::Probe;
use crate::tool::facts::BUFSIZ_BYTES;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{self, COREUTILS_8_32_TO_9_0, COREUTILS_9_2_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_simd::compact::{self, Run};
use pelton_stream::{Flow, Framing, Kernel, Notice, Outcome, Parallel, Peer, Sharing};
use std::io;

use crate::bytes::translate::{ByteMapKernel, Members, STRETCH};
use crate::tool::argv::{Opt, Order, Takes, opt, parse, short};
use crate::{
    Accept, ByteMap, ByteSet, Command, Context, Declined, Facts, Input, InputFacts, Lines, OutputFacts,
    OverParts,
};
use sets::Set;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Complement,
    Delete,
    Squeeze,
    Truncate,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Complement, b'c', "complement", Takes::Nothing),
    short(Id::Complement, b'C', Takes::Nothing),
    opt(Id::Delete, b'd', "delete", Takes::Nothing),
    opt(Id::Squeeze, b's', "squeeze-repeats", Takes::Nothing),
    opt(Id::Truncate, b't', "truncate-set1", Takes::Nothing),
];

/// Applies the map, then squeezes runs of the same member of `squeezed`.
#[derive(Debug)]
struct Tr {
    map: ByteMap,
    squeezed: ByteSet,
}

/// The tool row of `tr`.
pub(crate) static TOOL: Tool = Tool {
    name: "tr",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors {
        write: io_errors::write_error_twice_if_early,
        read: read_error,
        ..IoErrors::COREUTILS
    },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["é", "xy"], "é\n", b"xy\n")],
    cost: |args| {
        let [squeezes, complements, deletes] =
            [b's', b'c', b'd'].map(|letter| cost::has_option(args, letter));
        match (squeezes, complements, deletes) {
            (true, true, _) => Rate::of_lines(2.8, 0.55, 0.9, LineLength::Words),
            (true, ..) => Rate::both(2.0, 0.4, 0.95),
            (_, _, true) => Rate::both(1.5, 0.25, 0.9),
            _ => Rate::both(1.1, 0.05, 1.0),
        }
    },
    other_versions: &[
        OtherVersions::but(COREUTILS_8_32_TO_9_0, difference),
        OtherVersions::alike(COREUTILS_9_2_TO_9_10),
    ],
    verifiable: true,
    grammar: Grammar {
        role: Role::Filter,
        needs: &[
            "@s @s",
            "@s @s",
            "-d @s",
            "-s @s",
            "-cd @s",
            "-cs @s '\\n'",
            "-ds @s @s",
            "-t @s @s",
            "-s @s @s",
            "a-z A-Z",
            "'[:upper:]' '[:lower:]'",
            "-C @s _",
            "' ' '\\n'",
            "-s ' '",
            "-d '\\000'",
            "-cd '[:print:]\\n'",
        ],
        options: &[],
        operands: &[""],
    },
};

/// The row of busybox' `tr`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-cs", "[:alpha:]", "_"], "a12b", b"a_b")],
);

fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    if !busybox::has_only(args, b"cds", |_, _| false) {
        return busybox::OTHER_CALLS;
    }
    let is_case = |set: &Vec<u8>| set == b"[:upper:]" || set == b"[:lower:]";
    if args.len() == 2 && args.iter().all(is_case) {
        return None;
    }
    let is_option = |arg: &&Vec<u8>| arg.len() > 1 && arg.starts_with(b"-");
    let is_plain = |(at, set): (usize, &Vec<u8>)| {
        !set.is_empty() && !without_classes(set, at == 0).contains(&b'[') && has_plain_escapes(set)
    };
    match args.iter().skip_while(is_option).enumerate().all(is_plain) {
        true => None,
        false => Some("classes, repetitions, escapes and empty sets"),
    }
}

/// Whether each backslash stands before a letter or an octal number that busybox knows as well.
fn has_plain_escapes(set: &[u8]) -> bool {
    let mut rest = set;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let is_octal =
            |digits: &[u8]| digits[0] <= b'3' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
        rest = match &rest[at + 1..] {
            [b'n' | b'r' | b't' | b'\\', rest @ ..] => rest,
            [first, second, third, rest @ ..] if is_octal(&[*first, *second, *third]) => rest,
            _ => return false,
        };
    }
    true
}

/// Returns a set without the classes in it that busybox knows, if it may have some.
fn without_classes(set: &[u8], may_have_classes: bool) -> Vec<u8> {
    const CLASSES: [&[u8]; 8] = [
        b"[:alnum:]",
        b"[:alpha:]",
        b"[:blank:]",
        b"[:digit:]",
        b"[:lower:]",
        b"[:punct:]",
        b"[:space:]",
        b"[:upper:]",
    ];
    let mut left = Vec::new();
    let mut rest = set;
    while !rest.is_empty() {
        match CLASSES.iter().find(|class| may_have_classes && rest.starts_with(class)) {
            Some(class) => rest = &rest[class.len()..],
            None => {
                left.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    left
}

/// The row of uutils' `tr`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let has = |arg: &Vec<u8>, name: &[u8]| memchr::memmem::find(arg, name).is_some();
    if args.iter().any(|arg| has(arg, b"[:graph:]") || has(arg, b"[:print:]")) {
        return Some("the order of the classes graph and print");
    }
    // A set may be a dash, or begin with one behind `--`.
    let is_option = |arg: &&Vec<u8>| arg.len() > 1 && arg.starts_with(b"-") && *arg != b"--";
    let sets: Vec<&Vec<u8>> = args.iter().skip_while(is_option).filter(|arg| *arg != b"--").collect();
    let is_case = |set: &Vec<u8>| set == b"[:upper:]" || set == b"[:lower:]";
    let converts_case = args.len() == 2 && sets.iter().all(|set| is_case(set));
    (sets.len() > 1 && has(sets[sets.len() - 1], b"[:") && !converts_case)
        .then_some("classes in the second set")
}

fn read_error(caller: &Caller, _input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::goes_on(io_errors::read_error_message(caller, error), 1)
}

/// 8.32 crashes where a complement is taken of classes that it cannot have.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let has_class = args.iter().any(|arg| arg.windows(2).any(|pair| pair == b"[:"));
    (has_class && versions::may_have(args, b"cC")).then_some("complements of classes")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::First)?;
    let has_class = parsed.operands().iter().any(|set| set.windows(2).any(|pair| pair == b"[:"));
    context.locale.check_characters(has_class)?;
    let (delete, squeeze) = (parsed.has(Id::Delete), parsed.has(Id::Squeeze));
    let sets: Vec<Set> = parsed.operands().into_iter().map(Set::parse).collect::<Accept<_>>()?;
    let complement = parsed.has(Id::Complement);
    let identity = ByteMap::identity();
    let (map, squeezed) = match (sets.as_slice(), delete, squeeze) {
        ([first], true, false) => {
            (ByteMap { deleted: first.chosen(complement)?, ..identity }, ByteSet::none())
        }
        ([first], false, true) => (identity, first.chosen(complement)?),
        ([first, second], true, true) => {
            (ByteMap { deleted: first.chosen(complement)?, ..identity }, second.chosen(false)?)
        }
        ([first, second], false, _) => {
            let (to, targets) = sets::translation(first, second, complement, parsed.has(Id::Truncate))?;
            (ByteMap { to, ..identity }, if squeeze { targets } else { ByteSet::none() })
        }
        _ => return Declined::because("as many sets as these options do not take"),
    };
    Ok(Box::new(Tr { map, squeezed }))
}

impl Command for Tr {
    fn facts(&self) -> Facts {
        let input = InputFacts { pipe_read_bytes: Some(BUFSIZ_BYTES), ..InputFacts::default() };
        if self.squeezed.is_empty() {
            return Facts { input, ..Facts::of_map(&self.map) };
        }
        let (creates, removes) = (self.map.creates(), self.map.removes().union(&self.squeezed));
        let lines_stay = !creates.contains(b'\n') && !removes.contains(b'\n');
        let lines = if lines_stay { Lines::Kept } else { Lines::Changed };
        let output = if creates.contains(0) { OutputFacts::default() } else { OutputFacts::of_input() };
        Facts { lines, input, output, over_parts: self.over_parts(), ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &[Input::Stdin]
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let map = ByteMapKernel::new(&self.map);
        if self.squeezed.is_empty() {
            return Ok(Box::new(map));
        }
        Ok(Box::new(SqueezeKernel::new(map, &self.map, &self.squeezed)))
    }
}

impl Tr {
    /// Returns what squeezing does with parts: a part may not begin within a run, which a byte that is deleted does not end;
    /// and its output has to end with a newline.
    fn over_parts(&self) -> OverParts {
        let ends_run = |byte: u8| {
            let to = self.map.to[usize::from(byte)];
            !self.map.deleted.contains(byte) && !self.squeezed.contains(to)
        };
        let makes_line =
            |byte: u8| self.map.to[usize::from(byte)] == b'\n' && !self.map.deleted.contains(byte);
        match self.map.creates().contains(0) {
            true => OverParts::Unknown,
            false => OverParts::ConcatenatedBetween(ByteSet::where_(makes_line), ByteSet::where_(ends_run)),
        }
    }
}

#[derive(Clone)]
struct SqueezeKernel {
    map: ByteMapKernel,
    deletes: bool,
    /// Bytes that map to a member of the squeezed set.
    watched: Members,
    /// The result of each byte; [`SQUEEZED`] marks a byte whose repeats are dropped.
    entries: [u16; 256],
    /// The entry of the byte written last.
    last: u16,
    mapped: Vec<u8>,
    to_one: Option<ToOne>,
}

/// A map that keeps some bytes and changes all others to one byte, the only one squeezed: `tr -cs A-Za-z
/// '\n'`, `tr -s ' '`.
#[derive(Clone)]
struct ToOne {
    keeps: Vec<Run>,
    to: u8,
}

/// More runs are slower than a table.
const KEEPS_MAX: usize = 4;

impl ToOne {
    fn new(map: &ByteMap, squeezed: &ByteSet) -> Option<ToOne> {
        let to = map.to.iter().copied().find(|to| squeezed.contains(*to))?;
        let plain = |byte: u8| map.to[usize::from(byte)] == to || map.to[usize::from(byte)] == byte;
        let others = map.to.iter().filter(|other| **other != to);
        if !(0..=u8::MAX).all(plain) || others.into_iter().any(|other| squeezed.contains(*other)) {
            return None;
        }
        let mut keeps: Vec<Run> = Vec::new();
        for low in (0..=u8::MAX).filter(|byte| map.to[usize::from(*byte)] != to) {
            match keeps.last_mut() {
                Some(run) if run.low + run.span + 1 == low => run.span += 1,
                _ => keeps.push(Run { low, span: 0, shift: 0 }),
            }
        }
        (keeps.len() <= KEEPS_MAX).then_some(ToOne { keeps, to })
    }
}

const SQUEEZED: u16 = 0x100;

/// Equals no entry.
const NOTHING: u16 = 0x200;

impl SqueezeKernel {
    fn new(kernel: ByteMapKernel, map: &ByteMap, squeezed: &ByteSet) -> Self {
        let deletes = !map.deleted.is_empty();
        let entry = |byte: usize| {
            // With deletion, mapping is a separate first step.
            let to = if deletes { byte as u8 } else { map.to[byte] };
            u16::from(to) | if squeezed.contains(to) { SQUEEZED } else { 0 }
        };
        let entries: [u16; 256] = std::array::from_fn(entry);
        let watched = ByteSet::where_(|byte| entries[usize::from(byte)] >= SQUEEZED);
        SqueezeKernel {
            map: kernel,
            deletes,
            watched: Members::new(&watched),
            entries,
            last: NOTHING,
            mapped: Vec::new(),
            to_one: if deletes { None } else { ToOne::new(map, squeezed) },
        }
    }

    /// Squeezes with vector instructions, if this machine has them.
    fn squeeze_to_one(&mut self, to_one: &ToOne, block: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        out.resize(start + block.len() + compact::ROOM, 0);
        let after = self.last == SQUEEZED | u16::from(to_one.to);
        let written = compact::squeeze(block, &to_one.keeps, to_one.to, after, &mut out[start..]);
        out.truncate(start + written.unwrap_or(0));
        self.last = self.entries[usize::from(*block.last().filter(|_| written.is_some())?)];
        Some(())
    }

    fn squeeze(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + bytes.len(), 0);
        let (mut end, mut last) = (start, self.last);
        for &byte in bytes {
            let entry = self.entries[usize::from(byte)];
            out[end] = entry as u8;
            end += usize::from(!((entry == last) & (entry >= SQUEEZED)));
            last = entry;
        }
        self.last = last;
        out.truncate(end);
    }

    /// Only maps stretches where no two squeezed bytes are adjacent.
    fn squeeze_stretches(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let (stretches, rest) = block.as_chunks::<STRETCH>();
        for stretch in stretches {
            if self.last >= SQUEEZED || self.watched.neighbours(stretch) {
                self.squeeze(stretch, out);
            } else {
                self.map.map_all(stretch, out);
                self.last = self.entries[usize::from(stretch[STRETCH - 1])];
            }
        }
        self.squeeze(rest, out);
    }
}

impl Kernel for SqueezeKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.deletes {
            let mut mapped = std::mem::take(&mut self.mapped);
            mapped.clear();
            self.map.apply(block, &mut mapped);
            self.squeeze(&mapped, out);
            self.mapped = mapped;
        } else {
            match self.to_one.take() {
                Some(to_one) if self.squeeze_to_one(&to_one, block, out).is_some() => {
                    self.to_one = Some(to_one)
                }
                _ => self.squeeze_stretches(block, out),
            }
        }
        Ok(Flow::More)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::PrecedingByte(last) = notice {
            self.last = self.entries[usize::from(last)];
        }
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for SqueezeKernel {
    fn fork(&mut self) -> Option<Peer> {
        // With deletion, the byte before a block need not be the byte written last.
        let kernel = Box::new(SqueezeKernel { mapped: Vec::new(), ..self.clone() });
        let peer = Peer { kernel, share: Sharing::After, whole: None, never: None, lookahead_bytes: 0 };
        (!self.deletes).then_some(peer)
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        !self.deletes && self.entries[usize::from(end)] & 0xff == u16::from(end)
    }
}
