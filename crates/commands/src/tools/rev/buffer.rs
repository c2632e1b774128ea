//! The buffer of the real rev, and the effects of `fgetws`, `wcslen` and `fputws` on it.

use crate::locale::characters::{Decoded, decode};

/// A character: its bytes, the last one lowest.
type Cell = u64;

const NEWLINE: Cell = b'\n' as Cell;

/// Initial size in characters, as stdio has it.
const FIRST_SIZE: usize = 8192;

/// The real rev passes the number of characters to stdio as an `int`.
const PIECE_MAX: usize = i32::MAX as usize;

/// Bytes of a character in the real rev's memory.
const WIDE_BYTES: usize = size_of::<u32>();

/// Why reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// For this input: the bytes are no character.
    NoCharacter,
    /// For all inputs: the real rev would not get this much memory.
    NoMemory { bytes: usize },
    /// For all inputs: the buffer is too large for stdio, and the real rev ends silently.
    TooLarge,
}

pub(super) struct Buffer {
    /// The cells ever written; NULs follow.
    cells: Vec<Cell>,
    /// The capacity of the real rev's buffer.
    size: usize,
    /// Cells read before the current piece.
    length: usize,
    /// Cells read of the piece.
    piece: usize,
    /// Cells that the piece can still take.
    room: usize,
    /// Lines of this input printed so far.
    lines: u64,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Buffer { cells: Vec::new(), size: FIRST_SIZE, length: 0, piece: 0, room: FIRST_SIZE - 1, lines: 0 }
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Whether the real rev can read no more.
    pub(super) fn is_too_large(&self) -> bool {
        self.size > PIECE_MAX
    }

    pub(super) fn begin_input(&mut self) {
        self.lines = 0;
        self.begin_line();
    }

    fn begin_line(&mut self) {
        (self.length, self.piece, self.room) = (0, 0, self.size - 1);
    }

    /// Whether a line begins here and fits into one piece.
    pub(super) fn fits(&self, line: &[u8]) -> bool {
        self.length == 0 && self.piece == 0 && line.len() + 1 < self.size
    }

    /// Updates the buffer for lines that fitted and were printed.
    pub(super) fn pass(&mut self, lines: &[u8]) {
        // Starts at the last line: each line overwrites the start of longer ones before it.
        let (mut end, mut covered) = (lines.len(), 0);
        while end > 0 {
            let start = memchr::memrchr(b'\n', &lines[..end - 1]).map_or(0, |newline| newline + 1);
            let line = &lines[start..end];
            if line.len() + 1 > covered {
                let image = image_of(line);
                for (place, cell) in image.iter().enumerate().skip(covered) {
                    self.set(place, *cell);
                }
                covered = covered.max(image.len());
            }
            self.lines += 1;
            end = start;
        }
    }

    fn set(&mut self, place: usize, cell: Cell) {
        if self.cells.len() <= place {
            self.cells.resize(place + 1, 0);
        }
        self.cells[place] = cell;
    }

    /// Adds the next character.
    pub(super) fn take(&mut self, character: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let cell = cell_of(character);
        self.set(self.length + self.piece, cell);
        self.piece += 1;
        self.room -= 1;
        if cell != NEWLINE && self.room > 0 {
            return Ok(());
        }
        self.end_piece();
        if self.length == 0 || self.cells[self.length - 1] == NEWLINE {
            return self.print(out);
        }
        self.size *= 2;
        self.ask_for_memory()?;
        if self.size / 2 > PIECE_MAX {
            return self.print(out);
        }
        self.room = self.size / 2 - 1;
        Ok(())
    }

    /// Ends a piece: it extends to its first NUL.
    fn end_piece(&mut self) {
        self.set(self.length + self.piece, 0);
        let read = &self.cells[self.length..];
        self.length += read.iter().position(|cell| *cell == 0).unwrap_or(read.len());
        self.piece = 0;
    }

    /// Checks that the buffer's memory is available: if not, the real rev ends.
    fn ask_for_memory(&self) -> Result<(), Stop> {
        let bytes = self.size * WIDE_BYTES;
        let promised = Vec::<u8>::new().try_reserve_exact(bytes);
        promised.map_err(|_| Stop::NoMemory { bytes })
    }

    /// Prints the line reversed, if there is one.
    fn print(&mut self, out: &mut Vec<u8>) -> Result<(), Stop> {
        if self.length > 0 {
            let ends = self.cells[self.length - 1] == NEWLINE;
            self.cells[..self.length - usize::from(ends)].reverse();
            for cell in self.cells.iter().take_while(|cell| **cell != 0) {
                put(*cell, out);
            }
            self.lines += 1;
        }
        self.begin_line();
        if self.is_too_large() { Err(Stop::TooLarge) } else { Ok(()) }
    }

    /// Handles an invalid character. A first piece is dropped; a later one is kept as far as it was read,
    /// without a NUL after it.
    pub(super) fn fail(&mut self, out: &mut Vec<u8>) {
        // The caller checks the size afterwards: a message comes first.
        let _ = self.print(out);
    }

    /// Ends the input: prints a last line without a line end.
    pub(super) fn end_input(&mut self, out: &mut Vec<u8>) -> Result<(), Stop> {
        if self.piece > 0 {
            self.end_piece();
        }
        if self.length > 0 { self.print(out) } else { Ok(()) }
    }
}

/// Returns what a printed line leaves in the buffer: its reversed text and a NUL.
fn image_of(line: &[u8]) -> Vec<Cell> {
    let (text, ends) = line.strip_suffix(b"\n").map_or((line, false), |text| (text, true));
    let mut image = Vec::with_capacity(line.len() + 1);
    let mut rest = text;
    while let Some(length) = character_length(rest, true) {
        image.push(cell_of(&rest[..length]));
        rest = &rest[length..];
    }
    image.reverse();
    image.extend(ends.then_some(NEWLINE));
    image.push(0);
    image
}

/// Returns the length of the first character in bytes; `None` if it is invalid.
pub(super) fn character_length(bytes: &[u8], utf8: bool) -> Option<usize> {
    match bytes.first()? {
        0..0x80 => Some(1),
        _ if !utf8 => None,
        _ => match decode(bytes) {
            Decoded::Character(_, length) => Some(length),
            Decoded::None | Decoded::CutOff => None,
        },
    }
}

fn cell_of(character: &[u8]) -> Cell {
    character.iter().fold(0, |cell, byte| cell << 8 | Cell::from(*byte))
}

fn put(cell: Cell, out: &mut Vec<u8>) {
    let bytes = cell.to_be_bytes();
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[start..]);
}
