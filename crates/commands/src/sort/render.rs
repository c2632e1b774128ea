//! Prints one run with several threads: most of sort's time if lines lie all over the arena.

use pelton_parallel::{Helpers, Ordered, Work};
use std::ops::Range;

use super::lines::TOGETHER_BYTES_MIN;
use super::print::{Printer, Style};
use super::run::{Index, Short, SortedRun};

/// Bytes printed by one thread at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Lines that are prefetched together before they are printed.
const FETCHED: usize = 32;

/// A run to print.
#[derive(Debug)]
pub(crate) struct RunWork {
    run: SortedRun,
    style: Style,
    terminator: u8,
}

/// The start of the next chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cutter {
    piece: usize,
    at: usize,
    /// How often the entry there has been printed.
    repeated: u64,
}

/// A chunk for one thread.
#[derive(Clone, Debug)]
pub(crate) enum Chunk {
    Entries {
        piece: usize,
        entries: Range<usize>,
    },
    /// One entry, printed `times` times.
    Repeats {
        piece: usize,
        entry: usize,
        times: u64,
    },
}

impl RunWork {
    /// Prints this run in this style.
    pub(crate) fn new(run: SortedRun, style: Style, terminator: u8) -> Self {
        RunWork { run, style, terminator }
    }

    /// Shares the work if it is worth it; otherwise returns the run.
    pub(super) fn shared(self, helpers: &Helpers) -> Result<Ordered<RunWork>, SortedRun> {
        if !helpers.may_help() || self.run.arena.len() < helpers.worth(TOGETHER_BYTES_MIN) {
            return Err(self.run);
        }
        Ok(Ordered::new(self, Cutter::default(), helpers))
    }

    /// Appends all of it.
    pub(super) fn print_all(&self, out: &mut Vec<u8>) {
        let mut cutter = Cutter::default();
        while let Some(chunk) = self.cut(&mut cutter) {
            self.work(chunk, out);
        }
    }
}

impl Work for RunWork {
    type Cutter = Cutter;
    type Job = Chunk;
    type Done = Vec<u8>;

    fn cut(&self, cutter: &mut Cutter) -> Option<Chunk> {
        cutter.cut(&self.run, self.style)
    }

    fn work(&self, chunk: Chunk, out: &mut Vec<u8>) {
        let mut printer = Printer::new(self.style);
        let mut short = Short::default();
        match chunk {
            Chunk::Entries { piece, entries } => {
                let Some(piece) = self.run.piece(piece) else { return };
                for at in entries.clone() {
                    if (at - entries.start).is_multiple_of(FETCHED) {
                        piece.fetch(at..(at + FETCHED).min(entries.end));
                    }
                    let (line, count) = piece.show(at, self.terminator, &mut short);
                    printer.add(line, count, out);
                }
                printer.end_group(out);
            }
            Chunk::Repeats { piece, entry, times } => {
                let Some(piece) = self.run.piece(piece) else { return };
                printer.add(piece.show(entry, self.terminator, &mut short).0, times, out);
            }
        }
    }
}

impl Cutter {
    /// Returns the next chunk of a run. Identical lines that are printed as a group stay together.
    fn cut(&mut self, run: &SortedRun, style: Style) -> Option<Chunk> {
        let mut piece = run.piece(self.piece)?;
        while self.at >= piece.len() {
            (self.piece, self.at) = (self.piece + 1, 0);
            piece = run.piece(self.piece)?;
        }
        let (start, mut bytes) = (self.at, 0);
        while self.at < piece.len() && bytes < CHUNK_BYTES {
            let (line, times) =
                (piece.bytes(self.at), if style == Style::Every { piece.count(self.at) } else { 1 });
            if times > 1 && times.saturating_mul(line as u64) > CHUNK_BYTES as u64 {
                if self.at > start {
                    break;
                }
                return Some(self.repeats(line, times));
            }
            bytes += line * times as usize;
            self.at += 1;
        }
        let is_counted = matches!(run.pieces[self.piece], Index::Counted(_) | Index::KeyedCounted(_));
        if matches!(style, Style::Groups(_)) && !is_counted {
            let last = piece.entry(self.at - 1).0;
            while self.at < piece.len() && piece.entry(self.at).0 == last {
                self.at += 1;
            }
        }
        Some(Chunk::Entries { piece: self.piece, entries: start..self.at })
    }

    /// Returns some of the repetitions of a line.
    fn repeats(&mut self, line_bytes: usize, times: u64) -> Chunk {
        let fit = (CHUNK_BYTES / line_bytes).max(1) as u64;
        let now = fit.min(times - self.repeated);
        let chunk = Chunk::Repeats { piece: self.piece, entry: self.at, times: now };
        self.repeated += now;
        if self.repeated == times {
            (self.at, self.repeated) = (self.at + 1, 0);
        }
        chunk
    }
}
