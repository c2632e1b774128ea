//! Commands that treat each line by itself: several processes of the real tool, each over some of the lines, print
//! together what one would have printed.
//!
//! This asks less than a kernel: what the command does to a line need not be understood, only that it does the same
//! whatever stands before and behind. Every command that is read here is a named implementation; a user's own command is
//! [declared](declared::Declared).

mod declared;

pub use declared::{Declared, is_name};

use crate::{Accept, Context, Declined, Input};

/// What is known of such a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stateless {
    /// What it reads.
    pub input: Input,
    /// Its arguments, without its name, with which it reads the same from its standard input.
    pub args: Vec<Vec<u8>>,
    /// What the statuses of the parts say.
    pub statuses: Statuses,
    /// In which data lines are by themselves.
    pub data: Data,
    /// What it says of an error.
    pub errors: Errors,
    /// It may run on a part of its input more than once: it does nothing but print.
    pub only_prints: bool,
}

/// What a command says of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// The same, wherever the line stands.
    Alike,
    /// It names the line, and what is one it decides itself. A part that ends with an error, or says something, counts for
    /// nothing: one process gets it and all the rest, behind as many empty lines as there were lines before.
    ByLine {
        /// How many bytes it prints for an empty line.
        blank: u64,
    },
}

impl Errors {
    /// [`Errors::ByLine`].
    pub fn name_the_line(self) -> bool {
        matches!(self, Errors::ByLine { .. })
    }
}

/// How the statuses of the parts become that of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// Any but 0 is an error at which the command stopped.
    AnyIsTheEnd,
    /// 0 if any is 0, else 1; with 2 and above it stopped at an error (grep).
    Found,
    /// The first that is not 0; the command went on.
    First,
}

/// Which data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Any bytes.
    Bytes,
    /// Text: after a NUL, or a sequence that is no UTF-8 where that is what characters are, what comes depends on it
    /// (grep).
    Text {
        /// Characters are UTF-8.
        utf8: bool,
    },
    /// JSON without NULs, and without the mark that begins some texts, which counts at their beginning only.
    Json,
}

impl Stateless {
    /// For any lines.
    pub(crate) fn lines(input: Input, args: Vec<Vec<u8>>, statuses: Statuses) -> Self {
        Stateless { input, args, statuses, data: Data::Bytes, errors: Errors::Alike, only_prints: true }
    }
}

/// Reads the arguments of one tool.
pub(crate) type SplitFn = fn(&[Vec<u8>], &Context) -> Accept<Stateless>;

/// Reads a command line: its name, its arguments, and what they depend on.
///
/// # Errors
/// If nothing says that it treats each line by itself.
pub fn stateless(name: &[u8], args: &[Vec<u8>], context: &Context) -> Accept<Stateless> {
    let Some((tool, read)) = crate::lookup(name).and_then(|tool| Some((tool, tool.split?))) else {
        return Declined::because(NOT_KNOWN);
    };
    if !tool.serves(&context.implementation) {
        let what = context.implementation.describe();
        return Declined::because(format!("it is {what}, which is not known well enough"));
    }
    read(args, context)
}

/// The names in a program. Those in texts are among them.
pub(crate) fn names_in(program: &[u8]) -> impl Iterator<Item = &str> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let runs = program.chunk_by(move |left, right| is_part(left) == is_part(right));
    runs.filter_map(move |run| std::str::from_utf8(run).ok().filter(|_| is_part(&run[0])))
}

/// Why any other command is not taken for one.
pub const NOT_KNOWN: &str = "nothing says that it treats each line by itself";

/// Whether a command of this name may be one.
pub fn may_be_stateless(name: &[u8]) -> bool {
    crate::lookup(name).is_some_and(|tool| tool.split.is_some())
}
