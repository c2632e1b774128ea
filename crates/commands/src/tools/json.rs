//! `pelton json`, where it prints a line for each value of one input.
//!
//! Its output is UTF-8 without NULs, since other strings are rejected. A reader may treat it as text
//! ([`Special::TextInput`]). All formats except `--lines` and `--gron` run as a process.

use crate::Family;
use crate::tool::cost;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, never};
use pelton_json::formats::{Gron, Lines, Matching};
use pelton_json::{Out, Pieces, Prints, Rules, SyntaxError, Visitor, feed::WINDOW_BYTES};
use pelton_stream::{Flow, Framing, Kernel, Outcome};
use std::io;

use crate::tool::argv::{Opt, Order, Takes, long, parse};
use crate::{
    Accept, Command, Content, Context, Declined, Diagnostics, EarlyStop, Facts, Input, InputFacts,
    OutputFacts, Special,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Lines,
    Gron,
    One,
}

const OPTIONS: &[Opt<Id>] = &[
    long(Id::Lines, "lines", Takes::Nothing),
    long(Id::Gron, "gron", Takes::Nothing),
    long(Id::One, "one", Takes::Nothing),
];

#[derive(Debug)]
struct Json {
    gron: bool,
    rules: Rules,
    inputs: Vec<Input>,
}

/// The tool row of `pelton`.
pub(crate) static TOOL: Tool = Tool {
    name: "pelton",
    family: Family::Pelton,
    alternatives: &[],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Never,
    only_prints: never,
    io_errors: IoErrors { write: write_error, read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Unbuffered,
    unsuitable: &[Unsuitable::RefusedOutput, Unsuitable::BrokenPipe],
    probes: &[],
    cost: cost::unknown,
    other_versions: &[],
    verifiable: false,
    grammar: Grammar::reader(&["json", "json", "json --lines", "json --gron"], &["--one", "--lines"]),
};

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    (format!("{}: cannot write to standard output: {}\n", caller.called, caller.reason(&failure.error)), 2)
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let name = io_errors::file_name(input, "standard input");
    Unreadable::goes_on(format!("{}: cannot read {name}: {}\n", caller.called, caller.reason(error)), 2)
}

/// Parses the arguments. The first is pelton's subcommand.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let Some((_, args)) = args.split_first().filter(|(verb, _)| *verb == b"json") else {
        return Declined::because("only its verb json has a kernel");
    };
    let is_short = |arg: &Vec<u8>| matches!(arg.as_slice(), [b'-', letter, ..] if *letter != b'-');
    // clap takes no abbreviated names, and an option only once.
    let is_known = |arg: &Vec<u8>| matches!(arg.as_slice(), b"--" | b"--lines" | b"--gron" | b"--one");
    if args.iter().any(|arg| is_short(arg) || (arg.starts_with(b"--") && !is_known(arg))) {
        return Declined::because("json with other options than --lines, --gron and --one");
    }
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let times = |wanted: &[Id]| parsed.options().filter(|(id, _)| wanted.contains(id)).count();
    if times(&[Id::Lines, Id::Gron]) > 1 || times(&[Id::One]) > 1 {
        return Declined::because("json with an option twice, or two forms");
    }
    let operands = parsed.operands();
    if operands.iter().any(|word| is_path(word)) {
        return Declined::because("json with a path: a selection");
    }
    if operands.len() > 1 {
        return Declined::because("json of several inputs");
    }
    let rules = Rules { single: parsed.has(Id::One), max_depth: Rules::MAX_DEPTH_OF_PATHS };
    Ok(Box::new(Json { gron: parsed.has(Id::Gron), rules, inputs: Input::from_operands(&operands) }))
}

/// Whether a word looks like a path; a superset of the paths.
fn is_path(word: &[u8]) -> bool {
    word.is_empty() || word.starts_with(b"[") || word.starts_with(b"$") || word.starts_with(b".")
}

impl Command for Json {
    fn facts(&self) -> Facts {
        Facts {
            // Its input may be invalid.
            input: InputFacts { stops_early: Some(EarlyStop::Problem), ..InputFacts::default() },
            output: OutputFacts { content: Content::Text, ..OutputFacts::default() },
            // Output before an error is written when it complains, which others may do later.
            diagnostics: Diagnostics { overtake_output: true, ..Diagnostics::default() },
            no_gain_alone: Some("alone, the real one does the same"),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(match self.gron {
            true => Box::new(JsonKernel::new(Gron::new(Out::kept()), self.rules)),
            false => Box::new(JsonKernel::new(Lines::new(Out::kept()), self.rules)),
        })
    }

    fn kernel_for(&self, case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        let Special::LinesWith(needed) = case else { return None };
        let kernel = || JsonKernel::new(Matching::new(needed, Out::kept()), self.rules);
        (!self.gron).then(|| Ok(Box::new(kernel()) as Box<dyn Kernel>))
    }
}

struct JsonKernel<V> {
    visitor: V,
    pieces: Pieces,
    name: Vec<u8>,
    complaints: Vec<u8>,
    failed: bool,
}

impl<V: Visitor + Prints> JsonKernel<V> {
    fn new(visitor: V, rules: Rules) -> Self {
        let pieces = Pieces::new(rules, WINDOW_BYTES);
        JsonKernel {
            visitor,
            pieces,
            name: b"standard input".to_vec(),
            complaints: Vec::new(),
            failed: false,
        }
    }

    /// Prints the output so far; invalid JSON ends the input.
    fn print(&mut self, outcome: Result<(), Box<SyntaxError>>, out: &mut Vec<u8>) -> Flow {
        let printed = self.visitor.printed();
        out.extend_from_slice(printed.bytes());
        printed.truncate(0);
        let Err(error) = outcome else { return Flow::More };
        self.failed = true;
        self.complaints = format!("pelton: {}: {error}\n", String::from_utf8_lossy(&self.name)).into_bytes();
        Flow::Done
    }
}

impl<V: Visitor + Prints + Send + 'static> Kernel for JsonKernel<V> {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn begin_input(&mut self, name: Option<&[u8]>, _out: &mut Vec<u8>) {
        if let Some(name) = name {
            self.name = name.to_vec();
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        let outcome = self.pieces.push(block, &mut self.visitor);
        Ok(self.print(outcome, out))
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        let outcome = self.pieces.end(&mut self.visitor);
        Ok(self.print(outcome, out))
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complaints)
    }

    fn status(&self) -> i32 {
        if self.failed { 2 } else { 0 }
    }
}
