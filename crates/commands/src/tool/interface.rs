//! The interface of a command: its facts, its inputs, its kernel, and how it declines.

use std::fmt;

use pelton_stream::{JoinKernel, Kernel};

use crate::{ByteMap, Context, Facts};

/// Why a command runs as the user's real command. Never an error: `explain` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    /// In words, without a full stop: 'cut: -c with characters of several bytes'.
    pub reason: String,
}

impl Declined {
    /// Makes one with this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Declined { reason: reason.into() }
    }

    /// Returns it as an `Err`, for tail position.
    pub fn because<T>(reason: impl Into<String>) -> Accept<T> {
        Err(Declined::new(reason))
    }
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Accepted, or declined with a reason.
pub type Accept<T> = Result<T, Declined>;

/// The signature of each command's `accept`: the arguments (without the command's name) and their context.
pub type AcceptFn = fn(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>>;

/// Looks up what a command's arguments refer to, before the command runs.
pub trait Lookup {
    /// Returns the content of a file in which the arguments go on (`grep -f`).
    ///
    /// # Errors
    /// Declines a file that cannot be read, or need not hold the same when the command runs.
    fn script(&self, name: &[u8]) -> Accept<Vec<u8>>;

    /// Returns the value of a variable in the command's environment; `None` if it is not set.
    ///
    /// # Errors
    /// Declines where the environment is not known, or has the variable twice.
    fn variable(&self, name: &[u8]) -> Accept<Option<Vec<u8>>>;
}

/// Looks up nothing.
pub(crate) struct NoLookup;

impl Lookup for NoLookup {
    fn script(&self, name: &[u8]) -> Accept<Vec<u8>> {
        Declined::because(format!("the file {} was not read", name.escape_ascii()))
    }

    fn variable(&self, name: &[u8]) -> Accept<Option<Vec<u8>>> {
        Declined::because(format!("the variable {} of an environment that is not known", name.escape_ascii()))
    }
}

/// The signature of `accept` where arguments refer to files or to the environment.
pub type AcceptWithLookupFn =
    fn(args: &[Vec<u8>], context: &Context, lookup: &dyn Lookup) -> Accept<Box<dyn Command>>;

/// Something a command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Its standard input: no operand was given, or the operand is `-`.
    Stdin,
    /// A file operand, as written. If it cannot be opened, the real command runs and reports it.
    File(Vec<u8>),
}

impl Input {
    /// Returns the inputs of a command where no operand and `-` both mean standard input.
    pub fn from_operands(operands: &[&[u8]]) -> Vec<Input> {
        if operands.is_empty() {
            return vec![Input::Stdin];
        }
        operands.iter().map(|name| Input::from_operand(name)).collect()
    }

    /// Converts one operand: `-` is standard input.
    pub fn from_operand(name: &[u8]) -> Input {
        if name == b"-" { Input::Stdin } else { Input::File(name.to_vec()) }
    }
}

/// The end of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// This many bytes.
    Bytes(u64),
    /// This many records; the last one may lack its terminator.
    Records {
        /// The number of records.
        count: u64,
        /// Their terminator.
        end: u8,
    },
}

/// Files that get a copy of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// As written; `-` is a file of that name.
    pub paths: Vec<Vec<u8>>,
    /// Whether to append instead of truncate.
    pub append: bool,
}

/// Names of files that a command writes besides its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileNames {
    /// Names that are known before it runs, as written.
    pub known: Vec<Vec<u8>>,
    /// What each name ends with that is made while it runs; empty if that may be anything.
    pub ends: Vec<Vec<u8>>,
    /// Whether it prints nothing to its standard output.
    pub only: bool,
}

/// Where a command spills its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TemporaryFiles {
    /// Nowhere: it never spills.
    #[default]
    None,
    /// To `$TMPDIR`, or `/tmp`.
    Usual,
    /// To this directory.
    In(Vec<u8>),
}

/// A case in which a kernel may do less than [`Command::kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special<'a> {
    /// The input is text (UTF-8 without NULs), in blocks cut anywhere.
    TextInput,
    /// The reader ignores lines without this string: the kernel may drop them.
    LinesWith(&'a [u8]),
    /// The reader is `wc -l`: the kernel prints the same newlines and may omit the rest. It falls back where
    /// the usual one does, and ends with the same status.
    LineCount,
    /// The input is a part of the whole ([`OverParts::Folded`](crate::OverParts::Folded)): the kernel prints what it adds up to, for `PartSums`.
    Part,
    /// The input is what kernels for parts have printed: the kernel prints what the command prints for the whole.
    PartSums,
}

/// A command whose arguments were accepted.
pub trait Command: Send + Sync + fmt::Debug {
    /// Returns what the planner may use. It is asked once: see [`Accepted`].
    fn facts(&self) -> Facts;

    /// Returns its inputs, in order. Empty for a source (`seq`).
    fn inputs(&self) -> &[Input];

    /// Returns a kernel with fresh state.
    fn kernel(&self) -> Accept<Box<dyn Kernel>>;

    /// Returns a kernel for a special case. `None` if it has none of its own.
    fn kernel_for(&self, _case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// Returns the kernel of a command that reads several inputs in parallel (`paste`, `comm`, `join`),
    /// instead of [`kernel`](Command::kernel).
    fn join_kernel(&self) -> Accept<Box<dyn JoinKernel>> {
        Declined::because("reads its inputs one after another")
    }

    /// For a line filter: whether it keeps the same lines if this byte map is applied first, for any data.
    /// True for an expression if nothing is deleted and every character set in it (and the set of word
    /// characters, if used) holds a byte exactly if it holds the mapped byte.
    fn keeps_same_lines_after(&self, _map: &ByteMap) -> bool {
        false
    }

    /// Returns the arguments (without the command's name) with which the real command, reading standard
    /// input, continues from a record boundary. `None` if it cannot: such a kernel never falls back midway.
    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// Returns a command that does the same and prints its lines in the real command's order, perhaps slower, if this one
    /// does not ([`OutputFacts::order_is_unspecified`](crate::OutputFacts::order_is_unspecified)) and the order is known.
    fn in_real_order(&self) -> Option<Box<dyn Command>> {
        None
    }
}

/// An accepted command with its facts.
#[derive(Debug)]
pub struct Accepted {
    /// The command.
    pub command: Box<dyn Command>,
    /// Its facts.
    pub facts: Facts,
}

impl Accepted {
    /// Asks the command for its facts.
    pub fn new(command: Box<dyn Command>) -> Self {
        Accepted { facts: command.facts(), command }
    }
}
