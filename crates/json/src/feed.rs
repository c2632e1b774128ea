//! Feeds the machine: from a window that moves over the input, or from a complete text.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};
use pelton_simd::json_tokens::{Carry, Found, index};

use crate::error::{Failure, Fault, Flaw, SyntaxError};
use crate::machine::{Cursor, Machine, Rules, View};
use crate::skim::Outcome;
use crate::visit::Visitor;
use pelton_simd::padded::PADDING;

/// Bytes read at once, unless a name or a number is longer: as much as a pipe holds.
pub const WINDOW_BYTES: usize = 64 * 1024;
/// Bytes indexed at once. Few, because the next value may be skipped, and skipping needs no index. Fewer
/// still while skipping, where the index only has to reach the next token.
const INDEXED_BYTES: usize = 4096;
const INDEXED_TO_SKIP: usize = 256;
const INDEXED_TO_CHOOSE: usize = 64;
/// Allowed at the beginning of the input, and ignored.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads all documents of `input`.
///
/// # Errors
/// If the input is not JSON or cannot be read, or if the output cannot be written.
pub fn read<V: Visitor>(
    input: &mut impl Read,
    rules: Rules,
    window: usize,
    visitor: &mut V,
) -> Result<(), Failure> {
    let mut pieces = Pieces::new(rules, window);
    loop {
        let read = pieces.window.fill(input).map_err(Failure::Read)?;
        let outcome = pieces.advance(read == 0, visitor);
        visitor.pause().map_err(Failure::Write)?;
        outcome.map_err(Failure::Syntax)?;
        if read == 0 {
            return Ok(());
        }
    }
}

/// Reads an input that the caller passes in pieces.
pub struct Pieces {
    window: Window,
    machine: Machine,
}

impl Pieces {
    /// Makes a reader with a window of this many bytes. The window grows as needed.
    pub fn new(rules: Rules, window: usize) -> Self {
        Pieces { window: Window::new(window.max(64)), machine: Machine::new(rules) }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// A syntax error in it.
    pub fn push<V: Visitor>(&mut self, mut bytes: &[u8], visitor: &mut V) -> Result<(), Box<SyntaxError>> {
        // Reading from a slice cannot fail.
        while matches!(self.window.fill(&mut bytes), Ok(1..)) {
            self.advance(false, visitor)?;
        }
        Ok(())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A syntax error, such as an unfinished document.
    pub fn end<V: Visitor>(&mut self, visitor: &mut V) -> Result<(), Box<SyntaxError>> {
        self.advance(true, visitor)
    }

    fn advance<V: Visitor>(&mut self, last: bool, visitor: &mut V) -> Result<(), Box<SyntaxError>> {
        let outcome = self.window.advance(&mut self.machine, last, visitor);
        outcome.map_err(|flaw| Box::new(self.window.error(&self.machine, flaw, visitor.path())))
    }
}

/// Reads all documents of `padded`, which is shorter than 4 GiB and includes [`PADDING`] bytes at the end.
///
/// # Errors
/// A syntax error.
pub(crate) fn read_text<V: Visitor>(
    padded: &[u8],
    machine: &mut Machine,
    found: &mut Found,
    visitor: &mut V,
) -> Result<(), Flaw> {
    let text = &padded[..padded.len() - PADDING];
    found.tokens.clear();
    found.odd.clear();
    let valid = simdutf8::compat::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
    index(&text[..valid], 0, &mut Carry::default(), found);
    let whole = valid == text.len();
    let view = View {
        text: &text[..valid],
        padded,
        tokens: found.tokens.as_slice(),
        odd: found.odd.as_slice(),
        whole,
        full: false,
    };
    let mut cursor = Cursor::default();
    machine.run(&view, &mut cursor, visitor, false)?;
    machine.check_line(&view, &cursor)?;
    if let Some(fault) = visitor.refusal() {
        return Err((valid, fault));
    }
    if !whole {
        return Err((valid, Fault::NotUtf8));
    }
    machine.end().map_err(|fault| (valid, fault))
}

/// Position of a text in the input.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// Bytes before the text.
    pub(crate) offset: u64,
    /// Line ends before the text.
    pub(crate) lines: u64,
    /// Offset of the start of its first line.
    pub(crate) line_start: u64,
}

impl Origin {
    /// Advances past `bytes`.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.lines += memchr_iter(b'\n', bytes).count() as u64;
        if let Some(end) = memrchr(b'\n', bytes) {
            self.line_start = self.offset + end as u64 + 1;
        }
        self.offset += bytes.len() as u64;
    }

    /// Makes the error for a byte of the text that begins here.
    pub(crate) fn error(mut self, text: &[u8], (at, fault): Flaw, path: Vec<u8>) -> SyntaxError {
        self.pass(&text[..at]);
        let (offset, column) = (self.offset, self.offset - self.line_start + 1);
        SyntaxError { fault, offset, line: self.lines + 1, column, path }
    }
}

/// The part of the input in memory.
struct Window {
    bytes: Vec<u8>,
    /// Bytes read.
    filled: usize,
    /// Bytes of those that are valid UTF-8.
    seen: usize,
    /// Bytes of those that are indexed or skipped.
    indexed: usize,
    /// Whether the bytes after the `seen` ones are not UTF-8: an invalid byte, or a character that the input's end cuts.
    torn: bool,
    place: Origin,
    /// Position of the string that is being reported in pieces.
    string: Origin,
    found: Found,
    carry: Carry,
}

impl Window {
    fn new(size: usize) -> Self {
        Window {
            bytes: vec![0; size + PADDING],
            filled: 0,
            seen: 0,
            indexed: 0,
            torn: false,
            place: Origin::default(),
            string: Origin::default(),
            found: Found::default(),
            carry: Carry::default(),
        }
    }

    /// Returns the capacity in bytes.
    fn room(&self) -> usize {
        self.bytes.len() - PADDING
    }

    /// Reads more; returns 0 at the end.
    fn fill(&mut self, input: &mut impl Read) -> io::Result<usize> {
        if self.filled == self.room() {
            // A name or a number fills the window.
            self.bytes.resize(self.room() * 2 + PADDING, 0);
        }
        let room = self.room();
        loop {
            match input.read(&mut self.bytes[self.filled..room]) {
                Ok(read) => {
                    self.filled += read;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Processes the new bytes, and drops those no longer needed.
    fn advance<V: Visitor>(
        &mut self,
        machine: &mut Machine,
        last: bool,
        visitor: &mut V,
    ) -> Result<(), Flaw> {
        self.look(last);
        let mut cursor = Cursor::default();
        let was_long = machine.is_long();
        let (mut unsure, mut most) = (false, INDEXED_BYTES);
        loop {
            if machine.skims()
                && !unsure
                && cursor.token == self.found.tokens.as_slice().len()
                && self.carry.is_clean()
            {
                let (reached, outcome) = machine.skim(&self.bytes[..self.seen], self.indexed);
                self.indexed = reached;
                unsure = outcome != Outcome::Over;
            }
            self.index_more(if machine.skims() && !unsure { most.min(INDEXED_TO_SKIP) } else { most });
            most = INDEXED_BYTES.min(4 * most);
            if machine.run(&self.view(last), &mut cursor, visitor, !unsure)? {
                let at = self.restart(&mut cursor);
                let (reached, outcome) = machine.choose(&self.bytes[..self.seen], at, visitor);
                self.indexed = reached;
                unsure = outcome == Outcome::More;
                most = INDEXED_TO_CHOOSE;
            } else if self.indexed == self.seen {
                break;
            }
        }
        if let Some(fault) = visitor.refusal() {
            return Err((self.seen, fault));
        }
        if machine.is_long() && !was_long {
            // The string fills the window, so it starts where the window does.
            self.string = self.place;
        }
        if self.torn {
            return Err((self.seen, Fault::NotUtf8));
        }
        if last {
            return machine.end().map_err(|fault| (self.seen, fault));
        }
        let keep = machine.keeps(&self.view(last), &cursor);
        self.forget(keep, &cursor);
        Ok(())
    }

    /// Returns the indexed part.
    fn view(&self, last: bool) -> View<'_> {
        let all = self.indexed == self.seen;
        View {
            text: &self.bytes[..self.indexed],
            padded: &self.bytes,
            tokens: self.found.tokens.as_slice(),
            odd: self.found.odd.as_slice(),
            whole: all && last && !self.torn,
            full: all && self.filled == self.room(),
        }
    }

    fn error(&self, machine: &Machine, flaw: Flaw, path: Vec<u8>) -> SyntaxError {
        match flaw.1 {
            Fault::UnclosedString if machine.is_long() => self.string.error(&self.bytes, (0, flaw.1), path),
            _ => self.place.error(&self.bytes, flaw, path),
        }
    }

    /// Validates the UTF-8 of the new bytes.
    fn look(&mut self, last: bool) {
        let new = &self.bytes[self.seen..self.filled];
        self.seen += match simdutf8::compat::from_utf8(new) {
            Ok(_) => new.len(),
            Err(error) => {
                // The end of the input so far may split a character.
                self.torn = last || error.error_len().is_some();
                error.valid_up_to()
            }
        };
        if self.place.offset == 0 && self.indexed == 0 && self.bytes[..self.seen].starts_with(BYTE_ORDER_MARK)
        {
            self.indexed = BYTE_ORDER_MARK.len();
        }
    }

    /// Indexes at most `most` more bytes.
    fn index_more(&mut self, most: usize) {
        let end = self.seen.min(self.indexed + most);
        index(&self.bytes[self.indexed..end], self.indexed as u32, &mut self.carry, &mut self.found);
        self.indexed = end;
    }

    /// Drops the index before the cursor, which is between two tokens. Returns the cursor's position in the
    /// text.
    fn restart(&mut self, cursor: &mut Cursor) -> usize {
        let next = self.found.tokens.as_slice().get(cursor.token).map_or(self.indexed, |next| *next as usize);
        self.found.tokens.clear();
        self.found.odd.clear();
        self.carry = Carry::default();
        (cursor.token, cursor.odd) = (0, 0);
        next
    }

    fn forget(&mut self, keep: usize, cursor: &Cursor) {
        self.place.pass(&self.bytes[..keep]);
        self.found.tokens.forget(cursor.token, keep as u32);
        self.found.odd.forget(cursor.odd, keep as u32);
        self.bytes.copy_within(keep..self.filled, 0);
        self.filled -= keep;
        self.seen -= keep;
        self.indexed -= keep;
    }
}
