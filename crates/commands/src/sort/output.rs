//! Prints sorted runs, a block at a time, so that no memory for a second copy is needed.

use pelton_parallel::{Helpers, Ordered};
use pelton_stream::Holding;

use super::merge::{Merge, RunSource};
use super::order::LineOrder;
use super::print::{Printer, Style};
use super::ranges::RangeWork;
use super::render::RunWork;
use super::run::{Piece, Short, SortedRun};
use super::spill_directory::Complaint;

/// Lines that are prefetched together before they are printed.
const AHEAD: usize = 32;

/// The remaining output.
#[derive(Debug)]
pub(crate) struct Output {
    lines: Lines,
    terminator: u8,
    printer: Printer,
    /// Lines that may still be printed.
    limit: u64,
    /// Its reservation of shared memory.
    _held: Option<Holding>,
}

#[derive(Debug)]
enum Lines {
    /// A run, the piece being printed, and the number of its lines printed.
    One(SortedRun, usize, usize),
    Shared(Ordered<RunWork>),
    Stored(Ordered<RangeWork>),
    Many(Merge<RunSource>),
}

impl Output {
    /// Makes the output of these runs, each already without duplicates if `unique`.
    pub(crate) fn new(
        order: LineOrder,
        terminator: u8,
        mut runs: Vec<SortedRun>,
        unique: bool,
        style: Style,
    ) -> Self {
        let lines = match (runs.pop(), runs.is_empty()) {
            (Some(only), true) => Lines::One(only, 0, 0),
            (last, _) => {
                let sources = runs.into_iter().chain(last).map(RunSource::new).collect();
                Lines::Many(Merge::new(order, unique, sources))
            }
        };
        Output { lines, terminator, printer: Printer::new(style), limit: u64::MAX, _held: None }
    }

    /// Lets helpers print all of it. Call it last.
    pub(crate) fn with_crew(mut self, helpers: &Helpers) -> Self {
        if self.limit < u64::MAX {
            return self;
        }
        self.lines = match self.lines {
            Lines::One(run, 0, 0) => {
                match RunWork::new(run, self.printer.style(), self.terminator).shared(helpers) {
                    Ok(shared) => Lines::Shared(shared),
                    Err(run) => Lines::One(run, 0, 0),
                }
            }
            lines => lines,
        };
        self
    }

    /// Keeps this reservation of shared memory until it is dropped.
    pub(super) fn holding(self, held: Option<Holding>) -> Self {
        Output { _held: held, ..self }
    }

    /// Stops all helpers.
    pub(crate) fn detach(&mut self) {
        match &mut self.lines {
            Lines::Shared(work) => work.detach(),
            Lines::Stored(work) => work.detach(),
            Lines::One(..) | Lines::Many(_) => {}
        }
    }

    /// Returns sort's message if lines could not be read back.
    pub(crate) fn failed(&self) -> Option<Complaint> {
        match &self.lines {
            Lines::Stored(work) => work.work().failure(),
            _ => None,
        }
    }

    /// Makes the output of spilled lines.
    pub(super) fn stored(merging: Ordered<RangeWork>, terminator: u8) -> Self {
        // The jobs have their own printers.
        let printer = Printer::new(Style::Every);
        Output { lines: Lines::Stored(merging), terminator, printer, limit: u64::MAX, _held: None }
    }

    fn print_stored(&mut self, out: &mut Vec<u8>) -> Option<bool> {
        let before = out.len();
        let more = match &mut self.lines {
            Lines::Shared(work) => work.append_next(out),
            Lines::Stored(work) => work.append_next(out),
            Lines::One(..) | Lines::Many(_) => return None,
        };
        if self.limit < u64::MAX {
            let end = memchr::memchr_iter(self.terminator, &out[before..]).nth(self.limit as usize - 1);
            if let Some(end) = end {
                out.truncate(before + end + 1);
                self.limit = 0;
            } else {
                self.limit -= memchr::memchr_iter(self.terminator, &out[before..]).count() as u64;
            }
        }
        Some(more && self.limit > 0)
    }

    /// Limits the number of lines printed.
    pub(crate) fn with_limit(self, limit: u64) -> Self {
        Output { limit, ..self }
    }

    /// Appends at least `bytes` to `out`, or the rest: then returns `false`.
    pub(crate) fn print(&mut self, bytes: usize, out: &mut Vec<u8>) -> bool {
        if self.limit == 0 {
            return false;
        }
        if let Some(more) = self.print_stored(out) {
            return more;
        }
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
        let Output { lines, terminator, printer, limit, .. } = self;
        let mut take = |line: &[u8], count: u64| {
            let count = count.min(*limit);
            *limit -= if *limit == u64::MAX { 0 } else { count };
            printer.add(line, count, out);
        };
        match lines {
            Lines::Many(merge) => merge.next(take),
            Lines::One(run, place, at) => {
                let Some(piece) = next_piece(run, place, at) else { return false };
                if at.is_multiple_of(AHEAD) {
                    piece.fetch(*at + AHEAD..*at + 2 * AHEAD);
                }
                let mut short = Short::default();
                let (line, count) = piece.show(*at, *terminator, &mut short);
                take(line, count);
                *at += 1;
                true
            }
            Lines::Shared(_) | Lines::Stored(_) => false,
        }
    }
}

/// Returns the piece with the next line.
#[inline]
fn next_piece<'a>(run: &'a SortedRun, place: &mut usize, at: &mut usize) -> Option<Piece<'a>> {
    loop {
        let piece = run.piece(*place)?;
        if *at < piece.len() {
            return Some(piece);
        }
        (*place, *at) = (*place + 1, 0);
    }
}
