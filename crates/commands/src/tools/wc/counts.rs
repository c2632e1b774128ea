//! Counts lines, words, characters, bytes and the widest line of one input.
//!
//! [`pelton_simd::word_count`] counts words of bytes, 64 bytes at once.

use pelton_simd::word_count;
use simdutf8::compat::from_utf8;

use crate::bytes::scan;
use crate::locale::characters::{Classes, Decoded, LongForm, decode, long_form};

/// The counts of one input, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) words: u64,
    pub(super) chars: u64,
    pub(super) bytes: u64,
    pub(super) width: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.lines += other.lines;
        self.words += other.words;
        self.chars += other.chars;
        self.bytes += other.bytes;
        self.width = self.width.max(other.width);
    }
}

/// What is counted besides lines, characters and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) words: bool,
    pub(super) width: bool,
    /// Whether unprintable characters and invalid bytes belong to words, as from 9.5 on.
    pub(super) nonspace: bool,
}

impl Kinds {
    /// Whether the class of each character is needed.
    pub(super) fn any(self) -> bool {
        self.words || self.width
    }
}

/// Counts one input after another.
pub(super) struct Counter {
    counts: Counts,
    kinds: Kinds,
    utf8: bool,
    /// Character classes, for words and widths in UTF-8.
    classes: Option<Classes>,
    in_word: bool,
    /// The width of the current line so far.
    column: u64,
    /// The start of a character that the last block cut.
    partial: Vec<u8>,
}

/// Bytes summed at once: the count fits a byte.
const STRETCH: usize = 128;

impl Counter {
    /// `utf8`: counts multibyte characters, which needs `classes` for words and widths.
    pub(super) fn new(kinds: Kinds, utf8: bool, classes: Option<Classes>) -> Self {
        let counts = Counts::default();
        Counter { counts, kinds, utf8, classes, in_word: false, column: 0, partial: Vec::new() }
    }

    pub(super) fn push(&mut self, block: &[u8], lines: bool) {
        self.counts.bytes += block.len() as u64;
        if lines {
            self.counts.lines += scan::count(block, b'\n') as u64;
        }
        match (self.utf8, self.kinds.any()) {
            (true, _) if self.partial.is_empty() && block.is_ascii() => self.ascii(block),
            (true, _) => self.characters(block),
            (false, true) => self.ascii(block),
            (false, false) => self.counts.chars += block.len() as u64,
        }
    }

    /// Returns the counts of this input, and resets.
    pub(super) fn finish(&mut self) -> Counts {
        self.counts.width = self.counts.width.max(self.column);
        let counts = self.counts;
        *self = Counter::new(self.kinds, self.utf8, self.classes.take());
        counts
    }

    /// Forks a counter for other blocks of the same input, which begin and end with lines.
    pub(super) fn fork(&self) -> Option<Counter> {
        let classes = match &self.classes {
            Some(_) => Some(Classes::new()?),
            None => None,
        };
        Some(Counter::new(self.kinds, self.utf8, classes))
    }

    /// Adds the counts of another counter.
    pub(super) fn merge(&mut self, other: &Counter) {
        self.counts.add(&other.counts);
    }

    /// Whether only a block of whole lines can be counted alone.
    pub(super) fn by_line(&self) -> bool {
        self.kinds.any() || self.utf8
    }

    /// Counts single-byte characters.
    fn ascii(&mut self, block: &[u8]) {
        self.counts.chars += block.len() as u64;
        if self.kinds.words {
            let count = if self.kinds.nonspace { word_count::count_nonspace } else { word_count::count };
            self.counts.words += count(block, &mut self.in_word);
        }
        if self.kinds.width {
            self.widths(block);
        }
    }

    fn widths(&mut self, block: &[u8]) {
        for line in block.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match line.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (line, false),
            };
            let plain = text.iter().fold(0, |any, &byte| any | u8::from(!matches!(byte, 0x20..0x7f))) == 0;
            if plain {
                self.column += text.len() as u64;
            } else {
                text.iter().for_each(|&byte| self.width_byte(byte));
            }
            if ended {
                self.end_line();
            }
        }
    }

    fn width_byte(&mut self, byte: u8) {
        match byte {
            b'\r' | 0x0c => self.end_line(),
            b'\t' => self.column += 8 - self.column % 8,
            0x20..0x7f => self.column += 1,
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.counts.width = self.counts.width.max(self.column);
        self.column = 0;
    }

    /// Counts valid characters; invalid bytes count nothing.
    fn characters(&mut self, block: &[u8]) {
        let mut block = block;
        while !self.partial.is_empty() && !block.is_empty() {
            // Adds bytes until the character is complete or invalid.
            self.partial.push(block[0]);
            block = &block[1..];
            let partial = std::mem::take(&mut self.partial);
            self.partial = self.decoded(&partial).to_vec();
        }
        let rest = self.decoded(block);
        if !rest.is_empty() {
            self.partial = rest.to_vec();
        }
    }

    /// Counts the characters; returns the incomplete one at the end.
    fn decoded<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.kinds.any() { self.walk(bytes) } else { self.count_valid(bytes) }
    }

    /// Counts with classes: character by character, ASCII in runs.
    fn walk<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let [first, ..] = rest {
            let length = if *first < 0x80 {
                let length = ascii_length(rest);
                self.ascii(&rest[..length]);
                length
            } else {
                match decode(rest) {
                    Decoded::Character(char, length) => {
                        self.character(char);
                        length
                    }
                    Decoded::None => {
                        self.word(self.kinds.nonspace);
                        1
                    }
                    Decoded::CutOff => return rest,
                }
            };
            rest = &rest[length..];
        }
        rest
    }

    /// Counts a character that is not ASCII.
    fn character(&mut self, char: u32) {
        self.counts.chars += 1;
        let Some(class) = self.classes.as_mut().map(|classes| classes.get(char)) else { return };
        if class.printable {
            self.column += u64::from(class.columns);
        }
        match class.space {
            true if class.printable || self.kinds.nonspace => self.in_word = false,
            is_space => self.word(!is_space && (class.printable || self.kinds.nonspace)),
        }
    }

    /// Begins a word, unless inside one, if the character `belongs` to words.
    fn word(&mut self, belongs: bool) {
        self.counts.words += u64::from(belongs && !self.in_word);
        self.in_word |= belongs;
    }

    /// Counts valid characters; returns the incomplete one at the end.
    fn count_valid<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            match from_utf8(rest) {
                Ok(_) => {
                    self.counts.chars += characters(rest);
                    return &[];
                }
                Err(error) => {
                    let (valid, broken) = rest.split_at(error.valid_up_to());
                    self.counts.chars += characters(valid);
                    match (error.error_len(), long_form(broken)) {
                        (None, _) | (_, LongForm::CutOff) => return broken,
                        (_, LongForm::Whole(length)) => {
                            self.counts.chars += 1;
                            rest = &broken[length..];
                        }
                        (Some(length), LongForm::None) => rest = &broken[length..],
                    }
                }
            }
        }
    }
}

fn ascii_length(bytes: &[u8]) -> usize {
    let plain = bytes.chunks(STRETCH).take_while(|part| part.is_ascii()).map(<[u8]>::len).sum::<usize>();
    plain + bytes[plain..].iter().take_while(|byte| byte.is_ascii()).count()
}

/// Counts characters in valid text: every byte but a continuation byte starts one.
fn characters(valid: &[u8]) -> u64 {
    let count = |part: &[u8]| {
        u64::from(part.iter().fold(0u8, |sum, &byte| sum.wrapping_add(u8::from(byte as i8 >= -64))))
    };
    valid.chunks(STRETCH).map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Kinds = Kinds { words: true, width: true, nonspace: false };
    const NONE: Kinds = Kinds { words: false, width: false, nonspace: false };

    #[test]
    fn words_are_counted_by_stretch_as_by_byte() {
        let text = b"one two\tthree\n four\x80five \x01 six".repeat(40);
        let mut whole = Counter::new(ALL, false, None);
        whole.push(&text, true);
        let mut bytes = Counter::new(ALL, false, None);
        text.iter().for_each(|byte| bytes.push(&[*byte], true));
        assert_eq!(whole.finish(), bytes.finish());
    }

    #[test]
    fn characters_may_be_cut_by_blocks() {
        let text = "aé日😀".as_bytes();
        for size in 1..5 {
            let mut counter = Counter::new(NONE, true, None);
            text.chunks(size).for_each(|block| counter.push(block, false));
            assert_eq!(counter.finish().chars, 4, "{size}");
        }
    }
}
