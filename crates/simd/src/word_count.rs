//! Counts words as `wc -w` does in the C locale: a word is a run between white space with at least one
//! printable byte; other bytes neither begin nor end one.
//!
//! So a byte of a word sets "inside a word", white space clears it, and other bytes propagate it, like a
//! carry through the digits of a sum (generated, killed, propagated). One addition therefore says for any 64
//! bytes which of them are preceded by "inside a word".

use crate::byte_masks::{STEP, padded};

/// Returns how many words begin in `bytes`. `inside`: whether the preceding bytes end inside a word; set to
/// whether these do.
pub fn count(bytes: &[u8], inside: &mut bool) -> u64 {
    imp::count(bytes, inside)
}

/// `kinds` says which bytes of a step belong to words, and which are white space. Only loops: closures not
/// compiled for the instructions of `kinds` would call it out of line.
#[inline(always)]
fn count_by(bytes: &[u8], inside: &mut bool, kinds: impl Fn(&[u8; STEP]) -> (u64, u64)) -> u64 {
    let (whole, rest) = bytes.as_chunks::<STEP>();
    let (mut count, mut carry) = (0, *inside);
    for chunk in whole {
        let begins;
        (begins, carry) = begin(kinds(chunk), carry);
        count += u64::from(begins.count_ones());
    }
    if !rest.is_empty() {
        // NULs propagate the state.
        let (chunk, _) = padded(rest);
        let begins;
        (begins, carry) = begin(kinds(&chunk), carry);
        count += u64::from(begins.count_ones());
    }
    *inside = carry;
    count
}

/// Returns which bytes begin a word, and whether one continues after them.
#[inline(always)]
fn begin((word, space): (u64, u64), inside: bool) -> (u64, bool) {
    let (sum, first) = word.overflowing_add(!space);
    let (sum, second) = sum.overflowing_add(u64::from(inside));
    let carried = sum ^ word ^ !space;
    (word & !carried, first | second)
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable(bytes: &[u8], inside: &mut bool) -> u64 {
    count_by(bytes, inside, |chunk| {
        let (mut word, mut space) = (0, 0);
        for (bit, byte) in chunk.iter().enumerate() {
            word |= u64::from(byte.is_ascii_graphic()) << bit;
            space |= u64::from(matches!(byte, b' ' | b'\t'..=b'\r')) << bit;
        }
        (word, space)
    })
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    pub(super) use super::portable as count;
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use super::count_by;
    use crate::neon::Chunk;

    pub(super) fn count(bytes: &[u8], inside: &mut bool) -> u64 {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_count(bytes, inside) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_count(bytes: &[u8], inside: &mut bool) -> u64 {
        count_by(bytes, inside, |chunk| {
            let chunk = Chunk::load(chunk);
            (chunk.within(b'!', b'~'), chunk.within(b'\t', b'\r') | chunk.equal(b' '))
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{STEP, count_by};

    /// The first byte value of words, and the distance to the last; the same for white space, except the
    /// blank.
    const WORD: [i8; 2] = [0x21, 0x5d];
    const SPACE: [i8; 2] = [9, 4];

    pub(super) fn count(bytes: &[u8], inside: &mut bool) -> u64 {
        let counts_bits = is_x86_feature_detected!("popcnt");
        if counts_bits && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { by_64(bytes, inside) }
        } else if counts_bits && is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { by_32(bytes, inside) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16(bytes, inside) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,popcnt")]
    fn by_64(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm512_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm512_set1_epi8(byte));
        let blank = _mm512_set1_epi8(b' ' as i8);
        count_by(bytes, inside, |chunk| {
            // SAFETY: the chunk has 64 bytes.
            let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
            let is_word = _mm512_cmple_epu8_mask(_mm512_sub_epi8(given, word), words);
            let is_space = _mm512_cmple_epu8_mask(_mm512_sub_epi8(given, space), spaces);
            (is_word, is_space | _mm512_cmpeq_epi8_mask(given, blank))
        })
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn by_32(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm256_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm256_set1_epi8(byte));
        let blank = _mm256_set1_epi8(b' ' as i8);
        count_by(bytes, inside, |chunk| {
            let (halves, _) = chunk.as_chunks::<32>();
            let bits = |found| u64::from(_mm256_movemask_epi8(found) as u32);
            let kinds = |half: &[u8; 32]| {
                // SAFETY: the half has 32 bytes.
                let given = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                let (of_word, of_space) = (_mm256_sub_epi8(given, word), _mm256_sub_epi8(given, space));
                let is_word = _mm256_cmpeq_epi8(_mm256_min_epu8(of_word, words), of_word);
                let is_space = _mm256_cmpeq_epi8(_mm256_min_epu8(of_space, spaces), of_space);
                (bits(is_word), bits(_mm256_or_si256(is_space, _mm256_cmpeq_epi8(given, blank))))
            };
            let (low, high) = (kinds(&halves[0]), kinds(&halves[1]));
            (low.0 | high.0 << 32, low.1 | high.1 << 32)
        })
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm_set1_epi8(byte));
        let blank = _mm_set1_epi8(b' ' as i8);
        count_by(bytes, inside, |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            let bits = |found| u64::from(_mm_movemask_epi8(found) as u32);
            quarters.iter().rev().fold((0, 0), |(is_word, is_space), quarter| {
                // SAFETY: the quarter has 16 bytes.
                let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                let (of_word, of_space) = (_mm_sub_epi8(given, word), _mm_sub_epi8(given, space));
                let word = _mm_cmpeq_epi8(_mm_min_epu8(of_word, words), of_word);
                let space = _mm_cmpeq_epi8(_mm_min_epu8(of_space, spaces), of_space);
                let space = _mm_or_si128(space, _mm_cmpeq_epi8(given, blank));
                (is_word << 16 | bits(word), is_space << 16 | bits(space))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    /// A reference that follows the definition, a byte at a time.
    fn expected(bytes: &[u8], inside: &mut bool) -> u64 {
        let mut count = 0;
        for byte in bytes {
            match byte {
                b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => *inside = false,
                0x21..=0x7e => count += u64::from(!std::mem::replace(inside, true)),
                _ => {}
            }
        }
        count
    }

    type Count = fn(&[u8], &mut bool) -> u64;

    fn variants() -> Vec<Count> {
        let mut variants: Vec<Count> = vec![count, portable];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every x86-64 has these instructions.
            variants.push(|bytes, inside| unsafe { imp::by_16(bytes, inside) });
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                // SAFETY: the machine has these instructions.
                variants.push(|bytes, inside| unsafe { imp::by_32(bytes, inside) });
            }
        }
        variants
    }

    #[test]
    fn every_variant_counts_as_the_definition_says() {
        let mut random = Random::new(1);
        for turn in 0..3000usize {
            // Mostly one kind of byte, so that the state is propagated far.
            let kinds: &[u8] =
                [&b" a\0"[..], b"\0\0\0\0\0\0\0\0 a", b"ab\x80 \n", b"aaaaaaaaaaaaaaaa\t"][turn % 4];
            let bytes: Vec<u8> = (0..turn % 200).map(|_| random.pick(kinds)).collect();
            for variant in variants() {
                for before in [false, true] {
                    let (mut inside, mut known) = (before, before);
                    assert_eq!(variant(&bytes, &mut inside), expected(&bytes, &mut known), "{bytes:?}");
                    assert_eq!(inside, known, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn every_byte_is_of_its_kind() {
        for byte in 0..=u8::MAX {
            for bytes in [vec![byte; 100], [b"a".as_slice(), &[byte; 70], b"b"].concat()] {
                let mut known = false;
                let found = expected(&bytes, &mut known);
                for variant in variants() {
                    let mut inside = false;
                    assert_eq!((variant(&bytes, &mut inside), inside), (found, known), "{byte}");
                }
            }
        }
    }
}
