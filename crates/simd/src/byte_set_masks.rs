//! Positions of a few byte values as bit masks: the ends of fields and records, found 64 bytes at a time.
//!
//! With the masks, a caller moves from field to field without reading the bytes between, and counts fields
//! without reading any.

use crate::byte_masks::fill;

/// How many bytes one mask covers.
pub const STEP: usize = crate::byte_masks::STEP;

/// Fills `words` with one mask for each 64 bytes: bit i of word w says whether byte 64w + i is one of
/// `members`. Bits past the end are 0.
pub fn mark(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
    imp::mark(bytes, members, words);
}

/// Calls `bits` for each step.
#[inline(always)]
fn mark_by(bytes: &[u8], words: &mut Vec<u64>, bits: impl Fn(&[u8; STEP]) -> u64) {
    words.resize(bytes.len().div_ceil(STEP), 0);
    fill(bytes, words, bits);
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
    mark_by(bytes, words, |chunk| {
        let mut bits = 0;
        for (bit, byte) in chunk.iter().enumerate() {
            bits |= u64::from(members.contains(byte)) << bit;
        }
        bits
    });
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    pub(super) use super::portable as mark;
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use super::mark_by;
    use crate::neon::Chunk;

    pub(super) fn mark(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_mark(bytes, members, words) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_mark(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        mark_by(bytes, words, |chunk| {
            let chunk = Chunk::load(chunk);
            members.iter().fold(0, |bits, member| bits | chunk.equal(*member))
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{STEP, mark_by};

    pub(super) fn mark(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { by_64(bytes, members, words) }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { by_32(bytes, members, words) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16(bytes, members, words) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn by_64(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        let [a, b, c, d] = members;
        let (a, b) = (_mm512_set1_epi8(a as i8), _mm512_set1_epi8(b as i8));
        let (c, d) = (_mm512_set1_epi8(c as i8), _mm512_set1_epi8(d as i8));
        mark_by(bytes, words, |chunk| {
            // SAFETY: the chunk has 64 bytes.
            let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
            let one = _mm512_cmpeq_epi8_mask(given, a) | _mm512_cmpeq_epi8_mask(given, b);
            one | _mm512_cmpeq_epi8_mask(given, c) | _mm512_cmpeq_epi8_mask(given, d)
        });
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn by_32(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        let [a, b, c, d] = members;
        let (a, b) = (_mm256_set1_epi8(a as i8), _mm256_set1_epi8(b as i8));
        let (c, d) = (_mm256_set1_epi8(c as i8), _mm256_set1_epi8(d as i8));
        mark_by(bytes, words, |chunk| {
            let (halves, _) = chunk.as_chunks::<32>();
            let bits = |half: &[u8; 32]| {
                // SAFETY: the half has 32 bytes.
                let given = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                let one = _mm256_or_si256(_mm256_cmpeq_epi8(given, a), _mm256_cmpeq_epi8(given, b));
                let other = _mm256_or_si256(_mm256_cmpeq_epi8(given, c), _mm256_cmpeq_epi8(given, d));
                u64::from(_mm256_movemask_epi8(_mm256_or_si256(one, other)) as u32)
            };
            bits(&halves[0]) | bits(&halves[1]) << 32
        });
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16(bytes: &[u8], members: [u8; 4], words: &mut Vec<u64>) {
        let [a, b, c, d] = members;
        let (a, b) = (_mm_set1_epi8(a as i8), _mm_set1_epi8(b as i8));
        let (c, d) = (_mm_set1_epi8(c as i8), _mm_set1_epi8(d as i8));
        mark_by(bytes, words, |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            quarters.iter().rev().fold(0, |bits, quarter| {
                // SAFETY: the quarter has 16 bytes.
                let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                let one = _mm_or_si128(_mm_cmpeq_epi8(given, a), _mm_cmpeq_epi8(given, b));
                let other = _mm_or_si128(_mm_cmpeq_epi8(given, c), _mm_cmpeq_epi8(given, d));
                bits << 16 | u64::from(_mm_movemask_epi8(_mm_or_si128(one, other)) as u32)
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    #[test]
    fn every_variant_marks_the_same() {
        let mut random = Random::new(1);
        for length in 0..300usize {
            let mut bytes = Vec::new();
            for _ in 0..length {
                bytes.push(random.pick(b" \t\nab\0"));
            }
            for members in [*b" \t\n\n", *b",,\n\n", *b"\0\0\0\0"] {
                let mut expected = vec![0; length.div_ceil(STEP)];
                for (at, byte) in bytes.iter().enumerate() {
                    expected[at / STEP] |= u64::from(members.contains(byte)) << (at % STEP);
                }
                let mut words = vec![7];
                mark(&bytes, members, &mut words);
                assert_eq!(words, expected);
                words.clear();
                portable(&bytes, members, &mut words);
                assert_eq!(words, expected);
                #[cfg(target_arch = "x86_64")]
                {
                    words.clear();
                    // SAFETY: every x86-64 has these instructions.
                    unsafe { imp::by_16(&bytes, members, &mut words) };
                    assert_eq!(words, expected);
                    if is_x86_feature_detected!("avx2") {
                        // SAFETY: the machine has these instructions.
                        unsafe { imp::by_32(&bytes, members, &mut words) };
                        assert_eq!(words, expected);
                    }
                }
            }
        }
    }
}
