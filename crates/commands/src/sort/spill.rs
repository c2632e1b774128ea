//! Runs that do not fit into memory: written one after another into one unnamed file.
//!
//! When enough runs of one level exist, they become one of the next level, so that reads of each stay large.
//! Only neighbours are merged, so earlier lines stay in earlier runs.

use std::ops::Range;
use std::sync::Arc;

use pelton_parallel::{Helpers, Ordered};
use pelton_stream::Stored;

use super::order::Rules;
use super::print::Style;
use super::ranges::RangeWork;
use super::render::RunWork;
use super::run::{Index, SortedRun};
use super::spill_directory::{Complaint, SpillDirectory, said};

/// Runs of one level that become one of the next.
const FAN_IN: usize = 64;
/// A merge in memory takes several times its size per worker: so it uses one part in this many of the allowed
/// memory, and no more than the maximum in bytes.
const RANGE_SHARE: usize = 48;
const RANGE_BYTES_MAX: usize = 2 << 20;
const RANGE_BYTES_MIN: usize = 1 << 10;

/// A run in the file: from, to.
#[derive(Clone, Debug)]
struct StoredRun {
    bytes: Range<u64>,
    level: u32,
}

/// Runs in a file.
#[derive(Debug)]
pub(super) struct Spill {
    rules: Rules,
    place: SpillDirectory,
    file: Arc<dyn Stored>,
    end: u64,
    runs: Vec<StoredRun>,
    /// Whether lines follow their counts.
    counted: bool,
}

impl Spill {
    /// Starts a spill for runs like this first one.
    pub(super) fn new(rules: Rules, place: &SpillDirectory, first: &SortedRun) -> Result<Self, Complaint> {
        let file = place.create()?;
        let counts = matches!(first.pieces.first(), Some(Index::Counted(_) | Index::KeyedCounted(_)));
        let counted = counts && !rules.unique && rules.order.is_total();
        Ok(Spill { rules, place: place.clone(), file, end: 0, runs: Vec::new(), counted })
    }

    /// Appends a run.
    pub(super) fn push(&mut self, run: SortedRun, helpers: &Helpers) -> Result<(), Complaint> {
        let style = match (self.counted, self.rules.unique) {
            (true, _) => Style::Stored,
            (false, true) => Style::Once,
            (false, false) => Style::Every,
        };
        let mut work =
            Ordered::new(RunWork::new(run, style, self.rules.terminator), Default::default(), helpers);
        let start = self.end;
        let mut block = Vec::new();
        while work.append_next(&mut block) {
            self.write(&block)?;
            block.clear();
        }
        drop(work);
        self.runs.push(StoredRun { bytes: start..self.end, level: 0 });
        self.gather(helpers)
    }

    fn write(&mut self, block: &[u8]) -> Result<(), Complaint> {
        self.file.write_at(block, self.end).map_err(|error| {
            let name = self.place.name();
            said(&[b"write failed: ", &name], &error)
        })?;
        self.end += block.len() as u64;
        Ok(())
    }

    /// Merges runs of the same level, as long as there are enough.
    fn gather(&mut self, helpers: &Helpers) -> Result<(), Complaint> {
        while let Some(level) = self.runs.last().map(|run| run.level) {
            let same = self.runs.iter().rev().take_while(|run| run.level == level).count();
            if same < FAN_IN {
                break;
            }
            let runs = self.runs.split_off(self.runs.len() - same);
            let style = if self.counted { Style::Stored } else { Style::Every };
            let style = if self.rules.unique { Style::Once } else { style };
            let mut merging = self.merging(&runs, style, helpers);
            let (start, mut block) = (self.end, Vec::new());
            while merging.append_next(&mut block) {
                self.write(&block)?;
                block.clear();
            }
            merging.work().failure().map_or(Ok(()), Err)?;
            drop(merging);
            self.runs.push(StoredRun { bytes: start..self.end, level: level + 1 });
        }
        Ok(())
    }

    fn merging(&self, runs: &[StoredRun], style: Style, helpers: &Helpers) -> Ordered<RangeWork> {
        let share = self.place.memory_bytes() / RANGE_SHARE;
        let work = RangeWork {
            rules: self.rules.clone(),
            style,
            counted: self.counted,
            file: Arc::clone(&self.file),
            directory: self.place.name(),
            bytes: share.clamp(RANGE_BYTES_MIN, RANGE_BYTES_MAX),
            runs: runs.iter().map(|run| run.bytes.clone()).collect(),
            failed: Default::default(),
        };
        Ordered::new(work, Default::default(), helpers)
    }

    /// Returns all lines, in order.
    pub(super) fn into_merging(self, style: Style, helpers: &Helpers) -> Ordered<RangeWork> {
        self.merging(&self.runs, style, helpers)
    }
}
