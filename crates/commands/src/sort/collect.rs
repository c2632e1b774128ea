//! From blocks to runs: collects lines, and decides how.
//!
//! Data with few distinct lines is counted first and only the distinct lines are sorted; data with many is
//! listed and sorted. Which it is is unknown in advance: counting is tried, and abandoned when most lines are
//! new.

use std::ops::Range;

use pelton_parallel::Helpers;
use pelton_stream::{Holding, PlainFile};

use super::lines::{Lines, wave_bytes};
use super::order::{LineOrder, NANS_MAX, Rules};
use super::output::Output;
use super::print::Style;
use super::run::{Index, SortedRun};
use super::spill::Spill;
use super::spill_directory::{Complaint, SpillDirectory};
use super::table::Table;
use super::text::LineLength;

/// Size of an arena at which the run is sealed; far enough below the limit of 32-bit offsets that one more
/// block and its keys always fit.
const RUN_BYTES: usize = 1 << 30;
/// Longer lines become separate runs.
const LONG_LINE_BYTES: usize = 16 << 20;
/// With less memory than this in bytes, one thread works alone; otherwise each worker may fill one part in
/// [`SHARES`].
const SHARED_BYTES_MIN: usize = 16 << 20;
const SHARES: usize = 4;
/// Memory for fewer waves than this is filled block by block.
const WAVES_MIN: usize = 4;
/// Bytes reserved beyond the expected size.
const SPARE_BYTES: usize = 64 << 10;
/// Lines before a first, lenient evaluation of counting: of ten thousand distinct lines that come at random,
/// about 91 % of the first 2,048 are new; and with more, the next evaluation would end counting.
const EARLY_LINES: usize = 1 << 11;
const EARLY_NEW_PERCENT_MAX: usize = 92;
/// Lines per evaluation of counting.
const TRIAL_LINES: usize = 1 << 14;
/// How often each distinct line has to come, on average, for counting to go on while many lines are new: as often as the known
/// length of the input lets expect.
const REPEATS_MIN: f64 = 8.0;
/// After this many lines counting is final: a switch would list them all.
const TRUSTED_LINES: usize = 1 << 22;
/// Fewer bytes are listed where only the lines tell whether counting is right: asking needs all of a locale's
/// weights.
const UNDECIDED_BYTES_MAX: usize = 32 << 10;

/// Collects lines into sorted runs.
#[derive(Debug)]
pub(crate) struct Collector {
    order: LineOrder,
    terminator: u8,
    unique: bool,
    run_bytes: usize,
    length: LineLength,
    /// Lines with NaN in the sealed runs.
    nans: usize,
    building: Building,
    /// Whether the lines so far are too few to ask whether counting is right (see [`UNDECIDED_BYTES_MAX`]).
    undecided: bool,
    runs: Vec<SortedRun>,
    helpers: Helpers,
    /// The spill directory.
    place: Option<SpillDirectory>,
    /// Its reservation of that memory.
    held: Option<Holding>,
    spill: Option<Spill>,
    /// A spill error.
    failed: Option<Complaint>,
    /// Whether it will be merged: it refuses lines that it cannot hold.
    is_peer: bool,
    /// Size of the inputs, if known.
    expected_bytes: usize,
}

#[derive(Debug)]
enum Building {
    Counting { table: Table, trial: Trial },
    Listing(Lines),
}

/// The statistics of counting.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    lines: usize,
    was_judged_early: bool,
    judged_lines: usize,
    judged_distinct: usize,
    /// Lines before the next evaluation, if more than [`TRIAL_LINES`].
    waits_for_lines: usize,
}

impl Trial {
    /// Whether nearly all lines at the beginning are new, or more than half of those since the last evaluation, and the input
    /// is not so long that they will come again.
    fn failed(&mut self, table: &Table, expected_lines: usize) -> bool {
        let distinct = table.len();
        if !self.was_judged_early && self.lines >= EARLY_LINES {
            self.was_judged_early = true;
            if distinct * 100 > self.lines * EARLY_NEW_PERCENT_MAX {
                return !will_repeat(table, expected_lines);
            }
        }
        let lines = self.lines - self.judged_lines;
        if lines < TRIAL_LINES.max(self.waits_for_lines) || self.lines > TRUSTED_LINES {
            return false;
        }
        let new = distinct - self.judged_distinct;
        (self.judged_lines, self.judged_distinct) = (self.lines, distinct);
        if new * 2 <= lines {
            return false;
        }
        // Asking takes time in proportion to the table.
        self.waits_for_lines = self.lines;
        !will_repeat(table, expected_lines)
    }
}

/// Whether each distinct line will come often in so many lines, judged by those that came once and twice. The number of distinct
/// lines, of which some are yet to come, is Chao's estimate ("Nonparametric estimation of the number of classes in a
/// population", 1984). Lines that come again at random have come once more often than twice while most are new; where it is the
/// other way round, they stand near each other, and tell nothing of those to come.
fn will_repeat(table: &Table, expected_lines: usize) -> bool {
    let (mut once, mut twice) = (0.0, 0.0);
    for count in table.counts() {
        match count {
            1 => once += 1.0,
            2 => twice += 1.0,
            _ => {}
        }
    }
    let distinct = table.len() as f64 + once * (once - 1.0) / (2.0 * (twice + 1.0));
    twice < once && distinct * REPEATS_MIN <= expected_lines as f64
}

impl Collector {
    /// Makes a collector for this order. With `unique`, only the first of equal lines is kept.
    pub(crate) fn new(order: LineOrder, terminator: u8, unique: bool) -> Self {
        let helpers = Helpers::default();
        let undecided = !unique && order.is_total_if_alone() && !order.is_total() && !order.may_meet_nan();
        let building = match undecided {
            true => Building::Listing(Lines::new(&order, terminator, &helpers)),
            false => Building::new(&order, terminator, unique, &helpers),
        };
        let length = LineLength::new();
        Collector {
            undecided,
            order,
            terminator,
            unique,
            run_bytes: RUN_BYTES,
            length,
            nans: 0,
            building,
            runs: Vec::new(),
            helpers,
            place: None,
            held: None,
            spill: None,
            failed: None,
            is_peer: false,
            expected_bytes: 0,
        }
    }

    /// Grants helper threads.
    pub(crate) fn attach(&mut self, helpers: &Helpers) {
        self.helpers = helpers.clone();
        if let Building::Listing(lines) = &mut self.building {
            lines.attach(helpers);
        }
    }

    /// Sets the spill directory.
    pub(crate) fn spill_to(&mut self, place: Option<SpillDirectory>) {
        let open = || place.as_ref().map(|place| Holding::new(&place.storage));
        self.held = self.held.take().or_else(open);
        self.place = place;
    }

    /// Whether it holds too much and may not spill: two NaNs may be among its lines, and then a fallback
    /// needs all of them.
    pub(crate) fn must_hand_over(&mut self) -> bool {
        self.order.may_meet_nan() && self.is_full()
    }

    /// Returns the spill error, if any.
    pub(crate) fn failed(&mut self) -> Option<Complaint> {
        self.failed.take()
    }

    /// Whether it holds more than it may.
    pub(crate) fn is_full(&mut self) -> bool {
        !self.may_hold(self.memory_bytes())
    }

    fn may_hold(&mut self, bytes: usize) -> bool {
        let (Some(place), Some(held)) = (&self.place, &mut self.held) else { return true };
        place.may_hold(held, bytes)
    }

    /// Whether this much more text fits, at the overhead per byte so far.
    fn may_hold_more(&mut self, text: usize) -> bool {
        let held = self.memory_bytes();
        let times = held as f64 / self.building.bytes().max(1) as f64;
        self.may_hold(held.saturating_add((text as f64 * times) as usize))
    }

    /// Whether a peer takes no more: memory is full, or counting does not pay. One thread would have to join
    /// lists; and a file is better read directly into the arena (see
    /// [`prefers_reading_itself`](Collector::prefers_reading_itself)).
    pub(crate) fn wants_no_more(&mut self) -> bool {
        matches!(self.building, Building::Listing(_)) || self.is_full()
    }

    fn memory_bytes(&self) -> usize {
        self.building.memory_bytes() + self.runs.iter().map(SortedRun::memory_bytes).sum::<usize>()
    }

    /// Spills if it holds too much.
    fn see_to_memory(&mut self) {
        if !self.is_peer && !self.order.may_meet_nan() && self.is_full() {
            self.write_out();
        }
    }

    fn write_out(&mut self) {
        self.seal();
        for run in std::mem::take(&mut self.runs) {
            if self.failed.is_none() {
                self.failed = self.store(run).err();
            }
        }
        if let Some(held) = &mut self.held {
            held.keep(0);
        }
    }

    fn store(&mut self, run: SortedRun) -> Result<(), Complaint> {
        let Some(place) = &self.place else { return Ok(()) };
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => {
                let (order, terminator, unique) = (self.order.clone(), self.terminator, self.unique);
                let rules = Rules { order, terminator, unique };
                none.insert(Spill::new(rules, place, &run)?)
            }
        };
        spill.push(run, &self.helpers)
    }

    /// Uses smaller runs, so that tests have several.
    #[cfg(test)]
    pub(crate) fn with_run_bytes(self, run_bytes: usize) -> Self {
        Collector { run_bytes, ..self }
    }

    /// Adds a block; completes a last line without terminator.
    pub(crate) fn push(&mut self, block: &[u8]) {
        let whole = memchr::memrchr(self.terminator, block).map_or(0, |last| last + 1);
        let (lines, rest) = block.split_at(whole);
        self.push_lines(lines);
        if !rest.is_empty() {
            let mut line = rest.to_vec();
            line.push(self.terminator);
            self.push_lines(&line);
        }
        self.see_to_memory();
    }

    fn push_lines(&mut self, text: &[u8]) {
        if text.len() > LONG_LINE_BYTES {
            return self.push_long(text);
        }
        if self.building.bytes() + text.len() > self.run_bytes {
            self.seal();
        }
        if self.undecided && self.building.bytes() + text.len() > UNDECIDED_BYTES_MAX {
            self.decide();
        }
        if matches!(self.building, Building::Counting { .. }) && !self.may_count(text) {
            self.give_up_counting();
        }
        match &mut self.building {
            Building::Listing(lines) => lines.push(text, &self.order, &mut self.length),
            Building::Counting { table, trial } => {
                let mean = self.length.mean(text, self.terminator);
                let count = table.add_lines(text, mean);
                self.length.saw(text.len(), count);
                trial.lines += count;
                let expected_lines = self.expected_bytes / mean.max(1);
                if trial.failed(table, expected_lines) {
                    self.give_up_counting();
                }
            }
        }
    }

    /// Tries to count, from the first line on.
    fn decide(&mut self) {
        self.undecided = false;
        let next = Building::new(&self.order, self.terminator, self.unique, &self.helpers);
        if let Building::Listing(lines) = std::mem::replace(&mut self.building, next)
            && lines.bytes() > 0
        {
            self.push_lines(lines.text());
        }
    }

    /// Returns the size of a shared read.
    fn wave_bytes(&self) -> usize {
        wave_bytes(&self.helpers, self.place.as_ref().map(SpillDirectory::memory_bytes))
    }

    /// Whether several threads should read a file of this size, each a part, directly into the arena: for
    /// enough lines that are listed.
    pub(crate) fn prefers_reading_itself(&self, bytes: u64) -> bool {
        // The first block shows the length of lines. Available memory is checked last: that reads files.
        matches!(self.building, Building::Listing(_))
            && !self.undecided
            && self.building.bytes() > 0
            && !self.order.may_meet_nan()
            && self.helpers.may_help()
            && bytes >= wave_bytes(&self.helpers, None) as u64 / 2
            && self.place.as_ref().is_none_or(|place| place.memory_bytes() / WAVES_MIN >= self.wave_bytes())
    }

    /// Reads lines from the start of this range of a file. Returns the number of bytes.
    pub(crate) fn read_range(&mut self, file: &dyn PlainFile, range: Range<u64>) -> u64 {
        let wave = self.wave_bytes();
        let most = usize::try_from(range.end - range.start).map_or(wave, |bytes| bytes.min(wave));
        if self.building.bytes() + most > self.run_bytes {
            self.seal();
            self.give_up_counting();
        }
        let Some(most) = self.fitting(most) else {
            // Little memory is better filled block by block.
            if self.building.bytes() >= wave {
                self.write_out();
            }
            return 0;
        };
        let Building::Listing(lines) = &mut self.building else { return 0 };
        let taken = lines.read(file, range, most, &self.order, &mut self.length);
        self.see_to_memory();
        taken
    }

    /// Returns how much of `most` fits into memory, if it is worth sharing.
    fn fitting(&mut self, most: usize) -> Option<usize> {
        let least = wave_bytes(&self.helpers, None) / 4;
        let mut sizes =
            std::iter::successors(Some(most), |bytes| Some(bytes / 2).filter(|half| *half >= least));
        sizes.find(|bytes| self.may_hold_more(*bytes))
    }

    /// Sets the size of the inputs.
    pub(crate) fn expect(&mut self, bytes: u64) {
        self.expected_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if self.undecided && self.expected_bytes > UNDECIDED_BYTES_MAX {
            self.decide();
        }
        self.make_room();
    }

    /// Reserves memory. Existing lines are rarely copied, and the last line may get a terminator.
    fn make_room(&mut self) {
        if let Building::Listing(lines) = &mut self.building {
            lines.expect(self.expected_bytes.saturating_add(SPARE_BYTES).min(self.run_bytes));
        }
    }

    fn give_up_counting(&mut self) {
        // Lines are copied out of the table: if memory cannot hold them twice, they are spilled.
        let counts = matches!(self.building, Building::Counting { .. });
        if counts && !self.is_peer && !self.may_hold(2 * self.building.memory_bytes()) {
            self.write_out();
        }
        self.building.give_up_counting(&self.order, self.terminator, &self.helpers);
        self.make_room();
    }

    /// Whether the position of identical lines does not matter.
    fn may_count(&self, text: &[u8]) -> bool {
        self.unique || self.order.is_total() || self.order.are_alone(text, self.terminator)
    }

    /// Adds a large block: line by line, the longest lines as separate runs.
    fn push_long(&mut self, text: &[u8]) {
        let terminator = self.terminator;
        for line in text.split_inclusive(|byte| *byte == terminator) {
            if line.len() > LONG_LINE_BYTES {
                self.seal();
                self.nans += self.order.nans(&line[..line.len() - 1]);
                self.runs.push(SortedRun {
                    arena: line.to_vec(),
                    pieces: vec![Index::One],
                    flip: self.order.flip(),
                });
                self.see_to_memory();
            } else {
                self.push_lines(line);
            }
        }
    }

    /// Whether there are lines that only the real sort can order: two NaNs, or numbers that only busybox' sort reads.
    pub(crate) fn is_beyond_us(&self) -> bool {
        self.nans + self.building.nans() > NANS_MAX
    }

    /// Returns the table of counts, if all lines were counted.
    pub(crate) fn counts(&self) -> Option<&Table> {
        match &self.building {
            Building::Counting { table, .. } if self.runs.is_empty() && self.spill.is_none() => Some(table),
            _ => None,
        }
    }

    /// Whether whole lines are compared.
    pub(crate) fn is_by_line(&self) -> bool {
        self.order.is_by_line()
    }

    /// Returns all lines in their original order, if they are listed in one piece.
    pub(crate) fn text_unless_counted(&self) -> Option<&[u8]> {
        match &self.building {
            Building::Listing(lines) if self.runs.is_empty() && self.spill.is_none() => Some(lines.text()),
            _ => None,
        }
    }

    /// Returns all lines in their original order, if not counted.
    pub(crate) fn into_text(self) -> Vec<u8> {
        let mut text = Vec::new();
        self.runs.iter().for_each(|run| text.extend_from_slice(&run.arena));
        if let Building::Listing(lines) = &self.building {
            text.extend_from_slice(lines.text());
        }
        text
    }

    /// Forks a collector for other lines, if their order does not show. If lines are listed, joining lists
    /// costs more than sharing the little work per line before sorting.
    pub(crate) fn fork(&self) -> Option<Collector> {
        let first_counts = self.unique && !self.order.is_by_line();
        let little = |place: &SpillDirectory| place.is_too_much(SHARED_BYTES_MIN);
        if self.place.as_ref().is_some_and(little)
            || self.counts().is_none()
            || !self.order.is_total()
            || first_counts
            || self.order.may_meet_nan()
        {
            return None;
        }
        let collector = Collector::new(self.order.clone(), self.terminator, self.unique);
        let place = self.place.as_ref().map(|place| place.share(SHARES));
        let held = place.as_ref().map(|place| Holding::none(&place.storage));
        // It gets about half of the lines, or fewer.
        let (run_bytes, expected_bytes) = (self.run_bytes, self.expected_bytes / 2);
        Some(Collector { run_bytes, place, held, is_peer: true, expected_bytes, ..collector })
    }

    /// Merges the lines of another collector.
    pub(crate) fn merge(&mut self, other: Collector) {
        self.take_over(other);
        self.see_to_memory();
    }

    fn take_over(&mut self, mut other: Collector) {
        if let (Some(held), Some(taken)) = (&mut self.held, other.held.take()) {
            held.merge(taken);
        }
        self.runs.append(&mut other.runs);
        match (&mut self.building, other.building) {
            (Building::Counting { table, trial }, Building::Counting { table: counted, trial: tried })
                if self.run_bytes - table.bytes() > counted.bytes() =>
            {
                trial.lines += tried.lines;
                table.merge(counted);
            }
            (_, building) => {
                self.give_up_counting();
                let mut lines = building.into_lines(&self.order, self.terminator, &self.helpers);
                match &mut self.building {
                    Building::Listing(own) if self.run_bytes.saturating_sub(own.bytes()) > lines.bytes() => {
                        own.append(&mut lines, &self.order);
                    }
                    // One sort of all costs less than merging, but offsets are limited.
                    _ => {
                        other.building = Building::Listing(lines);
                        other.seal();
                        self.runs.append(&mut other.runs);
                    }
                }
            }
        }
    }

    /// Ends the current run.
    fn seal(&mut self) {
        self.undecided = false;
        self.nans += self.building.nans();
        let next = Building::new(&self.order, self.terminator, self.unique, &self.helpers);
        let done = std::mem::replace(&mut self.building, next);
        let run = done.sort(&self.order, self.unique, &self.helpers);
        if !run.is_empty() {
            self.runs.push(run);
        }
    }

    /// Returns all lines in order, printed in this style.
    pub(crate) fn into_output(mut self, style: Style) -> Result<Output, Complaint> {
        if self.spill.is_some() {
            self.write_out();
        }
        let mut held = self.held.take();
        match (self.failed.take(), self.spill.take()) {
            (Some(failed), _) => Err(failed),
            (None, Some(spill)) => {
                let merging = spill.into_merging(style, &self.helpers);
                Ok(Output::stored(merging, self.terminator).holding(held))
            }
            (None, None) => {
                let (terminator, unique) = (self.terminator, self.unique);
                let (order, runs) = self.into_runs();
                if let Some(held) = &mut held {
                    held.keep(runs.iter().map(SortedRun::memory_bytes).sum());
                }
                Ok(Output::new(order, terminator, runs, unique, style).holding(held))
            }
        }
    }

    /// Returns the sorted runs, in the original order.
    pub(crate) fn into_runs(mut self) -> (LineOrder, Vec<SortedRun>) {
        self.seal();
        (self.order, self.runs)
    }
}

impl Building {
    /// Counting loses the positions of identical lines; they must not matter, which in some orders depends on
    /// the lines.
    fn new(order: &LineOrder, terminator: u8, unique: bool, helpers: &Helpers) -> Self {
        if (order.is_total_if_alone() || unique) && !order.may_meet_nan() {
            Building::Counting { table: Table::new(terminator), trial: Trial::default() }
        } else {
            Building::Listing(Lines::new(order, terminator, helpers))
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Building::Counting { table, .. } => table.bytes(),
            Building::Listing(lines) => lines.bytes(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Building::Counting { table, .. } => table.memory_bytes(),
            Building::Listing(lines) => lines.memory_bytes(),
        }
    }

    fn nans(&self) -> usize {
        match self {
            Building::Counting { .. } => 0,
            Building::Listing(lines) => lines.nans(),
        }
    }

    fn give_up_counting(&mut self, order: &LineOrder, terminator: u8, helpers: &Helpers) {
        if matches!(self, Building::Listing(_)) {
            return;
        }
        let mut lines = Lines::new(order, terminator, helpers);
        if let Building::Counting { table, .. } = std::mem::replace(self, Building::Listing(Lines::default()))
        {
            table.each_in_order_of_arrival(|line, count| lines.push_repeated(line, count, order));
        }
        *self = Building::Listing(lines);
    }

    fn into_lines(mut self, order: &LineOrder, terminator: u8, helpers: &Helpers) -> Lines {
        self.give_up_counting(order, terminator, helpers);
        match self {
            Building::Listing(lines) => lines,
            Building::Counting { .. } => Lines::new(order, terminator, helpers),
        }
    }

    fn sort(self, order: &LineOrder, unique: bool, helpers: &Helpers) -> SortedRun {
        match self {
            Building::Listing(lines) => lines.sort(order, unique),
            Building::Counting { table, .. } => table.sort(order, unique, helpers),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pelton_parallel::Fixed;
    use pelton_stream::Storage;
    use pelton_stream::memory::Little;
    use pelton_testkit::Random;

    use super::super::key::{Key, Kind, Start};
    use super::super::output::Output;
    use super::super::print::Style;
    use super::*;

    fn order(keys: Vec<Key>, stable: bool) -> LineOrder {
        LineOrder::new(keys, None, false, stable)
    }

    fn sorted(order: &LineOrder, unique: bool, run_bytes: usize, text: &[u8]) -> Vec<u8> {
        sorted_by(&Helpers::default(), order, unique, run_bytes, text)
    }

    fn sorted_by(
        helpers: &Helpers,
        order: &LineOrder,
        unique: bool,
        run_bytes: usize,
        text: &[u8],
    ) -> Vec<u8> {
        let mut collector = Collector::new(order.clone(), b'\n', unique).with_run_bytes(run_bytes);
        collector.attach(helpers);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            collector.push(line);
        }
        let (order, runs) = collector.into_runs();
        let style = if unique { Style::Once } else { Style::Every };
        let mut out = Vec::new();
        let mut output = Output::new(order, b'\n', runs, unique, style).with_crew(helpers);
        while output.print(100, &mut out) {}
        out
    }

    fn numbers(count: u64, range: u64) -> Vec<u8> {
        let mut random = Random::new(1);
        let mut text = Vec::new();
        for index in 0..count {
            text.extend_from_slice(format!("{} {}\n", random.next() % range, index % 7).as_bytes());
        }
        text
    }

    #[test]
    fn any_number_of_runs_gives_the_same() {
        let numeric = || vec![Key { kind: Kind::Numeric, ..Key::line() }];
        for range in [3, 100, 1 << 40] {
            let text = numbers(3000, range);
            for order in [order(Vec::new(), false), order(numeric(), false), order(numeric(), true)] {
                for unique in [false, true] {
                    let unique = unique && (order.is_by_line() || !order.is_total());
                    let whole = sorted(&order, unique, usize::MAX, &text);
                    for run_bytes in [100, 5000] {
                        let parts = sorted(&order, unique, run_bytes, &text);
                        assert!(whole == parts, "{order:?} {unique} {run_bytes}");
                    }
                }
            }
        }
    }

    /// Parts sorted at once, parts dealt again, keys shared by all, runs printed by several.
    #[test]
    fn what_several_sort_is_what_one_would() {
        let kind = |kind| vec![Key { kind, ..Key::line() }];
        let second = Key { start: Start { fields: 1, bytes: 0, skip_blanks: false }, ..Key::line() };
        let eager = Helpers::new(Arc::new(Fixed(3))).eager();
        let same = b"all of it is the same\n".repeat(500);
        let prefixed: Vec<u8> = numbers(3000, 1 << 40)
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| [b"a prefix that is longer than two windows ", line].concat())
            .collect();
        for text in [numbers(3000, 1 << 40), numbers(2000, 5), same, prefixed] {
            for keys in [vec![], kind(Kind::Numeric), kind(Kind::Version), vec![second.clone()]] {
                for (stable, unique) in [(false, false), (true, false), (true, true)] {
                    let order = order(keys.clone(), stable);
                    let alone = sorted(&order, unique, usize::MAX, &text);
                    for run_bytes in [usize::MAX, 5000] {
                        let several = sorted_by(&eager, &order, unique, run_bytes, &text);
                        assert!(several == alone, "{keys:?} {stable} {unique} {run_bytes}");
                    }
                }
            }
        }
    }

    /// A file whose parts are read by peers: lines of any length, one without terminator, a file shorter than
    /// announced.
    #[test]
    fn what_is_read_is_what_is_given() {
        let second = Key { start: Start { fields: 1, bytes: 0, skip_blanks: false }, ..Key::line() };
        let eager = Helpers::new(Arc::new(Fixed(3))).eager();
        let long = [numbers(50, 9), vec![b'7'; 9000], b"\n".to_vec(), numbers(50, 1 << 40), b"last".to_vec()]
            .concat();
        let path = std::env::temp_dir().join(format!("pelton-sort-reads-{}", std::process::id()));
        for text in [numbers(300, 1 << 40), b"\n".repeat(100), long] {
            std::fs::write(&path, &text).expect("written");
            let file = std::fs::File::open(&path).expect("opened");
            for (keys, said) in
                [(vec![second.clone()], 0), (vec![Key { kind: Kind::Version, ..Key::line() }], 50)]
            {
                let order = order(keys, true);
                let mut collector = Collector::new(order.clone(), b'\n', false).with_run_bytes(2000);
                collector.attach(&eager);
                let (mut at, end, mut read) = (0, text.len() + said, 0);
                while at < text.len() {
                    let taken = match collector.prefers_reading_itself((end - at) as u64) {
                        true => collector.read_range(&file, at as u64..end as u64) as usize,
                        false => 0,
                    };
                    read += taken;
                    at += taken;
                    if taken == 0 {
                        let line = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1);
                        collector.push(&text[at..line]);
                        at = line;
                    }
                }
                assert!(read > 0);
                let (order, runs) = collector.into_runs();
                let mut out = Vec::new();
                let mut output = Output::new(order.clone(), b'\n', runs, false, Style::Every);
                while output.print(100, &mut out) {}
                assert!(out == sorted(&order, false, usize::MAX, &text), "{order:?} {}", text.len());
            }
        }
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn enough_to_be_worth_sharing() {
        let (text, order) = (numbers(100_000, 1 << 40), order(Vec::new(), false));
        let helpers = Helpers::new(Arc::new(Fixed(3)));
        assert!(
            sorted_by(&helpers, &order, false, usize::MAX, &text) == sorted(&order, false, usize::MAX, &text)
        );
    }

    /// Orders that hide the original positions, and others; one run for nearly every line, or a few.
    #[test]
    fn little_memory_gives_the_same() {
        let numeric = |stable| order(vec![Key { kind: Kind::Numeric, ..Key::line() }], stable);
        let eager = Helpers::new(Arc::new(Fixed(3))).eager();
        let long = [numbers(40, 9), vec![b'7'; 5000], b"\n".to_vec(), numbers(40, 1 << 40)].concat();
        for text in [numbers(200, 1 << 40), numbers(200, 3), b"same\n".repeat(300), b"\n".repeat(100), long] {
            for (order, unique) in [
                (order(Vec::new(), false), false),
                (numeric(false), false),
                (numeric(true), false),
                (numeric(true), true),
            ] {
                let alone = sorted(&order, unique, usize::MAX, &text);
                for bytes in [1, 3000] {
                    for helpers in [&eager, &Helpers::default()] {
                        let storage: Arc<dyn Storage> = Arc::new(Little(bytes));
                        let place = SpillDirectory { storage, directory: None, size_bytes: None };
                        let mut collector = Collector::new(order.clone(), b'\n', unique);
                        collector.attach(helpers);
                        collector.spill_to(Some(place));
                        text.split_inclusive(|byte| *byte == b'\n').for_each(|line| collector.push(line));
                        assert!(collector.failed().is_none());
                        let mut output = collector.into_output(style_of(unique)).expect("no failure");
                        let mut out = Vec::new();
                        while output.print(100, &mut out) {}
                        assert!(out == alone, "{order:?} {unique} {bytes} {}", text.len());
                    }
                }
            }
        }
    }

    /// A full peer is merged, and then spilled.
    #[test]
    fn peers_with_little_memory_lose_nothing() {
        let order = order(Vec::new(), false);
        let mut first = Collector::new(order.clone(), b'\n', false);
        let storage: Arc<dyn Storage> = Arc::new(Little(SHARED_BYTES_MIN));
        first.spill_to(Some(SpillDirectory { storage, directory: None, size_bytes: None }));
        let text = numbers(60_000, 1 << 40);
        let mut peer = first.fork().expect("it counts");
        let mut refused = 0;
        for _ in 0..8 {
            if peer.is_full() {
                refused += 1;
                first.push(&text);
            } else {
                peer.push(&text);
            }
        }
        assert!(refused > 0 && refused < 8 && peer.spill.is_none(), "{refused}");
        first.merge(peer);
        assert!(first.spill.is_some());
        let mut output = first.into_output(Style::Every).expect("no failure");
        let mut out = Vec::new();
        while output.print(1 << 20, &mut out) {}
        assert!(out == sorted(&order, false, usize::MAX, &text.repeat(8)));
    }

    /// Long lines whose table is more than half of the memory when counting is abandoned.
    #[test]
    fn what_does_not_fit_twice_is_stored_and_not_copied() {
        let (order, filler) = (order(Vec::new(), false), "x".repeat(500));
        // Repeated lines at the beginning, so that counting is not abandoned early.
        let number = |n: usize| if n < 2 * EARLY_LINES { n / 2 } else { n };
        let number = |n: usize| (number(n) * 7919 % 100_003, number(n));
        let lines = (0..TRIAL_LINES + 1000).map(number).map(|(a, b)| format!("{a:06} {b} {filler}\n"));
        let lines: Vec<String> = lines.collect();
        let all = sorted(&order, false, usize::MAX, lines.concat().as_bytes());
        for (bytes, is_stored) in [(15 << 20, true), (60 << 20, false)] {
            let mut collector = Collector::new(order.clone(), b'\n', false);
            let storage: Arc<dyn Storage> = Arc::new(Little(bytes));
            collector.spill_to(Some(SpillDirectory { storage, directory: None, size_bytes: None }));
            lines.chunks(200).for_each(|block| collector.push(block.concat().as_bytes()));
            assert_eq!(collector.spill.is_some(), is_stored);
            assert!(!matches!(collector.building, Building::Counting { .. }));
            let mut output = collector.into_output(Style::Every).expect("no failure");
            let mut out = Vec::new();
            while output.print(1 << 20, &mut out) {}
            assert!(out == all, "{bytes}");
        }
    }

    /// Nearly all lines at the beginning are new, or half of them.
    #[test]
    fn counting_is_abandoned_early_if_nothing_repeats() {
        for (times, counts) in [(1, false), (2, true)] {
            let mut collector = Collector::new(order(Vec::new(), false), b'\n', false);
            let lines: String = (0..EARLY_LINES).map(|n| format!("{}\n", n / times)).collect();
            collector.push(lines.as_bytes());
            assert_eq!(collector.counts().is_some(), counts, "each line {times} times");
        }
    }

    /// If counting does not pay, a peer takes no more, and its lines are sorted like the rest.
    #[test]
    fn peers_do_not_list() {
        let order = order(Vec::new(), false);
        let mut first = Collector::new(order.clone(), b'\n', false);
        let (same, different) = (b"same\n".repeat(2 * TRIAL_LINES), numbers(2 * TRIAL_LINES as u64, 1 << 40));
        let mut peers = [first.fork().expect("it counts"), first.fork().expect("it counts")];
        peers[0].push(&same);
        peers[1].push(&different);
        assert_eq!(peers.each_mut().map(Collector::wants_no_more), [false, true]);
        peers.into_iter().for_each(|peer| first.merge(peer));
        let (order, runs) = first.into_runs();
        let mut out = Vec::new();
        let mut output = Output::new(order.clone(), b'\n', runs, false, Style::Every);
        while output.print(1 << 20, &mut out) {}
        assert!(out == sorted(&order, false, usize::MAX, &[same, different].concat()));
    }

    fn style_of(unique: bool) -> Style {
        if unique { Style::Once } else { Style::Every }
    }

    /// Some peers count to the end, some give up.
    #[test]
    fn what_several_collect_is_what_one_would() {
        let few = |seed: usize| b"a\nb\na\nc\n".repeat(40 + seed);
        let many = |seed: u64| numbers(40_000 + seed, 1 << 40);
        let texts = [few(1), few(2), many(3), few(4), many(5)];
        for order in
            [order(Vec::new(), false), order(vec![Key { kind: Kind::Numeric, ..Key::line() }], false)]
        {
            for parts in [&texts[..2], &texts[..3], &texts[1..], &texts[..]] {
                let mut first = Collector::new(order.clone(), b'\n', false);
                first.push(&parts[0]);
                let peers = parts[1..].iter().map(|text| {
                    let mut peer = first.fork().expect("it counts");
                    peer.push(text);
                    peer
                });
                peers.collect::<Vec<_>>().into_iter().for_each(|peer| first.merge(peer));
                let (order, runs) = first.into_runs();
                let mut out = Vec::new();
                let mut output = Output::new(order.clone(), b'\n', runs, false, Style::Every);
                while output.print(100, &mut out) {}
                assert!(
                    out == sorted(&order, false, usize::MAX, &parts.concat()),
                    "{order:?}, {}",
                    parts.len()
                );
            }
        }
    }

    #[test]
    fn lines_too_long_for_an_index_are_runs_of_their_own() {
        let long = |byte: u8| {
            let mut line = vec![byte; LONG_LINE_BYTES + 1];
            line.push(b'\n');
            line
        };
        let text = [long(b'b'), b"c\nb\n".to_vec(), long(b'a'), long(b'b')].concat();
        let order = order(Vec::new(), false);
        let mut collector = Collector::new(order.clone(), b'\n', false);
        collector.push(&text);
        let (order, runs) = collector.into_runs();
        assert_eq!(runs.len(), 4);
        let mut out = Vec::new();
        let mut output = Output::new(order, b'\n', runs, false, Style::Every);
        while output.print(100, &mut out) {}
        assert!(out == [long(b'a'), b"b\n".to_vec(), long(b'b'), long(b'b'), b"c\n".to_vec()].concat());
    }
}
