//! The rows of the awks.

use std::io;

use crate::tool::cost::{LineLength, Rate};
use crate::tool::grammar::Grammar;
use crate::tool::io_errors::{self, Caller, IoErrors, StandardOutput, Unreadable, WriteFailure};
use crate::tool::row::{Acceptor, InProcess, Tool, Unsuitable};
use crate::tool::versions::OtherVersions;
use crate::{Context, Family};

use super::Dialect;
use super::arguments::program_at;
use super::parse::parse;
use super::rules::Variant;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement};

/// Programs, some with the options that they need. No `toupper`: with a NUL in its text, mawk prints old
/// memory content, which differs between processes.
const PROGRAMS: &[&str] = &[
    "'{print $2}'",
    "'{print $1, $NF}'",
    "-F, '{print $2}'",
    "-F@d '{print $1 $3}'",
    "'NR > 1'",
    "'length > 8'",
    "'/a/'",
    "'!/[0-9]/ {print NR \": \" $0}'",
    "'!seen[$1]++'",
    "'{s += NF} END {print s}'",
    "'{s += $1} END {print s + 0, NR}'",
    "'{$2 = \"\"; print}'",
    "'{gsub(/a/, \"b\")} 1'",
    "'$1 ~ /^[0-9]/'",
    "'{printf \"%s-%5s|\\n\", $1, $2}'",
    "-v x=@n '$1 > x'",
    "'NR == 2, NR == 4'",
    "'NR <= @n'",
    "'{n[$1]++} END {for (k in n) print k, n[k]}'",
    "-F: -vOFS=- '{print $1, $2}'",
    "'BEGIN {print \"top\"} {print substr($0, 2, 3)}'",
    "'{n = split($0, p, /,/); print n, p[1]}'",
    "'{print length($0), index($0, \"e\")}'",
    "'$0 == \"\" {next} $0 == \"a\" || $0 == \"b\" {$0 = \"c\"} $0 == \"c\" {print NR} {print NF}'",
    "'{print > \"awkout\"}'",
    "'{print $1; print $2 > \"awkout\" NR % 3}'",
    "'{print > $1 \".awkout\"}'",
    "'{f = \"awkout-\" $1; print $2 >> f; close(f)} END {print NR > f}'",
    "'function f() {return k > 2 ? a[k] : $1} {a[k++] = NR; print f() \".\" f()}'",
];

const MAWK_ERRORS: IoErrors = IoErrors { catalogue: None, write: mawk_write_error, read: mawk_read_error };
const ORIGINAL_AWK_ERRORS: IoErrors =
    IoErrors { catalogue: Some("libc"), write: original_awk_write_error, read: io_errors::fatal_read_error };

/// Whether the program surely only prints. Where its grammar is not known, all that looks like a redirection counts as one.
fn only_prints(args: &[&str]) -> bool {
    let bytes: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
    // Other options read programs from files, or write files.
    let Ok(at) = program_at(&bytes) else { return false };
    let text = args[at];
    let dialect = Dialect::Gawk { utf8: false, variant: Variant::Gawk };
    // gawk takes such names of files for connections.
    !text.contains("/inet")
        && match parse(text.as_bytes(), dialect) {
            Ok(program) => !writes_or_starts(&program),
            Err(_) => !text.contains(['>', '|', '@']) && !text.contains("system"),
        }
}

/// Whether it may write elsewhere than to standard output and standard error, or start a command.
fn writes_or_starts(program: &Program) -> bool {
    let writes = |statement: &Statement| match statement {
        Statement::Print(_, Some(to)) | Statement::Printf(_, Some(to)) => {
            !to.is_standard_output() && !to.is_standard_error()
        }
        _ => false,
    };
    let starts = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::System, _) | Expr::Getline(_));
    any_statement(program, writes) || any_expr(program, starts)
}

fn mawk_write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    let (called, reason) = (&caller.called, caller.reason(&failure.error));
    let close = format!("{called}: close failed on file /dev/stdout ({reason})\n");
    match failure.is_beyond_first_buffer() {
        true => (format!("{called}: write failure ({reason})\n{close}"), 2),
        false => (close, 2),
    }
}

fn mawk_read_error(caller: &Caller, _input: Option<&[u8]>, error: &io::Error) -> Unreadable {
    Unreadable::dies(format!("{}: read error ({})\n", caller.called, caller.reason(error)), 2)
}

/// Returns gawk's message, without its read position. If its reader has left, it ends by SIGPIPE, ignored or not.
fn gawk_write_error(caller: &Caller, failure: &WriteFailure) -> (String, i32) {
    const ENDED_BY_SIGPIPE: i32 = 128 + 13;
    if failure.error.kind() == io::ErrorKind::BrokenPipe {
        return (String::new(), ENDED_BY_SIGPIPE);
    }
    let (called, reason) = (&caller.called, caller.reason(&failure.error));
    match failure.is_beyond_first_buffer() {
        true => (format!("{called}: fatal: print to \"standard output\" failed: {reason}\n"), 2),
        false => (format!("{called}: warning: error writing standard output: {reason}\n"), 1),
    }
}

fn original_awk_write_error(caller: &Caller, _failure: &WriteFailure) -> (String, i32) {
    (format!("{}: write error on /dev/stdout\n source line number 1\n", caller.called), 2)
}

/// After 20200120 to 20250131, which Debian 13 has: Ubuntu 24.04 has 20240123. Its CHANGES name regular expressions,
/// conversions of numbers and printf, but nothing else of [`super::portable_subset`].
const MAWK_TO_20241231: &[&str] = &[
    "1.3.4 20200717",
    "1.3.4 20210824",
    "1.3.4 20221229",
    "1.3.4 20230404",
    "1.3.4 20230525",
    "1.3.4 20230808",
    "1.3.4 20231102",
    "1.3.4 20231126",
    "1.3.4 20240123",
    "1.3.4 20240622",
    "1.3.4 20240819",
    "1.3.4 20240827",
    "1.3.4 20240905",
    "1.3.4 20241231",
];

/// The difference of programs that may have a regular expression.
fn may_match(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    let matches = |arg: &Vec<u8>| {
        let has = |part: &[u8]| memchr::memmem::find(arg, part).is_some();
        [&b"/"[..], b"~", b"match", b"split", b"sub"].into_iter().any(has)
    };
    args.iter().any(matches).then_some("regular expressions")
}

/// The row of mawk. Rows of other awks state only what differs.
const BASE: Tool = Tool {
    name: "mawk",
    family: Family::Mawk,
    alternatives: &[],
    accept: Acceptor::WithLookup(super::accept_mawk),
    split: Some(super::stateless),
    in_process: InProcess::Never,
    only_prints,
    io_errors: MAWK_ERRORS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[
        Unsuitable::RefusedOutput,
        Unsuitable::SocketInput,
        // mawk and gawk then sort what they loop over.
        Unsuitable::Variable("WHINY_USERS"),
        // How gawk keeps arrays.
        Unsuitable::Variable("AWK_HASH"),
        Unsuitable::Variable("STR_CHAIN_MAX"),
        Unsuitable::Variable("INT_CHAIN_MAX"),
        Unsuitable::Variable("NHAT"),
    ],
    probes: &[],
    cost: |_| Rate::of_lines(2.7, 0.7, 0.3, LineLength::Parts),
    other_versions: &[
        OtherVersions::alike(&["1.3.4 20250131", "1.3.4 20260302"]),
        OtherVersions::but(MAWK_TO_20241231, may_match),
    ],
    verifiable: true,
    grammar: Grammar::reader(PROGRAMS, &[]),
};

const ORIGINAL: Tool = Tool {
    name: "original-awk",
    family: Family::OriginalAwk,
    accept: Acceptor::WithLookup(super::accept_original),
    io_errors: ORIGINAL_AWK_ERRORS,
    cost: |_| Rate::of_lines(9.0, 0.7, 0.3, LineLength::Parts),
    other_versions: &[OtherVersions::alike(&["20250116", "20251225"])],
    ..BASE
};

/// The tool row of `mawk`.
pub(crate) static MAWK: Tool = BASE;

/// The tool row of `awk`, which may be any of them.
pub(crate) static AWK: Tool = Tool {
    name: "awk",
    alternatives: &[&GAWK, &ORIGINAL_AWK],
    accept: Acceptor::WithLookup(super::accept),
    ..BASE
};

/// The tool row of `gawk`.
pub(crate) static GAWK: Tool = Tool {
    name: "gawk",
    family: Family::Gawk,
    accept: Acceptor::WithLookup(super::accept_gawk),
    io_errors: IoErrors {
        catalogue: Some("gawk"),
        write: gawk_write_error,
        read: io_errors::fatal_read_error,
    },
    // What differs between them is declined in `super::gawk`, pattern by pattern.
    other_versions: &[OtherVersions::alike(&["5.1.0", "5.1.1", "5.2.0", "5.2.2", "5.3.0", "5.3.1", "5.3.2"])],
    ..BASE
};

/// The tool row of `original-awk`.
pub(crate) static ORIGINAL_AWK: Tool = ORIGINAL;

/// The tool row of `nawk`.
pub(crate) static NAWK: Tool = Tool { name: "nawk", ..ORIGINAL };
