//! Copying short texts fast: with a few bytes too many on either side, whole vectors can be copied without asking how long
//! a text is. A call of `memcpy` for each of three texts a line took half of the time of printing; the same with the checks
//! of slices, two thirds of the instructions of a flattened value.

use std::ops::Deref;

/// How many bytes may be read behind a padded text, and written behind its copy.
pub const PADDING: usize = 32;

/// A part of a text, with [`PADDING`] bytes behind it that may be read.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// With the padding, always.
    padded: &'a [u8],
}

impl<'a> Raw<'a> {
    /// The bytes from `start` to `end`.
    ///
    /// # Panics
    /// If the padding is not there.
    #[inline(always)]
    pub fn of(text: &'a [u8], start: usize, end: usize) -> Self {
        assert!(start <= end);
        Raw { padded: &text[start..end + PADDING] }
    }

    /// The part, and the padding behind it.
    #[inline(always)]
    pub fn padded(&self) -> &'a [u8] {
        self.padded
    }

    /// The part itself.
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

/// Bytes that grow at the end and are cut there, padded.
#[derive(Debug)]
pub struct Text {
    /// At least [`PADDING`] more than `length`, always.
    bytes: Vec<u8>,
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Text { bytes: vec![0; PADDING], length: 0 }
    }
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

    /// Appends.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends parts, one behind another.
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

/// What can be appended at once.
///
/// # Safety
/// `write` writes nothing but the `count` bytes that it stands for and [`PADDING`] behind them.
pub unsafe trait Parts {
    /// How many bytes they have. None is longer than a slice can be.
    fn count(&self) -> usize;
    /// Writes them.
    ///
    /// # Safety
    /// So many bytes, and [`PADDING`] more, may be written there.
    unsafe fn write(&self, to: *mut u8);
}

// SAFETY: exactly its bytes are written.
unsafe impl<const N: usize> Parts for [u8; N] {
    #[inline(always)]
    fn count(&self) -> usize {
        N
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: the caller has room for them; it is another's memory.
        unsafe { to.copy_from_nonoverlapping(self.as_ptr(), N) }
    }
}

// SAFETY: at most the padding is written besides.
unsafe impl Parts for Raw<'_> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.padded.len() - PADDING
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: both are padded; it is another's memory.
        unsafe { copy(self.padded.as_ptr(), self.padded.len() - PADDING, to) }
    }
}

// SAFETY: at most the padding is written besides.
unsafe impl Parts for &Text {
    #[inline(always)]
    fn count(&self) -> usize {
        self.length
    }

    #[inline(always)]
    unsafe fn write(&self, to: *mut u8) {
        // SAFETY: both are padded; what is written to is borrowed by itself alone.
        unsafe { copy(self.bytes.as_ptr(), self.length, to) }
    }
}

/// Several are written in order, so that each is written over the padding of the one before.
macro_rules! several {
    ($($part:ident $name:ident),+) => {
        // SAFETY: each has room for its padding, as those behind it and the padding of all have that room.
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
                    // SAFETY: what this part and those behind it need is there from `to` on.
                    unsafe { $name.write(to) };
                    // SAFETY: it ends where so many bytes may be written, or one behind.
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
/// So many may be read and written, and nothing lies in both.
#[inline(always)]
unsafe fn copy(from: *const u8, length: usize, to: *mut u8) {
    let mut at = 0;
    loop {
        // SAFETY: `at` is 0 or less than `length`.
        let from = unsafe { from.add(at) };
        // SAFETY: the same.
        let to = unsafe { to.add(at) };
        // SAFETY: the padding is there, and nothing lies in both.
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
