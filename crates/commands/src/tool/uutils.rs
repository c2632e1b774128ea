//! uutils' coreutils beside GNU's: the rows of tools whose kernel equals both.
//!
//! uutils means to print what GNU's tools print, and mostly does; its messages are its own. Each tool's file makes the row
//! from its own one ([`row`]) and names the calls that differ. All were found by the differential tests.

use super::context::Context;
use super::detect::Family;
use super::io_errors::IoErrors;
use super::row::{Tool, Unsuitable};
use super::versions::{Difference, OtherVersions};

/// The versions of about Ubuntu 26.04 and of Debian unstable, all of which were compared. Those of 0.2.2 complain when
/// their reader leaves early.
pub(crate) const COMPARED: &[&str] = &["0.7.0", "0.8.0", "0.12.0"];
/// The last.
const FROM_0_12: &[&str] = &["0.12.0"];

/// Returns the row of uutils' tool that GNU's kernel equals in some versions of uutils ([`but`]).
pub(crate) const fn row(gnu: &Tool, versions: &'static [OtherVersions]) -> Tool {
    Tool {
        name: gnu.name,
        family: Family::Uutils,
        other_versions: versions,
        alternatives: &[],
        accept: gnu.accept,
        split: gnu.split,
        in_process: gnu.in_process,
        only_prints: gnu.only_prints,
        // It has messages in French, which GNU's catalogues do not hold.
        io_errors: IoErrors { catalogue: None, ..IoErrors::COREUTILS },
        standard_output: gnu.standard_output,
        unsuitable: &[Unsuitable::RefusedOutput, Unsuitable::BrokenPipe, Unsuitable::NamedLocale],
        probes: &[],
        cost: gnu.cost,
        grammar: gnu.grammar,
        verifiable: gnu.verifiable,
    }
}

/// Makes versions that are as GNU's tool, in C and C.UTF-8, but for calls that `difference` names.
pub(crate) const fn but(versions: &'static [&'static str], difference: Difference) -> OtherVersions {
    OtherVersions { in_c_only: true, ..OtherVersions::but(versions, difference) }
}

/// Whether it is 0.12 or later.
pub(crate) fn is_from_0_12(context: &Context) -> bool {
    context.implementation.is_one_of(Family::Uutils, FROM_0_12)
}

/// Whether a call may give an option twice, which many of uutils' tools refuse, or with `=` behind its letter. A long
/// option may be the same as any other one.
pub(crate) fn may_repeat(args: &[Vec<u8>]) -> bool {
    let options: Vec<&[u8]> =
        args.iter().filter_map(|arg| arg.strip_prefix(b"-")).filter(|rest| !rest.is_empty()).collect();
    let mut letters: Vec<u8> = options
        .iter()
        .filter(|rest| !rest.starts_with(b"-"))
        .flat_map(|rest| rest.iter().copied())
        .filter(u8::is_ascii_alphabetic)
        .collect();
    let count = letters.len();
    letters.sort_unstable();
    letters.dedup();
    has_equals(args)
        || letters.len() < count
        || options.len() > 1 && options.iter().any(|rest| rest.starts_with(b"-"))
}

/// Whether a letter is followed by `=` at once, which uutils' tools take for no part of the value: `-t=` has none.
pub(crate) fn has_equals(args: &[Vec<u8>]) -> bool {
    args.iter().any(|arg| arg.starts_with(b"-") && !arg.starts_with(b"--") && arg.contains(&b'='))
}

/// Whether the value of one of these letters stands where uutils may not find it: behind other letters (`-ws:`), or in an
/// argument of its own that begins with a dash.
pub(crate) fn has_odd_value(args: &[Vec<u8>], letters: &[u8]) -> bool {
    let place = |arg: &[u8]| match arg {
        [b'-', rest @ ..] if !rest.starts_with(b"-") => rest.iter().position(|byte| letters.contains(byte)),
        _ => None,
    };
    let is_cluster = args.iter().any(|arg| place(arg).is_some_and(|at| at > 0));
    is_cluster
        || args
            .windows(2)
            .any(|pair| place(&pair[0]).is_some() && pair[0].len() == 2 && pair[1].starts_with(b"-"))
}

/// The difference of paths with a component that may be a dot, which were normalised before 0.12.
pub(crate) fn has_dot_component(args: &[Vec<u8>], context: &Context) -> Option<&'static str> {
    if is_from_0_12(context) {
        return None;
    }
    let has_dot = |arg: &Vec<u8>| memchr::memmem::find(arg, b"/.").is_some();
    args.iter().any(has_dot).then_some("components that begin with a dot")
}
