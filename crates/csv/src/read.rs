//! Reads the header first, then chunks of whole records, with several threads if the input is large.

use std::cell::RefCell;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::{memchr_iter, memrchr};
use pelton_parallel::ordered;
use pelton_simd::fields::{Fields, index};

use crate::cut::{Chunk, Cutter};
use crate::error::{Failure, Fault, SyntaxError};
use crate::filter::Condition;
use crate::header::Header;
use crate::output::{Format, Printer};
use crate::select::Columns;

/// Allowed at the beginning of the input, and not part of the first field.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// An input smaller than this starts no thread.
const SMALL_BYTES: u64 = 1024 * 1024;

/// What to read and print.
#[derive(Clone, Debug)]
pub struct Options {
    /// The delimiter between fields; one byte.
    pub delimiter: u8,
    /// Whether the first record has the column names.
    pub named: bool,
    /// Columns to print; `None` for all.
    pub columns: Option<Columns>,
    /// Conditions that must all hold for a record to be printed.
    pub conditions: Vec<Condition>,
    /// The output format.
    pub format: Format,
    /// Whether JSON output prints numbers without quotes.
    pub numbers: bool,
    /// Whether to print column names, if the format has a header.
    pub header: bool,
    /// Whether records may have more or fewer fields than the first; missing fields are empty.
    pub ragged: bool,
}

/// How the work is divided.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Number of threads.
    pub threads: usize,
    /// Bytes that each thread gets at once.
    pub chunk: usize,
    /// Maximum length of a record in bytes, [`crate::RECORD_BYTES_MAX`] for users.
    pub record: usize,
}

/// Reads all records of `input`; `print` gets the output in order. `begun`: an earlier input was printed, so
/// the header is not printed again.
///
/// # Errors
/// If the input violates RFC 4180, lacks a column, cannot be read, or the output cannot be written.
/// Everything before the error is printed.
pub fn read(
    input: impl Read + Send + 'static,
    options: &Options,
    share: Share,
    begun: &mut bool,
    mut print: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut cutter = Cutter::new(input, share.chunk, share.record);
    let Some((first, header)) = first_records(&mut cutter, options)? else { return Ok(()) };
    let plan = Arc::new(ThreadPlan::new(options, &header).map_err(Failure::Columns)?);
    let mut tally = Tally { begun, array: options.format == Format::Array, records: 0, lines: 0 };
    let mut read = first.bytes.len() as u64;
    let mut top = Vec::new();
    if !*tally.begun && options.header && options.named {
        plan.print_header(&first.bytes, &mut top);
        print(&top).map_err(Failure::Write)?;
    }
    let mut finish = |done: Done| tally.finish(done, &mut print);
    finish(plan.work(first, options.named))?;
    while share.threads < 2 || read < SMALL_BYTES {
        let Some(chunk) = cutter.next().map_err(Failure::Read)? else { return Ok(()) };
        read += chunk.bytes.len() as u64;
        finish(plan.work(chunk, false))?;
    }
    let mut outcome = Ok(());
    let worker = move |chunk: io::Result<Chunk>| match chunk {
        Ok(chunk) => plan.work(chunk, false),
        Err(error) => Done { unread: Some(error), ..Done::default() },
    };
    ordered(
        share.threads,
        move || cutter.next().transpose(),
        worker,
        |done| {
            outcome = finish(done);
            outcome.is_ok()
        },
    );
    outcome
}

/// Returns the first records that are not all blank lines, and the header.
fn first_records(
    cutter: &mut Cutter<impl Read>,
    options: &Options,
) -> Result<Option<(Chunk, Header)>, Failure> {
    let mut text = Vec::new();
    while let Some(more) = cutter.next().map_err(Failure::Read)? {
        text.extend(more.bytes);
        if more.too_long.is_some() {
            return Ok(Some((
                Chunk { bytes: text, too_long: more.too_long },
                Header { names: Vec::new(), count: 0 },
            )));
        }
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let mut found = Fields::default();
        complete(&mut text);
        index(&text, options.delimiter, &mut found);
        let records = Records { text: &text, found: &found, next: 0, first: 0, start: 0 };
        if let Some(record) = records.into_iter().find(|record| !record.is_blank()) {
            let fields: Vec<&[u8]> = (0..record.count).map(|number| record.field(number)).collect();
            let header = Header::of(&fields, options.named);
            return Ok(Some((Chunk { bytes: text, too_long: None }, header)));
        }
        if found.open || !found.stray.as_slice().is_empty() {
            // The first record is invalid: its worker will report that.
            let chunk = Chunk { bytes: text, too_long: None };
            return Ok(Some((chunk, Header { names: Vec::new(), count: 0 })));
        }
    }
    Ok(None)
}

/// Appends the line end if the last record lacks it.
fn complete(text: &mut Vec<u8>) {
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
}

/// Settings that all threads share.
struct ThreadPlan {
    delimiter: u8,
    ragged: bool,
    /// Number of fields that a record must have.
    count: usize,
    columns: Vec<usize>,
    conditions: Vec<(usize, Condition)>,
    printer: Printer,
    array: bool,
}

/// The result of a chunk.
#[derive(Default)]
struct Done {
    printed: Vec<u8>,
    records: u64,
    lines: u64,
    flaw: Option<Flaw>,
    unread: Option<io::Error>,
}

/// An error in a chunk. All numbers count from 0 within the chunk.
struct Flaw {
    fault: Fault,
    record: u64,
    line: u64,
    column: u64,
}

impl Flaw {
    fn at(text: &[u8], at: usize, fault: Fault, record: u64) -> Self {
        let before = &text[..at];
        let line_start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr_iter(b'\n', before).count() as u64;
        Flaw { fault, record, line, column: (at - line_start) as u64 }
    }
}

/// Returns the offset of the unclosed quote in the text from `start`, if there is one.
fn open_quote(text: &[u8], start: usize) -> Option<usize> {
    let mut open = None;
    for at in memchr_iter(b'"', &text[start..]) {
        open = if open.is_some() { None } else { Some(start + at) };
    }
    open
}

thread_local! {
    /// Reused for each chunk.
    static FOUND: RefCell<Fields> = RefCell::default();
}

impl ThreadPlan {
    fn new(options: &Options, header: &Header) -> Result<Self, String> {
        let wrong = header.count == 0;
        let columns = match &options.columns {
            Some(columns) if !wrong => columns.resolve(header)?,
            _ => (0..header.count).collect(),
        };
        let mut conditions = Vec::new();
        for condition in options.conditions.iter().filter(|_| !wrong) {
            conditions.push((condition.resolve(header)?, condition.clone()));
        }
        let printer = Printer::new(options.format, options.delimiter, options.numbers, header, &columns);
        Ok(ThreadPlan {
            delimiter: options.delimiter,
            ragged: options.ragged,
            count: header.count,
            columns,
            conditions,
            printer,
            array: options.format == Format::Array,
        })
    }

    /// Prints the names of the selected columns.
    fn print_header(&self, text: &[u8], to: &mut Vec<u8>) {
        if !self.printer.has_header() {
            return;
        }
        FOUND.with_borrow_mut(|found| {
            index(text, self.delimiter, found);
            let mut records = Records { text, found, next: 0, first: 0, start: 0 };
            if let Some(record) = records.find(|record| !record.is_blank()) {
                self.printer.record(self.columns.iter().map(|column| record.field(*column)), to);
            }
        });
    }

    /// Prints the selected records and columns of a chunk.
    fn work(&self, chunk: Chunk, skip_first: bool) -> Done {
        let mut text = chunk.bytes;
        if let Some(limit) = chunk.too_long {
            let quote = open_quote(&text, 0);
            let fault = Fault::TooLong { limit, quoted: quote.is_some() };
            return Done { flaw: Some(Flaw::at(&text, quote.unwrap_or(0), fault, 0)), ..Done::default() };
        }
        complete(&mut text);
        FOUND.with_borrow_mut(|found| {
            index(&text, self.delimiter, found);
            let mut done = self.records(&text, found, skip_first);
            done.lines = memchr_iter(b'\n', &text).count() as u64;
            done
        })
    }

    fn records(&self, text: &[u8], found: &Fields, mut skip: bool) -> Done {
        let mut done = Done { printed: Vec::with_capacity(text.len() / 2), ..Done::default() };
        let stray = found.stray.as_slice().first().map_or(usize::MAX, |at| *at as usize);
        let mut records = Records { text, found, next: 0, first: 0, start: 0 };
        for record in records.by_ref() {
            if record.line_end > stray {
                break;
            }
            if record.is_blank() {
                continue;
            }
            if record.count != self.count && !self.ragged {
                let fault = Fault::Fields { found: record.count, wanted: self.count };
                done.flaw = Some(Flaw::at(text, record.start, fault, done.records));
                return done;
            }
            done.records += 1;
            if std::mem::take(&mut skip) {
                continue;
            }
            let wanted = |(column, condition): &(usize, Condition)| condition.holds(record.field(*column));
            if self.conditions.iter().all(wanted) {
                if self.array && !done.printed.is_empty() {
                    done.printed.extend_from_slice(b",\n");
                }
                self.printer
                    .record(self.columns.iter().map(|column| record.field(*column)), &mut done.printed);
            }
        }
        if stray != usize::MAX {
            done.flaw = Some(Flaw::at(text, stray, Fault::Quote, done.records));
        } else if found.open {
            let at = open_quote(text, records.start).unwrap_or(records.start);
            done.flaw = Some(Flaw::at(text, at, Fault::Unclosed, done.records));
        }
        done
    }
}

/// The records of a text.
struct Records<'a> {
    text: &'a [u8],
    found: &'a Fields,
    /// Number of the next record, index of its first field end, and its offset.
    next: usize,
    first: usize,
    start: usize,
}

struct Record<'a> {
    text: &'a [u8],
    /// Field ends. The last one is the line end.
    ends: &'a [u32],
    count: usize,
    start: usize,
    /// End of the last field, without a carriage return.
    stop: usize,
    line_end: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Record<'a>> {
        let last = *self.found.records.as_slice().get(self.next)? as usize;
        let ends = &self.found.ends.as_slice()[self.first..=last];
        let line_end = ends[ends.len() - 1] as usize;
        let returned = line_end > self.start && self.text[line_end - 1] == b'\r';
        let record = Record {
            text: self.text,
            ends,
            count: ends.len(),
            start: self.start,
            stop: line_end - usize::from(returned),
            line_end,
        };
        self.next += 1;
        self.first = last + 1;
        self.start = line_end + 1;
        Some(record)
    }
}

impl<'a> Record<'a> {
    /// Whether the line is empty: it is then not a record.
    #[inline(always)]
    fn is_blank(&self) -> bool {
        self.count == 1 && self.stop == self.start
    }

    /// Returns a field as written, by index from 0; empty if missing.
    #[inline(always)]
    fn field(&self, number: usize) -> &'a [u8] {
        if number >= self.count {
            return b"";
        }
        let start = if number == 0 { self.start } else { self.ends[number - 1] as usize + 1 };
        let end = if number + 1 == self.count { self.stop } else { self.ends[number] as usize };
        &self.text[start..end]
    }
}

/// The totals of the chunks printed so far.
struct Tally<'a> {
    begun: &'a mut bool,
    array: bool,
    records: u64,
    lines: u64,
}

impl Tally<'_> {
    fn finish(&mut self, done: Done, print: &mut impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), Failure> {
        if !done.printed.is_empty() {
            if self.array {
                print(if *self.begun { b",\n" } else { b"[\n" }).map_err(Failure::Write)?;
            }
            *self.begun = true;
            print(&done.printed).map_err(Failure::Write)?;
        }
        if let Some(Flaw { fault, record, line, column }) = done.flaw {
            let (record, line) = (self.records + record + 1, self.lines + line + 1);
            return Err(Failure::Syntax(SyntaxError { fault, record, line, column: column + 1 }));
        }
        self.records += done.records;
        self.lines += done.lines;
        done.unread.map_or(Ok(()), |error| Err(Failure::Read(error)))
    }
}
