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

/// Reads a file that continues the arguments, or says why it cannot be read before the command runs.
pub type Scripts<'a> = &'a dyn Fn(&[u8]) -> Accept<Vec<u8>>;

/// The signature of `accept` where arguments may continue in files.
pub type AcceptScriptsFn =
    fn(args: &[Vec<u8>], context: &Context, scripts: Scripts<'_>) -> Accept<Box<dyn Command>>;

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

/// Where a command spills its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporaryFiles<'a> {
    /// Nowhere: it never spills.
    None,
    /// To `$TMPDIR`, or `/tmp`.
    Usual,
    /// To this directory.
    In(&'a [u8]),
}

/// A command whose arguments were accepted.
pub trait Command: Send + Sync + fmt::Debug {
    /// Returns what the planner may use.
    fn facts(&self) -> Facts;

    /// Returns its inputs, in order. Empty for a source (`seq`).
    fn inputs(&self) -> &[Input];

    /// Returns the files that continue its arguments. They were read when the command was accepted.
    fn scripts(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Returns a kernel with fresh state.
    fn kernel(&self) -> Accept<Box<dyn Kernel>>;

    /// Returns the kernel of a command that reads several inputs in parallel (`paste`, `comm`, `join`),
    /// instead of [`kernel`](Command::kernel).
    fn join_kernel(&self) -> Accept<Box<dyn JoinKernel>> {
        Declined::because("reads its inputs one after another")
    }

    /// Returns the files that get a copy of the output (`tee`). Such a command has no kernel: a driver that
    /// can write the files passes the bytes on itself.
    fn copies(&self) -> Option<&Copies> {
        None
    }

    /// Returns where the real command spills, if it does not hold all input in memory.
    fn temporary_files(&self) -> TemporaryFiles<'_> {
        TemporaryFiles::None
    }

    /// Whether its kernel may print diagnostics, which begin with the command's name.
    fn complains(&self) -> bool {
        false
    }

    /// For a user's program (awk): whether threads can share its records, or why they are processed in order.
    fn sharing(&self) -> Option<String> {
        None
    }

    /// Whether diagnostics are written at once while the output is still buffered. If both go to the same
    /// file, their order shows, and the real command must run.
    fn complains_before_printing(&self) -> bool {
        false
    }

    /// For a line filter: whether it keeps the same lines if this byte map is applied first, for any data.
    /// True for an expression if nothing is deleted and every character set in it (and the set of word
    /// characters, if used) holds a byte exactly if it holds the mapped byte.
    fn keeps_same_lines_after(&self, _map: &ByteMap) -> bool {
        false
    }

    /// Returns the program that it starts for its input and whose work its kernel does as well (`xargs
    /// grep`).
    fn runs(&self) -> Option<&str> {
        None
    }

    /// Whether it starts that program for each file, or for a few: output then comes in pieces, delayed by
    /// process starts.
    fn starts_often(&self) -> bool {
        false
    }

    /// For a source: returns the size of its output in bytes, if known.
    fn prints_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns how much of the end of its input determines its output (`tail -n 5`): nothing before it need
    /// be read from a file.
    fn needs_only_end(&self) -> Option<Ending> {
        None
    }

    /// Returns why its kernel gains nothing without another kernel to fuse with, if so: the real command then
    /// runs.
    fn gains_nothing_alone(&self) -> Option<&'static str> {
        None
    }

    /// Whether its lines come in an order that only the real command knows (`for (k in a)` in awk). Its
    /// kernel prints them in another order, and may run only before a command that ignores order.
    fn prints_in_any_order(&self) -> bool {
        false
    }

    /// Whether its output depends only on the set of input lines, not their order (`sort`).
    fn forgets_order(&self) -> bool {
        false
    }

    /// Returns its kernel for text input (UTF-8 without NULs), which takes blocks cut anywhere. `None` if it
    /// has none of its own.
    fn kernel_for_text(&self) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// Returns a string without which a line changes neither the output nor the status: `grep key` ignores
    /// lines without `key`.
    fn needs_in_line(&self) -> Option<Vec<u8>> {
        None
    }

    /// Returns a kernel that may drop lines without `needed`, if it prints only text and has such a kernel.
    fn kernel_for_lines_with(&self, _needed: &[u8]) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// Whether all its output is UTF-8 without NULs.
    fn prints_text(&self) -> bool {
        false
    }

    /// Whether its output has no NUL.
    fn prints_no_nul(&self) -> bool {
        false
    }

    /// Whether the output depends on where its reads of a pipe end (grep checks each for NULs), if NULs come.
    /// Its kernel then reads a pipe itself, never pieces from another kernel.
    fn depends_on_reads(&self) -> bool {
        false
    }

    /// Returns a kernel like [`kernel`](Command::kernel) for `wc -l`: it prints the same newlines and may
    /// omit the rest. It falls back where that one does, and ends with the same status. `None` if that gains
    /// nothing.
    fn kernel_for_line_count(&self) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// Returns the arguments (without the command's name) with which the real command, reading standard
    /// input, continues from a record boundary. `None` if it cannot: such a kernel never falls back midway.
    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        None
    }
}
