//! Commands that treat lines independently: several processes of the real tool, each over some of the lines,
//! print together what one would print.
//!
//! This needs less than a kernel: not what the command does to a line, only that it does not depend on the
//! lines around it. Every command accepted here is a named implementation; a user's own command is
//! [declared](user_declared::Declared).

mod user_declared;

pub use user_declared::{Declared, is_name};

use crate::{Accept, Context, Declined, Input};

/// The properties of such a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stateless {
    /// Its input.
    pub input: Input,
    /// Its arguments, without its name, for reading standard input instead.
    pub args: Vec<Vec<u8>>,
    /// How the statuses of the parts combine.
    pub statuses: Statuses,
    /// The data for which lines are independent.
    pub data: Data,
    /// How it reports an error.
    pub errors: Errors,
    /// Whether it may run on a part of its input more than once: it only prints.
    pub only_prints: bool,
    /// Whether it prints whole lines for whole lines.
    pub prints_lines: bool,
}

/// How a command reports an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// In the same way, wherever the line is.
    Alike,
    /// With the line number, and it decides itself what an error is. A part that fails, or prints a
    /// diagnostic, is discarded: one process gets it and all the rest, after as many empty lines as there
    /// were lines before.
    ByLine {
        /// Bytes that it prints for an empty line.
        blank: u64,
    },
}

impl Errors {
    /// Whether this is [`Errors::ByLine`].
    pub fn name_the_line(self) -> bool {
        matches!(self, Errors::ByLine { .. })
    }
}

/// How the statuses of the parts become one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// Any status but 0 is an error at which the command stopped.
    AnyIsTheEnd,
    /// 0 if any is 0, else 1; with 2 and above it stopped at an error (grep).
    Found,
    /// The first that is not 0; the command continued.
    First,
}

/// The data for which lines are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Any bytes.
    Bytes,
    /// Text: after a NUL, or an invalid UTF-8 sequence in a UTF-8 locale, the output depends on it (grep).
    Text {
        /// Whether characters are UTF-8.
        utf8: bool,
    },
    /// JSON without NULs, and without a byte order mark, which counts at the beginning only.
    Json,
}

impl Stateless {
    /// Makes the properties for any lines.
    pub(crate) fn lines(input: Input, args: Vec<Vec<u8>>, statuses: Statuses) -> Self {
        Stateless {
            input,
            args,
            statuses,
            data: Data::Bytes,
            errors: Errors::Alike,
            only_prints: true,
            prints_lines: true,
        }
    }
}

/// Parses the arguments of one tool.
pub(crate) type SplitFn = fn(&[Vec<u8>], &Context) -> Accept<Stateless>;

/// Parses a command line: its name, its arguments, and their context.
///
/// # Errors
/// If it is not known to treat lines independently.
pub fn stateless(name: &[u8], args: &[Vec<u8>], context: &Context) -> Accept<Stateless> {
    let Some((tool, read)) = crate::lookup(name).and_then(|tool| Some((tool, tool.split?))) else {
        return Declined::because(NOT_KNOWN);
    };
    if !tool.serves(&context.implementation) {
        let what = context.implementation.describe();
        return Declined::because(format!("it is {what}, which is not known well enough"));
    }
    if let Some(difference) = tool.as_installed(&context.implementation).difference(args, context) {
        let what = context.implementation.describe();
        return Declined::because(format!("it is {what}, which differs: {difference}"));
    }
    read(args, context)
}

/// Iterates over the identifiers in a program, including those in strings.
pub(crate) fn names_in(program: &[u8]) -> impl Iterator<Item = &str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let runs = program.chunk_by(move |left, right| is_part(left) == is_part(right));
    runs.filter_map(move |run| std::str::from_utf8(run).ok().filter(|_| is_part(&run[0])))
}

/// The reason for declining any other command.
pub const NOT_KNOWN: &str = "nothing says that it treats each line by itself";

/// Whether a command of this name may qualify.
pub fn may_be_stateless(name: &[u8]) -> bool {
    crate::lookup(name).is_some_and(|tool| tool.split.is_some())
}
