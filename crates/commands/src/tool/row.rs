//! The row of a tool: all that pelton knows of it, in one value that stands in the tool's own file.
//!
//! Every field is required, so a tool that leaves one out does not compile. Nothing else in pelton may depend on a tool's
//! name: what is special about a tool is a field here.

use super::command::{AcceptFn, AcceptScriptsFn};
use super::cost::Rate;
use super::detect::{Family, Implementation, Probe};
use super::grammar::Grammar;
use super::io_errors::{IoErrors, StandardOutput};
use super::stateless::SplitFn;

/// A tool that pelton knows.
#[derive(Debug)]
pub struct Tool {
    /// Returns the name by which it is usually called.
    pub name: &'static str,
    /// The implementation that its kernel equals. For a builtin, that of the shell.
    pub family: Family,
    /// Tools whose program may also be installed under this name (`awk` may be gawk).
    pub alternatives: &'static [&'static Tool],
    /// Reads its arguments.
    pub accept: Acceptor,
    /// Reads its arguments to tell whether several processes may share its input, if it ever treats each line by itself.
    pub split: Option<SplitFn>,
    /// How its kernel may stand for processes that `xargs` or `find -exec` would start.
    pub in_process: InProcess,
    /// Whether a call with these arguments only reads and prints, so that it may run a second time.
    pub only_prints: fn(&[&str]) -> bool,
    /// What it says where it cannot read or write, and the status it ends with.
    pub io_errors: IoErrors,
    /// When it writes what it prints.
    pub standard_output: StandardOutput,
    /// Circumstances in which its kernel would print something else.
    pub unsuitable: &'static [Unsuitable],
    /// Runs that tell the named implementation from a patched one.
    pub probes: &'static [Probe],
    /// Returns its CPU cost for estimates, never for decisions that could change output. `None` if it was not measured.
    pub cost: fn(&[Vec<u8>]) -> Option<Rate>,
    /// Random command lines for tests.
    pub grammar: Grammar,
}

/// How the arguments of a tool are read.
#[derive(Clone, Copy, Debug)]
pub enum Acceptor {
    /// They are complete.
    Alone(AcceptFn),
    /// They may go on in files (`-f`).
    WithScripts(AcceptScriptsFn),
    /// There is no kernel.
    NoKernel,
}

/// Whether a kernel may stand for a process over files whose names come as data (`xargs cat`, `find -exec`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InProcess {
    /// It may not.
    Never,
    /// It reads files, writes nothing, and ends by itself.
    Reads {
        /// Its messages and lines name no file but as it begins, so that one kernel serves each single file.
        reuses_kernel: bool,
        /// It looks at all its files before it reads the first.
        needs_all_sizes: bool,
    },
}

/// A circumstance in which a kernel would print something else than its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuitable {
    /// Its output may be refused: the tool then tells how far it had read.
    RefusedOutput,
    /// Its standard input is a socket that may break off: the tool then prints less, and tells how far it had read.
    SocketInput,
    /// A file is read in blocks of another size than usual.
    OddReadSizes,
    /// A file has holes, which the tool takes for binary data.
    Holes,
    /// It was called by another name, which stands in its messages.
    OtherName,
    /// One of these variables is in the environment.
    Variable(&'static str),
    /// What it prints goes into no pipe, and its messages may come between.
    MessagesBetweenOutput,
}

impl Tool {
    /// Whether it has a kernel, at least for some arguments.
    pub fn has_kernel(&self) -> bool {
        !matches!(self.accept, Acceptor::NoKernel)
    }

    /// Whether a kernel was compared with this implementation in this version.
    pub fn serves(&self, implementation: &Implementation) -> bool {
        implementation.is_tested(self.family)
            || self.alternatives.iter().any(|other| implementation.is_tested(other.family))
    }

    /// Returns the row of this implementation, where several may be installed under this name.
    pub fn as_installed(&'static self, implementation: &Implementation) -> &'static Tool {
        self.alternatives.iter().find(|other| implementation.is_tested(other.family)).unwrap_or(&self)
    }

    /// Whether its kernel does not equal the tool in this circumstance.
    pub fn is_unsuitable_for(&self, circumstance: Unsuitable) -> bool {
        self.unsuitable.contains(&circumstance)
    }
}

/// For [`Tool::only_prints`]: any arguments.
pub(crate) fn always(_args: &[&str]) -> bool {
    true
}

/// For [`Tool::only_prints`]: no arguments.
pub(crate) fn never(_args: &[&str]) -> bool {
    false
}

/// Whether an argument is a cluster of short options in which this letter stands.
pub(crate) fn is_letters_with(arg: &str, letter: char) -> bool {
    arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
}
