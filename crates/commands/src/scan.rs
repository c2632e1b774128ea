//! Finding bytes, 64 at a time: one bit per byte, so that what happens between two hits costs nothing.
//!
//! Calling memchr for every field or line costs more than the search when hits are a few bytes apart. Here
//! a block is turned into bit masks, and the caller walks the bits.

/// How many bytes one mask covers.
pub(crate) const STEP: usize = 64;

/// A byte to look for, prepared.
#[derive(Clone, Copy)]
pub(crate) struct Needle(u8);

impl Needle {
    /// For this byte.
    pub(crate) fn new(byte: u8) -> Self {
        Needle(byte)
    }

    /// Bit i tells whether byte i is the needle.
    #[inline(always)]
    pub(crate) fn mask(self, chunk: &[u8; STEP]) -> u64 {
        equal_mask(chunk, self.0)
    }
}

/// Calls `visit(start, chunk, valid)` for each 64 bytes of `block`; the last chunk is padded with zeros, and `valid`
/// has a bit for each byte that is really there.
#[inline(always)]
pub(crate) fn chunks(block: &[u8], mut visit: impl FnMut(usize, &[u8; STEP], u64)) {
    let (whole, rest) = block.as_chunks::<STEP>();
    let mut start = 0;
    for chunk in whole {
        visit(start, chunk, u64::MAX);
        start += STEP;
    }
    if !rest.is_empty() {
        let mut padded = [0; STEP];
        padded[..rest.len()].copy_from_slice(rest);
        visit(start, &padded, (1 << rest.len()) - 1);
    }
}

/// Eight bytes at a time: 0x80 where a byte equals, then gathered into eight bits by a multiplication.
#[inline(always)]
fn equal_mask(chunk: &[u8; STEP], byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let pattern = u64::from(byte) * 0x0101_0101_0101_0101;
    let (words, _) = chunk.as_chunks::<8>();
    words.iter().enumerate().fold(0, |mask, (index, word)| {
        let differs = u64::from_le_bytes(*word) ^ pattern;
        let equal = !(((differs & LOW) + LOW) | differs | LOW);
        let bits = (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask | bits << (index * 8)
    })
}

/// How many times `byte` occurs.
#[inline]
pub(crate) fn count(block: &[u8], byte: u8) -> usize {
    memchr::memchr_iter(byte, block).count()
}

/// Where the `n`th (from 1) `byte` ends, if there are so many; else how many there are.
pub(crate) fn end_of_nth(block: &[u8], byte: u8, n: u64) -> Result<usize, u64> {
    let mut left = n;
    for (index, part) in block.chunks(4096).enumerate() {
        let here = count(part, byte) as u64;
        if here >= left {
            let inside = memchr::memchr_iter(byte, part).nth(left as usize - 1).unwrap_or(0);
            return Ok(index * 4096 + inside + 1);
        }
        left -= here;
    }
    Err(n - left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_agree_with_comparing_each_byte() {
        let mut chunk = [0u8; STEP];
        for seed in 0..500u32 {
            for (index, byte) in chunk.iter_mut().enumerate() {
                *byte = (seed.wrapping_mul(2_654_435_761).rotate_left(index as u32) >> 27) as u8
                    | (seed as u8 & 0x80);
            }
            for needle in [0, 1, 7, 0x80, 0x81, 0xff] {
                let plain = (0..STEP).fold(0, |mask, at| mask | u64::from(chunk[at] == needle) << at);
                assert_eq!(Needle::new(needle).mask(&chunk), plain);
            }
        }
    }

    #[test]
    fn the_nth_is_found_or_all_are_counted() {
        let block = b"a\nb\n\nc".repeat(3000);
        assert_eq!(end_of_nth(&block, b'\n', 3), Ok(5));
        assert_eq!(end_of_nth(&block, b'\n', 9000), Ok(block.len() - 1));
        assert_eq!(end_of_nth(&block, b'\n', 9001), Err(9000));
    }
}
