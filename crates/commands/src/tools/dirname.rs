//! `dirname`: GNU coreutils. Its output depends on its arguments alone.

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

/// The tool row of `dirname`.
pub(crate) static TOOL: Tool = Tool {
    name: "dirname",
    family: Family::GnuCoreutils,
    alternatives: &[&UUTILS],
    accept: Acceptor::Alone(accept),
    split: None,
    in_process: InProcess::Prints,
    only_prints: always,
    io_errors: IoErrors::COREUTILS,
    standard_output: StandardOutput::Buffered,
    unsuitable: &[],
    probes: &[Probe::prints(&["/a//b/", "c"], "", b"/a\n.\n")],
    cost: |_| Rate::both(0.0, 0.0, 1.0),
    other_versions: &[OtherVersions::alike(COREUTILS_8_32_TO_9_10)],
    verifiable: true,
    grammar: Grammar {
        role: Role::Source,
        needs: &["@r", "/usr/@r/a", "@r @t a/b", "-z /usr/@r", "\"$HOME\"", "$PWD/ /"],
        options: &[],
        operands: &[""],
    },
};

/// The row of uutils' `dirname`.
static UUTILS: Tool = uutils::row(&TOOL, &[uutils::but(uutils::COMPARED, uutils::has_dot_component)]);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Zero,
}

const OPTIONS: &[Opt<Id>] = &[opt(Id::Zero, b'z', "zero", Takes::Nothing)];

/// Parses the arguments, and prints.
fn accept(args: &[Vec<u8>], _context: &Context) -> Accept<Box<dyn Command>> {
    let parsed = parse(args, OPTIONS, Order::Anywhere)?;
    let names = parsed.operands();
    if names.is_empty() {
        return Declined::because("no name");
    }
    let end = if parsed.has(Id::Zero) { 0 } else { b'\n' };
    let mut text = Vec::new();
    for name in names {
        text.extend_from_slice(directory(name));
        text.push(end);
    }
    Printed::command(text)
}

/// Returns the path of the directory that holds the last component, as written: `.` if the path names none.
pub fn directory(path: &[u8]) -> &[u8] {
    let is_name = |byte: &u8| *byte != b'/';
    let root: &[u8] = if path.starts_with(b"/") { b"/" } else { b"." };
    let Some(last) = path.iter().rposition(is_name) else { return root };
    let Some(slash) = path[..last].iter().rposition(|byte| *byte == b'/') else { return b"." };
    path[..slash].iter().rposition(is_name).map_or(root, |end| &path[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_what_precedes_the_last_component() {
        for (path, parent) in [
            ("a/b", "a"),
            ("/a//b//", "/a"),
            ("a", "."),
            ("a//", "."),
            ("/a", "/"),
            ("//a", "/"),
            ("/", "/"),
            ("//", "/"),
            ("", "."),
            ("..", "."),
            ("./a/../b", "./a/.."),
        ] {
            assert_eq!(directory(path.as_bytes()), parent.as_bytes(), "{path}");
        }
    }
}
