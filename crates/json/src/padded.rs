//! Copying short texts fast: with a few bytes too many on either side, whole vectors can be copied without asking how long
//! a text is. A call of `memcpy` for each of three texts a line took half of the time of printing.

use std::ops::Deref;

/// How many bytes may be read behind a padded text, and written behind its copy.
pub(crate) const PADDING: usize = 32;

/// A part of a text, with at least [`PADDING`] bytes behind it that may be read.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    padded: &'a [u8],
    length: usize,
}

impl<'a> Raw<'a> {
    /// The bytes from `start` to `end`.
    ///
    /// # Panics
    /// If the padding is not there.
    #[inline(always)]
    pub(crate) fn of(text: &'a [u8], start: usize, end: usize) -> Self {
        Raw { padded: &text[start..end + PADDING], length: end - start }
    }

    /// The part, and the padding behind it.
    #[inline(always)]
    pub(crate) fn padded(&self) -> &'a [u8] {
        self.padded
    }

    /// The part itself.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        &self.padded[..self.length]
    }
}

impl Deref for Raw<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}

/// Bytes that grow at the end and are cut there, padded.
#[derive(Debug, Default)]
pub struct Text {
    bytes: Vec<u8>,
    length: usize,
}

impl Text {
    /// How many bytes it has.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The last byte.
    #[inline(always)]
    pub fn last_mut(&mut self) -> Option<&mut u8> {
        self.bytes[..self.length].last_mut()
    }

    /// Cuts it to `length`, or leaves it as short as it is.
    #[inline(always)]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for `more` bytes and padding.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        if self.bytes.len() < self.length + more + PADDING {
            self.grow(more);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.bytes.resize((self.length + more + PADDING).next_power_of_two().max(4096), 0);
    }

    /// Appends one byte.
    #[inline(always)]
    pub fn push(&mut self, byte: u8) {
        self.reserve(1);
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// Appends.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends what has a length that the compiler knows.
    #[inline(always)]
    pub fn extend_array<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.reserve(N);
        self.bytes[self.length..][..N].copy_from_slice(bytes);
        self.length += N;
    }

    /// Appends a part of a text.
    #[inline(always)]
    pub fn extend_raw(&mut self, raw: Raw<'_>) {
        self.reserve(raw.length);
        copy(raw.padded, raw.length, &mut self.bytes[self.length..]);
        self.length += raw.length;
    }

    /// Appends another.
    #[inline(always)]
    pub fn extend_text(&mut self, text: &Text) {
        self.reserve(text.length);
        copy(&text.bytes, text.length, &mut self.bytes[self.length..]);
        self.length += text.length;
    }
}

/// Copies at least `length` bytes, up to [`PADDING`] more.
#[inline(always)]
fn copy(from: &[u8], length: usize, to: &mut [u8]) {
    let (from, _) = from.as_chunks::<PADDING>();
    let (to, _) = to.as_chunks_mut::<PADDING>();
    let count = length.div_ceil(PADDING);
    for (from, to) in from[..count].iter().zip(&mut to[..count]) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths_are_copied_whole() {
        let source: Vec<u8> = (0..500u32).map(|n| (n * 7) as u8).collect();
        let mut text = Text::default();
        let mut expected = Vec::new();
        for length in 0..200 {
            text.extend_raw(Raw::of(&source, length, 2 * length));
            expected.extend_from_slice(&source[length..2 * length]);
            text.push(b'|');
            expected.push(b'|');
            assert_eq!(text.bytes(), expected);
        }
        let mut copy = Text::default();
        copy.extend(b"ab");
        copy.extend_text(&text);
        copy.extend_array(b"yz");
        assert_eq!(copy.bytes(), [b"ab", expected.as_slice(), b"yz"].concat());
        copy.truncate(1);
        assert_eq!((copy.bytes(), copy.len()), (&b"a"[..], 1));
        assert_eq!(copy.last_mut(), Some(&mut b'a'));
    }
}
