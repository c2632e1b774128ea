//! What a command is to the rest of pelton: its facts, its inputs, its kernel. And how one says no.

use std::fmt;

use pelton_stream::{JoinKernel, Kernel};

use crate::{ByteMap, Context, Facts};

/// Why something runs as the user's real command. Never an error: `explain` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined {
    /// In words, without a final stop: 'cut: -c with characters of several bytes'.
    pub reason: String,
}

impl Declined {
    /// With this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Declined { reason: reason.into() }
    }

    /// The same as an `Err`, for use in tail position.
    pub fn because<T>(reason: impl Into<String>) -> Accept<T> {
        Err(Declined::new(reason))
    }
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Understood, or declined with a reason.
pub type Accept<T> = Result<T, Declined>;

/// The signature of each command's `accept`: the arguments (without the command's name) and the context they are
/// read in.
pub type AcceptFn = fn(args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>>;

/// Reads a file in which arguments go on, or says why it cannot be read before the command runs.
pub type Scripts<'a> = &'a dyn Fn(&[u8]) -> Accept<Vec<u8>>;

/// The signature of `accept` where arguments may go on in files.
pub type AcceptScriptsFn =
    fn(args: &[Vec<u8>], context: &Context, scripts: Scripts<'_>) -> Accept<Box<dyn Command>>;

/// Something a command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Its standard input: no operand was given, or the operand is `-`.
    Stdin,
    /// A file operand, as written. If it cannot be opened, the real command must run: it says so in its own words.
    File(Vec<u8>),
}

impl Input {
    /// The operands of a command for which no operand and `-` both mean standard input.
    pub fn from_operands(operands: &[&[u8]]) -> Vec<Input> {
        if operands.is_empty() {
            return vec![Input::Stdin];
        }
        operands.iter().map(|name| Input::from_operand(name)).collect()
    }

    /// One operand: `-` is standard input.
    pub fn from_operand(name: &[u8]) -> Input {
        if name == b"-" { Input::Stdin } else { Input::File(name.to_vec()) }
    }
}

/// The end of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// So many bytes.
    Bytes(u64),
    /// So many records, the last of which may lack its terminator.
    Records {
        /// How many.
        count: u64,
        /// What ends them.
        end: u8,
    },
}

/// Files that get a copy of what passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// As written; `-` is a file of that name.
    pub paths: Vec<Vec<u8>>,
    /// Appended to, not truncated.
    pub append: bool,
}

/// Where a command puts what it reads for the time being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemporaryFiles<'a> {
    /// It needs no files.
    None,
    /// Into `$TMPDIR`, or `/tmp`.
    Usual,
    /// Into this directory.
    In(&'a [u8]),
}

/// A command whose arguments have been understood.
pub trait Command: Send + Sync + fmt::Debug {
    /// What the planner may know.
    fn facts(&self) -> Facts;

    /// What it reads, in order. Empty for a source (`seq`).
    fn inputs(&self) -> &[Input];

    /// Files in which its arguments go on: what they say is known already, as it was then.
    fn scripts(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Its inner loop. Fresh state for each call.
    fn kernel(&self) -> Accept<Box<dyn Kernel>>;

    /// For a command that reads several inputs side by side (`paste`, `comm`, `join`): its inner loop instead of
    /// [`kernel`](Command::kernel).
    fn join_kernel(&self) -> Accept<Box<dyn JoinKernel>> {
        Declined::because("reads its inputs one after another")
    }

    /// Files that get a copy of everything the command prints (`tee`). Its kernel is declined then: a driver that can
    /// write them passes the bytes on itself.
    fn copies(&self) -> Option<&Copies> {
        None
    }

    /// Where the real one puts what it reads, if it does not hold all of it in memory.
    fn temporary_files(&self) -> TemporaryFiles<'_> {
        TemporaryFiles::None
    }

    /// Its kernel may say something on standard error, which begins with what the command is called.
    fn complains(&self) -> bool {
        false
    }

    /// For a program that the user wrote (awk): whether threads can share its records, or why they are worked on in order.
    fn sharing(&self) -> Option<String> {
        None
    }

    /// It complains at once, while what it prints is still in its buffer. Where both go to the same place, their order
    /// shows, and the real command must run.
    fn complains_before_printing(&self) -> bool {
        false
    }

    /// For a line filter: whether it keeps the same lines if they pass this byte map before they reach it, whatever
    /// they hold. Holds for an expression if nothing is deleted and every set of characters in it (and the set of
    /// word characters, if it asks for words) holds a byte exactly if it holds what the byte becomes.
    fn keeps_same_lines_after(&self, _map: &ByteMap) -> bool {
        false
    }

    /// The program that it starts for what it reads, and whose work its kernel does as well (`xargs grep`).
    fn runs(&self) -> Option<&str> {
        None
    }

    /// It starts that for each file, or for a few: what they print comes in pieces, as late as a process starts.
    fn starts_often(&self) -> bool {
        false
    }

    /// For a source: how much it prints, if that is known.
    fn prints_bytes(&self) -> Option<u64> {
        None
    }

    /// The end of its input is all that it looks at, and this much of it is enough (`tail -n 5`): where the input is a
    /// file, nothing before it need be read.
    fn needs_only_end(&self) -> Option<Ending> {
        None
    }

    /// Why its kernel gains nothing if it stands alone, without another to be fused with, if so: the real command then
    /// runs.
    fn gains_nothing_alone(&self) -> Option<&'static str> {
        None
    }

    /// Its lines come in an order that only the real command knows (`for (k in a)` in awk). Its kernel prints the same
    /// lines in another order, and may stand only before a command that forgets it.
    fn prints_in_any_order(&self) -> bool {
        false
    }

    /// What it prints depends only on which lines it reads, however they are ordered (`sort`).
    fn forgets_order(&self) -> bool {
        false
    }

    /// Where its input is text (UTF-8 without NULs): its kernel for that, which may be given it in any pieces. `None` if
    /// that makes no difference to it.
    fn kernel_for_text(&self) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// A text without which a line changes nothing about what it prints or how it ends: `grep key` looks at no line that
    /// has no `key`.
    fn needs_in_line(&self) -> Option<Vec<u8>> {
        None
    }

    /// For one that prints nothing but text: its kernel that may leave lines away in which `needed` does not stand, if it
    /// has such a one.
    fn kernel_for_lines_with(&self, _needed: &[u8]) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// All that it prints is UTF-8 without NULs.
    fn prints_text(&self) -> bool {
        false
    }

    /// Nothing that it prints holds a NUL.
    fn prints_no_nul(&self) -> bool {
        false
    }

    /// What it prints depends on where its reads of a pipe end (grep looks for NULs in each), if NULs come. Its kernel then reads a
    /// pipe itself, never what another kernel passes on in pieces.
    fn depends_on_reads(&self) -> bool {
        false
    }

    /// A kernel like [`kernel`](Command::kernel) that prints the newlines of what that one prints, and need not print
    /// anything else: for `wc -l`. It hands over where that one does, and ends with the same status. `None` if that
    /// would gain nothing.
    fn kernel_for_line_count(&self) -> Option<Accept<Box<dyn Kernel>>> {
        None
    }

    /// The arguments (without the command's name) with which the real command, reading standard input, goes on from
    /// a record boundary. `None` if it cannot: such a kernel never hands over in the middle.
    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        None
    }
}
