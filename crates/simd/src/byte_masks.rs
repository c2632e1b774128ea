//! Positions of a byte as bit masks: one word for each 64 bytes.
//!
//! The portable code works on eight bytes at once; ARM compares 16 with one instruction, x86-64 16, 32 or 64.

/// How many bytes one word covers.
pub const STEP: usize = 64;

/// Sets bit i of `words[n]` where byte `64 * n + i` is `byte`, and clears all other bits, including those
/// past the end.
///
/// # Panics
/// If there are not exactly as many words as the bytes need.
pub fn equal(bytes: &[u8], byte: u8, words: &mut [u64]) {
    assert!(words.len() == bytes.len().div_ceil(STEP), "as many words as the bytes need");
    imp::equal(bytes, byte, words);
}

/// How many ranges of bytes [`within`] looks for.
pub const RANGES: usize = 4;

/// Sets bit i of `words[n]` where byte `64 * n + i` lies in one of `ranges` (both ends included), and clears
/// all other bits, including those past the end. To pass fewer ranges, repeat one.
///
/// # Panics
/// If there are not exactly as many words as the bytes need.
pub fn within(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
    assert!(words.len() == bytes.len().div_ceil(STEP), "as many words as the bytes need");
    imp::within(bytes, ranges, words);
}

/// Returns the last bytes, padded to a whole step, and a mask with a bit for each of them.
pub(crate) fn padded(rest: &[u8]) -> ([u8; STEP], u64) {
    let mut chunk = [0; STEP];
    chunk[..rest.len()].copy_from_slice(rest);
    (chunk, (1 << rest.len()) - 1)
}

/// Calls `mask` for each step. Only a loop: iterators not compiled for the instructions of `mask` would call
/// it out of line.
#[inline(always)]
pub(crate) fn fill(bytes: &[u8], words: &mut [u64], mask: impl Fn(&[u8; STEP]) -> u64) {
    let (whole, rest) = bytes.as_chunks::<STEP>();
    for (chunk, word) in whole.iter().zip(&mut *words) {
        *word = mask(chunk);
    }
    if let (false, Some(last)) = (rest.is_empty(), words.last_mut()) {
        let (chunk, valid) = padded(rest);
        *last = mask(&chunk) & valid;
    }
}

/// Eight bytes at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable(bytes: &[u8], byte: u8, words: &mut [u64]) {
    fill(bytes, words, |chunk| {
        let (eights, _) = chunk.as_chunks::<8>();
        let masks = eights.iter().enumerate();
        masks.fold(0, |mask, (index, eight)| mask | equal_in_eight(eight, byte) << (index * 8))
    });
}

/// Returns a bit for each of eight bytes that equals `byte`: 0x80 where one is equal, then a multiplication gathers these.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
#[inline]
pub(crate) fn equal_in_eight(eight: &[u8; 8], byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let differs = u64::from_le_bytes(*eight) ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    let equal = !(((differs & LOW) + LOW) | differs | LOW);
    (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable_within(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
    fill(bytes, words, |chunk| {
        let mut bits = 0;
        for (bit, byte) in chunk.iter().enumerate() {
            let hit = ranges.iter().fold(false, |hit, (low, high)| hit | (low..=high).contains(&byte));
            bits |= u64::from(hit) << bit;
        }
        bits
    });
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    pub(super) use super::portable as equal;
    pub(super) use super::portable_within as within;
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use super::{RANGES, fill};
    use crate::neon::Chunk;

    pub(super) fn equal(bytes: &[u8], byte: u8, words: &mut [u64]) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_equal(bytes, byte, words) }
    }

    pub(super) fn within(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_within(bytes, ranges, words) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_equal(bytes: &[u8], byte: u8, words: &mut [u64]) {
        fill(bytes, words, |chunk| Chunk::load(chunk).equal(byte));
    }

    #[target_feature(enable = "neon")]
    fn by_16_within(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        fill(bytes, words, |chunk| {
            let chunk = Chunk::load(chunk);
            ranges.iter().fold(0, |bits, (low, high)| bits | chunk.within(*low, *high))
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{RANGES, STEP, fill};

    pub(super) fn equal(bytes: &[u8], byte: u8, words: &mut [u64]) {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { by_64(bytes, byte, words) }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { by_32(bytes, byte, words) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16(bytes, byte, words) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn by_64(bytes: &[u8], byte: u8, words: &mut [u64]) {
        let wanted = _mm512_set1_epi8(byte as i8);
        fill(bytes, words, |chunk: &[u8; STEP]| {
            // SAFETY: the chunk has 64 bytes.
            let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
            _mm512_cmpeq_epi8_mask(given, wanted)
        });
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn by_32(bytes: &[u8], byte: u8, words: &mut [u64]) {
        let wanted = _mm256_set1_epi8(byte as i8);
        fill(bytes, words, |chunk: &[u8; STEP]| {
            let (halves, _) = chunk.as_chunks::<32>();
            let bits = |half: &[u8; 32]| {
                // SAFETY: the half has 32 bytes.
                let given = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(given, wanted)) as u32)
            };
            bits(&halves[0]) | bits(&halves[1]) << 32
        });
    }

    pub(super) fn within(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { within_by_64(bytes, ranges, words) }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { within_by_32(bytes, ranges, words) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { within_by_16(bytes, ranges, words) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn within_by_64(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        let lows = ranges.map(|(low, _)| _mm512_set1_epi8(low as i8));
        let spans = ranges.map(|(low, high)| _mm512_set1_epi8(high.wrapping_sub(low) as i8));
        fill(bytes, words, |chunk: &[u8; STEP]| {
            // SAFETY: the chunk has 64 bytes.
            let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
            let mut bits = 0;
            for at in 0..RANGES {
                bits |= _mm512_cmple_epu8_mask(_mm512_sub_epi8(given, lows[at]), spans[at]);
            }
            bits
        });
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn within_by_32(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        let lows = ranges.map(|(low, _)| _mm256_set1_epi8(low as i8));
        let spans = ranges.map(|(low, high)| _mm256_set1_epi8(high.wrapping_sub(low) as i8));
        fill(bytes, words, |chunk: &[u8; STEP]| {
            let (halves, _) = chunk.as_chunks::<32>();
            let bits = |half: &[u8; 32]| {
                // SAFETY: the half has 32 bytes.
                let given = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                let mut hits = _mm256_setzero_si256();
                for at in 0..RANGES {
                    let offset = _mm256_sub_epi8(given, lows[at]);
                    let hit = _mm256_cmpeq_epi8(_mm256_min_epu8(offset, spans[at]), offset);
                    hits = _mm256_or_si256(hits, hit);
                }
                u64::from(_mm256_movemask_epi8(hits) as u32)
            };
            bits(&halves[0]) | bits(&halves[1]) << 32
        });
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn within_by_16(bytes: &[u8], ranges: &[(u8, u8); RANGES], words: &mut [u64]) {
        let lows = ranges.map(|(low, _)| _mm_set1_epi8(low as i8));
        let spans = ranges.map(|(low, high)| _mm_set1_epi8(high.wrapping_sub(low) as i8));
        fill(bytes, words, |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            quarters.iter().rev().fold(0, |mask, quarter| {
                // SAFETY: the quarter has 16 bytes.
                let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                let mut hits = _mm_setzero_si128();
                for at in 0..RANGES {
                    let offset = _mm_sub_epi8(given, lows[at]);
                    hits = _mm_or_si128(hits, _mm_cmpeq_epi8(_mm_min_epu8(offset, spans[at]), offset));
                }
                mask << 16 | u64::from(_mm_movemask_epi8(hits) as u32)
            })
        });
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16(bytes: &[u8], byte: u8, words: &mut [u64]) {
        let wanted = _mm_set1_epi8(byte as i8);
        fill(bytes, words, |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            quarters.iter().rev().fold(0, |mask, quarter| {
                // SAFETY: the quarter has 16 bytes.
                let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                mask << 16 | u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(given, wanted)) as u32)
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variant = fn(&[u8], u8, &mut [u64]);

    fn variants() -> Vec<Variant> {
        let mut variants: Vec<Variant> = vec![equal, portable];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every x86-64 has these instructions.
            variants.push(|bytes, byte, words| unsafe { imp::by_16(bytes, byte, words) });
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has these instructions.
                variants.push(|bytes, byte, words| unsafe { imp::by_32(bytes, byte, words) });
            }
        }
        variants
    }

    #[test]
    fn every_variant_agrees_with_comparing_each_byte() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8 * 17).collect();
        for length in [0, 1, 15, 16, 63, 64, 65, 127, 128, 999, 1000] {
            let bytes = &bytes[..length];
            for byte in [0, 17, 0x77, 0x88, 0xff, 1] {
                let mut expected = vec![0; length.div_ceil(STEP)];
                for (at, _) in bytes.iter().enumerate().filter(|(_, found)| **found == byte) {
                    expected[at / STEP] |= 1u64 << (at % STEP);
                }
                for variant in variants() {
                    let mut words = vec![u64::MAX; expected.len()];
                    variant(bytes, byte, &mut words);
                    assert_eq!(words, expected, "{length} {byte}");
                }
            }
        }
    }

    type Within = fn(&[u8], &[(u8, u8); RANGES], &mut [u64]);

    #[test]
    fn every_variant_agrees_on_ranges() {
        let mut variants: Vec<Within> = vec![within, portable_within];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every x86-64 has these instructions.
            variants.push(|bytes, ranges, words| unsafe { imp::within_by_16(bytes, ranges, words) });
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has these instructions.
                variants.push(|bytes, ranges, words| unsafe { imp::within_by_32(bytes, ranges, words) });
            }
        }
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 15, 16, 63, 64, 65, 127, 128, 999, 1000] {
            let bytes = &bytes[..length];
            for ranges in [
                [(0, 0); RANGES],
                [(0, 8), (11, 31), (127, 255), (127, 255)],
                [(10, 10), (200, 210), (0, 255), (9, 9)],
                [(128, 255), (128, 255), (1, 1), (3, 126)],
            ] {
                let mut expected = vec![0; length.div_ceil(STEP)];
                for (at, byte) in bytes.iter().enumerate() {
                    let hit = ranges.iter().any(|(low, high)| (low..=high).contains(&byte));
                    expected[at / STEP] |= u64::from(hit) << (at % STEP);
                }
                for variant in &variants {
                    let mut words = vec![u64::MAX; expected.len()];
                    variant(bytes, &ranges, &mut words);
                    assert_eq!(words, expected, "{length} {ranges:?}");
                }
            }
        }
    }
}
