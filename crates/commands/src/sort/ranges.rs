//! Merges spilled runs without comparing line by line: the lines between two cuts are taken from all runs,
//! and sorted.
//!
//! ```text
//!   run 1  |·······|··|···········|        cut where the sampled lines s, t … would be, by binary search
//!   run 2  |··|··········|····|···|
//!   run 3  |·····|···|········|···|
//!            < s   s…t    t…u         each range: read from all runs, sorted and printed by one worker
//! ```
//! A tournament tree, which merges a line with a few comparisons, costs three times as much per line as
//! sorting a range in cache, and is not parallel. If many lines are equal, no cut makes a range small enough:
//! lines equal to one line are copied unchanged, run after run.

use std::cmp::Ordering;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use pelton_parallel::{Helpers, Work};
use pelton_stream::Stored;

use super::lines::Lines;
use super::order::{Rules, Tie};
use super::print::{Printer, Style, parse_stored};
use super::render::RunWork;
use super::run::SortedRun;
use super::spill_directory::{Complaint, said};
use super::table::Table;
use super::text::LineLength;

/// Most cuts of a range at once.
const CUTS: usize = 32;
/// Lines sampled per cut.
const SAMPLES: usize = 4;
/// Rest in bytes at which binary search ends; it is read at once.
const PROBE_BYTES: u64 = 4096;
/// Most bytes in which a line's end is searched at once.
const LOOK_BYTES_MAX: u64 = 1 << 20;
/// Bytes copied at a time.
const COPY_BYTES: u64 = 256 << 10;

/// Spilled runs to merge.
#[derive(Debug)]
pub(crate) struct RangeWork {
    pub(super) rules: Rules,
    pub(super) style: Style,
    /// Whether lines follow their counts.
    pub(super) counted: bool,
    pub(super) file: Arc<dyn Stored>,
    /// The spill directory, for messages.
    pub(super) directory: Vec<u8>,
    /// Ranges up to this size are sorted in memory.
    pub(super) bytes: usize,
    pub(super) runs: Vec<Range<u64>>,
    pub(super) failed: Mutex<Option<Complaint>>,
}

/// A range of each run.
type Parts = Vec<Range<u64>>;

/// The remaining spans to cut; the last comes first.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    begun: bool,
    waiting: Vec<Span>,
}

#[derive(Debug)]
enum Span {
    /// Any lines.
    Any(Parts),
    /// Equal lines.
    Equal(Parts),
    /// A line with its terminator, and how often to print it.
    Repeated(Vec<u8>, u64),
}

/// A job of one worker.
#[derive(Debug)]
pub(crate) enum Job {
    Sort(Parts),
    Copy(Range<u64>),
    Print(Vec<u8>, u64),
}

impl Work for RangeWork {
    type Cutter = Cutter;
    type Job = Job;
    type Done = Vec<u8>;

    fn cut(&self, cutter: &mut Cutter) -> Option<Job> {
        if !std::mem::replace(&mut cutter.begun, true) {
            cutter.waiting.push(Span::Any(self.runs.clone()));
        }
        if self.failure().is_some() {
            return None;
        }
        self.next_job(&mut cutter.waiting).unwrap_or_else(|error| {
            self.fail(&error);
            None
        })
    }

    fn work(&self, job: Job, out: &mut Vec<u8>) {
        let done = match job {
            Job::Sort(parts) => self.sort(&parts, out),
            Job::Copy(bytes) => self.take(bytes).map(|text| out.extend_from_slice(&text)),
            Job::Print(line, times) => {
                self.print_times(&line, times, out);
                Ok(())
            }
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }
}

fn size(parts: &[Range<u64>]) -> u64 {
    parts.iter().map(|part| part.end - part.start).sum()
}

impl RangeWork {
    /// Returns the error, if any.
    pub(super) fn failure(&self) -> Option<Complaint> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, error: &io::Error) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert_with(|| said(&[b"read failed: ", &self.directory], error));
    }

    fn read(&self, bytes: Range<u64>) -> io::Result<Vec<u8>> {
        let mut text = vec![0; (bytes.end - bytes.start) as usize];
        self.file.read_at(&mut text, bytes.start)?;
        Ok(text)
    }

    /// Reads a range that is not read again, and frees it.
    fn take(&self, bytes: Range<u64>) -> io::Result<Vec<u8>> {
        let text = self.read(bytes.clone())?;
        self.file.forget(bytes);
        Ok(text)
    }

    fn next_job(&self, waiting: &mut Vec<Span>) -> io::Result<Option<Job>> {
        while let Some(span) = waiting.pop() {
            match span {
                Span::Any(parts) if size(&parts) == 0 => {}
                Span::Any(parts) if size(&parts) <= self.bytes as u64 => return Ok(Some(Job::Sort(parts))),
                Span::Any(parts) => self.split(&parts, waiting)?,
                Span::Equal(parts) => {
                    if let Some(job) = self.equal(parts, waiting)? {
                        return Ok(Some(job));
                    }
                }
                Span::Repeated(line, times) => {
                    let fit = (COPY_BYTES / line.len().max(1) as u64).max(1);
                    let now = if self.style == Style::Every { times.min(fit) } else { times };
                    if now < times {
                        waiting.push(Span::Repeated(line.clone(), times - now));
                    }
                    return Ok(Some(Job::Print(line, now)));
                }
            }
        }
        Ok(None)
    }

    /// Cuts a range that is too large.
    fn split(&self, parts: &Parts, waiting: &mut Vec<Span>) -> io::Result<()> {
        let wanted = (size(parts) / self.bytes as u64 + 1).clamp(2, CUTS as u64) as usize;
        let lines = self.sample(parts, wanted * SAMPLES)?;
        let cuts: Vec<&Vec<u8>> =
            lines.chunks(lines.len().div_ceil(wanted).max(1)).map(|chunk| &chunk[0]).collect();
        let mut spans = Vec::new();
        let mut from: Vec<u64> = parts.iter().map(|part| part.start).collect();
        for line in &cuts {
            let to = self.places(&from, parts, line, false)?;
            spans.push(between(&from, &to));
            from = to;
        }
        spans.push(parts.iter().zip(&from).map(|(part, from)| *from..part.end).collect());
        spans.retain(|span| size(span) > 0);
        if spans.len() > 1 {
            waiting.extend(spans.into_iter().rev().map(Span::Any));
            return Ok(());
        }
        // All samples are equal, and nothing comes before them.
        let from: Vec<u64> = parts.iter().map(|part| part.start).collect();
        let to = self.places(&from, parts, cuts[0], true)?;
        waiting.push(Span::Any(parts.iter().zip(&to).map(|(part, to)| *to..part.end).collect()));
        waiting.push(Span::Equal(between(&from, &to)));
        Ok(())
    }

    /// Returns different lines from all over the parts, in order; at least one. As many as wanted, unless
    /// they are so long that fewer fill the sorting memory.
    fn sample(&self, parts: &Parts, wanted: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut step = (size(parts) / wanted as u64).max(1);
        let (mut at, mut bytes) = (step / 2, 0);
        let mut view = View::new(self);
        for part in parts {
            let len = part.end - part.start;
            // Up to this offset, the line taken last is the next one.
            let mut seen = None;
            while at < len {
                let place = part.start + at;
                at += step;
                if seen.is_some_and(|seen| place <= seen) {
                    continue;
                }
                let next = view.line_start(place, part, part.end)?;
                seen = Some(next.unwrap_or(part.end));
                let line = parse(self.counted, view.entry(next.unwrap_or(part.start), part.end)?).0.to_vec();
                bytes += line.len();
                lines.push(line);
                if bytes > self.bytes && lines.len() > 2 {
                    lines = lines.into_iter().step_by(2).collect();
                    (bytes, step) = (lines.iter().map(Vec::len).sum(), step * 2);
                }
            }
            at -= len;
        }
        if let (true, Some(part)) = (lines.is_empty(), parts.iter().find(|part| !part.is_empty())) {
            lines.push(parse(self.counted, view.entry(part.start, part.end)?).0.to_vec());
        }
        lines.sort_by(|a, b| self.compare(a, b));
        lines.dedup_by(|a, b| self.compare(a, b).is_eq());
        Ok(lines)
    }

    /// Returns the offset in each part of the first line not before `line`, or with `behind`, of the first
    /// line after it.
    fn places(&self, from: &[u64], parts: &Parts, line: &[u8], behind: bool) -> io::Result<Vec<u64>> {
        let mut view = View::new(self);
        let place = |(from, part): (&u64, &Range<u64>)| self.place(&mut view, *from..part.end, line, behind);
        from.iter().zip(parts).map(place).collect()
    }

    fn place(&self, view: &mut View<'_>, part: Range<u64>, line: &[u8], behind: bool) -> io::Result<u64> {
        let is_before = |other: &[u8]| match self.compare(other, line) {
            Ordering::Less => true,
            Ordering::Equal => behind,
            Ordering::Greater => false,
        };
        // Lines that start before `low` come before it, those from `high` on do not; none starts between
        // `limit` and `high`.
        let (mut low, mut limit, mut high) = (part.start, part.end, part.end);
        while low + PROBE_BYTES < limit {
            let middle = low + (limit - low) / 2;
            let Some(start) = view.line_start(middle, &part, limit)? else {
                limit = middle;
                continue;
            };
            let entry = view.entry(start, part.end)?;
            let len = entry.len() as u64;
            if is_before(parse(self.counted, entry).0) {
                low = start + len;
            } else {
                (limit, high) = (middle, start);
            }
        }
        while low < high {
            let entry = view.entry(low, part.end)?;
            if !is_before(parse(self.counted, entry).0) {
                break;
            }
            low += entry.len() as u64;
        }
        Ok(low)
    }

    /// Compares lines, with or without their terminators.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.rules.order.compare_lines(self.bare(a), self.bare(b))
    }

    fn bare<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        line.strip_suffix(&[self.rules.terminator]).unwrap_or(line)
    }

    /// Handles equal lines that do not fit.
    fn equal(&self, parts: Parts, waiting: &mut Vec<Span>) -> io::Result<Option<Job>> {
        let (small, is_same) = (size(&parts) <= self.bytes as u64, self.equal_are_identical());
        let Some(first) = parts.iter().find(|part| !part.is_empty()) else { return Ok(None) };
        if self.rules.unique {
            let mut view = View::new(self);
            return Ok(Some(Job::Print(view.entry(first.start, first.end)?.to_vec(), 1)));
        }
        if small || !is_same && self.style != Style::Every {
            return Ok(Some(Job::Sort(parts)));
        }
        if !self.counted && self.style == Style::Every {
            return Ok(copy(parts, waiting));
        }
        let (mut line, mut times) = (Vec::new(), 0);
        let mut view = View::new(self);
        for part in parts {
            let mut at = part.start;
            while at < part.end {
                let entry = view.entry(at, part.end)?;
                let (text, count) = parse(self.counted, entry);
                times += count;
                if line.is_empty() {
                    line = text.to_vec();
                }
                at += entry.len() as u64;
            }
        }
        waiting.push(Span::Repeated(line, times));
        Ok(None)
    }

    fn equal_are_identical(&self) -> bool {
        matches!(self.rules.order.tie(), Tie::None | Tie::Line { .. })
    }

    fn print_times(&self, line: &[u8], times: u64, out: &mut Vec<u8>) {
        let mut printer = Printer::new(self.style);
        printer.add(line, times, out);
        printer.end_group(out);
    }

    /// Reads a range of all runs, and sorts it.
    fn sort(&self, parts: &Parts, out: &mut Vec<u8>) -> io::Result<()> {
        let run = if self.counted { self.sort_counted(parts)? } else { self.sort_lines(parts)? };
        RunWork::new(run, self.style, self.rules.terminator).print_all(out);
        Ok(())
    }

    fn sort_lines(&self, parts: &Parts) -> io::Result<SortedRun> {
        let Rules { order, terminator, unique } = &self.rules;
        let mut lines = Lines::new(order, *terminator, &Helpers::default());
        let mut length = LineLength::new();
        lines.expect(size(parts) as usize);
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let bytes = (part.end - part.start) as usize;
            lines.push_read(bytes, |room| self.file.read_at(room, part.start), order, &mut length)?;
            self.file.forget(part.clone());
        }
        Ok(lines.sort(order, *unique))
    }

    fn sort_counted(&self, parts: &Parts) -> io::Result<SortedRun> {
        let Rules { order, terminator, .. } = &self.rules;
        let mut table = Table::new(*terminator);
        for part in parts.iter().filter(|part| !part.is_empty()) {
            let text = self.take(part.clone())?;
            for entry in text.split_inclusive(|byte| byte == terminator) {
                let (line, count) = parse_stored(entry);
                table.add_counted(line, count);
            }
        }
        Ok(table.sort(order, false, &Helpers::default()))
    }
}

fn between(from: &[u64], to: &[u64]) -> Parts {
    from.iter().zip(to).map(|(from, to)| *from..*to).collect()
}

/// Copies the first piece unchanged; the rest waits.
fn copy(mut parts: Parts, waiting: &mut Vec<Span>) -> Option<Job> {
    let part = parts.iter_mut().find(|part| !part.is_empty())?;
    let end = part.end.min(part.start + COPY_BYTES);
    let piece = part.start..end;
    part.start = end;
    waiting.push(Span::Equal(parts));
    Some(Job::Copy(piece))
}

/// Returns an entry's line and its count.
fn parse(counted: bool, entry: &[u8]) -> (&[u8], u64) {
    if counted { parse_stored(entry) } else { (entry, 1) }
}

/// A cached view into the file.
struct View<'a> {
    work: &'a RangeWork,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> View<'a> {
    fn new(work: &'a RangeWork) -> Self {
        View { work, start: 0, bytes: Vec::new() }
    }

    /// Returns the bytes at `at`, at least `len` of them, unless the part ends.
    fn look(&mut self, at: u64, len: u64, end: u64) -> io::Result<&[u8]> {
        let len = len.min(end - at);
        if at < self.start || at + len > self.start + self.bytes.len() as u64 {
            let more = len.max(2 * PROBE_BYTES).min(end - at);
            self.bytes.resize(more as usize, 0);
            self.start = at;
            self.work.file.read_at(&mut self.bytes, at)?;
        }
        Ok(&self.bytes[(at - self.start) as usize..])
    }

    /// Returns the entry that starts at `at`, with its terminator.
    fn entry(&mut self, at: u64, end: u64) -> io::Result<&[u8]> {
        let (mut len, terminator) = (1, self.work.rules.terminator);
        loop {
            let seen = self.look(at, len, end)?;
            let seen_len = (seen.len() as u64).min(end - at);
            let found = memchr::memchr(terminator, &seen[..seen_len as usize]);
            if let Some(found) = found {
                return Ok(&self.bytes[(at - self.start) as usize..][..=found]);
            }
            if seen_len == end - at {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            len = seen_len * 2;
        }
    }

    /// Returns the first line start at or after `at` and before `limit`.
    fn line_start(&mut self, at: u64, part: &Range<u64>, limit: u64) -> io::Result<Option<u64>> {
        if at <= part.start {
            return Ok(Some(part.start));
        }
        let (mut from, mut len) = (at - 1, 2 * PROBE_BYTES);
        while from + 1 < limit {
            let seen = len.min(limit - 1 - from);
            let terminator = self.work.rules.terminator;
            let found = memchr::memchr(terminator, &self.look(from, seen, part.end)?[..seen as usize]);
            if let Some(found) = found {
                return Ok(Some(from + found as u64 + 1));
            }
            from += seen;
            len = (2 * len).min(LOOK_BYTES_MAX);
        }
        Ok(None)
    }
}
