//! `tac`: GNU coreutils, for separators of one byte and one input.
//!
//! Each input is reversed separately. A pipe is buffered for that. A file is read from its end, and only the
//! record that a block cuts is held.

use crate::Family;
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{
    self, Caller, IoErrors, STDIO_BUFFER_BYTES, StandardOutput, Unreadable, WriteFailure,
};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::tool::versions::OtherVersions;
use crate::tool::{busybox, uutils};
use pelton_stream::{BLOCK_BYTES, Flow, Framing, IoControl, Kernel, Outcome};
use std::io;

use crate::bytes::short_copy::Gather;
use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Command, Context, Declined, Facts, Input, OutputFacts, TemporaryFiles};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Before,
    Regex,
    Separator,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Before, b'b', "before", Takes::Nothing),
    opt(Id::Regex, b'r', "regex", Takes::Nothing),
    opt(Id::Separator, b's', "separator", Takes::Value),
];

#[derive(Debug)]
struct Tac {
    separator: u8,
    before: bool,
    inputs: Vec<Input>,
}

/// The tool row of `tac`.
pub(crate) static TOOL: Tool = Tool {
    name: "tac",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors { write: write_error, read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[Unsuitable::BrokenPipe],
    probes: &[Probe::prints(&[], "a\nb", b"ba\n")],
    cost: |_| Rate::both(1.1, 0.25, 1.0),
    other_versions: &[OtherVersions::alike(&["8.32", "9.0", "9.2", "9.3"])],
    verifiable: true,
    grammar: Grammar::reader(&[], &["-b", "-s @d", "-r", "-s a", "-s ''"]),
};

/// The row of busybox' `tac`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox::no_options)],
    &[Probe::prints(&[], "a\nb\n", b"b\na\n")],
);

/// The row of uutils' `tac`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    uutils::may_repeat(args).then_some("options that are given twice, or with =")
}

/// Returns tac's message and status after a failed write. tac writes 16 KiB at a time: a failure at its last write,
/// when it closes its output, has other words than one before.
fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    match failure.printed > 4 * STDIO_BUFFER_BYTES as u64 {
        true => io_errors::write_error_without_reason(caller, failure),
        false => io_errors::write_error_at_close(caller, failure),
    }
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let stdin = io_errors::quoted_if_needed(&caller.translated("standard input"));
    let what = caller.translated("%s: read error").replace("%s", &io_errors::file_name(input, &stdin));
    Unreadable::dies(format!("{}: {what}: {}\n", caller.called, caller.reason(error)), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if parsed.has(Id::Regex) {
        return Declined::because("a separator that is a regular expression");
    }
    let separator = match parsed.last_value(Id::Separator) {
        None => b'\n',
        Some([]) => 0,
        Some([byte]) => *byte,
        Some(_) => return Declined::because("a separator of several bytes"),
    };
    let inputs = Input::from_operands(&parsed.operands());
    if inputs.len() > 1 {
        // After a record of more than 64 KiB it reports 'memory exhausted' for the next large file.
        return Declined::because("several inputs, between which the real one may fail");
    }
    Ok(Box::new(Tac { separator, before: parsed.has(Id::Before), inputs }))
}

/// Whether it reverses the lines of one input.
pub fn reverses_lines(args: &[Vec<u8>]) -> bool {
    let Ok(parsed) = parse(args, OPTIONS, Order::Anywhere) else { return false };
    parsed.options().next().is_none() && parsed.operands().len() <= 1
}

impl Command for Tac {
    fn facts(&self) -> Facts {
        // A pipe cannot be read from its end: the real tac stores it first.
        let stores = self.inputs.contains(&Input::Stdin);
        Facts {
            output: OutputFacts { blocks_until_eof: true, ..OutputFacts::of_input() },
            temporary_files: if stores { TemporaryFiles::Usual } else { TemporaryFiles::None },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(TacKernel {
            separator: self.separator,
            before: self.before,
            held: Vec::new(),
            from_end: false,
            later: Vec::new(),
            inputs_left: self.inputs.len(),
        }))
    }
}

struct TacKernel {
    separator: u8,
    before: bool,
    held: Vec<u8>,
    /// Whether the current input arrives last block first.
    from_end: bool,
    /// The pieces seen of a record whose start lies before them, the last one first.
    later: Vec<Vec<u8>>,
    inputs_left: usize,
}

impl TacKernel {
    /// Prints held records from the end, until `out` has grown by about `most` bytes, and drops them. Returns
    /// whether nothing is left.
    fn print(&mut self, most: usize, out: &mut Vec<u8>) -> bool {
        let enough = out.len().saturating_add(most);
        let mut end = self.held.len();
        for at in memchr::memrchr_iter(self.separator, &self.held) {
            // A record starts after a separator, or with it.
            let start = if self.before { at } else { at + 1 };
            out.extend_from_slice(&self.held[start..end]);
            end = start;
            if out.len() >= enough {
                self.held.truncate(end);
                return false;
            }
        }
        out.extend_from_slice(&self.held[..end]);
        self.held.clear();
        true
    }
}

impl TacKernel {
    /// Prints the records that begin in this block, which precedes the blocks so far.
    fn push_before(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut out = Gather::new(out, block.len() + self.later.iter().map(Vec::len).sum::<usize>());
        let mut end = block.len();
        for at in memchr::memrchr_iter(self.separator, block) {
            let start = if self.before { at } else { at + 1 };
            out.slice(block, start, end);
            // The rest of a record that began in this block.
            self.later.drain(..).rev().for_each(|piece| out.bytes(&piece));
            end = start;
        }
        out.finish();
        self.later.push(block[..end].to_vec());
    }
}

impl Kernel for TacKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.from_end {
            self.push_before(block, out);
        } else {
            self.held.extend_from_slice(block);
        }
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.inputs_left -= 1;
        if std::mem::take(&mut self.from_end) {
            self.later.drain(..).rev().for_each(|piece| out.extend_from_slice(&piece));
            return Ok(Flow::More);
        }
        // `finish` prints the last input block by block.
        if self.inputs_left > 0 {
            self.print(usize::MAX, out);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        Ok(if self.print(BLOCK_BYTES, out) { Flow::Done } else { Flow::More })
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for TacKernel {
    fn reads_backwards(&mut self) -> bool {
        self.from_end = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn reversed(args: &[&str], text: &[u8], block: Option<usize>) -> Vec<u8> {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let implementation = Implementation::tested(Family::GnuCoreutils);
        let command = accept(&args, &Context { locale: Locale::C, implementation }).expect("accepted");
        let mut kernel = command.kernel().expect("a kernel");
        let mut out = Vec::new();
        match block {
            Some(size) => {
                assert!(kernel.io_control().is_some_and(|io| io.reads_backwards()));
                text.rchunks(size).for_each(|block| assert_eq!(kernel.push(block, &mut out), Ok(Flow::More)));
            }
            None => assert_eq!(kernel.push(text, &mut out), Ok(Flow::More)),
        }
        assert_eq!(kernel.end_input(&mut out), Ok(Flow::More));
        assert_eq!(kernel.finish(&mut out), Ok(Flow::Done));
        out
    }

    #[test]
    fn from_the_end_as_from_the_beginning() {
        let record = |index: usize| [b"b".repeat(index * 131 % 700), b"\n".to_vec()].concat();
        let long = (0..60).flat_map(record).chain(*b"z").collect::<Vec<u8>>();
        for text in [&b""[..], b"\n", b"a", b"a\nb\nc\n", b"a\nb\n\nc", b"\n\na\n", &long] {
            for args in [&[][..], &["-b"], &["-s", "b"]] {
                for block in [1, 2, 3, 7, 64, 500, 3000] {
                    let expected = reversed(args, text, None);
                    assert_eq!(reversed(args, text, Some(block)), expected, "{args:?} {block}");
                }
            }
        }
    }
}
