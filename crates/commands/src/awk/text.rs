//! Byte strings, most of them short: stored inline, and appended and compared without a call. Strings that grow, and very long
//! ones, keep the buffer in which they were made.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::char_index;

/// A byte string; short ones are stored inline.
#[derive(Clone)]
pub(super) enum Text {
    Short {
        length: u8,
        bytes: [u8; SHORT],
    },
    Long(Arc<[u8]>),
    /// Grew by [`append`](Self::append), or was too long to be copied out of its buffer.
    Grown(Arc<Vec<u8>>),
}

const SHORT: usize = 22;
/// From this length on, a string keeps the buffer in which it was made.
const KEPT: usize = 64 << 10;

impl Text {
    pub(super) const EMPTY: Text = Text::Short { length: 0, bytes: [0; SHORT] };

    #[inline]
    pub(super) fn new(text: &[u8]) -> Text {
        if text.len() > SHORT {
            let long = Arc::from(text);
            char_index::is_new(&long);
            return Text::Long(long);
        }
        let mut bytes = [0; SHORT];
        fill(&mut bytes, text);
        Text::Short { length: text.len() as u8, bytes }
    }

    /// Replaces its content. A few bytes are written in place: making a text and moving it would read as a
    /// whole what was just written in pieces, which stalls the processor.
    #[inline]
    pub(super) fn be(&mut self, text: &[u8]) {
        match self {
            Text::Short { length, bytes } if text.len() <= SHORT => {
                fill(bytes, text);
                *length = text.len() as u8;
            }
            other => *other = Text::new(text),
        }
    }

    /// Takes the content of a buffer; if a copy would be long, the buffer itself, for that of the old content if possible.
    pub(super) fn take(&mut self, buffer: &mut Vec<u8>) {
        if buffer.len() < KEPT {
            return self.be(buffer);
        }
        if let Text::Grown(text) = self
            && let Some(own) = Arc::get_mut(text)
        {
            std::mem::swap(own, buffer);
            return char_index::is_new(own);
        }
        char_index::is_new(buffer);
        *self = Text::Grown(Arc::new(std::mem::take(buffer)));
    }

    /// Appends to it: in place, unless it is shared, so that a string made of many pieces takes linear time.
    pub(super) fn append(&mut self, more: &[u8]) {
        if let Text::Grown(text) = self
            && let Some(own) = Arc::get_mut(text)
        {
            append_long(more, own);
            return char_index::is_new(own);
        }
        let length = self.bytes().len() + more.len();
        if let Text::Short { length: before, bytes } = self
            && length <= SHORT
        {
            bytes[usize::from(*before)..length].copy_from_slice(more);
            *before = length as u8;
            return;
        }
        let mut grown = Vec::with_capacity(2 * length);
        self.write(&mut grown);
        append_long(more, &mut grown);
        char_index::is_new(&grown);
        *self = Text::Grown(Arc::new(grown));
    }

    /// Appends it.
    #[inline]
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Text::Short { length, bytes } => append_padded(bytes, usize::from(*length), out),
            Text::Long(bytes) => append_long(bytes, out),
            Text::Grown(bytes) => append_long(bytes, out),
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Text::Short { length, bytes } => &bytes[..usize::from(*length)],
            Text::Long(bytes) => bytes,
            Text::Grown(bytes) => bytes,
        }
    }
}

/// Copies in pieces of fixed sizes, which may overlap: no call for a few bytes.
#[inline]
fn fill(bytes: &mut [u8; SHORT], text: &[u8]) {
    let length = text.len();
    if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        bytes[..16].copy_from_slice(first);
        bytes[length - 16..][..16].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        bytes[..8].copy_from_slice(first);
        bytes[length - 8..][..8].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        bytes[..4].copy_from_slice(first);
        bytes[length - 4..][..4].copy_from_slice(last);
    } else {
        bytes[..4].copy_from_slice(&few(text).to_le_bytes());
    }
}

/// Returns less than four bytes as a word.
#[inline(always)]
fn few(text: &[u8]) -> u32 {
    match *text {
        [] => 0,
        [first] => u32::from(first),
        [first, last] => u32::from_le_bytes([first, last, 0, 0]),
        [first, middle, last, ..] => u32::from_le_bytes([first, middle, last, 0]),
    }
}

/// Appends a string, usually a short one: no call for a few bytes.
#[inline]
pub(super) fn append(text: &[u8], out: &mut Vec<u8>) {
    let length = text.len();
    if length > 16 {
        return append_long(text, out);
    }
    // Combined into a word from two pieces of fixed size, which may overlap; the surplus bytes are truncated.
    let word = if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        let last = u128::from(u64::from_le_bytes(*last));
        u128::from(u64::from_le_bytes(*first)) | last << (8 * (length - 8))
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last));
        u128::from(u64::from(u32::from_le_bytes(*first)) | last << (8 * (length - 4)))
    } else {
        u128::from(few(text))
    };
    append_padded(&word.to_le_bytes(), length, out);
}

/// Appends a string of any length. Long ones in pieces: from about 2 KiB on, the C library moves bytes by `rep movsb`, which
/// takes ten times as long on some processors if the target lies a few bytes further in its page than the source, as in
/// `s = "," s` (AMD EPYC, glibc 2.36: 200,000 times 100 kB in 6.3 s, in pieces 0.6 s).
#[inline]
pub(super) fn append_long(text: &[u8], out: &mut Vec<u8>) {
    const PIECE: usize = 1024;
    if text.len() <= 2 * PIECE {
        return out.extend_from_slice(text);
    }
    out.reserve(text.len());
    text.chunks(PIECE).for_each(|piece| out.extend_from_slice(piece));
}

/// Appends a part of a text, usually a short one: together with the bytes after it that is one move.
#[inline]
pub(super) fn append_part(text: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    match text[part.start..].first_chunk::<16>() {
        Some(padded) if part.len() <= 16 => append_padded(padded, part.len(), out),
        _ => append(&text[part], out),
    }
}

/// Appends the first `length` bytes: one move of a fixed size.
#[inline]
fn append_padded<const N: usize>(bytes: &[u8; N], length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    out.extend_from_slice(bytes);
    out.truncate(end);
}

/// Whether two strings are equal, usually short ones: no call for a few bytes.
#[inline]
pub(super) fn same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let eight = |text: &[u8]| Some((*text.first_chunk::<8>()?, *text.last_chunk::<8>()?));
    let four = |text: &[u8]| Some((*text.first_chunk::<4>()?, *text.last_chunk::<4>()?));
    match left.len() {
        0..4 => few(left) == few(right),
        4..8 => four(left) == four(right),
        8..=16 => eight(left) == eight(right),
        _ => left == right,
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_grow_whether_they_are_shared_or_not() {
        let pieces = [&b"a"[..], b"", b"bcdefghijklmnopqrstu", b"v", b"wxyz", &[b'!'; 100]];
        for first in pieces {
            let (mut text, mut whole) = (Text::new(first), first.to_vec());
            for _ in 0..3 {
                for piece in pieces {
                    let (shared, before) = (text.clone(), whole.clone());
                    text.append(piece);
                    whole.extend_from_slice(piece);
                    assert_eq!((text.bytes(), shared.bytes()), (&whole[..], &before[..]));
                    drop(shared);
                    text.append(piece);
                    whole.extend_from_slice(piece);
                    assert_eq!(text.bytes(), whole);
                }
            }
        }
        let (mut text, mut buffer) = (Text::EMPTY, vec![b'x'; KEPT]);
        text.take(&mut buffer);
        assert_eq!((text.bytes().len(), buffer.len()), (KEPT, 0));
    }

    #[test]
    fn short_strings_are_compared_and_appended_as_long_ones() {
        let text = b"abcdefghijklmnopqrstuvwxyz";
        for length in 0..text.len() {
            assert!(same(&text[..length], &text[..length]));
            assert!(!same(&text[..length], &text[..length + 1]));
            let mut out = b"before".to_vec();
            append(&text[..length], &mut out);
            append_part(text, length / 3..length, &mut out);
            assert_eq!(out, [b"before", &text[..length], &text[length / 3..length]].concat());
            for at in 0..length {
                let mut other = text[..length].to_vec();
                other[at] = b'!';
                assert!(!same(&text[..length], &other));
            }
        }
    }
}
