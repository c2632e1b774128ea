//! The row of a tool: all that pelton knows of it, in one value in the tool's own file.
//!
//! Every field is required, so a tool that leaves one out does not compile. Nothing else in pelton may depend
//! on a tool's name: what is special about a tool is a field here.

use super::context::Context;
use super::cost::Rate;
use super::detect::{Family, Implementation, Probe, TESTED};
use super::grammar::Grammar;
use super::interface::{AcceptFn, AcceptWithLookupFn};
use super::io_errors::{Caller, IoErrors, StandardOutput};
use super::stateless::SplitFn;
use super::versions::OtherVersions;
use crate::Messages;

/// A tool that pelton knows.
#[derive(Debug)]
pub struct Tool {
    /// Its usual name.
    pub name: &'static str,
    /// The implementation that its kernel equals. For a builtin, the shell's.
    pub family: Family,
    /// Versions of that implementation, beside the tested one, that its kernel equals as well.
    pub other_versions: &'static [OtherVersions],
    /// Tools whose program may also be installed under this name (`awk` may be gawk).
    pub alternatives: &'static [&'static Tool],
    /// Parses its arguments.
    pub accept: Acceptor,
    /// Parses its arguments to decide whether several processes may share its input, if it ever treats lines
    /// independently.
    pub split: Option<SplitFn>,
    /// How its kernel may replace processes that `xargs` or `find -exec` would start.
    pub in_process: InProcess,
    /// Whether a call with these arguments only reads and prints, so that it may run a second time.
    pub only_prints: fn(&[&str]) -> bool,
    /// Its messages and statuses for read and write errors.
    pub io_errors: IoErrors,
    /// When it writes its output.
    pub standard_output: StandardOutput,
    /// Circumstances in which its kernel's output would differ.
    pub unsuitable: &'static [Unsuitable],
    /// Runs that tell the named implementation from a patched one.
    pub probes: &'static [Probe],
    /// Returns its CPU cost for estimates, never for decisions that could change output. `None` if not
    /// measured.
    pub cost: fn(&[Vec<u8>]) -> Option<Rate>,
    /// Random command lines for tests.
    pub grammar: Grammar,
    /// Whether `pelton verify` can compare it: its random command lines reach all that the kernel serves.
    pub verifiable: bool,
}

/// How a tool's arguments are parsed.
#[derive(Clone, Copy, Debug)]
pub enum Acceptor {
    /// The arguments are complete.
    Alone(AcceptFn),
    /// The arguments may go on in files (`-f`), or refer to the environment.
    WithLookup(AcceptWithLookupFn),
    /// There is no kernel.
    NoKernel,
}

/// Whether a kernel may replace a process over names that arrive as data (`xargs cat`, `find -exec`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InProcess {
    /// Never.
    Never,
    /// If it reads nothing: it prints what follows from its arguments.
    Prints,
    /// If it reads files, writes nothing, and ends by itself.
    Reads {
        /// Whether its messages and lines name no file but as it begins, so that one kernel serves each
        /// single file.
        reuses_kernel: bool,
        /// Whether it stats all its files before it reads the first.
        needs_all_sizes: bool,
    },
}

/// A circumstance in which a kernel's output would differ from its tool's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsuitable {
    /// Its output goes to a file with a size limit, however large: where the tool meets it, it says how far it had read.
    RefusedOutput,
    /// Its output goes into a pipe and SIGPIPE is ignored: what it says of a reader that has left was not compared.
    BrokenPipe,
    /// Standard input is a socket that may be reset: the tool then prints less, and its read position shows.
    SocketInput,
    /// A file has an unusual read block size.
    OddReadSizes,
    /// A file has holes, which the tool takes for binary data.
    Holes,
    /// It was called by another name, which its messages show.
    OtherName,
    /// A variable of the environment names another locale than C, POSIX or C.UTF-8, installed or not: the tool reads its
    /// text.
    NamedLocale,
    /// This variable is in the environment.
    Variable(&'static str),
    /// Its output does not go into a pipe, and its messages may come between.
    MessagesBetweenOutput,
}

impl Tool {
    /// Makes the caller of this tool, called by this name.
    pub fn caller(&'static self, called: String, messages: Messages) -> Caller {
        Caller { called, messages, standard_output: self.standard_output, io_errors: &self.io_errors }
    }

    /// Whether it has a kernel, at least for some arguments.
    pub fn has_kernel(&self) -> bool {
        !matches!(self.accept, Acceptor::NoKernel)
    }

    /// Whether a kernel was compared with this implementation and version.
    pub fn serves(&self, implementation: &Implementation) -> bool {
        self.is_equal_to(implementation)
            || self.alternatives.iter().any(|other| other.is_equal_to(implementation))
    }

    fn is_equal_to(&self, implementation: &Implementation) -> bool {
        implementation.is_tested(self.family) || self.other_version(implementation).is_some()
    }

    fn other_version(&self, implementation: &Implementation) -> Option<&OtherVersions> {
        self.other_versions.iter().find(|other| implementation.is_one_of(self.family, other.versions))
    }

    /// Returns the runs that tell this version from a patched one.
    pub(crate) fn probes_of(&self, implementation: &Implementation) -> &'static [Probe] {
        self.other_version(implementation).and_then(|other| other.probes).unwrap_or(self.probes)
    }

    /// Returns what the installed version may do otherwise than the tested one, for these arguments.
    pub fn difference(&self, args: &[Vec<u8>], context: &Context) -> Option<String> {
        let verified = match &context.implementation {
            Implementation::Verified(verified) => verified.difference(args, context),
            _ => None,
        };
        let other = self.other_version(&context.implementation);
        verified.or_else(|| other.and_then(|other| other.difference_of(args, context)).map(str::to_owned))
    }

    /// Returns the version that the kernel equals and that is nearest to this one: the latest that is not later, or the
    /// earliest.
    pub fn nearest_version(&self, version: &str) -> &'static str {
        let tested = TESTED.iter().filter(|(family, _)| *family == self.family).map(|(_, version)| *version);
        let mut known: Vec<&'static str> =
            tested.chain(self.other_versions.iter().flat_map(|other| other.versions).copied()).collect();
        known.sort_by_key(|version| numbers(version));
        let later = known.partition_point(|known| numbers(known) <= numbers(version));
        known.get(later.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Returns the row of this implementation, if several may be installed under this name.
    pub fn as_installed(&'static self, implementation: &Implementation) -> &'static Tool {
        self.alternatives.iter().find(|other| other.is_equal_to(implementation)).unwrap_or(&self)
    }

    /// Whether its kernel is unsuitable in this circumstance.
    pub fn is_unsuitable_for(&self, circumstance: Unsuitable) -> bool {
        self.unsuitable.contains(&circumstance)
    }
}

/// Returns the numbers of a version, in order.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Accepts any arguments, for [`Tool::only_prints`].
pub(crate) fn always(_args: &[&str]) -> bool {
    true
}

/// Accepts no arguments, for [`Tool::only_prints`].
pub(crate) fn never(_args: &[&str]) -> bool {
    false
}

/// Whether an argument is a cluster of short options that includes this letter.
pub(crate) fn is_letters_with(arg: &str, letter: char) -> bool {
    arg.starts_with('-') && !arg.starts_with("--") && arg.contains(letter)
}

/// Accepts arguments without an output file (`-o`), for [`Tool::only_prints`]. An option may stand among letters: any
/// `o` behind a dash is too near to one.
pub(crate) fn without_output_file(args: &[&str]) -> bool {
    !args.iter().any(|arg| arg.starts_with("--o") || is_letters_with(arg, 'o'))
}
