//! jq with a filter over single documents.
//!
//! The ends of documents are not known before they are read: they need not be lines. They need not be known
//! either: a process whose part ends inside a document reports an error, and then one process gets that part
//! and all the rest ([`Errors::ByLine`](crate::tool::stateless::Errors)). The same applies to errors about a
//! document that the filter cannot handle, which name the line, and to the status, which is that of the last
//! document.

use crate::Family;
use crate::tool::argv::{Opt, Order, Takes, long, opt, parse};
use crate::tool::cost;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::stateless::{Data, Errors, Stateless, Statuses};
use crate::{Accept, Context, Declined, Input};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    /// Sets how each document is printed.
    Each,
    Joined,
    /// `--arg NAME VALUE`: the second word parses as an operand here.
    Named,
}

/// All other options combine documents, parse them differently, or open files.
const TABLE: &[Opt<Id>] = &[
    opt(Id::Each, b'c', "compact-output", Takes::Nothing),
    opt(Id::Each, b'r', "raw-output", Takes::Nothing),
    opt(Id::Joined, b'j', "join-output", Takes::Nothing),
    opt(Id::Each, b'a', "ascii-output", Takes::Nothing),
    opt(Id::Each, b'S', "sort-keys", Takes::Nothing),
    opt(Id::Each, b'M', "monochrome-output", Takes::Nothing),
    long(Id::Each, "tab", Takes::Nothing),
    long(Id::Named, "arg", Takes::Nothing),
    long(Id::Named, "argjson", Takes::Nothing),
];

/// Names that a filter over single documents does not use: other documents, their position, files, the clock,
/// the end.
const CONNECTING: [&str; 15] = [
    "input",
    "inputs",
    "input_line_number",
    "input_filename",
    "debug",
    "stderr",
    "halt",
    "halt_error",
    "now",
    "import",
    "include",
    "modulemeta",
    "get_search_list",
    "get_prog_origin",
    "get_jq_origin",
];

/// The tool row of `jq`.
pub(crate) static TOOL: Tool = Tool {
    name: "jq",
    family: Family::Jq,
    alternatives: &[],
    accept: Acceptor::NoKernel,
    split: Some(stateless),
    in_process: InProcess::Never,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[],
    cost: cost::unknown,
    other_versions: &[],
    verifiable: false,
    grammar: Grammar {
        role: Role::Reader,
        needs: &["-c .", "-r .", ".a?"],
        options: &[],
        operands: &["", "@f"],
    },
};

/// Parses the arguments.
pub(super) fn stateless(args: &[Vec<u8>], _context: &Context) -> Accept<Stateless> {
    let parsed = parse(args, TABLE, Order::Anywhere)?;
    if parsed.has(Id::Named) {
        return Declined::because("--arg");
    }
    let operands = parsed.operands();
    let (filter, input) = match operands.as_slice() {
        [filter] => (*filter, Input::Stdin),
        // jq has no `-` operand.
        [filter, name] if !name.starts_with(b"-") => (*filter, Input::File(name.to_vec())),
        _ => return Declined::because("several files, or no filter"),
    };
    if let Some(word) = words(filter).find(|word| CONNECTING.contains(word)) {
        return Declined::because(format!("{word} asks for more than one document"));
    }
    let mut own = parsed.resume_args();
    own.push(filter.to_vec());
    Ok(Stateless {
        data: Data::Json,
        errors: Errors::ByLine { blank: 0 },
        prints_lines: !parsed.has(Id::Joined),
        ..Stateless::lines(input, own, Statuses::First)
    })
}

/// Iterates over the names in a filter, without field names. Includes those in strings, since a string may
/// hold filters.
fn words(filter: &[u8]) -> impl Iterator<Item = &str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let runs = filter.chunk_by(move |left, right| is_part(left) == is_part(right));
    let mut before = 0;
    runs.filter_map(move |run| {
        let is_field = std::mem::replace(&mut before, run[run.len() - 1]) == b'.';
        std::str::from_utf8(run).ok().filter(|_| is_part(&run[0]) && !is_field)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Implementation, Locale};

    fn reads(args: &[&str]) -> Accept<Stateless> {
        let context = Context { locale: Locale::C, implementation: Implementation::tested(Family::Jq) };
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        stateless(&args, &context)
    }

    #[test]
    fn documents_by_themselves() {
        for args in [
            &["-c", ".a"][..],
            &["-r", ".[]|select(.n > 3).name"],
            &["-cr", "limit(2; .[])"],
            &[".input"],
            &["-c", "[.[] | {a, b: .c}] | first", "f"],
        ] {
            assert!(reads(args).is_ok(), "{args:?}: {:?}", reads(args).err());
        }
        let read = reads(&["-c", ".a", "f"]).expect("stateless");
        assert_eq!(
            (read.input, read.args),
            (Input::File(b"f".to_vec()), vec![b"-c".to_vec(), b".a".to_vec()])
        );
    }

    #[test]
    fn documents_that_know_of_others() {
        for args in [
            &["-n", "1"][..],
            &["-s", "."],
            &["-R", "."],
            &["-e", ".a"],
            &["--slurp", "."],
            &["--stream", "."],
            &["--seq", "."],
            &["-f", "x"],
            &["--arg", "a", "1", "$a"],
            &["[., input]"],
            &["\"\\(input)\""],
            &["input_line_number"],
            &["debug"],
            &["if .a then halt else . end"],
            &[".", "f", "g"],
            &[],
        ] {
            assert!(reads(args).is_err(), "{args:?}");
        }
    }
}
