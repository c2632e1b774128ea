//! How the C library reads what it decodes: 4 KiB at a time, into a buffer that keeps an incomplete
//! character.
//!
//! An input that ends inside a character ends silently, unless the buffer holds only those bytes: then it is
//! an error. So the result depends on where the reads end. The model assumes that a pipe is full at each
//! read.

/// Size of the buffer.
const BUFFER: u64 = 4096;

/// Models the buffer through one input.
pub(super) struct Fills {
    /// The input offset of the buffer's start.
    start: u64,
    /// The input offset of the last read: bytes before it were kept, incomplete.
    read: u64,
    /// Bytes of the input so far.
    offset: u64,
}

impl Fills {
    pub(super) fn new() -> Self {
        Fills { start: 0, read: 0, offset: 0 }
    }

    /// Processes the next block, which ends with a line or with the input.
    pub(super) fn pass(&mut self, block: &[u8]) {
        let end = self.offset + block.len() as u64;
        while self.start + BUFFER < end {
            let read = self.start + BUFFER;
            // No character spans two blocks.
            let at = (read - self.offset.min(read)) as usize;
            let kept = block[..=at].iter().rev().take_while(|byte| matches!(byte, 0x80..0xc0)).count();
            (self.start, self.read) = (read - kept.min(at) as u64, read);
        }
        self.offset = end;
    }

    /// Whether the last `bytes` bytes are all that the buffer holds: the kept ones and at least one of its
    /// last read.
    pub(super) fn ends_with_one_of(&self, bytes: usize) -> bool {
        self.start + bytes as u64 == self.offset && self.read < self.offset
    }
}

/// Whether the bytes are a truncated character.
pub(super) fn is_cut_off(bytes: &[u8]) -> bool {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        0xf8..=0xfb => 5,
        0xfc | 0xfd => 6,
        _ => return false,
    };
    bytes.len() < length && bytes[1..].iter().all(|byte| matches!(byte, 0x80..0xc0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether truncated bytes after `text` are alone in the buffer.
    fn come_alone(text: &[u8], tail: &[u8]) -> bool {
        let mut fills = Fills::new();
        fills.pass(&[text, tail].concat());
        fills.ends_with_one_of(tail.len())
    }

    #[test]
    fn what_breaks_off_comes_alone_at_the_start_of_a_read() {
        assert!(come_alone(b"", b"\xc3"));
        assert!(!come_alone(b"a", b"\xc3"));
        assert!(come_alone(&[b'a'; 4096], b"\xc3"));
        assert!(!come_alone(&[b'a'; 4095], b"\xc3"));
        // One byte was kept from the previous read.
        assert!(come_alone(&[b'a'; 4095], b"\xe2\x82"));
        assert!(come_alone(&[b'a'; 4096 + 4095], b"\xe2\x82"));
        let kept = ["a".repeat(4095), "é".to_owned(), "a".repeat(4094)].concat();
        assert!(come_alone(kept.as_bytes(), b"\xc3"));
    }

    #[test]
    fn only_a_character_that_may_go_on_is_cut_off() {
        for bytes in [&b"\xc3"[..], b"\xe2\x82", b"\xed\xa0", b"\xfc\x84\x80"] {
            assert!(is_cut_off(bytes), "{bytes:?}");
        }
        for bytes in [&b"\xff"[..], b"\x80", b"\xc1", b"\xe2a"] {
            assert!(!is_cut_off(bytes), "{bytes:?}");
        }
    }
}
