//! Counts words as `wc -w` does in the C locale: a word is a run between white space with at least one
//! printable byte; other bytes neither begin nor end one, or from coreutils 9.5 on belong to words as well.
//!
//! So a byte of a word sets "inside a word", white space clears it, and other bytes propagate it, like a
//! carry through the digits of a sum (generated, killed, propagated). One addition therefore says for any 64
//! bytes which of them are preceded by "inside a word".

use crate::byte_masks::{STEP, padded};

/// The no-break space, as C converts this byte to a character.
const NO_BREAK: u8 = 0xa0;

/// Returns how many words begin in `bytes`. `inside`: whether the preceding bytes end inside a word; set to
/// whether these do.
pub fn count(bytes: &[u8], inside: &mut bool) -> u64 {
    imp::count::<false>(bytes, inside)
}

/// The same for words of all bytes but white space, to which the byte A0 (hex) belongs then: coreutils from 9.5 on.
pub fn count_nonspace(bytes: &[u8], inside: &mut bool) -> u64 {
    imp::count::<true>(bytes, inside)
}

/// `kinds` says which bytes of a step belong to words, and which are white space; with `NONSPACE` all others belong to
/// words. Only loops: closures not compiled for the instructions of `kinds` would call it out of line.
#[inline(always)]
fn count_by<const NONSPACE: bool>(
    bytes: &[u8],
    inside: &mut bool,
    kinds: impl Fn(&[u8; STEP]) -> (u64, u64),
) -> u64 {
    let of = |(word, space): (u64, u64)| (if NONSPACE { !space } else { word }, space);
    let (whole, rest) = bytes.as_chunks::<STEP>();
    let (mut count, mut carry) = (0, *inside);
    for chunk in whole {
        let begins;
        (begins, carry) = begin(of(kinds(chunk)), carry);
        count += u64::from(begins.count_ones());
    }
    if !rest.is_empty() {
        // What is added propagates the state.
        let (chunk, _) = padded(rest);
        let (word, space) = of(kinds(&chunk));
        let given = (1u64 << rest.len()) - 1;
        let begins;
        (begins, carry) = begin((word & given, space), carry);
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
fn portable<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
    count_by::<NONSPACE>(bytes, inside, |chunk| {
        let (mut word, mut space) = (0, 0);
        for (bit, byte) in chunk.iter().enumerate() {
            word |= u64::from(byte.is_ascii_graphic()) << bit;
            let is_space = matches!(byte, b' ' | b'\t'..=b'\r') || NONSPACE && *byte == NO_BREAK;
            space |= u64::from(is_space) << bit;
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
    use super::{NO_BREAK, count_by};
    use crate::neon::Chunk;

    pub(super) fn count<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_count::<NONSPACE>(bytes, inside) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_count<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        count_by::<NONSPACE>(bytes, inside, |chunk| {
            let chunk = Chunk::load(chunk);
            let no_break = if NONSPACE { chunk.equal(NO_BREAK) } else { 0 };
            (chunk.within(b'!', b'~'), chunk.within(b'\t', b'\r') | chunk.equal(b' ') | no_break)
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{NO_BREAK, STEP, count_by};

    /// The first byte value of words, and the distance to the last; the same for white space, except the
    /// blank.
    const WORD: [i8; 2] = [0x21, 0x5d];
    const SPACE: [i8; 2] = [9, 4];

    pub(super) fn count<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        let counts_bits = is_x86_feature_detected!("popcnt");
        if counts_bits && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { by_64::<NONSPACE>(bytes, inside) }
        } else if counts_bits && is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { by_32::<NONSPACE>(bytes, inside) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16::<NONSPACE>(bytes, inside) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,popcnt")]
    fn by_64<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm512_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm512_set1_epi8(byte));
        let blank = _mm512_set1_epi8(b' ' as i8);
        let no_break = _mm512_set1_epi8(if NONSPACE { NO_BREAK } else { b' ' } as i8);
        count_by::<NONSPACE>(bytes, inside, |chunk| {
            // SAFETY: the chunk has 64 bytes.
            let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
            let is_word = _mm512_cmple_epu8_mask(_mm512_sub_epi8(given, word), words);
            let is_space = _mm512_cmple_epu8_mask(_mm512_sub_epi8(given, space), spaces);
            (
                is_word,
                is_space | _mm512_cmpeq_epi8_mask(given, blank) | _mm512_cmpeq_epi8_mask(given, no_break),
            )
        })
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn by_32<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm256_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm256_set1_epi8(byte));
        let blank = _mm256_set1_epi8(b' ' as i8);
        let no_break = _mm256_set1_epi8(if NONSPACE { NO_BREAK } else { b' ' } as i8);
        count_by::<NONSPACE>(bytes, inside, |chunk| {
            let (halves, _) = chunk.as_chunks::<32>();
            let bits = |found| u64::from(_mm256_movemask_epi8(found) as u32);
            let kinds = |half: &[u8; 32]| {
                // SAFETY: the half has 32 bytes.
                let given = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                let (of_word, of_space) = (_mm256_sub_epi8(given, word), _mm256_sub_epi8(given, space));
                let is_word = _mm256_cmpeq_epi8(_mm256_min_epu8(of_word, words), of_word);
                let is_space = _mm256_cmpeq_epi8(_mm256_min_epu8(of_space, spaces), of_space);
                let blanks =
                    _mm256_or_si256(_mm256_cmpeq_epi8(given, blank), _mm256_cmpeq_epi8(given, no_break));
                (bits(is_word), bits(_mm256_or_si256(is_space, blanks)))
            };
            let (low, high) = (kinds(&halves[0]), kinds(&halves[1]));
            (low.0 | high.0 << 32, low.1 | high.1 << 32)
        })
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        let [word, words] = WORD.map(|byte| _mm_set1_epi8(byte));
        let [space, spaces] = SPACE.map(|byte| _mm_set1_epi8(byte));
        let blank = _mm_set1_epi8(b' ' as i8);
        let no_break = _mm_set1_epi8(if NONSPACE { NO_BREAK } else { b' ' } as i8);
        count_by::<NONSPACE>(bytes, inside, |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            let bits = |found| u64::from(_mm_movemask_epi8(found) as u32);
            quarters.iter().rev().fold((0, 0), |(is_word, is_space), quarter| {
                // SAFETY: the quarter has 16 bytes.
                let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                let (of_word, of_space) = (_mm_sub_epi8(given, word), _mm_sub_epi8(given, space));
                let word = _mm_cmpeq_epi8(_mm_min_epu8(of_word, words), of_word);
                let space = _mm_cmpeq_epi8(_mm_min_epu8(of_space, spaces), of_space);
                let space = _mm_or_si128(space, _mm_cmpeq_epi8(given, blank));
                let space = _mm_or_si128(space, _mm_cmpeq_epi8(given, no_break));
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
    fn expected<const NONSPACE: bool>(bytes: &[u8], inside: &mut bool) -> u64 {
        let mut count = 0;
        for byte in bytes {
            match byte {
                b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r' => *inside = false,
                0xa0 if NONSPACE => *inside = false,
                byte if NONSPACE || matches!(byte, 0x21..=0x7e) => {
                    count += u64::from(!std::mem::replace(inside, true))
                }
                _ => {}
            }
        }
        count
    }

    type Count = fn(&[u8], &mut bool) -> u64;

    fn variants<const NONSPACE: bool>() -> Vec<Count> {
        let mut variants: Vec<Count> = vec![imp::count::<NONSPACE>, portable::<NONSPACE>];
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: every x86-64 has these instructions.
            variants.push(|bytes, inside| unsafe { imp::by_16::<NONSPACE>(bytes, inside) });
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                // SAFETY: the machine has these instructions.
                variants.push(|bytes, inside| unsafe { imp::by_32::<NONSPACE>(bytes, inside) });
            }
        }
        variants
    }

    #[test]
    fn every_variant_counts_as_the_definition_says() {
        check_variants::<false>();
        check_variants::<true>();
    }

    fn check_variants<const NONSPACE: bool>() {
        let mut random = Random::new(1);
        for turn in 0..3000usize {
            // Mostly one kind of byte, so that the state is propagated far.
            let kinds: &[u8] =
                [&b" a\0"[..], b"\0\0\0\0\0\0\0\0 a", b"ab\x80 \n", b"aaaaaaaaaaaaaaaa\t"][turn % 4];
            let bytes: Vec<u8> = (0..turn % 200).map(|_| random.pick(kinds)).collect();
            for variant in variants::<NONSPACE>() {
                for before in [false, true] {
                    let (mut inside, mut known) = (before, before);
                    assert_eq!(
                        variant(&bytes, &mut inside),
                        expected::<NONSPACE>(&bytes, &mut known),
                        "{bytes:?}"
                    );
                    assert_eq!(inside, known, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn every_byte_is_of_its_kind() {
        check_bytes::<false>();
        check_bytes::<true>();
    }

    fn check_bytes<const NONSPACE: bool>() {
        for byte in 0..=u8::MAX {
            for bytes in [vec![byte; 100], [b"a".as_slice(), &[byte; 70], b"b"].concat()] {
                let mut known = false;
                let found = expected::<NONSPACE>(&bytes, &mut known);
                for variant in variants::<NONSPACE>() {
                    let mut inside = false;
                    assert_eq!((variant(&bytes, &mut inside), inside), (found, known), "{byte}");
                }
            }
        }
    }
}
