//! The ends of fields and records of separated values (RFC 4180), found 64 bytes at a time.
//!
//! Works like [`json_tokens`](crate::json_tokens): the parity of the quotes before a byte says whether it is
//! quoted, so quoted separators are recognised without a branch. A doubled quote closes and opens again,
//! which changes nothing.

use crate::json_tokens::{Positions, parity_by_shifts};

const STEP: usize = 64;

/// What [`index`] finds.
#[derive(Debug, Default)]
pub struct Fields {
    /// The delimiters and line feeds outside of quotes.
    pub ends: Positions,
    /// Which of [`ends`](Self::ends), by index, are line feeds.
    pub records: Positions,
    /// Opening quotes not at the start of a field, and bytes after a closing quote that do not end the field
    /// (nor are a carriage return before a line feed).
    pub stray: Positions,
    /// Whether the bytes end within quotes.
    pub open: bool,
}

/// State carried from one step to the next.
#[derive(Clone, Copy)]
struct Carry {
    in_quotes: u64,
    /// Whether the next byte begins a field.
    begins: u64,
    /// Whether the byte before was a closing quote.
    closed: u64,
    /// Whether the byte before was a carriage return after a closing quote.
    returned: u64,
}

/// Indexes `bytes`, which begin with a record and are shorter than 4 GiB. Overwrites earlier results.
pub fn index(bytes: &[u8], delimiter: u8, found: &mut Fields) {
    for positions in [&mut found.ends, &mut found.records, &mut found.stray] {
        positions.clear();
        positions.make_room(bytes.len());
    }
    imp::index(bytes, delimiter, found);
}

/// 64 bytes, a bit for each.
#[derive(Clone, Copy, Default)]
struct Masks {
    quote: u64,
    delimiter: u64,
    line_feed: u64,
    carriage_return: u64,
}

#[inline(always)]
fn index_by(
    bytes: &[u8],
    found: &mut Fields,
    masks: impl Fn(&[u8; STEP]) -> Masks,
    parity: impl Fn(u64) -> u64,
) {
    let mut carry = Carry { in_quotes: 0, begins: 1, closed: 0, returned: 0 };
    let (whole, rest) = bytes.as_chunks::<STEP>();
    let mut at = 0;
    for chunk in whole {
        step(&masks(chunk), u64::MAX, at, &mut carry, found, &parity);
        at += STEP as u32;
    }
    if !rest.is_empty() {
        let mut chunk = [0; STEP];
        chunk[..rest.len()].copy_from_slice(rest);
        let valid = u64::MAX >> (STEP - rest.len());
        step(&masks(&chunk), valid, at, &mut carry, found, &parity);
    }
    found.open = carry.in_quotes != 0;
}

#[inline(always)]
fn step(
    masks: &Masks,
    valid: u64,
    at: u32,
    carry: &mut Carry,
    found: &mut Fields,
    parity: impl Fn(u64) -> u64,
) {
    // There may be NULs past the end, and the delimiter may be NUL.
    let Masks { quote, delimiter, line_feed, carriage_return } = *masks;
    // From an opening quote to the byte before the closing one.
    let inside = parity(quote & valid) ^ carry.in_quotes;
    let before = *carry;
    carry.in_quotes = (inside >> 63).wrapping_neg();
    let line_feed = line_feed & !inside & valid;
    let ends = delimiter & !inside & valid | line_feed;
    if quote & valid != 0 || before.closed | before.returned != 0 {
        let (opening, closing) = (quote & inside & valid, quote & !inside & valid);
        let begins = ends << 1 | before.begins;
        let closed = closing << 1 | before.closed;
        let line_end = closed & carriage_return & !ends;
        let returned = line_end << 1 | before.returned;
        (carry.closed, carry.returned) = (closing >> 63, line_end >> 63);
        let follows = closed & !(ends | line_end | opening) | returned & !line_feed;
        let stray = opening & !(begins | closed) | follows & valid;
        if stray != 0 {
            found.stray.push_bits(at, stray);
        }
    } else {
        (carry.closed, carry.returned) = (0, 0);
    }
    carry.begins = ends >> 63;
    let count = found.ends.as_slice().len() as u32;
    found.ends.push_bits(at, ends);
    let mut rest = line_feed;
    while rest != 0 {
        let below = (rest & rest.wrapping_neg()) - 1;
        found.records.push(count + (ends & below).count_ones());
        rest &= rest - 1;
    }
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable(bytes: &[u8], delimiter: u8, found: &mut Fields) {
    let look = |chunk: &[u8; STEP]| {
        let mut masks = Masks::default();
        for (bit, byte) in chunk.iter().enumerate() {
            masks.quote |= u64::from(*byte == b'"') << bit;
            masks.delimiter |= u64::from(*byte == delimiter) << bit;
            masks.line_feed |= u64::from(*byte == b'\n') << bit;
            masks.carriage_return |= u64::from(*byte == b'\r') << bit;
        }
        masks
    };
    index_by(bytes, found, look, parity_by_shifts);
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    pub(super) use super::portable as index;
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use super::{Fields, Masks, index_by, parity_by_shifts};
    use crate::neon::Chunk;

    pub(super) fn index(bytes: &[u8], delimiter: u8, found: &mut Fields) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_index(bytes, delimiter, found) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_index(bytes: &[u8], delimiter: u8, found: &mut Fields) {
        let masks = |chunk: &[u8; super::STEP]| {
            let chunk = Chunk::load(chunk);
            Masks {
                quote: chunk.equal(b'"'),
                delimiter: chunk.equal(delimiter),
                line_feed: chunk.equal(b'\n'),
                carriage_return: chunk.equal(b'\r'),
            }
        };
        index_by(bytes, found, masks, parity_by_shifts);
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{Fields, Masks, STEP, index_by, parity_by_shifts};

    pub(super) fn index(bytes: &[u8], delimiter: u8, found: &mut Fields) {
        let newer = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq");
        if newer {
            // SAFETY: the machine has these instructions.
            unsafe { by_32(bytes, delimiter, found) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16(bytes, delimiter, found) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,popcnt,pclmulqdq")]
    pub(super) fn by_32(bytes: &[u8], delimiter: u8, found: &mut Fields) {
        let masks = |chunk: &[u8; STEP]| {
            let (halves, _) = chunk.as_chunks::<32>();
            let [low, high] = [&halves[0], &halves[1]].map(|half| {
                // SAFETY: the half has 32 bytes.
                unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
            });
            let bits = |byte: u8| {
                let [low, high] = [low, high].map(|given| {
                    let hits = _mm256_cmpeq_epi8(given, _mm256_set1_epi8(byte as i8));
                    u64::from(_mm256_movemask_epi8(hits) as u32)
                });
                low | high << 32
            };
            Masks {
                quote: bits(b'"'),
                delimiter: bits(delimiter),
                line_feed: bits(b'\n'),
                carriage_return: bits(b'\r'),
            }
        };
        let parity = |bits: u64| {
            let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product) as u64
        };
        index_by(bytes, found, masks, parity);
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16(bytes: &[u8], delimiter: u8, found: &mut Fields) {
        let masks = |chunk: &[u8; STEP]| {
            let (quarters, _) = chunk.as_chunks::<16>();
            let bits = |byte: u8| {
                quarters.iter().rev().fold(0, |mask, quarter| {
                    // SAFETY: the quarter has 16 bytes.
                    let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
                    let hits = _mm_cmpeq_epi8(given, _mm_set1_epi8(byte as i8));
                    mask << 16 | u64::from(_mm_movemask_epi8(hits) as u32)
                })
            };
            Masks {
                quote: bits(b'"'),
                delimiter: bits(delimiter),
                line_feed: bits(b'\n'),
                carriage_return: bits(b'\r'),
            }
        };
        index_by(bytes, found, masks, parity_by_shifts);
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    type Variant = fn(&[u8], u8, &mut Fields);

    fn variants() -> Vec<Variant> {
        fn room(bytes: &[u8], found: &mut Fields) {
            *found = Fields::default();
            for positions in [&mut found.ends, &mut found.records, &mut found.stray] {
                positions.make_room(bytes.len());
            }
        }
        let mut variants: Vec<Variant> = vec![index, |bytes, delimiter, found| {
            room(bytes, found);
            portable(bytes, delimiter, found);
        }];
        #[cfg(target_arch = "x86_64")]
        variants.push(|bytes, delimiter, found| {
            room(bytes, found);
            // SAFETY: every x86-64 has these instructions.
            unsafe { imp::by_16(bytes, delimiter, found) }
        });
        variants
    }

    /// A straightforward reference, a byte at a time: ends, records, stray bytes, and whether quotes are
    /// open.
    fn plainly(bytes: &[u8], delimiter: u8) -> (Vec<u32>, Vec<u32>, Vec<u32>, bool) {
        let (mut ends, mut records, mut stray) = (Vec::new(), Vec::new(), Vec::new());
        let (mut inside, mut begins, mut closed, mut returned) = (false, true, false, false);
        for (at, byte) in (0..).zip(bytes) {
            let quote = *byte == b'"';
            let end = !inside && (*byte == delimiter || *byte == b'\n');
            let opens = quote && !inside;
            let misplaced = opens && !begins && !closed;
            let follows = closed && !end && !opens && *byte != b'\r' || returned && *byte != b'\n';
            if misplaced || follows {
                stray.push(at);
            }
            returned = closed && *byte == b'\r' && !end;
            if end {
                if *byte == b'\n' {
                    records.push(ends.len() as u32);
                }
                ends.push(at);
            }
            closed = quote && inside;
            inside ^= quote;
            begins = end;
        }
        (ends, records, stray, inside)
    }

    #[test]
    fn every_variant_agrees_with_one_byte_at_a_time() {
        let telling = b"\"\"\",,\n\n\r\rab \t;\x00";
        let mut random = Random::new(1);
        for round in 0..2000 {
            let length = random.below(300);
            let bytes: Vec<u8> = (0..length).map(|_| telling[random.below(telling.len())]).collect();
            let delimiter = b",;\t\0"[round % 4];
            let expected = plainly(&bytes, delimiter);
            for (number, variant) in variants().into_iter().enumerate() {
                let mut found = Fields::default();
                variant(&bytes, delimiter, &mut found);
                let given = |positions: &Positions| positions.as_slice().to_vec();
                let found = (given(&found.ends), given(&found.records), given(&found.stray), found.open);
                assert_eq!(found, expected, "{number} {}", bytes.escape_ascii());
            }
        }
    }
}
