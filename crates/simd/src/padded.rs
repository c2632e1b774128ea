//! Copies short texts fast: with a few surplus bytes after source and target, whole vectors can be copied
//! whatever the text's length. A `memcpy` call for each of three texts per line took half of the printing
//! time; with slice checks as well, two thirds of the instructions of a flattened value.

use std::ops::Deref;

/// How many bytes may be read after a padded text, and written after its copy.
pub const PADDING: usize = 32;

/// A part of a text, followed by [`PADDING`] bytes that may be read.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// Always with the padding.
    padded: &'a [u8],
}

impl<'a> Raw<'a> {
    /// Returns the bytes from `start` to `end`.
    ///
    /// # Panics
    /// If the padding is missing.
    #[inline(always)]
    pub fn of(text: &'a [u8], start: usize, end: usize) -> Self {
        assert!(start <= end);
        Raw { padded: &text[start..end + PADDING] }
    }

    /// Returns the part and its padding.
    #[inline(always)]
    pub fn padded(&self) -> &'a [u8] {
        self.padded
    }

    /// Returns the part.
    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        &self.padded[..self.padded.len() - PADDING]
    }
}

impl Deref for Raw<'_> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        self.bytes()
    }
}

/// A padded byte string that grows and is cut at its end.
#[derive(Debug)]
pub struct Text {
    /// Always at least [`PADDING`] longer than `length`.
    bytes: Vec<u8>,
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Text { bytes: vec![0; PADDING], length: 0 }
    }
}

impl Text {
    /// Returns its length in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the last byte.
    #[inline(always)]
    pub fn last_mut(&mut self) -> Option<&mut u8> {
        self.bytes[..self.length].last_mut()
    }

    /// Truncates to `length`, if longer.
    #[inline(always)]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for `more` bytes and padding.
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        if self.bytes.len() - self.length < more + PADDING {
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
        self.put(([byte],));
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends parts in order.
    #[inline(always)]
    pub fn put(&mut self, parts: impl Parts) {
        let more = parts.count();
        self.reserve(more);
        let end = self.bytes[self.length..].as_mut_ptr();
        // SAFETY: there is room for all of them, and for the padding behind each.
        unsafe { parts.write(end) };
        self.length += more;
    }
}

/// Parts that can be appended at once.
///
/// # Safety
/// `write` writes only its `count` bytes and up to [`PADDING`] after them.
pub unsafe trait Parts {
    /// Returns the number of bytes. No part is longer than a slice can be.
    fn count(&self) -> usize;
    /// Writes them.
    ///
    /// # Safety
    /// `count` bytes and [`PADDING`] more may be written there.
    unsafe fn write(&self, to: *mut u8);
}

// SAFETY: writes exactly its bytes.
unsafe impl<const N: usize> Parts for [u8; N] {
    #[inline(always)]
    fn count(&self) -> usize {
        N
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: the caller has room for them; the memory does not overlap.
        unsafe { to.copy_from_nonoverlapping(self.as_ptr(), N) }
    }
}

// SAFETY: writes at most the padding besides.
unsafe impl Parts for Raw<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.padded.len() - PADDING
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: both are padded; the memory does not overlap.
        unsafe { copy(self.padded.as_ptr(), self.padded.len() - PADDING, to) }
    }
}

// SAFETY: writes at most the padding besides.
unsafe impl Parts for &Text {
    #[inline(always)]
    fn count(&self) -> usize {
        self.length
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: both are padded; the target is borrowed exclusively.
        unsafe { copy(self.bytes.as_ptr(), self.length, to) }
    }
}

/// Parts are written in order, so each overwrites the padding of the one before.
macro_rules! several {
    ($($part:ident $name:ident),+) => {
        // SAFETY: each has room for its padding: the parts after it, or the padding of the whole.
        unsafe impl<$($part: Parts),+> Parts for ($($part,)+) {
            #[inline(always)]
            fn count(&self) -> usize {
                let ($($name,)+) = self;
                0 $(+ $name.count())+
            }

            #[inline(always)]
            unsafe fn write(&self, mut to: *mut u8) {
                let ($($name,)+) = self;
                $(
                    // SAFETY: from `to` on there is room for this part and those after it.
                    unsafe { $name.write(to) };
                    // SAFETY: the part ends within the writable range, or at its end.
                    to = unsafe { to.add($name.count()) };
                )+
                let _ = to;
            }
        }
    };
}

several!(A a);
several!(A a, B b);
several!(A a, B b, C c);
several!(A a, B b, C c, D d);

/// Copies at least `length` bytes, up to [`PADDING`] more.
///
/// # Safety
/// Both ranges are valid for that length and do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, length: usize, to: *mut u8) {
    let mut at = 0;
    loop {
        // SAFETY: `at` is 0 or less than `length`.
        let from = unsafe { from.add(at) };
        // SAFETY: the same.
        let to = unsafe { to.add(at) };
        // SAFETY: the padding exists, and the ranges do not overlap.
        unsafe { to.copy_from_nonoverlapping(from, PADDING) };
        at += PADDING;
        if at >= length {
            break;
        }
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
            text.put((Raw::of(&source, length, 2 * length), [b'|']));
            expected.extend_from_slice(&source[length..2 * length]);
            expected.push(b'|');
            assert_eq!(text.bytes(), expected);
        }
        let mut copy = Text::default();
        copy.extend(b"ab");
        copy.put((&text, *b"yz", &Text::default(), Raw::of(&source, 3, 3)));
        assert_eq!(copy.bytes(), [b"ab", expected.as_slice(), b"yz"].concat());
        copy.truncate(1);
        assert_eq!((copy.bytes(), copy.len()), (&b"a"[..], 1));
        assert_eq!(copy.last_mut(), Some(&mut b'a'));
    }

    #[test]
    fn an_empty_text_can_be_copied_to_an_empty_one() {
        let mut text = Text::default();
        text.put((&Text::default(),));
        assert!(text.is_empty());
        text.push(b'a');
        assert_eq!(text.bytes(), b"a");
    }

    #[test]
    #[should_panic]
    fn a_part_without_padding_is_none() {
        let _ = Raw::of(&[0; 40], 0, 9);
    }
}
