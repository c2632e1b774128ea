//! Finds bytes, 64 at a time: one bit per byte, so that bytes between two hits cost nothing.
//!
//! Calling memchr for every field or line costs more than the search when hits are a few bytes apart. Here a
//! block is converted to bit masks, and the caller iterates over the bits.

use pelton_simd::byte_masks::{self, STEP};

/// Bytes converted to masks at once: they and their masks stay in the L1 cache.
const PIECE: usize = 4096;

/// Calls `visit(start, masks)` for each 64 bytes of `block`: bit i of `masks[n]` is set if byte `start + i`
/// is `needles[n]`.
#[inline(always)]
pub(crate) fn masks<const N: usize>(block: &[u8], needles: [u8; N], mut visit: impl FnMut(usize, [u64; N])) {
    let mut words = [[0; PIECE / STEP]; N];
    for (index, piece) in block.chunks(PIECE).enumerate() {
        let steps = piece.len().div_ceil(STEP);
        for (words, needle) in words.iter_mut().zip(needles) {
            byte_masks::equal(piece, needle, &mut words[..steps]);
        }
        for (step, start) in (index * PIECE..).step_by(STEP).take(steps).enumerate() {
            visit(start, std::array::from_fn(|needle| words[needle][step]));
        }
    }
}

/// Calls `visit` with the offset of each `needle`, in order.
#[inline(always)]
pub(crate) fn each(block: &[u8], needle: u8, mut visit: impl FnMut(usize)) {
    masks(block, [needle], |start, [mut hits]| {
        while hits != 0 {
            visit(start + hits.trailing_zeros() as usize);
            hits &= hits - 1;
        }
    });
}

/// Counts the occurrences of `byte`.
#[inline]
pub(crate) fn count(block: &[u8], byte: u8) -> usize {
    memchr::memchr_iter(byte, block).count()
}

/// Up to so many are searched one after another: counting looks at much more than is needed.
const FEW: u64 = 32;

/// Returns the end of the `n`th (from 1) `byte`, or as an error how many there are.
pub(crate) fn end_of_nth(block: &[u8], byte: u8, n: u64) -> Result<usize, u64> {
    if n <= FEW {
        let last = memchr::memchr_iter(byte, block).nth(n as usize - 1);
        return last.map(|at| at + 1).ok_or_else(|| count(block, byte) as u64);
    }
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
    fn masks_and_places_agree_with_looking_at_each_byte() {
        let block: Vec<u8> = (0..10_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8).collect();
        for length in [0, 1, 64, 4095, 4096, 4097, 10_000] {
            let block = &block[..length];
            let places = |byte: u8| (0..length).filter(|at| block[*at] == byte).collect::<Vec<usize>>();
            let mut found = Vec::new();
            each(block, 3, |at| found.push(at));
            assert_eq!(found, places(3), "{length}");
            let mut found = [Vec::new(), Vec::new()];
            masks(block, [5, 9], |start, masks| {
                for (found, mask) in found.iter_mut().zip(masks) {
                    found.extend((0..STEP).filter(|bit| mask >> bit & 1 == 1).map(|bit| start + bit));
                }
            });
            assert_eq!(found, [places(5), places(9)], "{length}");
        }
    }

    #[test]
    fn the_nth_is_found_or_all_are_counted() {
        let block = b"a\nb\n\nc".repeat(3000);
        assert_eq!(end_of_nth(&block, b'\n', 3), Ok(5));
        assert_eq!(end_of_nth(&block[..9], b'\n', 32), Err(4));
        for n in [1, 31, 32, 33, 34] {
            let places = memchr::memchr_iter(b'\n', &block).nth(n - 1);
            assert_eq!(end_of_nth(&block, b'\n', n as u64).ok(), places.map(|at| at + 1), "{n}");
        }
        assert_eq!(end_of_nth(&block, b'\n', 9000), Ok(block.len() - 1));
        assert_eq!(end_of_nth(&block, b'\n', 9001), Err(9000));
    }
}
