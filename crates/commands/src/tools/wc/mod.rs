//! `wc`: GNU coreutils.

mod counts;

use crate::Family;
use crate::tool::cost::{self, Rate};
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::versions::{self, COREUTILS_8_32_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_stream::{Flow, Framing, InputKind, Kernel, Notice, Outcome, Parallel, Peer, Sharing, known};
use std::io;

use crate::locale::characters::Classes;
use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::{Accept, Charset, Command, Context, Declined, Facts, Input, OutputFacts, OverParts};
use counts::{Counter, Counts, Kinds};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Bytes,
    Chars,
    Lines,
    Words,
    Width,
    Unserved,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Bytes, b'c', "bytes", Takes::Nothing),
    opt(Id::Chars, b'm', "chars", Takes::Nothing),
    opt(Id::Lines, b'l', "lines", Takes::Nothing),
    opt(Id::Words, b'w', "words", Takes::Nothing),
    opt(Id::Width, b'L', "max-line-length", Takes::Nothing),
    crate::tool::argv::long(Id::Unserved, "files0-from", Takes::Value),
    crate::tool::argv::long(Id::Unserved, "debug", Takes::Nothing),
];

/// The printed columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Columns {
    lines: bool,
    words: bool,
    chars: bool,
    bytes: bool,
    width: bool,
}

impl Columns {
    fn count(self) -> usize {
        [self.lines, self.words, self.chars, self.bytes, self.width]
            .into_iter()
            .filter(|&shown| shown)
            .count()
    }
}

#[derive(Debug)]
struct Wc {
    columns: Columns,
    utf8: bool,
    /// The label of the total.
    total_name: Vec<u8>,
    /// The label of each input.
    names: Vec<Option<Vec<u8>>>,
    inputs: Vec<Input>,
    /// Whether the size of each regular file counts, also of standard input.
    knows_sizes: bool,
    /// Whether all but white space belongs to words.
    nonspace: bool,
}

/// Versions in which encoding errors and unprintable characters belong to words.
const FROM_9_5: &[&str] = &["9.5", "9.6", "9.7", "9.8", "9.9", "9.10"];

/// The tool row of `wc`.
pub(crate) static TOOL: Tool = Tool {
    name: "wc",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: true },
    only_prints: always,
    io_errors: IoErrors {
        write: io_errors::write_error_without_reason,
        read: read_error,
        ..IoErrors::COREUTILS
    },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["-wmcL"], "é\tb\n", b"      2       4       5       9\n")],
    cost: |args| match args.iter().any(|arg| arg == b"-l" || arg == b"-c") {
        true => Rate::both(0.16, 0.05, 0.0),
        false => Rate::both(6.5, 0.1, 0.0),
    },
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar::reader(&[], &["-l", "-w", "-c", "-m", "-L", "-lw", "-lwc", "-cm", "--total=never"]),
};

/// The row of busybox' `wc`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(accept),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-l"], "a\nb", b"1\n")],
);

/// Columns have other widths.
fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let is_one = args.first().is_some_and(|arg| arg == b"-l" || arg == b"-c") && args.len() < 3;
    let has_one = is_one && args.get(1).is_none_or(|arg| !arg.starts_with(b"-"));
    if has_one { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `wc`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

/// It knows characters of UTF-8 in every locale, and white space and widths of its own.
fn uutils_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let counts_words = !cost::has_any_option(args) || !versions::has_only(args, b"lc");
    counts_words.then_some("words and characters")
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let stdin = io_errors::quoted_if_needed(&caller.translated("standard input"));
    let name = io_errors::file_name(input, &stdin);
    Unreadable::goes_on(format!("{}: {name}: {}\n", caller.called, caller.reason(error)), 1)
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let mut columns = Columns::default();
    for (id, _) in parsed.options() {
        match id {
            Id::Bytes => columns.bytes = true,
            Id::Chars => columns.chars = true,
            Id::Lines => columns.lines = true,
            Id::Words => columns.words = true,
            Id::Width => columns.width = true,
            Id::Unserved => return Declined::because("a list of files in a file"),
        }
    }
    if columns.count() == 0 {
        columns = Columns { lines: true, words: true, bytes: true, ..columns };
    }
    let by_character = columns.words || columns.chars || columns.width;
    let utf8 = match context.locale.ctype {
        Charset::Other if by_character => return Declined::because("words or characters in this locale"),
        ctype => ctype == Charset::Utf8,
    };
    let operands = parsed.operands();
    if operands.iter().any(|name| name.contains(&b'\n')) {
        return Declined::because("a file name that must be quoted");
    }
    let inputs = Input::from_operands(&operands);
    let names = match operands.as_slice() {
        [] => vec![None],
        names => names.iter().map(|name| Some(name.to_vec())).collect(),
    };
    let total_name = match inputs.len() {
        0 | 1 => Vec::new(),
        _ => context.locale.messages.text("coreutils", "total")?,
    };
    let is_uutils = context.implementation.family() == Some(Family::Uutils);
    let knows_sizes = !is_uutils || !inputs.contains(&Input::Stdin);
    let nonspace = context.implementation.is_one_of(Family::GnuCoreutils, FROM_9_5);
    Ok(Box::new(Wc { columns, utf8, total_name, names, inputs, knows_sizes, nonspace }))
}

/// Whether it is `wc -l` of standard input, and nothing else.
pub fn counts_only_lines(args: &[Vec<u8>]) -> bool {
    let Ok(parsed) = parse(args, OPTIONS, Order::Anywhere) else { return false };
    let mut options = parsed.options().peekable();
    options.peek().is_some() && options.all(|(id, _)| id == Id::Lines) && parsed.operands().is_empty()
}

impl Command for Wc {
    fn facts(&self) -> Facts {
        let Columns { lines, words, chars, width, .. } = self.columns;
        let only_bytes = !(lines || words || width || chars && self.utf8);
        let is_sum = self.columns.count() == 1 && !width && self.inputs == [Input::Stdin];
        Facts {
            over_parts: if is_sum { OverParts::Added } else { OverParts::Unknown },
            output: OutputFacts { blocks_until_eof: true, ..OutputFacts::default() },
            no_gain_alone: only_bytes.then_some(
                "by itself it would gain nothing: it only counts bytes, and the real one does that as well",
            ),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let Columns { words, chars, width, .. } = self.columns;
        let kinds = Kinds { words, width, nonspace: self.nonspace };
        let utf8 = self.utf8 && (chars || kinds.any());
        let classes = if utf8 && kinds.any() { Classes::new() } else { None };
        if utf8 && kinds.any() && classes.is_none() {
            return Declined::because("words or widths in UTF-8 without glibc's classes");
        }
        Ok(Box::new(WcKernel {
            columns: self.columns,
            total_name: self.total_name.clone(),
            names: self.names.clone(),
            index: 0,
            pad: pad(&vec![InputKind::Other; self.inputs.len()], self.columns, self.knows_sizes),
            knows_sizes: self.knows_sizes,
            counter: Counter::new(kinds, utf8, classes),
            total: Counts::default(),
        }))
    }
}

/// The least column width where a size is unknown.
const LEAST_PAD: usize = 7;

/// Returns the column width: that of the total size of all files, at least 7 if a size is unknown; 1 for a
/// single number.
///
/// uutils takes standard input for such a file.
fn pad(kinds: &[InputKind], columns: Columns, known_size: bool) -> usize {
    if kinds.len() == 1 && columns.count() == 1 {
        return 1;
    }
    let mut least = if known_size { 1 } else { LEAST_PAD };
    let mut sum = 0u64;
    for kind in kinds {
        match kind {
            InputKind::Regular { bytes } => sum += bytes,
            InputKind::FullPipe | InputKind::Other => least = LEAST_PAD,
        }
    }
    sum.to_string().len().max(least)
}

struct WcKernel {
    columns: Columns,
    total_name: Vec<u8>,
    names: Vec<Option<Vec<u8>>>,
    /// The index of the current input.
    index: usize,
    pad: usize,
    /// Whether the size of each regular file counts, also of standard input.
    knows_sizes: bool,
    counter: Counter,
    total: Counts,
}

impl WcKernel {
    fn print(&self, counts: &Counts, name: Option<&[u8]>, out: &mut Vec<u8>) {
        let Columns { lines, words, chars, bytes, width } = self.columns;
        let numbers = [
            (lines, counts.lines),
            (words, counts.words),
            (chars, counts.chars),
            (bytes, counts.bytes),
            (width, counts.width),
        ];
        let mut space = "";
        for (_, number) in numbers.iter().filter(|(shown, _)| *shown) {
            out.extend_from_slice(format!("{space}{number:>pad$}", pad = self.pad).as_bytes());
            space = " ";
        }
        if let Some(name) = name {
            out.push(b' ');
            out.extend_from_slice(name);
        }
        out.push(b'\n');
    }
}

impl Kernel for WcKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::Inputs(kinds) = notice {
            self.pad = pad(kinds, self.columns, self.knows_sizes);
        }
    }

    fn push(&mut self, block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        self.counter.push(block, self.columns.lines);
        Ok(Flow::More)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        let counts = self.counter.finish();
        let name = self.names[self.index].take();
        self.print(&counts, name.as_deref(), out);
        self.total.add(&counts);
        self.index += 1;
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if self.names.len() > 1 {
            self.print(&self.total, Some(&self.total_name), out);
        }
        Ok(Flow::Done)
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        Some(self)
    }
}

impl Parallel for WcKernel {
    fn fork(&mut self) -> Option<Peer> {
        let kernel = Box::new(WcKernel {
            columns: self.columns,
            total_name: Vec::new(),
            names: Vec::new(),
            index: 0,
            pad: 0,
            knows_sizes: true,
            counter: self.counter.fork()?,
            total: Counts::default(),
        });
        let whole = self.counter.by_line().then_some(b'\n');
        Some(Peer { kernel, share: Sharing::Fold, whole, never: None, lookahead_bytes: 0 })
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        if let Some(peer) = known::<WcKernel>(peer) {
            self.counter.merge(&peer.counter);
        }
    }
}
