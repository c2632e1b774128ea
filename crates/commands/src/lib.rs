//! What pelton knows about each command.
//!
//! One file (or folder) per command: its arguments are read as the real tool reads them, or declined with a reason;
//! what they mean becomes [`Facts`] for the planner and a kernel for the runner. No command here reads, writes or
//! prints by itself. To add one: a file with an `accept`, and a line in [`COMMANDS`].

pub mod argv;
mod awk;
mod bytes;
mod cat;
mod collation;
mod comm;
mod command;
mod context;
mod count;
mod cut;
mod decimal;
mod decode;
pub mod detect;
mod echo;
mod encoded;
mod escapes;
mod expand;
mod facts;
mod find;
mod fold;
mod gather;
mod grep;
mod group;
mod head;
mod headers;
mod held;
mod join;
mod json;
mod line_count;
mod locales;
mod messages;
mod nl;
mod paste;
mod printed;
mod printf;
pub mod regex;
mod rev;
mod runs;
mod scan;
mod sed;
mod seq;
mod side;
mod sort;
pub mod stateless;
mod tabs;
mod tac;
mod tail;
mod tee;
mod tr;
mod translate;
mod unexpand;
mod uniq;
mod wc;
mod xargs;

pub use bytes::{ByteMap, ByteSet};
pub use command::{
    Accept, AcceptFn, AcceptScriptsFn, Command, Copies, Declined, Ending, Input, Scripts, TemporaryFiles,
};
pub use context::{Charset, Collate, Context, Locale, locales_are_installed};
pub use detect::{Family, Implementation};
pub use facts::{Class, Combiner, Facts, LastLine, Lines, Touches};
pub use group::sort_uniq;
pub use head::Head;
pub use line_count::LineCount;
pub use locales::{LocaleStore, SystemLocales};
pub use messages::Messages;
pub use sed::only_prints as sed_that_only_prints;
pub use sort::{DistinctCount, Mode as SortMode, Sort, SortOptions, TopK};
pub use tac::reverses_lines;
pub use translate::ByteMapKernel;
pub use uniq::{Uniq, UniqKernel, UniqOptions};
pub use wc::counts_only_lines;

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
    coreutils("cat", cat::accept),
    coreutils("comm", comm::accept),
    coreutils("cut", cut::accept),
    builtin("echo", echo::accept),
    coreutils("expand", expand::accept),
    native("find", Family::GnuFindutils, Acceptor::Alone(find::accept)),
    coreutils("fold", fold::accept),
    scripted("grep", Family::GnuGrep, grep::accept),
    scripted("gawk", Family::Gawk, awk::accept_gawk),
    coreutils("head", head::accept),
    coreutils("join", join::accept),
    scripted("nawk", Family::OriginalAwk, awk::accept_original),
    coreutils("nl", nl::accept),
    scripted("original-awk", Family::OriginalAwk, awk::accept_original),
    coreutils("paste", paste::accept),
    scripted("mawk", Family::Mawk, awk::accept_mawk),
    native("pelton", Family::Pelton, Acceptor::Alone(json::accept)),
    builtin("printf", printf::accept),
    native("rev", Family::UtilLinux, Acceptor::Alone(rev::accept)),
    scripted("sed", Family::GnuSed, sed::accept),
    coreutils("seq", seq::accept),
    coreutils("sort", sort::accept),
    coreutils("tac", tac::accept),
    coreutils("tail", tail::accept),
    coreutils("tee", tee::accept),
    coreutils("tr", tr::accept),
    coreutils("unexpand", unexpand::accept),
    coreutils("uniq", uniq::accept),
    coreutils("wc", wc::accept),
    native("xargs", Family::GnuFindutils, Acceptor::Alone(xargs::accept)),
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
