//! Random command lines of a tool, as templates.
//!
//! In templates `@` and a letter stand for a value: `@n` and `@p` small numbers (`@p` never 0), `@N` any
//! number, `@f` a file. The generator of random pipelines defines the others.

/// The role of a command in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads the pipe, or files if given.
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
    /// Its role in a pipeline.
    pub role: Role,
    /// Exactly one is always used.
    pub needs: &'static [&'static str],
    /// Any number may be used.
    pub options: &'static [&'static str],
    /// At most one is used.
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
    /// Makes the grammar of a command that reads the pipe or files.
    pub(crate) const fn reader(needs: &'static [&'static str], options: &'static [&'static str]) -> Grammar {
        Grammar { role: Role::Reader, needs, options, operands: FILES }
    }
}
