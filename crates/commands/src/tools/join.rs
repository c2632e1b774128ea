//! `join`: GNU coreutils. Without -i and --header.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::tool::versions::{self, OtherVersions};
use std::cmp::Ordering;
use std::io;

use memchr::{memchr, memchr2, memchr3};
use pelton_stream::{Complaint, Framing, JoinKernel, Kernel};

use crate::bytes::line_cursor::{Line, Side, Walk};
use crate::locale::collation::{Collation, compare};
use crate::tool::argv::{Item, Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Class, Command, Context, Declined, EarlyStop, Facts, Input, InputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Also,
    Only,
    Field1,
    Field2,
    Fields,
    Empty,
    Format,
    Separator,
    CheckOrder,
    NoCheckOrder,
    ZeroTerminated,
    Unserved,
}

const OPTIONS: &[Opt<Id>] = &[
    short(Id::Also, b'a', Takes::Value),
    short(Id::Only, b'v', Takes::Value),
    short(Id::Field1, b'1', Takes::Value),
    short(Id::Field2, b'2', Takes::Value),
    short(Id::Fields, b'j', Takes::Value),
    short(Id::Empty, b'e', Takes::Value),
    short(Id::Format, b'o', Takes::Value),
    short(Id::Separator, b't', Takes::Value),
    long(Id::CheckOrder, "check-order", Takes::Nothing),
    long(Id::NoCheckOrder, "nocheck-order", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
    opt(Id::Unserved, b'i', "ignore-case", Takes::Nothing),
    long(Id::Unserved, "header", Takes::Nothing),
];

/// An output column: the join field, or a field (from 0) of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Field(usize, usize),
}

/// When to check the order of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Unpaired,
    Always,
    Never,
}

#[derive(Clone, Debug)]
struct Join {
    /// The join field of each input, from 0.
    keys: [usize; 2],
    /// Whether unpaired lines of each input are printed.
    unpaired: [bool; 2],
    paired: bool,
    separator: Option<u8>,
    empty: Vec<u8>,
    format: Option<Vec<Column>>,
    check: Check,
    /// The collation of join fields, if not byte order.
    collation: Option<&'static Collation>,
    line_end: u8,
    inputs: Vec<Input>,
}

/// The tool row of `join`.
pub(crate) static TOOL: Tool = Tool {
    name: "join",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[Unsuitable::RefusedOutput, Unsuitable::BrokenPipe],
    probes: &[Probe::refuses(&["-té", "-", "/dev/null"], "éa\n", b"")],
    cost: |_| Rate::both(5.6, 3.7, 1.5),
    other_versions: &[
        OtherVersions::but(versions::COREUTILS_8_32_TO_9_0, versions::in_c_utf8),
        // From 9.5 on it knows the characters of UTF-8.
        OtherVersions::alike(&["9.2", "9.3", "9.4"]),
    ],
    verifiable: true,
    grammar: Grammar {
        role: Role::Joiner,
        needs: &[],
        options: &[
            "-t@d",
            "-1 @p",
            "-2 1",
            "-j 1",
            "-a1",
            "-a 2",
            "-v1",
            "-i",
            "-e X",
            "-o 1.1,2.1",
            "--nocheck-order",
            "--header",
            "-z",
        ],
        operands: &["sorted -", "- sorted", "sorted sorted", "sorted a"],
    },
};

fn read_error(caller: &Caller, _input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::dies(io_errors::read_error_message(caller, error), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    context.locale.messages.in_english()?;
    let first_operand = parsed.items.iter().position(|item| matches!(item, Item::Operand(_)));
    let behind = &parsed.items[first_operand.unwrap_or(parsed.items.len())..];
    if behind.iter().any(|item| matches!(item, Item::Option(..))) {
        // `-o 1.1 2.2`, `-j1 2`: obsolete forms take operands as arguments.
        return Declined::because("options behind operands");
    }
    let mut join = Join {
        keys: [0, 0],
        unpaired: [false, false],
        paired: true,
        separator: None,
        empty: Vec::new(),
        format: None,
        check: Check::Unpaired,
        collation: context.locale.collation()?,
        line_end: b'\n',
        inputs: Input::from_operands(&parsed.operands()),
    };
    if join.inputs.len() != 2 {
        return Declined::because("not two inputs");
    }
    let mut seen = Vec::new();
    for (id, value) in parsed.options() {
        if !matches!(id, Id::Also | Id::Only) && seen.contains(&id) {
            return Declined::because("an option twice");
        }
        seen.push(id);
        join.option(id, value)?;
    }
    let has_two_meanings = |arg: &Vec<u8>| matches!(arg.as_slice(), [b'-', .., b'j', b'1' | b'2']);
    if seen.contains(&Id::Fields) && args.iter().any(has_two_meanings) {
        return Declined::because("-j1 and -j2, which have two meanings");
    }
    if seen.contains(&Id::Fields) && (seen.contains(&Id::Field1) || seen.contains(&Id::Field2)) {
        return Declined::because("-j with -1 or -2");
    }
    Ok(Box::new(join))
}

impl Join {
    fn option(&mut self, id: Id, value: &[u8]) -> Accept<()> {
        match id {
            Id::Also => self.unpaired[side(value)?] = true,
            Id::Only => {
                self.unpaired[side(value)?] = true;
                self.paired = false;
            }
            Id::Field1 => self.keys[0] = field(value)?,
            Id::Field2 => self.keys[1] = field(value)?,
            Id::Fields => self.keys = [field(value)?; 2],
            Id::Empty => self.empty = value.to_vec(),
            Id::Format => self.format = Some(format(value)?),
            Id::Separator => match value {
                [byte] if *byte != b'\n' => self.separator = Some(*byte),
                _ => return Declined::because("a separator that is not one plain byte"),
            },
            Id::CheckOrder => self.check = Check::Always,
            Id::NoCheckOrder => self.check = Check::Never,
            Id::ZeroTerminated => self.line_end = 0,
            Id::Unserved => return Declined::because("-i or --header"),
        }
        Ok(())
    }
}

fn side(value: &[u8]) -> Accept<usize> {
    match value {
        b"1" => Ok(0),
        b"2" => Ok(1),
        _ => Declined::because("an input that is neither 1 nor 2"),
    }
}

fn field(value: &[u8]) -> Accept<usize> {
    let digits = value.len() <= 6 && value.iter().all(u8::is_ascii_digit);
    match std::str::from_utf8(value).ok().filter(|_| digits).and_then(|text| text.parse::<usize>().ok()) {
        Some(number) if number > 0 => Ok(number - 1),
        _ => Declined::because("a field that is not a plain number"),
    }
}

fn format(list: &[u8]) -> Accept<Vec<Column>> {
    let column = |item: &[u8]| match item {
        b"0" => Ok(Column::Key),
        [input @ (b'1' | b'2'), b'.', number @ ..] => {
            Ok(Column::Field(usize::from(*input - b'1'), field(number)?))
        }
        _ => Declined::because("an output list that is not plain"),
    };
    list.split(|byte| matches!(byte, b',' | b' ' | b'\t')).map(column).collect()
}

impl Command for Join {
    fn facts(&self) -> Facts {
        let reads_all = self.unpaired == [true, true] && self.check != Check::Always;
        let stops_early = (!reads_all).then_some(EarlyStop::Problem);
        Facts {
            class: Class::Join,
            record_end: self.line_end,
            input: InputFacts { stops_early, ..InputFacts::default() },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Declined::because("reads its inputs side by side")
    }

    fn join_kernel(&self) -> Accept<Box<dyn JoinKernel>> {
        Ok(Box::new(JoinLines {
            sides: [Side::new(self.line_end), Side::new(self.line_end)],
            pending: [true, true],
            group: Group::default(),
            warned: [false; 2],
            unpaired_seen: false,
            unpaired_next: false,
            complaints: Vec::new(),
            done: false,
            status: 0,
            join: self.clone(),
        }))
    }
}

impl Join {
    fn is_blank(&self, byte: &u8) -> bool {
        matches!(byte, b' ' | b'\t') || *byte == b'\n' && self.line_end == 0
    }

    /// Calls `field` for each field of a line, numbered from 0. Fields are separated by the separator, or by
    /// runs of blanks.
    fn each_field<'a>(&self, line: &'a [u8], mut field: impl FnMut(usize, &'a [u8])) {
        if let Some(separator) = self.separator {
            if !line.is_empty() {
                let fields = line.split(|&byte| byte == separator);
                fields.enumerate().for_each(|(index, text)| field(index, text));
            }
            return;
        }
        let (mut rest, mut index) = (line, 0);
        while let Some(start) = rest.iter().position(|byte| !self.is_blank(byte)) {
            rest = &rest[start..];
            let end = self.blank(rest).unwrap_or(rest.len());
            field(index, &rest[..end]);
            rest = &rest[end..];
            index += 1;
        }
        // Blanks at the end are followed by an empty field.
        if index > 0 && !rest.is_empty() {
            field(index, b"");
        }
    }

    fn fields<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        let mut fields = Vec::new();
        self.each_field(line, |_, text| fields.push(text));
        fields
    }

    fn key<'a>(&self, input: usize, line: &'a [u8]) -> &'a [u8] {
        let (from, to) = self.key_place(input, line);
        &line[from..to]
    }

    /// Returns the range of a line's join field.
    fn key_place(&self, input: usize, line: &[u8]) -> (usize, usize) {
        let place = self.keys[input];
        let mut start = 0;
        if let Some(separator) = self.separator {
            for _ in 0..place {
                let Some(end) = memchr(separator, &line[start..]) else { return (0, 0) };
                start += end + 1;
            }
            return (start, memchr(separator, &line[start..]).map_or(line.len(), |end| start + end));
        }
        for before in 0..=place {
            let Some(blanks) = line[start..].iter().position(|byte| !self.is_blank(byte)) else { break };
            start += blanks;
            let end = self.blank(&line[start..]).map_or(line.len(), |end| start + end);
            if before == place {
                return (start, end);
            }
            start = end;
        }
        (0, 0)
    }

    /// Returns the length of the line at the start of `bytes`, if it is complete, and the range of its join
    /// field.
    #[inline]
    fn cut(&self, input: usize, bytes: &[u8]) -> Option<(usize, (usize, usize))> {
        let first = *bytes.first()?;
        let stop = match self.separator {
            Some(separator) => memchr2(separator, self.line_end, bytes)?,
            None if self.line_end == 0 || self.is_blank(&first) => 0,
            None => memchr3(b' ', b'\t', self.line_end, bytes)?,
        };
        if self.keys[input] > 0 || self.line_end == 0 || self.is_blank(&first) && self.separator.is_none() {
            let end = memchr(self.line_end, bytes)?;
            return Some((end, self.key_place(input, &bytes[..end])));
        }
        // The first field ends at the line end, or before.
        let end =
            if bytes[stop] == self.line_end { stop } else { stop + memchr(self.line_end, &bytes[stop..])? };
        Some((end, (0, stop)))
    }

    /// Returns the offset of the first blank.
    fn blank(&self, text: &[u8]) -> Option<usize> {
        if self.line_end == 0 { memchr3(b' ', b'\t', b'\n', text) } else { memchr2(b' ', b'\t', text) }
    }

    /// Compares the join fields of two lines, each with the number of its input.
    fn compare(&self, a: (usize, &[u8]), b: (usize, &[u8])) -> Ordering {
        compare(self.collation, self.key(a.0, a.1), self.key(b.0, b.1))
    }

    /// Prints an unpaired line of either input, or a pair.
    fn print(&self, lines: [Option<&[u8]>; 2], out: &mut Vec<u8>) {
        match &self.format {
            Some(columns) => self.print_columns(columns, lines, out),
            None => self.print_all(lines, out),
        }
        out.push(self.line_end);
    }

    fn print_columns(&self, columns: &[Column], lines: [Option<&[u8]>; 2], out: &mut Vec<u8>) {
        let fields = lines.map(|line| line.map(|line| self.fields(line)).unwrap_or_default());
        let keyed = usize::from(lines[0].is_none());
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                out.push(self.separator.unwrap_or(b' '));
            }
            let (input, field) = match *column {
                Column::Key => (keyed, self.keys[keyed]),
                Column::Field(input, field) => (input, field),
            };
            self.put(fields[input].get(field).copied().unwrap_or_default(), out);
        }
    }

    /// Prints the join field, then the other fields of the first and of the second input.
    fn print_all(&self, lines: [Option<&[u8]>; 2], out: &mut Vec<u8>) {
        let keyed = usize::from(lines[0].is_none());
        self.put(self.key(keyed, lines[keyed].unwrap_or_default()), out);
        for (input, line) in lines.iter().enumerate().filter_map(|(input, line)| Some((input, (*line)?))) {
            self.each_field(line, |field, text| {
                if field != self.keys[input] {
                    out.push(self.separator.unwrap_or(b' '));
                    self.put(text, out);
                }
            });
        }
    }

    fn keyed<'a>(&self, input: usize, walk: Walk<'a>) -> Walk<'a> {
        let (start, (from, to)) = (walk.here.start, self.key_place(input, walk.line()));
        walk.by_key((start + from, start + to))
    }

    /// Returns the lines after a pair, if neither joins as well.
    #[inline]
    fn both_ahead(&self, walks: &[Walk<'_>; 2]) -> Option<[Line; 2]> {
        let ahead = |input: usize| {
            let walk = &walks[input];
            let line = walk.ahead(|bytes| self.cut(input, bytes))?;
            walk.compare(&walk.here, (walk, &line), self.collation).is_lt().then_some(line)
        };
        Some([ahead(0)?, ahead(1)?])
    }

    fn print_pair(&self, walks: &[Walk<'_>; 2], out: &mut Vec<u8>) {
        let [first, second] = walks.each_ref().map(Walk::line);
        // Both lines are only the join field.
        if self.format.is_none()
            && !first.is_empty()
            && walks.iter().all(|walk| walk.key().len() == walk.line().len())
        {
            out.extend_from_slice(first);
            out.push(self.line_end);
        } else {
            self.print([Some(first), Some(second)], out);
        }
    }

    fn put(&self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(if text.is_empty() { &self.empty } else { text });
    }
}

/// Lines with the same key, collected until the key changes.
#[derive(Default)]
struct Group {
    /// The input whose lines are being collected.
    collecting: Option<usize>,
    lines: [Pile; 2],
}

/// Lines in reused memory.
#[derive(Default)]
struct Pile {
    bytes: Vec<u8>,
    /// The end of each line.
    ends: Vec<usize>,
}

impl Pile {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    fn first(&self) -> &[u8] {
        &self.bytes[..self.ends.first().copied().unwrap_or(0)]
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().scan(0, |start, &end| Some(&self.bytes[std::mem::replace(start, end)..end]))
    }
}

struct JoinLines {
    join: Join,
    sides: [Side; 2],
    pending: [bool; 2],
    group: Group,
    warned: [bool; 2],
    unpaired_seen: bool,
    /// Whether the next line makes the inputs unpaired: that line is not checked yet.
    unpaired_next: bool,
    complaints: Vec<Complaint>,
    done: bool,
    status: i32,
}

impl JoinLines {
    fn go_on(&mut self, out: &mut Vec<u8>) {
        while !self.done && self.step_inputs(out.len()) {
            match self.group.collecting {
                Some(input) => self.collect(input, out),
                None => {
                    self.walk(out);
                    self.compare(out);
                }
            }
        }
    }

    /// Fast path while lines are in order and none joins more than once: the same work without its state.
    fn walk(&mut self, out: &mut Vec<u8>) {
        let join = &self.join;
        let [Some(first), Some(second)] = self.sides.each_ref().map(Side::walk) else { return };
        let mut walks = [join.keyed(0, first), join.keyed(1, second)];
        loop {
            let [a, b] = &walks;
            let order = a.compare(&a.here, (b, &b.here), join.collation);
            let alone = match order {
                Ordering::Equal => {
                    let Some(next) = join.both_ahead(&walks) else { break };
                    if join.paired {
                        join.print_pair(&walks, out);
                    }
                    walks.iter_mut().zip(next).for_each(|(walk, line)| walk.step(line));
                    continue;
                }
                Ordering::Less => 0,
                Ordering::Greater => 1,
            };
            let walk = &mut walks[alone];
            let Some(line) = walk.ahead(|bytes| join.cut(alone, bytes)) else { break };
            if walk.compare(&walk.here, (walk, &line), join.collation).is_gt() {
                break;
            }
            if join.unpaired[alone] {
                let mut pair = [None, None];
                pair[alone] = Some(walk.line());
                join.print(pair, out);
            }
            walk.step(line);
            (self.unpaired_seen, self.unpaired_next) = (true, true);
        }
        let places = walks.map(|walk| walk.place());
        self.sides.iter_mut().zip(places).for_each(|(side, place)| side.go(place));
    }

    /// Advances the pending inputs; `printed` is the length of the output. Returns `false` if an input has no
    /// line yet.
    fn step_inputs(&mut self, printed: usize) -> bool {
        for input in 0..2 {
            if self.pending[input] {
                if !self.sides[input].knows_next() {
                    return false;
                }
                self.pending[input] = false;
                self.step(input, printed);
                if self.done {
                    return false;
                }
            }
        }
        self.unpaired_seen = self.unpaired_next;
        true
    }

    fn step(&mut self, input: usize, printed: usize) {
        let side = &mut self.sides[input];
        let checked = match self.join.check {
            Check::Always => true,
            Check::Unpaired => self.unpaired_seen && !self.warned[input],
            Check::Never => false,
        };
        if !side.advance() || side.count < 2 || !checked {
            return;
        }
        let line = side.line().unwrap_or_default();
        if self.join.compare((input, side.previous()), (input, line)).is_gt() {
            self.warned[input] = true;
            let name = match &self.join.inputs[input] {
                Input::Stdin => b"-",
                Input::File(name) => name.as_slice(),
            };
            let number = side.count.to_string();
            // printf's %s ends at a NUL.
            let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
            let parts = [b"join: ", name, b":", number.as_bytes(), b": is not sorted: ", line, b"\n"];
            self.complaints.push(Complaint { at: printed, text: parts.concat() });
            if self.join.check == Check::Always {
                (self.done, self.status) = (true, 1);
            }
        }
    }

    fn compare(&mut self, out: &mut Vec<u8>) {
        let lines = [self.sides[0].line(), self.sides[1].line()];
        let order = match lines {
            [None, None] => return self.finish(out.len()),
            [Some(_), None] => Ordering::Less,
            [None, Some(_)] => Ordering::Greater,
            [Some(first), Some(second)] => self.join.compare((0, first), (1, second)),
        };
        let alone = match order {
            Ordering::Equal => {
                for (pile, line) in self.group.lines.iter_mut().zip(lines) {
                    pile.clear();
                    pile.push(line.unwrap_or_default());
                }
                self.group.collecting = Some(0);
                self.pending[0] = true;
                return;
            }
            Ordering::Less => 0,
            Ordering::Greater => 1,
        };
        if lines.contains(&None) && self.needs_no_rest(alone) {
            return self.finish(out.len());
        }
        if self.join.unpaired[alone] {
            let mut pair = [None, None];
            pair[alone] = lines[alone];
            self.join.print(pair, out);
        }
        // Lines left after the other input has ended do not enable the order check.
        self.unpaired_next |= lines.iter().all(Option::is_some);
        self.pending[alone] = true;
    }

    /// Whether the rest of this input is neither printed nor checked, after the other has ended.
    fn needs_no_rest(&self, alone: usize) -> bool {
        !self.join.unpaired[alone] && (self.join.check == Check::Never || self.warned[alone])
    }

    /// Adds a line to the group, or finishes it.
    fn collect(&mut self, input: usize, out: &mut Vec<u8>) {
        let first = self.group.lines[input].first();
        let belongs = |line: &&[u8]| self.join.compare((input, first), (input, line)).is_eq();
        if let Some(line) = self.sides[input].line().filter(belongs) {
            self.group.lines[input].push(line);
            self.pending[input] = true;
        } else if input == 0 {
            self.group.collecting = Some(1);
            self.pending[1] = true;
        } else {
            self.group.collecting = None;
            let [firsts, seconds] = &self.group.lines;
            for first in firsts.iter().filter(|_| self.join.paired) {
                seconds.iter().for_each(|second| self.join.print([Some(first), Some(second)], out));
            }
        }
    }

    fn finish(&mut self, printed: usize) {
        self.done = true;
        if self.warned.contains(&true) {
            let text = b"join: input is not in sorted order\n".to_vec();
            self.complaints.push(Complaint { at: printed, text });
            self.status = 1;
        }
    }
}

impl JoinKernel for JoinLines {
    fn framing(&self) -> Framing {
        Framing::Records(self.join.line_end)
    }

    fn wants(&self) -> Option<usize> {
        (0..2).find(|&input| !self.done && self.pending[input] && !self.sides[input].knows_next())
    }

    fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>) {
        self.sides[input].push(block);
        self.go_on(out);
    }

    fn end_input(&mut self, input: usize, out: &mut Vec<u8>) {
        self.sides[input].end_input();
        self.go_on(out);
    }

    fn messages(&mut self) -> Vec<Complaint> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        self.status
    }
}
