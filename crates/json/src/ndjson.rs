//! Reads one document per line, with several threads. Lines can be split without parsing, since no JSON
//! string contains a line end.

use std::cell::RefCell;
use std::io::{self, Read};

use memchr::memrchr;
use pelton_parallel::ordered;
use pelton_simd::json_tokens::Found;

use crate::error::Failure;
use crate::feed::{BYTE_ORDER_MARK, Origin, read_text};
use crate::machine::{Machine, Rules};
use crate::selected::Prints;
use crate::visit::Visitor;
use pelton_simd::padded::{PADDING, Text};

/// Bytes that a thread gets at once, unless a line is longer.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// An input smaller than this starts no thread.
const SMALL_BYTES: u64 = 1024 * 1024;

/// Whole lines, with padding after them.
struct Chunk {
    padded: Vec<u8>,
    origin: Origin,
}

/// The result of a chunk.
struct Done {
    printed: Text,
    failure: Option<Failure>,
}

/// Splits an input at line ends.
struct Cutter<R> {
    input: R,
    size: usize,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    origin: Origin,
    over: bool,
}

impl<R: Read> Cutter<R> {
    /// Returns the next lines.
    fn next(&mut self) -> io::Result<Option<Chunk>> {
        while !self.over {
            let mut bytes = std::mem::take(&mut self.rest);
            let start = bytes.len();
            bytes.resize((start + self.size / 2).max(self.size), 0);
            let read = match self.input.read(&mut bytes[start..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    bytes.truncate(start);
                    self.rest = bytes;
                    continue;
                }
                other => other?,
            };
            bytes.truncate(start + read);
            self.over = read == 0;
            let end = match memrchr(b'\n', &bytes[start..]) {
                Some(end) => start + end + 1,
                None if self.over => bytes.len(),
                None => 0,
            };
            self.rest = bytes[end..].to_vec();
            bytes.truncate(end);
            if end > 0 {
                let origin = self.origin;
                self.origin.pass(&bytes);
                bytes.resize(end + PADDING, 0);
                return Ok(Some(Chunk { padded: bytes, origin }));
            }
        }
        Ok(None)
    }
}

/// How the work is divided.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Number of threads.
    pub threads: usize,
    /// Bytes that each thread gets at once.
    pub chunk: usize,
}

/// Reads all lines of `input`. No document may span lines. `visitor` makes a visitor that prints into a
/// buffer; `print` gets the output in order.
///
/// # Errors
/// As [`read`](crate::read). The output before the faulty line is printed.
pub fn read_lines<V: Visitor + Prints>(
    input: impl Read + Send + 'static,
    rules: Rules,
    share: Share,
    visitor: impl Fn() -> V + Send + Sync + 'static,
    mut print: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut cutter =
        Cutter { input, size: share.chunk, rest: Vec::new(), origin: Origin::default(), over: false };
    let mut finish = move |done: Done| {
        print(done.printed.bytes()).map_err(Failure::Write)?;
        done.failure.map_or(Ok(()), Err)
    };
    while share.threads < 2 || cutter.origin.offset < SMALL_BYTES {
        let Some(chunk) = cutter.next().map_err(Failure::Read)? else { return Ok(()) };
        finish(work(chunk, rules, &mut visitor()))?;
    }
    let mut outcome = Ok(());
    let source = move || cutter.next().transpose();
    let worker = move |chunk: io::Result<Chunk>| match chunk {
        Ok(chunk) => work(chunk, rules, &mut visitor()),
        Err(error) => Done { printed: Text::default(), failure: Some(Failure::Read(error)) },
    };
    ordered(share.threads, source, worker, |done| {
        outcome = finish(done);
        outcome.is_ok()
    });
    outcome
}

thread_local! {
    /// Reused for each chunk.
    static FOUND: RefCell<Found> = RefCell::default();
}

fn work<V: Visitor + Prints>(mut chunk: Chunk, rules: Rules, visitor: &mut V) -> Done {
    if chunk.origin.offset == 0 && chunk.padded.starts_with(BYTE_ORDER_MARK) {
        chunk.padded[..BYTE_ORDER_MARK.len()].fill(b' ');
    }
    let mut machine = Machine::for_lines(rules);
    let outcome = FOUND.with_borrow_mut(|found| read_text(&chunk.padded, &mut machine, found, visitor));
    let failure = outcome
        .err()
        .map(|flaw| Failure::Syntax(Box::new(chunk.origin.error(&chunk.padded, flaw, visitor.path()))));
    Done { printed: std::mem::take(visitor.printed()), failure }
}
