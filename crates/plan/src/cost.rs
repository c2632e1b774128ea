//! A small cost model of commands, for estimates only, never for decisions that could change output.
//!
//! Figures are from one machine (`crates/commands/BENCHMARKING.md`): CPU time, user and system, per byte
//! read, in ns, in the C locale. Ratios transfer to other machines better than figures do. The selectivity is
//! a guess about usual data. A command that is not listed has no figure, and an estimate says so.

use crate::graph::StageNote;
use pelton_commands::cost::{Rate, USUAL_LINE_BYTES};
use pelton_commands::{Accepted, Class, Input, lookup};

/// Adapts a rate to a command whose arguments were accepted.
pub(crate) trait RateOf {
    /// Returns the rate for a command that finds the end of a file without reading the rest.
    fn reading(self, accepted: Option<&Accepted>) -> Rate;

    /// Returns the rate for a command that only maps bytes (`sed s/a/A/g`, `tr a A`), which uses the byte map
    /// kernel.
    fn mapping(self, accepted: Option<&Accepted>) -> Rate;
}

impl RateOf for Rate {
    fn reading(self, accepted: Option<&Accepted>) -> Rate {
        let seeks = accepted.is_some_and(|Accepted { command, facts }| {
            let files = command.inputs().iter().all(|input| matches!(input, Input::File(_)));
            files && facts.input.needed_end.is_some()
        });
        if seeks {
            Rate { real: 0.0, real_per_line: 0.0, native: Some(0.0), passes: 0.0, ..self }
        } else {
            self
        }
    }

    fn mapping(self, accepted: Option<&Accepted>) -> Rate {
        let maps = accepted.is_some_and(|accepted| matches!(accepted.facts.class, Class::ByteMap(_)));
        if maps { Rate { native: Some(self.real.min(BYTE_MAP_NS_PER_BYTE)), ..self } } else { self }
    }
}

/// Starting a program: fork, exec, loader, exit.
pub(crate) const PROCESS_NS: f64 = 1_000_000.0;
/// Starting a worker: a fork.
pub(crate) const WORKER_NS: f64 = 500_000.0;
/// Reading or writing a byte in large blocks, through a pipe or the page cache.
pub(crate) const READ_OR_WRITE_NS_PER_BYTE: f64 = 0.25;
/// `sort | uniq`, by hashing.
pub(crate) const GROUP_NS_PER_BYTE: f64 = 2.6;
/// `sort -u | wc -l`.
pub(crate) const COUNT_DISTINCT_NS_PER_BYTE: f64 = 2.4;
/// `sort | head`.
pub(crate) const TOP_K_NS_PER_BYTE: f64 = 2.5;
/// Any byte map, also a composed one.
const BYTE_MAP_NS_PER_BYTE: f64 = 0.1;
/// `X | wc -l`, without running X.
pub(crate) const COUNT_LINES_NS_PER_BYTE: f64 = 0.05;

/// Estimates the share of the pipeline's input that reaches each of these stages.
///
/// A stage that stops early (`head`) ends its upstream: little passes there, back to a stage that reads to
/// the end before it prints.
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

/// Returns the assumed lengths of the lines that these stages read, in bytes.
pub(crate) fn line_lengths(stages: &[StageNote]) -> Vec<f64> {
    let mut length = USUAL_LINE_BYTES;
    let mut lengths = Vec::with_capacity(stages.len());
    for stage in stages {
        lengths.push(length);
        length = stage.rate.map_or(length, |rate| rate.printed_line_bytes(length));
    }
    lengths
}

/// Returns the cost of this command. `None` if it was never measured.
pub(crate) fn rate(name: &str, args: &[Vec<u8>]) -> Option<Rate> {
    (lookup(name.as_bytes())?.cost)(args)
}
