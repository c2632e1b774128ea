//! Printing sorted runs, a block at a time, so that nobody needs room for all of it twice.

use super::merge::{Merge, RunSource};
use super::order::LineOrder;
use super::print::{Printer, Style};
use super::run::{Short, SortedRun};

/// How many lines are fetched together, before they are printed.
const AHEAD: usize = 32;

/// What is left to print.
#[derive(Debug)]
pub(crate) struct Output {
    lines: Lines,
    terminator: u8,
    printer: Printer,
    /// How many lines may still leave.
    limit: u64,
}

#[derive(Debug)]
enum Lines {
    /// A run, and how many of its lines have been printed.
    One(SortedRun, usize),
    Many(Merge<RunSource>),
}

impl Output {
    /// Of these runs, each already without duplicates if `unique`.
    pub(crate) fn new(
        order: LineOrder,
        terminator: u8,
        runs: Vec<SortedRun>,
        unique: bool,
        style: Style,
    ) -> Self {
        let mut runs = runs;
        let lines = match (runs.pop(), runs.is_empty()) {
            (Some(only), true) => Lines::One(only, 0),
            (last, _) => {
                let sources = runs.into_iter().chain(last).map(RunSource::new).collect();
                Lines::Many(Merge::new(order, unique, sources))
            }
        };
        Output { lines, terminator, printer: Printer::new(style), limit: u64::MAX }
    }

    /// Prints no more than this many lines.
    pub(crate) fn with_limit(self, limit: u64) -> Self {
        Output { limit, ..self }
    }

    /// Appends at least `bytes` to `out`, or all that is left: then false.
    pub(crate) fn print(&mut self, bytes: usize, out: &mut Vec<u8>) -> bool {
        let enough = out.len().saturating_add(bytes);
        while out.len() < enough && self.limit > 0 {
            if !self.print_one(out) {
                self.printer.end_group(out);
                return false;
            }
        }
        self.limit > 0
    }

    #[inline]
    fn print_one(&mut self, out: &mut Vec<u8>) -> bool {
        let Output { lines, terminator, printer, limit } = self;
        let mut take = |line: &[u8], count: u64| {
            let count = count.min(*limit);
            *limit -= if *limit == u64::MAX { 0 } else { count };
            printer.add(line, count, out);
        };
        match lines {
            Lines::Many(merge) => merge.next(take),
            Lines::One(run, at) if *at < run.len() => {
                if at.is_multiple_of(AHEAD) {
                    run.fetch(*at + AHEAD..*at + 2 * AHEAD);
                }
                let mut short = Short::default();
                let (line, count) = run.show(*at, *terminator, &mut short);
                take(line, count);
                *at += 1;
                true
            }
            Lines::One(..) => false,
        }
    }
}
