//! Bytes as the sorting engine sees them: eight at a time, and split into lines.
//!
//! Comparing two lines costs a cache miss each; comparing the eight bytes in an index entry costs nothing.
//! This module fills those eight bytes cheaply.

/// Bytes in a window.
pub(crate) const WINDOW_BYTES: usize = 8;

/// Returns the first eight of the `len` bytes at `at`, as a big-endian number, padded with zeros: numbers
/// then order as the bytes do. The bytes of `arena` after `len` do not matter; their existence makes this
/// fast.
#[inline]
pub(crate) fn window(arena: &[u8], at: usize, len: usize) -> u64 {
    match arena.get(at..at + WINDOW_BYTES).and_then(|bytes| <[u8; WINDOW_BYTES]>::try_from(bytes).ok()) {
        Some(bytes) => u64::from_be_bytes(bytes) & keep(len),
        None => window_at_the_end(arena, at, len),
    }
}

/// Returns a mask for the first `len` bytes of a window.
#[inline]
fn keep(len: usize) -> u64 {
    if len >= WINDOW_BYTES { u64::MAX } else { !(u64::MAX >> (8 * len)) }
}

#[cold]
fn window_at_the_end(arena: &[u8], at: usize, len: usize) -> u64 {
    let mut bytes = [0; WINDOW_BYTES];
    let shown = len.min(WINDOW_BYTES);
    if let Some(there) = arena.get(at..at + shown) {
        bytes[..shown].copy_from_slice(there);
    }
    u64::from_be_bytes(bytes)
}

/// Returns the length of the common prefix.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let shared = a.len().min(b.len());
    let mut at = 0;
    while at + WINDOW_BYTES <= shared {
        let differing = window(a, at, WINDOW_BYTES) ^ window(b, at, WINDOW_BYTES);
        if differing != 0 {
            return at + differing.leading_zeros() as usize / 8;
        }
        at += WINDOW_BYTES;
    }
    at + a[at..shared].iter().zip(&b[at..shared]).take_while(|(a, b)| a == b).count()
}

/// Below this mean length, finding line ends a word at a time is faster than a call of memchr per line.
const SHORT_LINE_BYTES: usize = 24;

/// Calls `line(start, end)` for each line of `text`, without terminators. `text` must end with a terminator.
/// `mean` is an estimate of the line length; it only selects the method.
#[inline]
pub(crate) fn each_line(text: &[u8], terminator: u8, mean: usize, mut line: impl FnMut(usize, usize)) {
    let mut start = 0;
    if mean > SHORT_LINE_BYTES {
        for end in memchr::memchr_iter(terminator, text) {
            line(start, end);
            start = end + 1;
        }
        return;
    }
    each_terminator(text, terminator, |end| {
        line(start, end);
        start = end + 1;
    });
}

#[inline]
fn each_terminator(text: &[u8], terminator: u8, mut found: impl FnMut(usize)) {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let wanted = u64::from_ne_bytes([terminator; WINDOW_BYTES]);
    let (words, rest) = text.as_chunks::<WINDOW_BYTES>();
    for (index, word) in words.iter().enumerate() {
        let differing = u64::from_le_bytes(*word) ^ wanted;
        // The top bit of each byte without a difference; no carry crosses a byte, so the result is exact.
        let mut hits = !(((differing & LOW) + LOW) | differing | LOW);
        while hits != 0 {
            found(index * WINDOW_BYTES + hits.trailing_zeros() as usize / 8);
            hits &= hits - 1;
        }
    }
    let done = text.len() - rest.len();
    rest.iter().enumerate().filter(|(_, byte)| **byte == terminator).for_each(|(at, _)| found(done + at));
}

/// Tracks the mean length of lines over blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineLength {
    bytes: usize,
    lines: usize,
}

impl LineLength {
    pub(crate) fn new() -> Self {
        LineLength { bytes: 0, lines: 0 }
    }

    /// Returns the mean so far; at first an estimate from the start of `text`.
    pub(crate) fn mean(&mut self, text: &[u8], terminator: u8) -> usize {
        if self.lines == 0 {
            let sample = &text[..text.len().min(4096)];
            self.saw(sample.len(), memchr::memchr_iter(terminator, sample).count());
        }
        self.bytes / self.lines.max(1)
    }

    pub(crate) fn saw(&mut self, bytes: usize, lines: usize) {
        self.bytes += bytes;
        self.lines += lines;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_order_as_bytes_do() {
        let arena = b"abcdefghijkl";
        assert_eq!(window(arena, 0, 12), u64::from_be_bytes(*b"abcdefgh"));
        assert_eq!(window(arena, 0, 3), u64::from_be_bytes(*b"abc\0\0\0\0\0"));
        assert_eq!(window(arena, 8, 4), u64::from_be_bytes(*b"ijkl\0\0\0\0"));
        assert_eq!(window(arena, 12, 0), 0);
        assert_eq!(window(arena, 2, 0), 0);
    }

    #[test]
    fn both_ways_of_cutting_lines_agree() {
        let texts: [&[u8]; 4] =
            [b"\n", b"a\n\nbb\n", b"0123456\n89\x8a\x0b\n", b"longer than eight bytes\n\n\n"];
        for text in texts {
            let cut = |mean| {
                let mut lines = Vec::new();
                each_line(text, b'\n', mean, |start, end| lines.push((start, end)));
                lines
            };
            assert_eq!(cut(0), cut(1000));
        }
    }

    #[test]
    fn common_prefixes() {
        assert_eq!(common_prefix(b"", b"a"), 0);
        assert_eq!(common_prefix(b"0123456789abc", b"0123456789abd"), 12);
        assert_eq!(common_prefix(b"01234567", b"0123456789abd"), 8);
        assert_eq!(common_prefix(b"0123x567", b"01234567"), 4);
    }
}
