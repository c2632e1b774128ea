//! Printing sorted runs, a block at a time, so that nobody needs room for all of it twice.

use super::merge::{Merge, RunSource, Source};
use super::order::LineOrder;
use super::print::{Printer, Style};
use super::run::SortedRun;

/// What is left to print.
#[derive(Debug)]
pub(crate) struct Output {
    lines: Lines,
    printer: Printer,
    /// How many lines may still leave.
    limit: u64,
}

#[derive(Debug)]
enum Lines {
    One(RunSource),
    Many(Merge<RunSource>),
}

impl Output {
    /// Of these runs, each already without duplicates if `unique`.
    pub(crate) fn new(order: LineOrder, runs: Vec<SortedRun>, unique: bool, style: Style) -> Self {
        let mut sources: Vec<_> = runs.into_iter().map(RunSource::new).collect();
        let lines = match (sources.pop(), sources.is_empty()) {
            (Some(only), true) => Lines::One(only),
            (last, _) => {
                sources.extend(last);
                Lines::Many(Merge::new(order, unique, sources))
            }
        };
        Output { lines, printer: Printer::new(style), limit: u64::MAX }
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
        let Output { lines, printer, limit } = self;
        let mut take = |line: &[u8], count: u64| {
            let count = count.min(*limit);
            *limit -= if *limit == u64::MAX { 0 } else { count };
            printer.add(line, count, out);
        };
        match lines {
            Lines::Many(merge) => merge.next(take),
            Lines::One(source) => {
                let Some((line, count)) = source.entry() else { return false };
                take(line, count);
                source.advance();
                true
            }
        }
    }
}
