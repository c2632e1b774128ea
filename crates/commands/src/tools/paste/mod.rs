//! `paste`: GNU coreutils.
//!
//! `paste - - -` and `paste -s` read inputs one after another ([`serial`]); `paste a b` reads them in
//! parallel.

mod serial;

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{self, IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::uutils;
use crate::tool::versions::{
    self, COREUTILS_8_32_TO_9_0, COREUTILS_TO_9_7, COREUTILS_TO_9_10, OtherVersions,
};
use pelton_stream::{Framing, JoinKernel, Kernel};

use crate::bytes::line_cursor::Side;
use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Class, Command, Context, Declined, Facts, Input};
use serial::{ColumnsKernel, SerialKernel};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Delimiters,
    Serial,
    ZeroTerminated,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Delimiters, b'd', "delimiters", Takes::Value),
    opt(Id::Serial, b's', "serial", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
];

/// The delimiters, used in turn; `None` for an empty one.
pub(crate) type Delimiters = Vec<Option<u8>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Each input becomes one line.
    Serial,
    /// This many columns, all from standard input.
    Columns(usize),
    /// Several inputs in parallel.
    Aside,
}

#[derive(Debug)]
struct Paste {
    mode: Mode,
    delimiters: Delimiters,
    line_end: u8,
    inputs: Vec<Input>,
}

/// The tool row of `paste`.
pub(crate) static TOOL: Tool = Tool {
    name: "paste",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors { write: io_errors::write_error_twice_if_early, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-sd,"], "a\nb\n", b"a,b\n")],
    cost: |_| Rate::both(2.5, 0.4, 1.0),
    other_versions: &[
        OtherVersions::alike(COREUTILS_8_32_TO_9_0),
        OtherVersions::alike(COREUTILS_TO_9_7),
        OtherVersions::but(COREUTILS_TO_9_10, difference),
    ],
    verifiable: true,
    grammar: Grammar {
        role: Role::Joiner,
        needs: &[],
        options: &["-s", "-d@d", "-d ',;'", "-d '\\n'", "-sd@d", "-z", "-d '\\0'"],
        operands: &["-", "- -", "- - -", "@f", "- @f", "@f @f", "@f -"],
    },
};

/// The row of uutils' `paste`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    // It takes `-d=` for an option without a value.
    let is_odd = |arg: &Vec<u8>| !arg.is_ascii() || arg.starts_with(b"-") && arg.contains(&b'=');
    if args.iter().any(is_odd) {
        return Some("delimiters beyond ASCII, and =");
    }
    if !uutils::is_from_0_12(context) && versions::may_have(args, b"s") {
        return Some("-s");
    }
    uutils::may_repeat(args).then_some("options that are given twice, or with =")
}

/// 9.10 takes characters of several bytes as delimiters.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    (!args.iter().all(|arg| arg.is_ascii())).then_some("delimiters of several bytes")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let delimiters = delimiters(parsed.last_value(Id::Delimiters).unwrap_or(b"\t"))?;
    let line_end = if parsed.has(Id::ZeroTerminated) { 0 } else { b'\n' };
    let inputs = Input::from_operands(&parsed.operands());
    let all_stdin = inputs.iter().all(|input| *input == Input::Stdin);
    let (mode, inputs) = match inputs.len() {
        _ if parsed.has(Id::Serial) => (Mode::Serial, inputs),
        columns if all_stdin => (Mode::Columns(columns), vec![Input::Stdin]),
        1 => (Mode::Columns(1), inputs),
        _ => (Mode::Aside, inputs),
    };
    Ok(Box::new(Paste { mode, delimiters, line_end, inputs }))
}

fn delimiters(text: &[u8]) -> Accept<Delimiters> {
    let mut delimiters = Vec::new();
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        delimiters.push(match (byte, byte == b'\\') {
            (_, false) => Some(byte),
            _ => match rest.next() {
                None => return Declined::because("a delimiter list that ends in a backslash"),
                Some(b'0') => None,
                Some(b'b') => Some(8),
                Some(b'f') => Some(12),
                Some(b'n') => Some(b'\n'),
                Some(b'r') => Some(b'\r'),
                Some(b't') => Some(b'\t'),
                Some(b'v') => Some(11),
                Some(other) => Some(*other),
            },
        });
    }
    if delimiters.is_empty() {
        delimiters.push(None);
    }
    Ok(delimiters)
}

impl Command for Paste {
    fn facts(&self) -> Facts {
        let class = if self.mode == Mode::Aside { Class::Join } else { Class::Other };
        Facts { class, record_end: self.line_end, ..Facts::default() }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let (delimiters, end) = (self.delimiters.clone(), self.line_end);
        match self.mode {
            Mode::Serial => Ok(Box::new(SerialKernel::new(delimiters, end))),
            Mode::Columns(columns) => Ok(Box::new(ColumnsKernel::new(columns, &delimiters, end))),
            Mode::Aside => Declined::because("reads its inputs side by side"),
        }
    }

    fn join_kernel(&self) -> Accept<Box<dyn JoinKernel>> {
        if self.mode != Mode::Aside {
            return Declined::because("reads its inputs one after another");
        }
        let sides = vec![Side::new(self.line_end); self.inputs.len()];
        Ok(Box::new(AsideKernel {
            sides,
            delimiters: self.delimiters.clone(),
            end: self.line_end,
            done: false,
        }))
    }
}

struct AsideKernel {
    sides: Vec<Side>,
    delimiters: Delimiters,
    end: u8,
    done: bool,
}

impl AsideKernel {
    /// Prints all complete rows.
    fn rows(&mut self, out: &mut Vec<u8>) {
        while !self.done && self.sides.iter().all(Side::knows_next) {
            let lines = self.sides.iter_mut().filter_map(|side| side.advance().then_some(())).count();
            if lines == 0 {
                self.done = true;
                return;
            }
            for (index, side) in self.sides.iter().enumerate() {
                if index > 0 {
                    out.extend(self.delimiters[(index - 1) % self.delimiters.len()]);
                }
                out.extend_from_slice(side.line().unwrap_or_default());
            }
            out.push(self.end);
        }
    }
}

impl JoinKernel for AsideKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.end)
    }

    fn wants(&self) -> Option<usize> {
        if self.done { None } else { self.sides.iter().position(|side| !side.knows_next()) }
    }

    fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>) {
        self.sides[input].push(block);
        self.rows(out);
    }

    fn end_input(&mut self, input: usize, out: &mut Vec<u8>) {
        self.sides[input].end_input();
        self.rows(out);
    }
}
