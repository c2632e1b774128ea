//! `basename`: GNU coreutils. Its output depends on its arguments alone.

use crate::tool::argv::{Opt, Order, Takes, opt, parse};
use crate::tool::cost::Rate;
use crate::tool::detect::Probe;
use crate::tool::grammar::{Grammar, Role};
use crate::tool::io_errors::{IoErrors, StandardOutput};
use crate::tool::row::{Acceptor, InProcess, Tool, always};
use crate::tool::static_output::Printed;
use crate::tool::uutils;
use crate::tool::versions::{COREUTILS_8_32_TO_9_10, OtherVersions};
use crate::{Accept, Command, Context, Declined, Family};

/// The tool row of `basename`.
pub(crate) static TOOL: Tool = Tool {
    name: "basename",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Prints,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["/a/b.c/", ".c"], "", b"b\n")],
    cost: |_| Rate::both(0.0, 0.0, 1.0),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar {
        role: Role::Source,
        needs: &["@r", "/usr/@r.txt .txt", "-a @r @t", "-s .c a.c b/@r.c", "-z @r", "\"$HOME\"", "$PWD/ s"],
        options: &[],
        operands: &[""],
    },
};

/// The row of uutils' `basename`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils_difference)]);

fn uutils_difference(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    let is_odd = |arg: &Vec<u8>| arg.starts_with(b"-") && !arg[1..].iter().all(u8::is_ascii_alphabetic);
    let is_odd = args.iter().any(is_odd) || uutils::has_odd_value(args, b"s");
    let value = is_odd.then_some("values that begin with a dash or =, or behind several letters");
    value.or_else(|| uutils::has_dot_component(args, context))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Multiple,
    Suffix,
    Zero,
}

const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Multiple, b'a', "multiple", Takes::Nothing),
    opt(Id::Suffix, b's', "suffix", Takes::Value),
    opt(Id::Zero, b'z', "zero", Takes::Nothing),
];

/// Parses the arguments, and prints.
fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::First)?;
    let operands = parsed.operands();
    let suffix = parsed.last_value(Id::Suffix);
    let (names, suffix) = match (&operands[..], parsed.has(Id::Multiple) || suffix.is_some()) {
        ([], _) => return Declined::because("no name"),
        (names, true) => (names, suffix),
        ([_], false) => (&operands[..], None),
        ([_, suffix], false) => (&operands[..1], Some(*suffix)),
        _ => return Declined::because("a third operand"),
    };
    let end = if parsed.has(Id::Zero) { 0 } else { b'\n' };
    let mut text = Vec::new();
    for name in names {
        text.extend_from_slice(without_suffix(last_component(name), suffix.unwrap_or_default()));
        text.push(end);
    }
    Printed::command(text)
}

/// Returns the last component of a path: of nothing but slashes one slash, of an empty path nothing.
fn last_component(path: &[u8]) -> &[u8] {
    let Some(last) = path.iter().rposition(|byte| *byte != b'/') else { return &path[..path.len().min(1)] };
    let path = &path[..=last];
    &path[path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)..]
}

/// Removes a suffix from a name that is more than the suffix, and not the root.
fn without_suffix<'a>(name: &'a [u8], suffix: &[u8]) -> &'a [u8] {
    match name.strip_suffix(suffix) {
        Some(rest) if !rest.is_empty() => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_component_is_between_slashes() {
        for (path, name) in [
            ("a/b", "b"),
            ("/a//b//", "b"),
            ("a", "a"),
            ("/", "/"),
            ("//", "/"),
            ("", ""),
            ("a/.", "."),
            ("../", ".."),
        ] {
            assert_eq!(last_component(path.as_bytes()), name.as_bytes(), "{path}");
        }
    }

    #[test]
    fn a_suffix_is_not_the_whole_name() {
        for (name, suffix, rest) in
            [("a.c", ".c", "a"), (".c", ".c", ".c"), ("c", ".c", "c"), ("a", "", "a"), ("/", "/", "/")]
        {
            assert_eq!(
                without_suffix(name.as_bytes(), suffix.as_bytes()),
                rest.as_bytes(),
                "{name} {suffix}"
            );
        }
    }
}
