//! `grep`: GNU grep 3.8, as Debian builds it.
//!
//! ```text
//!   block ─► NULs? ─► does the expression support it? ─► selected lines ─► printed, counted, or enough
//!            │ from here on no line is printed        │ no: the real grep continues
//! ```
//!
//! How grep treats binary data, in short: a line with an invalid character is not printed, and at the end of
//! that input grep reports on standard error that it is binary. A NUL ends a line. From the read with the
//! first NUL on ([`reads`]) nothing is printed, and the first selected line ends the input with that message.
//! Unless `-q` or `-m` ended it, grep reads its standard input to the end even if it needs no more of it.
//! Where lines are not printed (`-c`, `-q`, `-l`, `-L`) only the NULs matter.
//!
//! Declined: `-P`, `-z`, `-Z`, `-T`, `-I`, context lines of a standard input, directories, colours, `--line-buffered`, `-m 0`.

mod binary_lookahead;
mod context_lines;
mod kernel;
mod line_prefix;
mod options;
mod reads;
mod rerun;
mod search;
mod stateless;

pub(crate) use stateless::stateless;

use crate::Family;
use crate::tool::cost::{self, LineLength, Rate};
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always};
use crate::tool::versions::{self, OtherVersions};
use pelton_stream::Kernel;
use std::io;

use crate::regex::Judges;
use crate::{
    Accept, ByteMap, Class, Command, Content, Context, Declined, EarlyStop, Facts, Input, InputFacts, Lookup,
    OutputFacts, OverParts, Special,
};
use options::{Options, Show};
use search::GrepKernel;

/// The parsed arguments of grep.
#[derive(Debug)]
struct Grep {
    options: Options,
    may_hand_over: bool,
}

/// All that pelton knows of `grep`.
pub(crate) static TOOL: Tool = Tool {
    name: "grep",
    family: Family::GnuGrep,
    alternatives: &[],
    accept: Acceptor::WithLookup(accept),
    split: Some(stateless),
    in_process: InProcess::Reads { reuses_kernel: true, needs_all_sizes: false },
    only_prints: always,
    io_errors: IoErrors { catalogue: Some("grep"), write: write_error, read: read_error },
    standard_output: StandardOutput::Buffered,
    unsuitable: &[Unsuitable::Holes, Unsuitable::OtherName, Unsuitable::Variable("GREP_OPTIONS")],
    probes: &[],
    cost: |args| match (cost::has_option(args, b'c'), cost::has_option(args, b'o')) {
        (true, _) => Rate::both(1.2, 0.1, 0.0),
        (_, true) => Rate::of_lines(40.0, 6.0, 0.5, LineLength::Words),
        _ => Rate::both(1.5, 0.2, 0.2),
    },
    other_versions: &[
        OtherVersions::but(BEFORE_3_8, difference_before_3_8),
        // Their notes name nothing that has a kernel.
        OtherVersions::alike(&["3.9", "3.10", "3.11"]),
        OtherVersions::but(&["3.12"], difference_in_3_12),
    ],
    verifiable: true,
    grammar: Grammar::reader(
        &[
            "@r",
            "-v @r",
            "-c @r",
            "-o @r",
            "-i @r",
            "-n @r",
            "-w @r",
            "-x @r",
            "-F @q",
            "-E @r",
            "-e @r -e @q",
            "-f sorted",
            "-vxf sorted",
        ],
        &[
            "-a", "-m@p", "-v", "-c", "-n", "-h", "-H", "-q", "-l", "-z", "-A1", "-B2", "-C1", "-A0", "-b",
            "-s",
        ],
    ),
};

fn write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    (io_errors::write_error_at_close(caller, failure).0, 2)
}

fn read_error(caller: &Caller, input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    let name = io_errors::file_name(input, &caller.translated("(standard input)"));
    Unreadable::goes_on(format!("{}: {name}: {}\n", caller.called, caller.reason(error)), 2)
}

/// Versions that do not warn of stray backslashes, and whose `.` does not match all characters.
const BEFORE_3_8: &[&str] = &["3.6", "3.7"];

/// Before 3.8, -s also suppresses the message about binary files.
fn difference_before_3_8(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"s").then_some("what -s suppresses")
}

/// 3.12 tells of binary files with -m where only names are printed.
fn difference_in_3_12(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    versions::may_have(args, b"m").then_some("messages about binary files with -m")
}

/// Parses the arguments.
pub fn accept(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>> {
    let options = Options::parse(args, context, lookup)?;
    let may_hand_over = options.may_meet_unjudged();
    if options.around.is_some() && may_hand_over {
        return Declined::because("lines of context around some that only the real grep judges");
    }
    if may_hand_over && !options.is_resumable() {
        return Declined::because("the real grep could not go on if it met data that only it can judge");
    }
    Ok(Box::new(Grep { options, may_hand_over }))
}

impl Options {
    /// Returns which data the searches support.
    fn judges(&self) -> Judges {
        match self.show {
            Show::Matches if !self.invert => self.regex.judges_all().max(self.regex.judges()),
            _ => self.regex.judges(),
        }
    }

    /// Returns how the outputs over parts of one input become its output over all of it.
    fn over_parts(&self) -> OverParts {
        if self.inputs.len() != 1 || self.names || self.around.is_some() {
            return OverParts::Unknown;
        }
        match (self.show, self.limit) {
            (Show::Count, None) => OverParts::Added,
            (Show::Nothing, None) => OverParts::AnySuccess,
            (Show::Lines | Show::Matches, None) if self.line_numbers && !self.offsets => {
                OverParts::Numbered(0)
            }
            (Show::Lines, Some(most)) if !self.line_numbers && !self.offsets => OverParts::FirstLines(most),
            _ => OverParts::Unknown,
        }
    }

    /// Whether there may be data that the searches do not support.
    fn may_meet_unjudged(&self) -> bool {
        let looks_ahead = self.show == Show::Matches && !self.invert && !self.regex.never_gives_up();
        looks_ahead || self.judges() != Judges::AnyBytes
    }
}

impl Command for Grep {
    fn facts(&self) -> Facts {
        let options = &self.options;
        let is_filter = options.is_filter();
        let stops_early = matches!(options.show, Show::Nothing) || options.limit.is_some();
        let prints_records = is_filter || matches!(options.show, Show::Lines | Show::Matches);
        let lines_are_alone = !options.invert
            && !options.line_numbers
            && !options.offsets
            && options.limit.is_none()
            && options.around.is_none();
        Facts {
            over_parts: options.over_parts(),
            class: if is_filter { Class::LineFilter } else { Class::Other },
            input: InputFacts {
                stops_early: stops_early.then_some(EarlyStop::Done),
                pipe_read_bytes: Some(96 << 10),
                depends_on_reads: !options.text,
                required_substring: lines_are_alone.then(|| options.regex.required()).flatten(),
                ..InputFacts::default()
            },
            output: OutputFacts {
                blocks_until_eof: !prints_records,
                // It prints no line of a read with a NUL.
                content: if options.text { Content::NoNewNul } else { Content::NoNul },
                ..OutputFacts::default()
            },
            scripts: options.scripts.clone(),
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.options.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(GrepKernel::new(&self.options)))
    }

    fn kernel_for(&self, case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        match case {
            // Works as with `-a`.
            Special::TextInput => {
                let options = Options { text: true, ..self.options.clone() };
                Some(Ok(Box::new(GrepKernel::new(&options))))
            }
            // Parts of lines, and prefixes of lines, are printed differently.
            Special::LineCount if self.options.is_filter() && self.options.limit.is_none() => {
                Some(Ok(Box::new(GrepKernel::new(&self.options).printing_ends_only())))
            }
            Special::LineCount | Special::LinesWith(_) | Special::Part | Special::PartSums => None,
        }
    }

    fn keeps_same_lines_after(&self, map: &ByteMap) -> bool {
        self.options.is_filter() && self.options.regex.keeps_same_lines_after(map)
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.may_hand_over.then(|| self.options.resume_args.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn grep(args: &[&str], locale: Locale) -> Box<dyn Command> {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let context = Context { locale, implementation: Implementation::tested(Family::GnuGrep) };
        accept(&args, &context, &crate::tool::interface::NoLookup).expect("native")
    }

    /// Returns the output for these blocks, and whether the kernel fell back.
    fn run(mut kernel: Box<dyn Kernel>, blocks: &[&[u8]]) -> (Vec<u8>, bool, Vec<u8>, i32) {
        let mut out = Vec::new();
        kernel.begin_input(None, &mut out);
        let handed_over = blocks.iter().any(|block| kernel.push(block, &mut out).is_err());
        let _ = kernel.end_input(&mut out);
        (out, handed_over, kernel.messages(), kernel.status())
    }

    #[test]
    fn for_a_count_the_same_number_of_lines_is_printed() {
        let texts: &[&[&[u8]]] =
            &[&[b"ab\nb\nab\n", b"b\nab"], &[b"ab\na\xffb\nab\n"], &[b"ab\n", b"a\0b\nab\n"], &[b"b\n"]];
        for args in [&["a"][..], &["-v", "a"], &["-a", "a"], &["-x", "ab"], &["-i", "A"]] {
            for (locale, text) in
                [Locale::C, Locale::C_UTF8].iter().flat_map(|l| texts.iter().map(move |t| (l, t)))
            {
                let command = grep(args, locale.clone());
                let full = run(command.kernel().expect("a kernel"), text);
                let ends =
                    run(command.kernel_for(Special::LineCount).expect("a filter").expect("a kernel"), text);
                assert!(ends.0.iter().all(|byte| *byte == b'\n'), "{args:?} {text:?}");
                assert_eq!(
                    ends.0.len(),
                    full.0.iter().filter(|byte| **byte == b'\n').count(),
                    "{args:?} {text:?}"
                );
                assert_eq!((ends.1, &ends.2, ends.3), (full.1, &full.2, full.3), "{args:?} {text:?}");
            }
        }
        for args in
            [&["-o", "a"][..], &["-n", "a"], &["-c", "a"], &["-m", "1", "a"], &["-q", "a"], &["-l", "a", "f"]]
        {
            assert!(grep(args, Locale::C).kernel_for(Special::LineCount).is_none(), "{args:?}");
        }
    }
}
