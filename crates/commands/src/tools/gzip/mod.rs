//! `gzip -dc`, `gunzip -c` and `zcat`: GNU gzip, decompressing regular files, or one as standard input, to standard
//! output.
//!
//! The kernel prints what the files hold as long as they are sound. At anything else (damage, a missing end, bytes
//! behind it, another format) it starts the real command over all files, drops what was printed before, and passes on
//! the rest, its messages and its status.

mod header;
mod kernel;

use pelton_stream::Kernel;

use crate::tool::argv::{Opt, Order, Takes, long, opt, parse, short};
use crate::tool::cost::Rate;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{Caller, IoErrors, StandardOutput, Unreadable, WriteFailure, file_name};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable, always, is_letters_with};
use crate::tool::versions::OtherVersions;
use crate::{Accept, Command, Context, Declined, Facts, Family, Input, InputFacts, Lines};
use kernel::GzipKernel;

/// The tool row of `gzip`.
pub(crate) static TOOL: Tool = row(
    "gzip",
    Acceptor::Alone(|args, context| accept(args, context, Implied { decompresses: false, prints: false })),
    prints,
    &["-dc a.gz", "-cd a.gz b.gz", "-d -c -- a.gz", "-cdk a.gz"],
);

/// The tool row of `gunzip`.
pub(crate) static GUNZIP: Tool = row(
    "gunzip",
    Acceptor::Alone(|args, context| accept(args, context, Implied { decompresses: true, prints: false })),
    prints,
    &["-c a.gz", "--stdout a.gz b.gz"],
);

/// The tool row of `zcat`.
pub(crate) static ZCAT: Tool = row(
    "zcat",
    Acceptor::Alone(|args, context| accept(args, context, Implied { decompresses: true, prints: true })),
    always,
    &["a.gz", "-- b.gz a.gz"],
);

/// What a name means without options.
#[derive(Clone, Copy)]
struct Implied {
    decompresses: bool,
    prints: bool,
}

const OTHER_VERSIONS: &[OtherVersions] = &[OtherVersions::alike(&["1.10", "1.13", "1.14"])];

const fn row(
    name: &'static str,
    accept: Acceptor,
    only_prints: fn(&[&str]) -> bool,
    needs: &'static [&'static str],
) -> Tool {
    Tool {
        name,
        family: Family::GnuGzip,
        alternatives: &[],
        accept,
        split: None,
        in_process: InProcess::Reads { reuses_kernel: false, needs_all_sizes: false },
        only_prints,
        io_errors: IoErrors { catalogue: None, write: unwritten, read: unreadable },
        standard_output: StandardOutput::Unbuffered,
        unsuitable: &[Unsuitable::Variable("GZIP")],
        probes: &[],
        cost: |_| Rate::both(4.9, 2.2, 3.0),
        other_versions: OTHER_VERSIONS,
        verifiable: false,
        grammar: Grammar { role: Role::Source, needs, options: &[], operands: &[""] },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Decompress,
    Stdout,
    /// Options without an effect on what is printed: how well it compresses, for one.
    Harmless,
    Other,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Stdout, b'c', "stdout", Takes::Nothing),
    long(Id::Stdout, "to-stdout", Takes::Nothing),
    opt(Id::Decompress, b'd', "decompress", Takes::Nothing),
    long(Id::Decompress, "uncompress", Takes::Nothing),
    opt(Id::Harmless, b'k', "keep", Takes::Nothing),
    opt(Id::Harmless, b'n', "no-name", Takes::Nothing),
    opt(Id::Harmless, b'1', "fast", Takes::Nothing),
    short(Id::Harmless, b'2', Takes::Nothing),
    short(Id::Harmless, b'3', Takes::Nothing),
    short(Id::Harmless, b'4', Takes::Nothing),
    short(Id::Harmless, b'5', Takes::Nothing),
    short(Id::Harmless, b'6', Takes::Nothing),
    short(Id::Harmless, b'7', Takes::Nothing),
    short(Id::Harmless, b'8', Takes::Nothing),
    opt(Id::Harmless, b'9', "best", Takes::Nothing),
    opt(Id::Other, b'a', "ascii", Takes::Nothing),
    opt(Id::Other, b'b', "bits", Takes::Value),
    opt(Id::Other, b'f', "force", Takes::Nothing),
    opt(Id::Other, b'l', "list", Takes::Nothing),
    opt(Id::Other, b'L', "license", Takes::Nothing),
    long(Id::Other, "lzw", Takes::Nothing),
    opt(Id::Other, b'N', "name", Takes::Nothing),
    opt(Id::Other, b'q', "quiet", Takes::Nothing),
    long(Id::Other, "silent", Takes::Nothing),
    opt(Id::Other, b'r', "recursive", Takes::Nothing),
    long(Id::Other, "rsyncable", Takes::Nothing),
    opt(Id::Other, b'S', "suffix", Takes::Value),
    long(Id::Other, "synchronous", Takes::Nothing),
    opt(Id::Other, b't', "test", Takes::Nothing),
    opt(Id::Other, b'v', "verbose", Takes::Nothing),
    long(Id::Other, "-presume-input-tty", Takes::Nothing),
    short(Id::Other, b'h', Takes::Nothing),
    short(Id::Other, b'V', Takes::Nothing),
];

/// Parses the arguments.
fn accept(args: &[Vec<u8>], _context: &Context, implied: Implied) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    if !implied.decompresses && !parsed.has(Id::Decompress) {
        return Declined::because("it compresses");
    }
    if parsed.has(Id::Other) {
        return Declined::because("an option that is not native");
    }
    let inputs = Input::from_operands(&parsed.operands());
    if inputs.contains(&Input::Stdin) && inputs.len() > 1 {
        return Declined::because("standard input beside files");
    }
    if !implied.prints && !parsed.has(Id::Stdout) {
        return Declined::because("it replaces files");
    }
    Ok(Box::new(Gzip { inputs, args: args.to_vec() }))
}

/// Accepts arguments with an option to print. A suffix may end like one.
fn prints(args: &[&str]) -> bool {
    let is_letter = |arg: &str| is_letters_with(arg, 'c') && !is_letters_with(arg, 'S');
    args.iter().any(|arg| is_letter(arg) || *arg == "--stdout" || *arg == "--to-stdout")
}

/// Says that standard output cannot be written, in gzip's own format.
fn unwritten(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    (format!("\ngzip: stdout: {}\n", caller.reason(&failure.error)), 1)
}

/// Says that a file cannot be read, in gzip's own format.
fn unreadable(caller: &Caller, input: Option<&[u8]>, error: &std::io::Error) -> Unreadable {
    Unreadable::dies(format!("\ngzip: {}: {}\n", file_name(input, "stdin"), caller.reason(error)), 1)
}

#[derive(Debug)]
struct Gzip {
    inputs: Vec<Input>,
    args: Vec<Vec<u8>>,
}

impl Command for Gzip {
    fn facts(&self) -> Facts {
        Facts {
            lines: Lines::Changed,
            input: InputFacts { reads_again: Some("gzip"), ..InputFacts::default() },
            ..Facts::default()
        }
    }

    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        Ok(Box::new(GzipKernel::new(self.args.clone(), self.inputs == [Input::Stdin])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Implementation, Locale};

    fn reason(name: &str, args: &str) -> Option<String> {
        let context = Context { locale: Locale::C, implementation: Implementation::tested(Family::GnuGzip) };
        let args: Vec<Vec<u8>> = args.split_whitespace().map(|arg| arg.as_bytes().to_vec()).collect();
        crate::accept(name.as_bytes(), &args, &context).err().map(|declined| declined.reason)
    }

    #[test]
    fn only_files_are_decompressed_and_printed() {
        for (name, args) in [
            ("zcat", "f"),
            ("zcat", ""),
            ("gunzip", "-c -"),
            ("zcat", "-k -- -f g"),
            ("gunzip", "--std f"),
            ("gzip", "-dc f"),
            ("gzip", "f --uncomp -c"),
            ("gzip", "--de --st f"),
            ("gzip", "-9 -dc5 --fast f"),
        ] {
            assert_eq!(reason(name, args), None, "{name} {args}");
        }
        for (name, args) in [
            ("zcat", "f -"),
            ("zcat", "-f f"),
            ("zcat", "-dS .x f"),
            ("gunzip", "f"),
            ("gzip", "-c f"),
            ("gzip", "-d f"),
            ("gzip", "-dcl f"),
        ] {
            assert!(reason(name, args).is_some(), "{name} {args}");
        }
    }

    #[test]
    fn a_call_that_replaces_files_does_not_only_print() {
        assert!(
            prints(&["-dc", "f"])
                && prints(&["--stdout"])
                && !prints(&["-d", "f"])
                && !prints(&["-dS.c", "f"])
        );
    }
}
