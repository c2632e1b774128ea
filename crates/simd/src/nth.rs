//! Where the nth separator of a line is, and where its nth word ends.
//!
//! Made for one short line at a time: 16 bytes at once on x86-64, eight elsewhere, and no choice between instructions while
//! it runs.

/// Returns where the `n`th `byte` of `bytes` is. The first has the number 1.
#[inline]
pub fn nth(bytes: &[u8], byte: u8, n: usize) -> Option<usize> {
    debug_assert!(n > 0, "the first has the number 1");
    let mut left = n;
    let mut at = 0;
    let (whole, rest) = bytes.as_chunks::<{ imp::STEP }>();
    for chunk in whole {
        if let Some(found) = take(imp::equal(chunk, byte), &mut left) {
            return Some(at + found);
        }
        at += imp::STEP;
    }
    for (index, given) in rest.iter().enumerate() {
        left -= usize::from(left > 0 && *given == byte);
        if left == 0 && *given == byte {
            return Some(at + index);
        }
    }
    None
}

/// Returns where the `n`th word of `bytes` ends; the first has the number 1. A word ends at the first blank
/// behind it; blanks are spaces, tabs and newlines. `None` if it ends with the line, or is not there.
#[inline]
pub fn nth_word_end(bytes: &[u8], n: usize) -> Option<usize> {
    debug_assert!(n > 0, "the first has the number 1");
    let mut left = n;
    let mut at = 0;
    // Whether the byte before is a blank: then no word ends here.
    let mut carry = 1;
    let (whole, rest) = bytes.as_chunks::<{ imp::STEP }>();
    for chunk in whole {
        let blanks = imp::blanks(chunk);
        if let Some(found) = take(blanks & !(blanks << 1 | carry), &mut left) {
            return Some(at + found);
        }
        carry = blanks >> (imp::STEP - 1) & 1;
        at += imp::STEP;
    }
    for (index, byte) in rest.iter().enumerate() {
        let blank = u32::from(is_blank(*byte));
        left -= usize::from(left > 0 && blank > carry);
        if left == 0 && blank > carry {
            return Some(at + index);
        }
        carry = blank;
    }
    None
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

/// Takes as many bits as are left to find, and returns the place of the last of them if it is there.
#[inline(always)]
fn take(mut bits: u32, left: &mut usize) -> Option<usize> {
    while bits != 0 {
        *left = left.checked_sub(1)?;
        if *left == 0 {
            return Some(bits.trailing_zeros() as usize);
        }
        bits &= bits - 1;
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    pub(super) const STEP: usize = 16;

    #[inline(always)]
    fn load(chunk: &[u8; STEP]) -> __m128i {
        // SAFETY: the chunk has 16 bytes, and every x86-64 has the instruction.
        unsafe { _mm_loadu_si128(chunk.as_ptr().cast()) }
    }

    /// Returns a bit for each byte that equals `byte`.
    #[inline(always)]
    pub(super) fn equal(chunk: &[u8; STEP], byte: u8) -> u32 {
        #[inline]
        #[target_feature(enable = "sse2")]
        fn bits(given: __m128i, byte: u8) -> u32 {
            _mm_movemask_epi8(_mm_cmpeq_epi8(given, _mm_set1_epi8(byte as i8))) as u32
        }
        // SAFETY: every x86-64 has these instructions.
        unsafe { bits(load(chunk), byte) }
    }

    /// Returns a bit for each blank.
    #[inline(always)]
    pub(super) fn blanks(chunk: &[u8; STEP]) -> u32 {
        equal(chunk, b' ') | equal(chunk, b'\t') | equal(chunk, b'\n')
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    pub(super) use super::portable::{STEP, blanks, equal};
}

/// Eight bytes at a time.
#[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "tests compare with it"))]
mod portable {
    use crate::byte_masks::equal_in_eight;

    pub(super) const STEP: usize = 8;

    pub(super) fn equal(chunk: &[u8; STEP], byte: u8) -> u32 {
        equal_in_eight(chunk, byte) as u32
    }

    pub(super) fn blanks(chunk: &[u8; STEP]) -> u32 {
        equal(chunk, b' ') | equal(chunk, b'\t') | equal(chunk, b'\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines over few letters, with runs of blanks and separators, of all lengths up to three steps.
    fn lines() -> impl Iterator<Item = Vec<u8>> {
        let mut random = pelton_testkit::Random::new(9);
        (0..4000)
            .map(move |index| (0..index % 50).map(|_| b"ab,, \t\n\x80x\xffc-"[random.below(12)]).collect())
    }

    #[test]
    fn finds_what_a_byte_at_a_time_finds() {
        for line in lines() {
            for n in 1..8 {
                let places = line.iter().enumerate().filter(|(_, byte)| **byte == b',');
                assert_eq!(nth(&line, b',', n), places.map(|(at, _)| at).nth(n - 1), "{line:?} {n}");
                let ends = (1..line.len()).filter(|at| is_blank(line[*at]) && !is_blank(line[*at - 1]));
                assert_eq!(nth_word_end(&line, n), { ends }.nth(n - 1), "{line:?} {n}");
            }
        }
    }

    #[test]
    fn the_portable_form_gives_the_same_bits() {
        for line in lines() {
            let (chunks, _) = line.as_chunks::<8>();
            for chunk in chunks {
                let bits = |is_it: &dyn Fn(u8) -> bool| {
                    chunk.iter().enumerate().fold(0, |bits, (at, byte)| bits | u32::from(is_it(*byte)) << at)
                };
                assert_eq!(portable::equal(chunk, b','), bits(&|byte| byte == b','));
                assert_eq!(portable::blanks(chunk), bits(&is_blank));
            }
        }
    }
}
