//! busybox' applets beside GNU's tools: the rows of tools whose kernel equals both.
//!
//! Each tool's file makes the row from its own one ([`row`]) and names the calls that are served ([`has_only`]): the
//! simple ones, with options before operands, that print the same bytes. Whatever complains is left to busybox. Most
//! applets read lines that a NUL ends as well as a newline: their rows say so by their `accept`.

use super::context::Context;
use super::detect::{Family, Probe};
use super::io_errors::IoErrors;
use super::row::{Acceptor, InProcess, Tool, Unsuitable, never};
use super::versions::{Difference, OtherVersions};

/// The versions that were compared: Debian's of bookworm, trixie and sid. What an applet knows depends on how busybox was
/// configured, so those of others are not known.
pub(crate) const COMPARED: &[&str] = &["1.35.0 (Debian)", "1.37.0 (Debian)", "1.38.0 (Debian)"];

/// Returns the version in the rest of a first line: `1.37.0 (Debian 1:1.37.0-6+b9) multi-call binary.` The revision of a
/// package and the date of a build do not count, but who built it does.
pub(crate) fn version(rest: &str) -> String {
    let number = rest.split(' ').next().unwrap_or_default();
    if rest.contains(" (Debian ") { format!("{number} (Debian)") } else { number.to_owned() }
}

/// Returns the row of busybox' applet that GNU's kernel equals in some versions of busybox ([`but`]).
pub(crate) const fn row(
    gnu: &Tool,
    accept: Acceptor,
    versions: &'static [OtherVersions],
    probes: &'static [Probe],
) -> Tool {
    Tool {
        name: gnu.name,
        family: Family::Busybox,
        other_versions: versions,
        alternatives: &[],
        accept,
        split: None,
        in_process: InProcess::Never,
        only_prints: never,
        io_errors: IoErrors { catalogue: None, ..IoErrors::COREUTILS },
        standard_output: gnu.standard_output,
        unsuitable: &[Unsuitable::RefusedOutput, Unsuitable::BrokenPipe, Unsuitable::NamedLocale],
        probes,
        cost: gnu.cost,
        grammar: gnu.grammar,
        verifiable: gnu.verifiable,
    }
}

/// Makes versions that are as GNU's tool, in C and C.UTF-8, but for calls that `difference` names.
pub(crate) const fn but(versions: &'static [&'static str], difference: Difference) -> OtherVersions {
    OtherVersions { in_c_only: true, ..OtherVersions::but(versions, difference) }
}

/// The reason for what no row serves.
pub(crate) const OTHER_CALLS: Option<&str> = Some("calls other than the simplest");

/// Whether all options stand before the operands, and are these letters, of which some take values.
pub(crate) fn has_only(
    args: &[Vec<u8>],
    flags: &[u8],
    mut value_fits: impl FnMut(u8, &[u8]) -> bool,
) -> bool {
    let mut rest = args.iter().map(Vec::as_slice);
    let is_option = |arg: &[u8]| arg.len() > 1 && arg[0] == b'-';
    while let Some(arg) = rest.next() {
        if !is_option(arg) {
            return !rest.any(is_option);
        }
        for (at, letter) in arg.iter().enumerate().skip(1) {
            if flags.contains(letter) {
                continue;
            }
            let value = if at + 1 < arg.len() { Some(&arg[at + 1..]) } else { rest.next() };
            match value {
                Some(value) if value_fits(*letter, value) => break,
                _ => return false,
            }
        }
    }
    true
}

/// Whether it is a number of a few digits.
pub(crate) fn is_number(text: &[u8]) -> bool {
    (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}

/// Serves calls without any option.
pub(crate) fn no_options(args: &[Vec<u8>], _: &Context) -> Option<&'static str> {
    if has_only(args, b"", |_, _| false) { None } else { OTHER_CALLS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_name_who_built_them() {
        assert_eq!(version("1.37.0 (Debian 1:1.37.0-6+b9) multi-call binary."), "1.37.0 (Debian)");
        assert_eq!(version("1.37.0 (2025-08-05 16:40:33 UTC) multi-call binary."), "1.37.0");
    }

    #[test]
    fn options_come_first() {
        let fits = |args: &[&str]| {
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            has_only(&args, b"qv", |letter, value| letter == b'n' && is_number(value))
        };
        assert!(fits(&["-qn", "5", "file", "-"]) && fits(&["-n5"]) && fits(&[]));
        assert!(!fits(&["file", "-q"]) && !fits(&["--quiet"]) && !fits(&["-n"]) && !fits(&["-n", "-5"]));
    }
}
