//! `comm`: GNU coreutils.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{self, IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::tool::versions::{self, COREUTILS_9_2_TO_9_10, OtherVersions};
use std::cmp::Ordering;

use pelton_stream::{Complaint, Framing, JoinKernel, Kernel};

use crate::bytes::line_cursor::Side;
use crate::locale::collation::{Collation, compare};
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Class, Command, Context, Declined, EarlyStop, Facts, Input, InputFacts};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Column(usize),
    CheckOrder,
    NoCheckOrder,
    OutputDelimiter,
    Total,
    ZeroTerminated,
}

const OPTIONS: &[Opt<Id>] = &[
    short(Id::Column(0), b'1', Takes::Nothing),
    short(Id::Column(1), b'2', Takes::Nothing),
    short(Id::Column(2), b'3', Takes::Nothing),
    long(Id::CheckOrder, "check-order", Takes::Nothing),
    long(Id::NoCheckOrder, "nocheck-order", Takes::Nothing),
    long(Id::OutputDelimiter, "output-delimiter", Takes::Value),
    long(Id::Total, "total", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
];

/// When to check the order of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Once a line was unpaired; complains, and fails at the end.
    Unpaired,
    /// Always; ends at the first line out of order.
    Always,
    Never,
}

#[derive(Clone, Debug)]
struct Comm {
    shown: [bool; 3],
    check: Check,
    delimiter: Vec<u8>,
    total: bool,
    /// The collation, if not byte order.
    collation: Option<&'static Collation>,
    line_end: u8,
    inputs: Vec<Input>,
}

/// 9.2 separates the columns of `--total` by the NUL that an empty separator stands for.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    (!versions::has_only(args, b"123z")).then_some("an empty separator with --total")
}

/// The tool row of `comm`.
pub(crate) static TOOL: Tool = Tool {
    name: "comm",
    family: Family::GnuCoreutils,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { read: io_errors::fatal_read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[Unsuitable::RefusedOutput, Unsuitable::BrokenPipe],
    probes: &[Probe::refuses(&["--total", "-", "/dev/null"], "b\na\n", b"b\na\n2\t0\t0\ttotal\n")],
    cost: |_| Rate::both(2.8, 0.9, 1.0),
    other_versions: &[
        OtherVersions::but(versions::COREUTILS_8_32_TO_9_0, versions::in_c_utf8),
        OtherVersions::but(COREUTILS_9_2_TO_9_10, difference),
    ],
    verifiable: true,
    grammar: Grammar {
        role: Role::Joiner,
        needs: &[],
        options: &[
            "-1",
            "-2",
            "-3",
            "-12",
            "-13",
            "-23",
            "--output-delimiter=@d",
            "--total",
            "--nocheck-order",
            "-z",
        ],
        operands: &["sorted -", "- sorted", "@f @f", "sorted sorted", "- @f", "sorted a"],
    },
};

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    context.locale.messages.in_english()?;
    let mut comm = Comm {
        shown: [true; 3],
        check: Check::Unpaired,
        delimiter: b"\t".to_vec(),
        total: false,
        collation: context.locale.collation()?,
        line_end: b'\n',
        inputs: Input::from_operands(&parsed.operands()),
    };
    if comm.inputs.len() != 2 {
        return Declined::because("not two inputs");
    }
    let mut delimiters = 0;
    for (id, value) in parsed.options() {
        match id {
            Id::Column(column) => comm.shown[column] = false,
            Id::CheckOrder => comm.check = Check::Always,
            Id::NoCheckOrder => comm.check = Check::Never,
            Id::OutputDelimiter => {
                delimiters += 1;
                comm.delimiter = if value.is_empty() { vec![0] } else { value.to_vec() };
            }
            Id::Total => comm.total = true,
            Id::ZeroTerminated => comm.line_end = 0,
        }
    }
    if delimiters > 1 {
        return Declined::because("several output delimiters");
    }
    Ok(Box::new(comm))
}

impl Command for Comm {
    fn facts(&self) -> Facts {
        let stops_early = (self.check == Check::Always).then_some(EarlyStop::Done);
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
        let delimiters = |columns: &[bool]| {
            let count = columns.iter().filter(|&&shown| shown).count();
            self.delimiter.repeat(count)
        };
        Ok(Box::new(CommKernel {
            prefixes: [Vec::new(), delimiters(&self.shown[..1]), delimiters(&self.shown[..2])],
            comm: self.clone(),
            sides: [Side::new(self.line_end), Side::new(self.line_end)],
            pending: [true, true],
            disordered: [false; 2],
            warned: [false; 2],
            unpaired: false,
            totals: [0; 3],
            complaints: Vec::new(),
            done: false,
            status: 0,
        }))
    }
}

struct CommKernel {
    comm: Comm,
    /// The prefix of a line in each column.
    prefixes: [Vec<u8>; 3],
    sides: [Side; 2],
    /// Which inputs must advance before lines can be compared.
    pending: [bool; 2],
    /// Whether the last two lines of an input are out of order.
    disordered: [bool; 2],
    warned: [bool; 2],
    unpaired: bool,
    totals: [u64; 3],
    complaints: Vec<Complaint>,
    done: bool,
    status: i32,
}

impl CommKernel {
    fn go_on(&mut self, out: &mut Vec<u8>) {
        while !self.done && self.step_inputs(out.len()) {
            self.compare(out);
        }
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
        true
    }

    fn step(&mut self, input: usize, printed: usize) {
        let side = &mut self.sides[input];
        // At the end the last pair is checked again: an unpaired line may have been seen since.
        if side.advance() && side.count > 1 && self.comm.check != Check::Never {
            let collation = self.comm.collation;
            self.disordered[input] =
                side.line().is_some_and(|line| compare(collation, side.previous(), line).is_gt());
        }
        let checked = self.comm.check == Check::Always || self.unpaired;
        if self.disordered[input] && checked && !self.warned[input] {
            self.warned[input] = true;
            let message = format!("comm: file {} is not in sorted order\n", input + 1);
            self.complaints.push(Complaint { at: printed, text: message.into_bytes() });
            if self.comm.check == Check::Always {
                (self.done, self.status) = (true, 1);
            }
        }
    }

    fn compare(&mut self, out: &mut Vec<u8>) {
        let (column, line) = match (self.sides[0].line(), self.sides[1].line()) {
            (None, None) => return self.finish(out),
            (Some(line), None) => (0, line),
            (None, Some(line)) => (1, line),
            (Some(first), Some(second)) => match compare(self.comm.collation, first, second) {
                Ordering::Less => (0, first),
                Ordering::Greater => (1, second),
                Ordering::Equal => (2, second),
            },
        };
        if self.comm.shown[column] {
            out.extend_from_slice(&self.prefixes[column]);
            out.extend_from_slice(line);
            out.push(self.comm.line_end);
        }
        self.unpaired |= column != 2;
        self.totals[column] += 1;
        self.pending = [column != 1, column != 0];
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.done = true;
        if self.comm.total {
            for total in self.totals {
                out.extend_from_slice(total.to_string().as_bytes());
                // An empty delimiter is a NUL between columns, but nothing here.
                out.extend(self.comm.delimiter.iter().filter(|&&byte| byte != 0));
            }
            out.extend_from_slice(b"total");
            out.push(self.comm.line_end);
        }
        if self.warned.contains(&true) {
            let text = b"comm: input is not in sorted order\n".to_vec();
            self.complaints.push(Complaint { at: out.len(), text });
            self.status = 1;
        }
    }
}

impl JoinKernel for CommKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.comm.line_end)
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
