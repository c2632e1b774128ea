//! `sort`, as in GNU coreutils 9.1.
//!
//! ```text
//!   argv ─ options ─▶ LineOrder (order, key): one byte string per line
//!                        number, float, version, month: strings in the order of numbers, versions …
//!                        (text in a locale with its own order: the crate's collation)
//!   blocks ─ collect ─▶ counted (table) or listed (lines) ─ engine ─▶ runs ─ output (merge, print) ─▶ bytes
//! ```
//! Declined: `-R`, `-c` (it may have to report the disorder), `-o`, `--debug`, `--files0-from`,
//! `--compress-program`, obsolete keys, `-g` with `-m` or `-C`, and what sort would report as an error. Falls
//! back at the end of input: with two NaNs or more under `-g`.

mod big_integer;
mod collect;
mod distinct;
mod engine;
mod float;
mod item;
mod kernel;
mod key;
mod lines;
mod memory_budget;
mod merge;
mod merge_inputs;
mod month;
mod number;
mod options;
mod order;
mod output;
mod parts;
mod print;
mod radix;
mod ranges;
mod render;
mod run;
mod spill;
mod spill_directory;
mod stored_lines;
mod table;
mod text;
mod topk;
mod version;

use crate::Family;
use crate::bytes::nul_line_ends::NulEndsLines;
use crate::locale::collation::Collation;
use crate::tool::cost::{self, Rate};
use crate::tool::detect::Probe;
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, without_output_file};
use crate::tool::versions::{self, COREUTILS_9_2_TO_9_10, OtherVersions};
use crate::tool::{busybox, uutils};
use pelton_stream::Kernel;
use std::io;

pub use distinct::DistinctCount;
pub use kernel::SortKernel;
pub use options::{Mode, SortOptions};
pub(crate) use print::{GroupStyle, push_count};
pub(crate) use text::{LineLength, each_line, window};
pub use topk::TopK;

use crate::{
    Accept, Command, Content, Context, Diagnostics, EarlyStop, Facts, Input, InputFacts, OutputFacts,
    OverParts, TemporaryFiles,
};

/// 9.1 and 9.2 order versions (-V) otherwise, and 9.2 knows more suffixes (-h); keys may name both.
fn difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let may_name = |arg: &&Vec<u8>| {
        let is_long = arg.starts_with(b"--");
        let is_option = arg.starts_with(b"-") || arg.first().is_some_and(u8::is_ascii_digit);
        is_long || is_option && (arg.contains(&b'V') || arg.contains(&b'h'))
    };
    args.iter().any(|arg| may_name(&arg)).then_some("versions and suffixes of numbers")
}

/// The tool row of `sort`.
pub(crate) static TOOL: Tool = Tool {
    name: "sort",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS, &BUSYBOX],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: true },
    only_prints: without_output_file,
    io_errors: IoErrors { write: write_error, read: read_error, ..IoErrors::COREUTILS },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[
        Probe::prints(&["-fu"], "É\né\n", "É\né\n".as_bytes()),
        Probe::refuses(&["-té", "-k2"], "aéb\n", b""),
    ],
    cost: |args| match cost::has_any_option(args) {
        true => Rate::by_line(14.0, 250.0, 3.8, 1.0),
        false => Rate::by_line(8.5, 250.0, 2.2, 1.0),
    },
    other_versions: &[
        OtherVersions::but(versions::COREUTILS_8_32_TO_9_0, |args, context| {
            versions::in_c_utf8(args, context).or_else(|| difference(args, context))
        }),
        OtherVersions::but(COREUTILS_9_2_TO_9_10, difference),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[],
        &[
            "-n",
            "-r",
            "-u",
            "-b",
            "-f",
            "-k@k",
            "-k @k",
            "-t@d",
            "-z",
            "-s",
            "-h",
            "-V",
            "-g",
            "-M",
            "-d",
            "-i",
            "-c",
            "-C",
            "-nr",
            "-rn",
            "-nru",
            "+1",
            "-t@d -k@k",
            "--parallel=1",
            "-S1M",
            "-o out",
            "-m",
            "-rk2n",
        ],
    ),
};

/// The row of busybox' `sort`.
static BUSYBOX: Tool = busybox::row(
    &TOOL,
    Acceptor::Alone(|args, context| accept(args, context).map(NulEndsLines::of)),
    &[busybox::but(busybox::COMPARED, busybox_difference)],
    &[Probe::prints(&["-t:", "-k2"], "a:2\nb:1\n", b"b:1\na:2\n")],
);

/// More bytes are blanks between fields. Lines that compare equal it leaves in another order if a key is reversed or `-s` is
/// given, and of those with equal keys `-u` keeps another one. Numbers that it reads otherwise are for the kernel to find.
fn busybox_difference(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let mut has_key = false;
    let fits = |letter, value: &[u8]| match letter {
        b'k' => {
            has_key = true;
            value.iter().all(|byte| byte.is_ascii_digit() || b",n".contains(byte))
        }
        b't' => value.len() == 1 && value.is_ascii(),
        _ => false,
    };
    let is_simple = busybox::has_only(args, b"nru", fits);
    let has = |letter| versions::may_have(args, &[letter]);
    let is_served = is_simple && (!has_key || has(b't')) && !(has(b'u') && (has_key || has(b'n')));
    if is_served { None } else { busybox::OTHER_CALLS }
}

/// The row of uutils' `sort`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    // There `+1` is a number, and so are fields that are missing.
    let may_be_numeric = |arg: &Vec<u8>| {
        let is_option = arg.starts_with(b"-") || arg.first().is_some_and(u8::is_ascii_digit);
        is_option && (arg.contains(&b'n') || arg.starts_with(b"--"))
    };
    if !uutils::is_from_0_12(context) && args.iter().any(may_be_numeric) {
        return Some("numbers");
    }
    if args.iter().any(|arg| !arg.is_ascii()) {
        return Some("separators beyond ASCII");
    }
    if uutils::has_equals(args) {
        return Some("options with = behind their letter");
    }
    // Its blanks include carriage returns, and its suffixes are those of GNU's sort from 9.2 on.
    if versions::may_have(args, b"bcdghiCMV") {
        return Some("orders other than of numbers, and messages about order");
    }
    if versions::may_have(args, b"k") && !versions::may_have(args, b"t") {
        return Some("keys between blanks");
    }
    let names_order = |arg: &Vec<u8>| {
        let may_be_key = arg.starts_with(b"-") || arg.first().is_some_and(u8::is_ascii_digit);
        may_be_key && !arg.starts_with(b"-f") && arg.iter().any(|byte| b"bdfghiMV".contains(byte))
    };
    if args.iter().any(names_order) {
        return Some("keys of orders other than of numbers");
    }
    // With `-k1r` it leaves what is in order as it is.
    let is_reversed = |arg: &Vec<u8>| {
        matches!(arg.as_slice(), [.., before, b'r'] if before.is_ascii_digit() || *before == b'b')
            && !arg.contains(&b',')
    };
    args.iter().any(is_reversed).then_some("a key to the end of the line in reverse")
}

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let what =
        caller.translated(if failure.is_beyond_first_buffer() { "write failed" } else { "fflush failed" });
    let stdout = io_errors::quoted_if_needed(&caller.translated("standard output"));
    let again = io_errors::write_error_without_reason(caller, failure).0;
    (format!("{}: {what}: {stdout}: {}\n{again}", caller.called, caller.reason(&failure.error)), 2)
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let (what, name) = (caller.translated("read failed"), io_errors::file_name(input, "-"));
    Unreadable::dies(format!("{}: {what}: {name}: {}\n", caller.called, caller.reason(error)), 2)
}

/// Parses sort's arguments.
pub fn accept(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    Ok(Box::new(Sort { options: SortOptions::parse(args, context)? }))
}

/// The `sort` command.
#[derive(Clone, Debug)]
pub struct Sort {
    /// The parsed options.
    pub options: SortOptions,
}

impl Command for Sort {
    fn facts(&self) -> Facts {
        let options = &self.options;
        let checks = options.mode.only_checks();
        let blocks_until_eof = match options.mode {
            Mode::Sort => true,
            Mode::Merge => options.inputs.len() > 1,
            Mode::Check | Mode::Report => false,
        };
        let merging = || [vec![b"-m".to_vec()], options.resume_args.clone()].concat();
        let reads_one = options.inputs.len() == 1;
        let over_parts = match options.mode {
            // Where two NaNs stand depends on what else is sorted.
            Mode::Sort if reads_one && !options.order().may_meet_nan() => OverParts::Merged(merging()),
            _ => OverParts::Unknown,
        };
        let reads_lines = options.terminator == b'\n' && options.inputs == [Input::Stdin];
        // Whole lines break ties between equal keys, unless the first of equals is kept, or their order.
        let breaks_ties = options.mode == Mode::Sort && !options.stable && !options.unique && reads_lines;
        let collation = options.conventions.collation;
        Facts {
            record_end: options.terminator,
            over_parts,
            input: InputFacts {
                stops_early: checks.then_some(EarlyStop::Problem),
                ignores_order: breaks_ties && collation.is_none(),
                ignores_order_of_text: breaks_ties && collation.is_none_or(Collation::tells_characters_apart),
                ..InputFacts::default()
            },
            output: OutputFacts {
                blocks_until_eof,
                // It ends a last line that has no terminator.
                content: if options.terminator == 0 { Content::Bytes } else { Content::NoNewNul },
                ..OutputFacts::default()
            },
            diagnostics: Diagnostics { show_name: options.mode == Mode::Report, ..Diagnostics::default() },
            temporary_files: match &options.directory {
                _ if checks => TemporaryFiles::None,
                Some(directory) => TemporaryFiles::In(directory.clone()),
                None => TemporaryFiles::Usual,
            },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.options.inputs
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        Some(self.options.resume_args.clone())
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        let options = &self.options;
        Ok(match options.mode {
            Mode::Sort => Box::new(SortKernel::new(options)),
            Mode::Merge if options.inputs.len() > 1 => Box::new(merge_inputs::MergeKernel::new(options)),
            Mode::Merge => Box::new(kernel::PassKernel::new(options)),
            Mode::Check | Mode::Report => Box::new(kernel::CheckKernel::new(options)),
        })
    }
}
