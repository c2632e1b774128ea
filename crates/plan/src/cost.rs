//! What commands cost: a small model for estimates, never for decisions that could change output.
//!
//! Figures are from one machine (`crates/commands/BENCHMARKING.md`): CPU time, user and system, for each byte that a
//! command reads, in ns, in the C locale. Ratios carry over to other machines better than figures do. How much a
//! command passes on is a guess about usual data. A command that is not listed has no figure, and an estimate says so.

use crate::graph::StageNote;
use pelton_commands::{Class, Command, Input};

/// What a command costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The real command, its reading and writing included: ns for each byte that it reads.
    pub real: f64,
    /// Its kernel, without reading and writing: ns for each byte. `None` if there is none, or it was not measured.
    pub native: Option<f64>,
    /// Bytes that leave for each byte that comes.
    pub passes: f64,
}

impl Rate {
    /// The same for this command: one that looks only at the end of a file finds it without reading the rest.
    pub(crate) fn reading(self, command: Option<&dyn Command>) -> Rate {
        let seeks = command.is_some_and(|command| {
            let files = command.inputs().iter().all(|input| matches!(input, Input::File(_)));
            files && command.needs_only_end().is_some()
        });
        if seeks { Rate { real: 0.0, native: Some(0.0), passes: 0.0 } } else { self }
    }

    /// The same for this command: one that only maps bytes (`sed s/a/A/g`, `tr a A`) has the kernel of all that do.
    pub(crate) fn mapping(self, command: Option<&dyn Command>) -> Rate {
        let maps = command.is_some_and(|command| matches!(command.facts().class, Class::ByteMap(_)));
        if maps { Rate { native: Some(self.real.min(BYTE_MAP_NS_PER_BYTE)), ..self } } else { self }
    }
}

/// Starting a program: fork, exec, its loader, its end.
pub(crate) const PROCESS_NS: f64 = 1_000_000.0;
/// Starting a worker: a fork.
pub(crate) const WORKER_NS: f64 = 500_000.0;
/// Reading a byte in large blocks from a pipe or the page cache, or writing one.
pub(crate) const READ_OR_WRITE_NS_PER_BYTE: f64 = 0.3;
/// `sort | uniq`, by hashing.
pub(crate) const GROUP_NS_PER_BYTE: f64 = 2.6;
/// `sort -u | wc -l`.
pub(crate) const COUNT_DISTINCT_NS_PER_BYTE: f64 = 2.4;
/// `sort | head`.
pub(crate) const TOP_K_NS_PER_BYTE: f64 = 2.5;
/// Any byte map, composed ones too.
const BYTE_MAP_NS_PER_BYTE: f64 = 0.1;
/// `X | wc -l` without X.
pub(crate) const COUNT_LINES_NS_PER_BYTE: f64 = 0.05;

const fn both(real: f64, native: f64, passes: f64) -> Rate {
    Rate { real, native: Some(native), passes }
}

const fn real(real: f64, passes: f64) -> Rate {
    Rate { real, native: None, passes }
}

/// The share of the pipeline's input that reaches each of these stages, as an estimate.
///
/// A stage that stops early (`head`) ends what feeds it: little passes there, back to one that reads to its end before
/// it prints anything.
pub(crate) fn shares(stages: &[StageNote]) -> Vec<f64> {
    let mut left = 1.0;
    let mut shares = Vec::with_capacity(stages.len());
    for stage in stages {
        shares.push(left);
        left *= stage.rate.map_or(1.0, |rate| rate.passes);
    }
    for stopper in (0..stages.len()).filter(|&at| stages[at].ends_when_enough) {
        let fed = (0..stopper).rev().take_while(|&at| stages[at].blocks_until_eof == Some(false));
        fed.chain([stopper]).for_each(|at| shares[at] = 0.0);
    }
    shares
}

/// What this command costs; `None` if that was never measured.
pub(crate) fn rate(name: &str, args: &[Vec<u8>]) -> Option<Rate> {
    // Short options only, also in a cluster: enough for an estimate.
    let asks = |letter: u8| {
        args.iter()
            .any(|arg| arg.first() == Some(&b'-') && arg.get(1) != Some(&b'-') && arg.contains(&letter))
    };
    Some(match name {
        "cat" if args.iter().any(|arg| arg.len() > 1 && arg.starts_with(b"-")) => both(0.9, 0.2, 1.05),
        "cat" => both(0.2, 0.05, 1.0),
        "comm" => both(2.8, 0.9, 1.0),
        "cut" if asks(b'c') || asks(b'b') => both(1.2, 0.12, 0.3),
        "cut" => both(1.5, 0.5, 0.3),
        "echo" | "printf" => both(0.0, 0.0, 1.0),
        "expand" => both(1.6, 0.27, 1.1),
        "unexpand" => real(1.6, 0.9),
        "fold" => both(2.0, 1.05, 1.05),
        "grep" if asks(b'c') => both(1.2, 0.15, 0.0),
        "grep" if asks(b'o') => both(7.5, 3.5, 0.5),
        "grep" => both(1.6, 0.4, 0.2),
        "head" => both(0.0, 0.0, 0.0),
        "join" => both(5.6, 3.7, 1.5),
        "nl" => both(1.4, 0.4, 1.1),
        "paste" => both(1.1, 0.12, 1.0),
        "seq" => both(0.8, 0.25, 1.0),
        "rev" => real(23.0, 1.0),
        "sed" => both(5.0, 1.5, 1.0),
        "sort" if args.iter().any(|arg| arg.len() > 1 && arg.starts_with(b"-")) => both(13.5, 3.5, 1.0),
        "sort" => both(10.0, 2.6, 1.0),
        "tac" => both(0.7, 0.3, 1.0),
        "tail" if args.iter().any(|arg| arg.starts_with(b"+")) => both(0.35, 0.05, 1.0),
        "tail" => both(0.35, 0.1, 0.0),
        "tee" => both(0.4, 0.1, 1.0),
        "tr" if asks(b's') && asks(b'c') => both(2.6, 0.85, 0.9),
        "tr" if asks(b's') => both(1.7, 0.4, 0.95),
        "tr" if asks(b'd') => both(1.5, 0.25, 0.9),
        "tr" => both(0.55, 0.1, 1.0),
        "uniq" => both(5.0, 1.4, 0.4),
        "wc" if args.iter().any(|arg| arg == b"-l" || arg == b"-c") => both(0.16, 0.05, 0.0),
        "wc" => both(4.4, 0.65, 0.0),
        "mawk" | "gawk" | "awk" => real(2.2, 0.3),
        "original-awk" => real(7.8, 0.3),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_never_estimated_dearer_than_its_command() {
        for entry in pelton_commands::COMMANDS {
            let Some(rate) = rate(entry.name, &[]) else { continue };
            assert!(rate.native.is_none_or(|native| native <= rate.real), "{}", entry.name);
        }
    }

    #[test]
    fn options_that_matter() {
        let of = |name: &str, args: &[&str]| {
            let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
            rate(name, &args).map(|rate| rate.real)
        };
        assert!(of("tr", &["-cs", "a", "b"]) > of("tr", &["a", "b"]));
        assert!(of("wc", &["-l"]) < of("wc", &[]));
        assert_eq!(of("nosuch", &[]), None);
    }
}
