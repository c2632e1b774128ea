//! Finds the fields of a record: in a block by the bits of separators, in other text by scanning.

use std::ops::Range;

use pelton_simd::{byte_masks, byte_set_masks};

use crate::regex::Judges;

use super::char_index;
use super::pattern::Pattern;

/// The field separator.
#[derive(Clone, Debug)]
pub(super) enum Separator {
    /// Blanks, tabs and newlines, which may also surround the fields.
    Blanks,
    Byte(u8),
    /// This byte or a newline: `split` of the one true awk.
    ByteOrNewline(u8),
    /// Nothing: each byte is a piece, or each character of UTF-8. Only `split` has it.
    Nothing {
        utf8: bool,
    },
    Pattern(Box<Pattern>),
}

impl Separator {
    /// Returns the pattern, if it is one.
    pub(super) fn pattern(&self) -> Option<&Pattern> {
        match self {
            Separator::Pattern(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// Returns the separator that is found in the same places of ASCII.
    pub(super) fn of_bytes(&self) -> Separator {
        match self {
            Separator::Nothing { .. } => Separator::Nothing { utf8: false },
            Separator::Pattern(pattern) => Separator::Pattern(Box::new(pattern.of_bytes())),
            other => other.clone(),
        }
    }

    /// Returns which texts it judges, where strings are of characters.
    pub(super) fn judges(&self) -> Judges {
        match self {
            Separator::Blanks => Judges::AnyBytes,
            Separator::ByteOrNewline(_) | Separator::Nothing { utf8: false } => Judges::AnyBytes,
            Separator::Nothing { utf8: true } => Judges::ValidUtf8,
            Separator::Byte(byte) if byte.is_ascii() => Judges::AnyBytes,
            Separator::Byte(_) => Judges::Ascii,
            Separator::Pattern(pattern) => pattern.judges(),
        }
    }

    /// Whether fields joined by `between` look as in the record; for words, if its blanks are
    /// [even](is_even).
    pub(super) fn is_joined_by(&self, between: &[u8]) -> bool {
        match self {
            Separator::Blanks => between == b" ",
            Separator::Byte(byte) => between == [*byte],
            Separator::ByteOrNewline(_) | Separator::Nothing { .. } | Separator::Pattern(_) => false,
        }
    }
}

/// Consecutive records, and on demand bits: for words one at the start and one at the end of each, otherwise
/// one per separator; and one at the end of a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    words: Vec<u64>,
    is_marked: bool,
    /// On demand, blanks that would differ if words were joined by single spaces.
    uneven: Vec<u64>,
    is_uneven_known: bool,
}

const BITS: usize = byte_set_masks::STEP;

impl Block {
    /// Sets new records.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        char_index::is_new(&self.bytes);
        self.is_marked = false;
        self.is_uneven_known = false;
    }

    /// Whether the rest of a record, from the blank before a word on, is [even](is_even).
    pub(super) fn is_even(&mut self, span: &Range<usize>) -> bool {
        if !std::mem::replace(&mut self.is_uneven_known, true) {
            mark_uneven(&self.bytes, &mut self.uneven);
        }
        is_even(&self.bytes, &self.uneven, span)
    }

    /// Makes the bits; returns `false` if the separator has none.
    #[inline]
    fn mark(&mut self, separator: &Separator, record_end: u8) -> bool {
        if !self.is_marked {
            self.is_marked = mark(&self.bytes, separator, record_end, &mut self.words);
        }
        self.is_marked
    }

    /// Iterates over the bits from an offset on.
    #[inline]
    fn bits(&self, at: usize) -> Bits<'_> {
        Bits::from(&self.words, at)
    }

    /// Counts the bits in a span.
    fn count(&self, span: &Range<usize>) -> usize {
        count(&self.words, span)
    }
}

/// Marks blanks after blanks, and blanks that are no spaces: where joining words by single spaces would
/// change the text.
pub(super) fn mark_uneven(bytes: &[u8], words: &mut Vec<u64>) {
    let mut spaces = vec![0; bytes.len().div_ceil(BITS)];
    byte_masks::equal(bytes, b' ', &mut spaces);
    byte_set_masks::mark(bytes, [b' ', b'\t', b'\n', b' '], words);
    // As if a blank came before.
    let mut before = 1;
    for (word, spaces) in words.iter_mut().zip(spaces) {
        let blank = *word;
        *word = blank & (!spaces | blank << 1 | before);
        before = blank >> 63;
    }
}

/// Whether a record, or its rest from a blank on, equals its words joined by spaces.
#[inline]
pub(super) fn is_even(bytes: &[u8], uneven: &[u64], span: &Range<usize>) -> bool {
    // A blank after the end of the previous record is marked.
    let ends_with_word = bytes[..span.end].last().is_some_and(|last| !is_blank(*last));
    ends_with_word && count(uneven, span) == 0
}

/// Finds a field, in the bits of [`mark`].
#[inline]
pub(super) fn field(
    words: &[u64],
    line: &Range<usize>,
    of_words: bool,
    number: usize,
) -> Option<Range<usize>> {
    let mut bits = Bits::from(words, line.start);
    if of_words {
        let mut start = bits.next();
        for _ in 1..number {
            bits.next();
            start = bits.next();
        }
        return (start < line.end).then(|| start..bits.next().min(line.end));
    }
    let mut start = line.start;
    for _ in 1..number {
        start = bits.next().saturating_add(1);
    }
    (start <= line.end && !line.is_empty()).then(|| start..bits.next().min(line.end))
}

/// Counts the bits in a span.
fn count(words: &[u64], span: &Range<usize>) -> usize {
    let (first, last) = (span.start / BITS, span.end / BITS);
    let from = u64::MAX << (span.start % BITS);
    // Nothing of the last word if the span ends with the previous one.
    let to = !(u64::MAX << (span.end % BITS));
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    if first == last {
        return (word(first) & from & to).count_ones() as usize;
    }
    let between = words.get(first + 1..last).unwrap_or_default();
    let ones = |bits: u64| bits.count_ones() as usize;
    ones(word(first) & from) + between.iter().map(|bits| ones(*bits)).sum::<usize>() + ones(word(last) & to)
}

/// Makes the bits of [a block](Block) for records with this end; returns `false` if the separator has none.
pub(super) fn mark(bytes: &[u8], separator: &Separator, record_end: u8, words: &mut Vec<u64>) -> bool {
    match separator {
        Separator::ByteOrNewline(_) | Separator::Nothing { .. } | Separator::Pattern(_) => return false,
        Separator::Byte(byte) => byte_set_masks::mark(bytes, [*byte, *byte, *byte, record_end], words),
        Separator::Blanks => {
            byte_set_masks::mark(bytes, [b' ', b'\t', b'\n', record_end], words);
            // As if a blank came before.
            let mut before = 1;
            for word in words {
                let blank = *word;
                *word = blank ^ (blank << 1 | before);
                before = blank >> 63;
            }
        }
    }
    true
}

/// Calls `call` for each record of a block, until one of them stops it.
pub(super) fn each_record<E>(
    block: &[u8],
    end: u8,
    words: &mut Vec<u64>,
    mut record: impl FnMut(Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    words.resize(block.len().div_ceil(BITS), 0);
    byte_masks::equal(block, end, words);
    let mut ends = Bits { words, word: 0, bits: words.first().copied().unwrap_or(0) };
    let mut start = 0;
    loop {
        let end = ends.next();
        if end >= block.len() {
            break;
        }
        record(start..end)?;
        start = end + 1;
    }
    if start < block.len() { record(start..block.len()) } else { Ok(()) }
}

/// Appends the chosen lines of a block, each with its end, which the last one may lack. Adjacent lines are
/// copied together.
pub(super) fn copy_lines(
    block: &[u8],
    ends: &mut Vec<u64>,
    out: &mut Vec<u8>,
    mut is_chosen: impl FnMut(&Range<usize>) -> bool,
) {
    let mut chosen = 0..0;
    let done: Result<(), ()> = each_record(block, b'\n', ends, |line| {
        if is_chosen(&line) {
            if chosen.end != line.start {
                out.extend_from_slice(&block[chosen.clone()]);
                chosen.start = line.start;
            }
            chosen.end = line.end + 1;
        }
        Ok(())
    });
    debug_assert!(done.is_ok());
    let lacks_end = chosen.end > block.len();
    out.extend_from_slice(&block[chosen.start..chosen.end.min(block.len())]);
    if lacks_end {
        out.push(b'\n');
    }
}

/// Iterates over bits.
pub(super) struct Bits<'a> {
    words: &'a [u64],
    word: usize,
    bits: u64,
}

impl<'a> Bits<'a> {
    /// Starts at an offset.
    #[inline]
    pub(super) fn from(words: &'a [u64], at: usize) -> Self {
        let word = at / BITS;
        let bits = words.get(word).map_or(0, |bits| bits & (u64::MAX << (at % BITS)));
        Bits { words, word, bits }
    }

    /// Skips `many` bits.
    #[inline]
    pub(super) fn skip(&mut self, mut many: usize) {
        loop {
            let here = self.bits.count_ones() as usize;
            if many <= here {
                break;
            }
            many -= here;
            self.word += 1;
            match self.words.get(self.word) {
                Some(bits) => self.bits = *bits,
                None => return self.bits = 0,
            }
        }
        for _ in 0..many {
            self.bits &= self.bits - 1;
        }
    }

    /// Returns the offset of the next bit; after the end if there is none.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.bits == 0 {
            self.word += 1;
            match self.words.get(self.word) {
                Some(bits) => self.bits = *bits,
                None => return usize::MAX,
            }
        }
        let at = self.word * BITS + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        at
    }
}

/// A field: its span in the text, or the index of an assigned value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Piece {
    /// Makes a field with the value of this index.
    pub(super) fn own(number: usize) -> Piece {
        Piece { start: usize::MAX, end: number }
    }

    #[inline]
    pub(super) fn is_own(self) -> bool {
        self.start == usize::MAX
    }
}

/// The fields found so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    pub(super) found: Vec<Piece>,
    /// The offset where the search continues.
    pub(super) at: usize,
    pub(super) complete: bool,
}

/// Up to this many fields are searched one by one.
const FEW: usize = 4;

impl Pieces {
    /// Starts with a record at this offset.
    #[inline]
    pub(super) fn start_over(&mut self, at: usize) {
        self.found.clear();
        self.at = at;
        self.complete = false;
    }

    /// Finds fields of a record in a block until there are `wanted`, or no more.
    pub(super) fn find_in_block(
        &mut self,
        block: &mut Block,
        span: &Range<usize>,
        separator: &mut Separator,
        record_end: u8,
        wanted: usize,
    ) {
        if span.is_empty() {
            self.complete = true;
            return;
        }
        if !block.mark(separator, record_end) {
            return self.find(&block.bytes[..span.end], separator, wanted);
        }
        let words = matches!(separator, Separator::Blanks);
        // After counting, they are listed without checks of number and capacity.
        if wanted - self.found.len() > FEW {
            return self.list(block, span, words, wanted - self.found.len());
        }
        let (mut bits, mut at) = (block.bits(self.at), self.at);
        if words {
            for _ in self.found.len()..wanted {
                let start = bits.next();
                if start >= span.end {
                    self.complete = true;
                    break;
                }
                let end = bits.next().min(span.end);
                self.found.push(Piece { start, end });
                at = end + 1;
            }
        } else {
            for _ in self.found.len()..wanted {
                let end = bits.next();
                if end >= span.end {
                    self.found.push(Piece { start: at, end: span.end });
                    self.complete = true;
                    break;
                }
                self.found.push(Piece { start: at, end });
                at = end + 1;
            }
        }
        self.at = at;
    }

    /// Lists the next fields, at most `most`.
    fn list(&mut self, block: &Block, span: &Range<usize>, words: bool, most: usize) {
        if self.at > span.end {
            self.complete = true;
            return;
        }
        let (count, mut bits) = (block.count(&(self.at..span.end)), block.bits(self.at));
        let left = if words { count.div_ceil(2) } else { count + 1 };
        let taken = left.min(most);
        if words {
            self.found.extend((0..taken).map(|_| {
                let start = bits.next();
                Piece { start, end: bits.next().min(span.end) }
            }));
        } else {
            let mut at = self.at;
            self.found.extend((0..taken).map(|_| {
                let (start, end) = (at, bits.next().min(span.end));
                at = end + 1;
                Piece { start, end }
            }));
        }
        self.complete = taken == left;
        self.at = self.found.last().map_or(self.at, |piece| piece.end + 1);
    }

    /// Finds fields in any text, up to its end.
    pub(super) fn find(&mut self, text: &[u8], separator: &mut Separator, wanted: usize) {
        if self.at == 0 && text.is_empty() {
            self.complete = true;
        }
        while self.found.len() < wanted && !self.complete {
            let start = self.at;
            let (piece, behind) = match separator {
                Separator::Blanks => match next_word(text, start) {
                    Some(word) => (word.start..word.end, Some(word.end)),
                    None => {
                        self.complete = true;
                        return;
                    }
                },
                Separator::Byte(byte) => {
                    let end = memchr::memchr(*byte, &text[start..]).map(|length| start + length);
                    (start..end.unwrap_or(text.len()), end.map(|end| end + 1))
                }
                Separator::ByteOrNewline(byte) => {
                    let end = memchr::memchr2(*byte, b'\n', &text[start..]).map(|length| start + length);
                    (start..end.unwrap_or(text.len()), end.map(|end| end + 1))
                }
                Separator::Nothing { .. } => (start..text.len(), None),
                Separator::Pattern(pattern) => {
                    let found = pattern.find(text, start..text.len());
                    (start..found.map_or(text.len(), |(from, _)| from), found.map(|(_, to)| to))
                }
            };
            self.found.push(Piece { start: piece.start, end: piece.end });
            self.complete = behind.is_none();
            self.at = behind.unwrap_or(text.len());
        }
    }
}

/// Returns how many fields a record in a block has, if known without finding them.
pub(super) fn count_in_block(
    block: &mut Block,
    span: &Range<usize>,
    separator: &Separator,
    record_end: u8,
) -> Option<usize> {
    if span.is_empty() {
        return Some(0);
    }
    block.mark(separator, record_end).then(|| {
        let bits = block.count(span);
        if matches!(separator, Separator::Blanks) { bits.div_ceil(2) } else { bits + 1 }
    })
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// Returns the next run of nonblanks.
#[inline]
fn next_word(text: &[u8], from: usize) -> Option<Range<usize>> {
    let start = from + text[from..].iter().position(|byte| !is_blank(*byte))?;
    let length = text[start..].iter().position(|byte| is_blank(*byte));
    Some(start..length.map_or(text.len(), |length| start + length))
}

/// Calls `piece` for each character. A byte that belongs to none is one.
fn each_character<'a>(text: &'a [u8], mut piece: impl FnMut(&'a [u8])) {
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            piece(&text[at..at + character.len_utf8()]);
            at += character.len_utf8();
        }
        chunk.invalid().iter().for_each(|_| {
            piece(&text[at..=at]);
            at += 1;
        });
    }
}

/// Calls `piece` for the pieces of a text, for `split`.
pub(super) fn split<'a>(text: &'a [u8], separator: &mut Separator, mut piece: impl FnMut(&'a [u8])) {
    if text.is_empty() {
        return;
    }
    let mut at = 0;
    match separator {
        Separator::Blanks => {
            while let Some(word) = next_word(text, at) {
                at = word.end;
                piece(&text[word]);
            }
        }
        Separator::Byte(byte) => text.split(|found| found == byte).for_each(piece),
        Separator::ByteOrNewline(byte) => {
            text.split(|found| found == byte || *found == b'\n').for_each(piece);
        }
        Separator::Nothing { utf8: false } => text.chunks(1).for_each(piece),
        Separator::Nothing { utf8: true } => each_character(text, piece),
        Separator::Pattern(pattern) => {
            while let Some((from, to)) = pattern.find(text, at..text.len()) {
                piece(&text[at..from]);
                at = to;
            }
            piece(&text[at..]);
        }
    }
}
