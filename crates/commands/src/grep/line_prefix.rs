//! Prefixes of lines, and what grep considers an invalid character.

use simdutf8::compat::from_utf8;

use crate::locale::characters::{Decoded, decode};

use super::options::Options;

/// Prints names, line numbers and offsets.
#[derive(Debug)]
pub(super) struct Printer {
    names: bool,
    line_numbers: bool,
    offsets: bool,
    label: Vec<u8>,
    name: Vec<u8>,
    /// Bytes of the input before the current block.
    offset: u64,
    /// Lines that end before `counted`.
    lines: u64,
    /// How far into the current block lines have been counted.
    counted: usize,
}

impl Printer {
    pub(super) fn new(options: &Options) -> Self {
        Printer {
            names: options.names,
            line_numbers: options.line_numbers,
            offsets: options.offsets,
            label: options.label.clone(),
            name: Vec::new(),
            offset: 0,
            lines: 0,
            counted: 0,
        }
    }

    /// Starts an input; `None` is the standard input.
    pub(super) fn begin(&mut self, name: Option<&[u8]>) {
        self.name = name.map_or_else(|| self.label.clone(), <[u8]>::to_vec);
        (self.offset, self.lines, self.counted) = (0, 0, 0);
    }

    /// Starts the input of another printer.
    pub(super) fn begin_as(&mut self, other: &Printer) {
        self.begin(Some(&other.name));
    }

    /// Whether lines have no prefix.
    pub(super) fn is_plain(&self) -> bool {
        !self.names && !self.line_numbers && !self.offsets
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns the bytes of the input before the current block.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the lines of the input before the current block.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Ends the block.
    pub(super) fn pass(&mut self, block: &[u8]) {
        if self.line_numbers {
            self.lines_before(block, block.len());
        }
        self.offset += block.len() as u64;
        self.counted = 0;
    }

    /// Moves on by lines that others have printed, without prefixes that count. Returns the new offset.
    pub(super) fn skip(&mut self, bytes: u64) -> u64 {
        self.offset += bytes;
        self.offset
    }

    /// Returns the position of the line count.
    pub(super) fn mark(&self) -> (u64, usize) {
        (self.lines, self.counted)
    }

    /// Resets the line count to an earlier position.
    pub(super) fn go_back(&mut self, mark: (u64, usize)) {
        (self.lines, self.counted) = mark;
    }

    /// Returns the number of lines of the input that end before this offset of the block. Call it in
    /// ascending order.
    pub(super) fn lines_before(&mut self, block: &[u8], at: usize) -> u64 {
        let new = &block[self.counted..at];
        self.lines += memchr::memchr_iter(b'\n', new).count() as u64;
        self.counted = at;
        self.lines
    }

    /// Prints the name of the input, if requested.
    pub(super) fn name_before(&self, out: &mut Vec<u8>) {
        self.name_with(b':', out);
    }

    fn name_with(&self, separator: u8, out: &mut Vec<u8>) {
        if self.names {
            out.extend_from_slice(&self.name);
            out.push(separator);
        }
    }

    /// Prints the whole prefix for a match, or a line, at `at`. `separator` stands after each part.
    pub(super) fn before(&mut self, block: &[u8], at: usize, separator: u8, out: &mut Vec<u8>) {
        self.name_with(separator, out);
        if self.line_numbers {
            let number = self.lines_before(block, at) + 1;
            push_number(number, separator, out);
        }
        if self.offsets {
            push_number(self.offset + at as u64, separator, out);
        }
    }

    /// Prints the whole prefix for a line that begins so many lines and bytes before the current block.
    pub(super) fn before_earlier(&self, (lines, bytes): (u64, u64), separator: u8, out: &mut Vec<u8>) {
        self.name_with(separator, out);
        if self.line_numbers {
            push_number(self.lines - lines + 1, separator, out);
        }
        if self.offsets {
            push_number(self.offset - bytes, separator, out);
        }
    }
}

/// Prints a number and a separator.
fn push_number(mut number: u64, separator: u8, out: &mut Vec<u8>) {
    const DIGITS_MAX: usize = 20;
    let mut text = [separator; DIGITS_MAX + 1];
    let mut at = DIGITS_MAX;
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[at..]);
}

/// Whether it has bytes that glibc cannot decode.
pub(super) fn has_invalid(bytes: &[u8]) -> bool {
    let Err(error) = from_utf8(bytes) else { return false };
    let mut rest = &bytes[error.valid_up_to()..];
    while !rest.is_empty() {
        let Decoded::Character(_, length) = decode(rest) else { return true };
        rest = &rest[length..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros() {
        let mut out = Vec::new();
        for number in [0, 7, 10, u64::MAX] {
            push_number(number, b':', &mut out);
        }
        assert_eq!(out, b"0:7:10:18446744073709551615:");
    }

    #[test]
    fn invalid_is_what_glibc_does_not_decode() {
        assert!(!has_invalid("aé日😀".as_bytes()));
        assert!(!has_invalid(b"\xf4\x90\x80\x80 \xf8\x88\x80\x80\x80"));
        for bytes in [&b"\xff"[..], b"a\xc3", b"\xe2\x82a", b"\x80", b"\xed\xa0\x80"] {
            assert!(has_invalid(bytes), "{bytes:?}");
        }
    }
}
