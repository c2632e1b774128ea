//! Random command lines of a tool, as templates.
//!
//! In templates `@` and a letter stand for a value: `@n` and `@p` small numbers (`@p` never 0), `@N` any, `@f` a file; the
//! generator of random pipelines knows the others.

/// How a command stands in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads the pipe, or files if it is given some.
    Reader,
    /// Reads the pipe only.
    Filter,
    /// Always has operands.
    Joiner,
    /// Reads nothing.
    Source,
}

/// Templates of the arguments of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    /// How it stands in a pipeline.
    pub role: Role,
    /// One of these is always there.
    pub needs: &'static [&'static str],
    /// Any number of these may be there.
    pub options: &'static [&'static str],
    /// One of these may be there.
    pub operands: &'static [&'static str],
}

/// Operands of a command that reads files in order.
const FILES: &[&str] = &[
    "@f",
    "@f",
    "-",
    "@f @f",
    "- @f",
    "@f -",
    "-- @f",
    "- -",
    "@f - -",
    "- @f -",
    "/dev/stdin",
    "- /dev/stdin",
];

impl Grammar {
    /// Makes the grammar of a command that reads the pipe or any files.
    pub(crate) const fn reader(needs: &'static [&'static str], options: &'static [&'static str]) -> Grammar {
        Grammar { role: Role::Reader, needs, options, operands: FILES }
    }
}
