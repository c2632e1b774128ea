//! What pelton knows about each command.
//!
//! One file (or folder) per command: its arguments are read as the real tool reads them, or declined with a reason;
//! what they mean becomes [`Facts`] for the planner and a kernel for the runner. No command here reads, writes or
//! prints by itself. To add one: a file with an `accept`, and a line in [`COMMANDS`].

mod awk;
mod bytes;
mod grep;
mod locale;
pub mod regex;
mod sed;
mod sort;
mod tool;
mod tools;

pub use bytes::distinct_lines::sort_uniq;
pub use bytes::line_count::LineCount;
pub use bytes::sets::{ByteMap, ByteSet};
pub use bytes::translate::ByteMapKernel;
pub use locale::installed::{LocaleStore, SystemLocales};
pub use locale::messages::Messages;
pub use sed::only_prints as sed_that_only_prints;
pub use sort::{DistinctCount, Mode as SortMode, Sort, SortOptions, TopK};
pub use tool::command::{
    Accept, AcceptFn, AcceptScriptsFn, Command, Copies, Declined, Ending, Input, Scripts, TemporaryFiles,
};
pub use tool::context::{Charset, Collate, Context, Locale, locales_are_installed};
pub use tool::detect::{Family, Implementation};
pub use tool::facts::{Class, Combiner, Facts, LastLine, Lines, Touches};
pub use tool::{argv, detect, stateless};
pub use tools::head::Head;
pub use tools::tac::reverses_lines;
pub use tools::uniq::{Uniq, UniqKernel, UniqOptions};
pub use tools::wc::counts_only_lines;

/// A command that pelton knows.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// As it is called.
    pub name: &'static str,
    /// Whose implementation its kernel equals.
    pub family: Family,
    /// Others whose implementation it equals as well, for some arguments.
    pub others: &'static [Family],
    /// Reads its arguments.
    pub accept: Acceptor,
    /// It has a kernel, at least for some arguments. If not, it is known only for what `explain` says of it.
    pub native: bool,
}

impl Entry {
    /// Whether this implementation, in this version, is one that its kernel was compared with.
    pub fn serves(&self, implementation: &Implementation) -> bool {
        implementation.is_tested(self.family)
            || self.others.iter().any(|family| implementation.is_tested(*family))
    }
}

/// Who reads the arguments of a command.
#[derive(Clone, Copy, Debug)]
pub enum Acceptor {
    /// They say everything.
    Alone(AcceptFn),
    /// They may go on in files (`-f`).
    WithScripts(AcceptScriptsFn),
}

/// Every command that pelton knows.
pub const COMMANDS: &[Entry] = &[
    // One line per command.
    Entry { others: &[Family::Gawk, Family::OriginalAwk], ..scripted("awk", Family::Mawk, awk::accept) },
    coreutils("cat", tools::cat::accept),
    coreutils("comm", tools::comm::accept),
    coreutils("cut", tools::cut::accept),
    builtin("echo", tools::echo::accept),
    coreutils("expand", tools::expand::accept),
    native("find", Family::GnuFindutils, Acceptor::Alone(tools::find::accept)),
    coreutils("fold", tools::fold::accept),
    scripted("grep", Family::GnuGrep, grep::accept),
    scripted("gawk", Family::Gawk, awk::accept_gawk),
    coreutils("head", tools::head::accept),
    coreutils("join", tools::join::accept),
    scripted("nawk", Family::OriginalAwk, awk::accept_original),
    coreutils("nl", tools::nl::accept),
    scripted("original-awk", Family::OriginalAwk, awk::accept_original),
    coreutils("paste", tools::paste::accept),
    scripted("mawk", Family::Mawk, awk::accept_mawk),
    native("pelton", Family::Pelton, Acceptor::Alone(tools::json::accept)),
    builtin("printf", tools::printf::accept),
    native("rev", Family::UtilLinux, Acceptor::Alone(tools::rev::accept)),
    scripted("sed", Family::GnuSed, sed::accept),
    coreutils("seq", tools::seq::accept),
    coreutils("sort", sort::accept),
    coreutils("tac", tools::tac::accept),
    coreutils("tail", tools::tail::accept),
    coreutils("tee", tools::tee::accept),
    coreutils("tr", tools::tr::accept),
    coreutils("unexpand", tools::unexpand::accept),
    coreutils("uniq", tools::uniq::accept),
    coreutils("wc", tools::wc::accept),
    native("xargs", Family::GnuFindutils, Acceptor::Alone(tools::xargs::accept)),
];

const fn native(name: &'static str, family: Family, accept: Acceptor) -> Entry {
    Entry { name, family, others: &[], accept, native: true }
}

const fn coreutils(name: &'static str, accept: AcceptFn) -> Entry {
    native(name, Family::GnuCoreutils, Acceptor::Alone(accept))
}

const fn scripted(name: &'static str, family: Family, accept: AcceptScriptsFn) -> Entry {
    native(name, family, Acceptor::WithScripts(accept))
}

/// Of bash. The program of the same name is declined as another implementation.
const fn builtin(name: &'static str, accept: AcceptFn) -> Entry {
    native(name, Family::Bash, Acceptor::Alone(accept))
}

/// The command of this name, if pelton knows it.
pub fn lookup(name: &[u8]) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.name.as_bytes() == name)
}

/// Reads a command line: its name, its arguments, and what they depend on. The one way in for the planner.
pub fn accept(name: &[u8], args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    accept_with(name, args, context, &|name| {
        Declined::because(format!("the file {} was not read", name.escape_ascii()))
    })
}

/// The same for one who can read the files in which arguments go on (`grep -f`, `sed -f`).
pub fn accept_with(
    name: &[u8],
    args: &[Vec<u8>],
    context: &Context,
    scripts: Scripts<'_>,
) -> Accept<Box<dyn Command>> {
    let shown = name.escape_ascii();
    let Some(entry) = lookup(name) else { return Declined::because(format!("{shown} has no kernel")) };
    if !entry.serves(&context.implementation) {
        let what = context.implementation.describe();
        return Declined::because(format!("{shown} is {what}, which no kernel was compared with"));
    }
    let accepted = match entry.accept {
        Acceptor::Alone(accept) => accept(args, context),
        Acceptor::WithScripts(accept) => accept(args, context, scripts),
    };
    accepted
        .and_then(stdin_at_most_once)
        .map_err(|declined| Declined::new(format!("{shown}: {}", declined.reason)))
}

/// Declines a command that reads standard input as several of its operands: what the second one finds depends on how
/// far the first has read, and on whether it is a file.
fn stdin_at_most_once(command: Box<dyn Command>) -> Accept<Box<dyn Command>> {
    if command.inputs().iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Declined::because("standard input twice");
    }
    Ok(command)
}
