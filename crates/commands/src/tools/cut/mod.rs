//! `cut`: GNU coreutils. In this version -c means bytes, in every locale.

mod fields;
mod list;

use crate::Family;
use crate::bytes::nul_line_ends::NulEndsLines;
use crate::tool::cost::{self, LineLength, Rate};
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{self, COREUTILS_8_32_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_stream::{Flow, Framing, Kernel, Outcome, Parallel, Peer};

use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::{Accept, Command, Context, Declined, Facts, Input, Lines, OutputFacts, OverParts};
use fields::FieldsKernel;
use list::List;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Bytes,
    Fields,
    Delimiter,
    OnlyDelimited,
    OutputDelimiter,
    Complement,
    ZeroTerminated,
    Ignored,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bytes, b'b', "bytes", Takes::Value),
    opt(Id::Bytes, b'c', "characters", Takes::Value),
    opt(Id::Fields, b'f', "fields", Takes::Value),
    opt(Id::Delimiter, b'd', "delimiter", Takes::Value),
    opt(Id::OnlyDelimited, b's', "only-delimited", Takes::Nothing),
    long(Id::OutputDelimiter, "output-delimiter", Takes::Value),
    long(Id::Complement, "complement", Takes::Nothing),
    opt(Id::ZeroTerminated, b'z', "zero-terminated", Takes::Nothing),
    short(Id::Ignored, b'n', Takes::Nothing),
];

#[derive(Debug)]
enum Mode {
    Bytes { delimiter: Vec<u8> },
    Fields { delimiter: u8, output_delimiter: Vec<u8>, only_delimited: bool },
}

#[derive(Debug)]
struct Cut {
    list: List,
    mode: Mode,
    line_end: u8,
    inputs: Vec<Input>,
    resume_args: Vec<Vec<u8>>,
}

/// The tool row of `cut`.
pub(crate) static TOOL: Tool = Tool {
    name: "cut",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: true, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-c1"], "é\n", b"\xc3\n")],
    cost: |args| match cost::has_option(args, b'c') || cost::has_option(args, b'b') {
        true => Rate::of_lines(1.7, 0.12, 0.3, LineLength::Parts),
        false => Rate::of_lines(2.4, 0.5, 0.3, LineLength::Parts),
    },
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar::reader(
        &[
            "-b@l",
            "-c@l",
            "-c @l",
            "-f@l",
            "-f @l",
            "-d@d -f@l",
            "-d @d -f @l",
            "-sd@d -f@l",
            "--fields=@l -d@d",
        ],
        &["--complement", "-n", "-z", "--output-delimiter=@d", "--output-delimiter=", "-s"],
    ),
};

/// The row of busybox' `cut`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(|args, context| accept(args, context).map(NulEndsLines::of)),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-d", " ", "-f", "2"], "a b\n", b"b\n")],
);

/// Of several lists of fields it prints delimiters for those that a line lacks; with `-s` it prints empty lines.
fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let fits = |letter, value: &[u8]| match letter {
        b'b' | b'c' => value.iter().all(|byte| byte.is_ascii_digit() || b",-".contains(byte)),
        b'f' => value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'),
        b'd' => value.len() == 1 && value.is_ascii(),
        _ => false,
    };
    if busybox::has_only(args, b"", fits) { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `cut`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    let is_empty = |arg: &Vec<u8>| arg.is_empty() || arg.starts_with(b"--") && arg.ends_with(b"=");
    if args.iter().any(is_empty) {
        return Some("an empty delimiter");
    }
    if versions::may_have(args, b"n") {
        return Some("-n");
    }
    let counts_characters = uutils::is_from_0_12(context);
    let is_bytes = context.locale.ctype == crate::Charset::C;
    (counts_characters && !is_bytes && versions::may_have(args, b"c")).then_some("characters")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.options().filter(|(id, _)| matches!(id, Id::Bytes | Id::Fields)).count() != 1 {
        return Declined::because("not exactly one list");
    }
    let line_end = if parsed.has(Id::ZeroTerminated) { 0 } else { b'\n' };
    let output_delimiter = parsed.last_value(Id::OutputDelimiter).map(<[u8]>::to_vec);
    // An empty output delimiter means a NUL, as an empty delimiter does.
    let output_delimiter = output_delimiter.map(|text| if text.is_empty() { vec![0] } else { text });
    let mode = if parsed.has(Id::Bytes) {
        if parsed.has(Id::Delimiter) || parsed.has(Id::OnlyDelimited) {
            return Declined::because("-d or -s without -f");
        }
        Mode::Bytes { delimiter: output_delimiter.unwrap_or_default() }
    } else {
        let delimiter = delimiter(parsed.last_value(Id::Delimiter))?;
        if parsed.options().any(|(id, value)| id == Id::Delimiter && value.len() > 1) {
            return Declined::because("a delimiter of several bytes");
        }
        if delimiter == line_end {
            return Declined::because("the line end as delimiter");
        }
        let only_delimited = parsed.has(Id::OnlyDelimited);
        let output_delimiter = output_delimiter.unwrap_or_else(|| vec![delimiter]);
        Mode::Fields { delimiter, output_delimiter, only_delimited }
    };
    let list = parsed.last_value(Id::Bytes).or(parsed.last_value(Id::Fields)).unwrap_or_default();
    let list = List::parse(list)?;
    let list = if parsed.has(Id::Complement) { list.complement() } else { list };
    let inputs = Input::from_operands(&parsed.operands());
    if line_end == 0 && inputs.len() > 1 {
        return Declined::because("-z over several inputs");
    }
    Ok(Box::new(Cut { list, mode, line_end, inputs, resume_args: parsed.resume_args() }))
}

fn delimiter(value: Option<&[u8]>) -> Accept<u8> {
    match value {
        None => Ok(b'\t'),
        Some([]) => Ok(0),
        Some([byte]) => Ok(*byte),
        Some(_) => Declined::because("a delimiter of several bytes"),
    }
}

impl Command for Cut {
    fn facts(&self) -> Facts {
        let changes_lines = match &self.mode {
            Mode::Bytes { delimiter } => delimiter.contains(&self.line_end),
            Mode::Fields { delimiter, output_delimiter, only_delimited } => {
                let makes_lines = *delimiter != self.line_end && output_delimiter.contains(&self.line_end);
                *only_delimited || makes_lines
            }
        };
        // It ends a last line that has no terminator.
        let makes_nul = self.line_end == 0
            || match &self.mode {
                Mode::Bytes { delimiter } => delimiter.contains(&0),
                Mode::Fields { output_delimiter, .. } => output_delimiter.contains(&0),
            };
        Facts {
            lines: if changes_lines { Lines::Changed } else { Lines::Completed },
            record_end: self.line_end,
            over_parts: if makes_nul { OverParts::Unknown } else { OverParts::Concatenated },
            output: if makes_nul { OutputFacts::default() } else { OutputFacts::of_input() },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let list = self.list.clone();
        Ok(match &self.mode {
            Mode::Bytes { delimiter } => {
                Box::new(BytesKernel { list, delimiter: delimiter.clone(), line_end: self.line_end })
            }
            Mode::Fields { delimiter, output_delimiter, only_delimited } => Box::new(FieldsKernel::new(
                list,
                *delimiter,
                output_delimiter.clone(),
                *only_delimited,
                self.line_end,
            )),
        })
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(self.resume_args.clone())
    }
}

#[derive(Clone)]
struct BytesKernel {
    list: List,
    delimiter: Vec<u8>,
    line_end: u8,
}

impl BytesKernel {
    fn line(&self, line: &[u8], out: &mut Vec<u8>) {
        let mut first = true;
        for &(low, high) in &self.list.0 {
            let Some(rest) = usize::try_from(low - 1).ok().and_then(|start| line.get(start..)) else { break };
            if rest.is_empty() {
                break;
            }
            if !std::mem::take(&mut first) {
                out.extend_from_slice(&self.delimiter);
            }
            let length = usize::try_from(high - low).map_or(rest.len(), |span| span.saturating_add(1));
            out.extend_from_slice(&rest[..length.min(rest.len())]);
        }
        out.push(self.line_end);
    }
}

impl Kernel for BytesKernel {
    fn framing(&self) -> Framing {
        Framing::Records(self.line_end)
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let mut start = 0;
        for end in memchr::memchr_iter(self.line_end, block) {
            self.line(&block[start..end], out);
            start = end + 1;
        }
        if start < block.len() {
            self.line(&block[start..], out);
        }
        Ok(Flow::More)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for BytesKernel {
    fn fork(&mut self) -> Option<Peer> {
        Some(Peer::of_blocks(self.clone()))
    }
}
