//! What pelton knows about each command.
//!
//! One file (or folder) per command: its arguments are read as the real tool reads them, or declined with a reason;
//! what they mean becomes [`Facts`] for the planner and a kernel for the runner. No command here reads, writes or
//! prints by itself. To add one: a file in `tools/` with a
//! [`Tool`], and its line in `tools/mod.rs`.

mod awk;
mod bytes;
mod grep;
mod locale;
pub mod regex;
mod sed;
mod sort;
mod tool;
mod tools;

use io_errors::{Caller, IoErrors, StandardOutput};
use tool::interface::NoLookup;

pub use awk::program_at as awk_program_at;
pub use bytes::distinct_lines::sort_uniq;
pub use bytes::line_count::LineCount;
pub use bytes::nul_line_ends::with_nul_line_ends;
pub use bytes::sets::{ByteMap, ByteSet};
pub use bytes::translate::ByteMapKernel;
pub use locale::installed::{Characters, LocaleStore, NumberFormat, SystemLocales};
pub use locale::messages::Messages;
pub use sed::only_prints as sed_that_only_prints;
pub use sort::{DistinctCount, Mode as SortMode, Sort, SortOptions, TopK};
pub use tool::context::{Charset, Collate, Context, Locale, locales_are_installed};
pub use tool::decompress::decompressor;
pub use tool::detect::{Family, Implementation};
pub use tool::facts::{
    ChildProgram, Class, Content, Diagnostics, EarlyStop, Facts, InputFacts, Lines, OutputFacts, OverParts,
};
pub use tool::interface::{
    Accept, AcceptFn, AcceptWithLookupFn, Accepted, Command, Copies, Declined, Ending, FileNames, Input,
    Lookup, Special, TemporaryFiles,
};
pub use tool::row::{Acceptor, InProcess, Tool, Unsuitable};
pub use tool::{argv, cost, detect, grammar, io_errors, stateless};
pub use tools::TOOLS;
pub use tools::dirname::directory as directory_of_path;
pub use tools::head::Head;
pub use tools::tac::reverses_lines;
pub use tools::uniq::{Uniq, UniqKernel, UniqOptions};
pub use tools::wc::counts_only_lines;

/// Returns the row of the tool with this name.
pub fn lookup(name: &[u8]) -> Option<&'static Tool> {
    TOOLS.iter().copied().find(|tool| tool.name.as_bytes() == name)
}

/// Makes the caller of the tool that this name or path calls; for an unknown one, with the messages of
/// coreutils.
pub fn caller(called: String, messages: Messages) -> Caller {
    let name = called.rsplit('/').next().unwrap_or_default();
    match lookup(name.as_bytes()) {
        Some(tool) => tool.caller(called, messages),
        None => Caller {
            called,
            messages,
            standard_output: StandardOutput::Buffered,
            io_errors: &IoErrors::COREUTILS,
        },
    }
}

/// Reads a command line: its name, its arguments, and what they depend on. The one way in for the planner.
pub fn accept(name: &[u8], args: &[Vec<u8>], context: &Context) -> Accept<Box<dyn Command>> {
    accept_with(name, args, context, &NoLookup)
}

/// The same for one who can read the files in which arguments go on (`grep -f`, `sed -f`), and knows the environment.
pub fn accept_with(
    name: &[u8],
    args: &[Vec<u8>],
    context: &Context,
    references: &dyn Lookup,
) -> Accept<Box<dyn Command>> {
    let shown = name.escape_ascii();
    let Some(tool) = lookup(name).filter(|tool| tool.has_kernel()) else {
        return Declined::because(format!("pelton has no native {shown}"));
    };
    if !tool.serves(&context.implementation) {
        let what = context.implementation.describe();
        let cure =
            if tool.verifiable { format!("; `pelton verify {shown}` compares it") } else { String::new() };
        return Declined::because(format!("{shown} is {what}, which no kernel was compared with{cure}"));
    }
    if let Some(difference) = tool.as_installed(&context.implementation).difference(args, context) {
        let what = context.implementation.describe();
        return Declined::because(format!("{shown} is {what}, which differs: {difference}"));
    }
    // Of tools with names of their own (`awk` may be gawk) the messages show the name called.
    let installed = tool.as_installed(&context.implementation);
    let row = if installed.name == tool.name { installed } else { tool };
    let accepted = match row.accept {
        Acceptor::Alone(accept) => accept(args, context),
        Acceptor::WithLookup(accept) => accept(args, context, references),
        Acceptor::NoKernel => Declined::because("there is no kernel"),
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
