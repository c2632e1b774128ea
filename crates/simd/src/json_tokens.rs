//! Positions of a JSON text's tokens, found 64 bytes at a time.
//!
//! Each 64 bytes become bit masks: quotes, backslashes, blanks, brackets and so on. From these follow,
//! without a branch per byte, which quotes are escaped, what lies inside strings, and where tokens begin.
//! State is carried from one step to the next, so a text may come in pieces of any length. The method is that
//! of simdjson (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
//!
//! Does not validate: any bytes give a result.

mod blocks;

pub use blocks::{Block, See, blocks};

/// How many bytes one step covers.
const STEP: usize = 64;

/// State carried from one piece of text to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carry {
    /// All ones inside a string.
    in_string: u64,
    /// 1 if the next byte is escaped by a backslash before it.
    escaped: u64,
    /// 1 if the previous byte belongs to a number or a word.
    scalar: u64,
}

impl Carry {
    /// Whether no state is carried over.
    pub fn is_clean(&self) -> bool {
        *self == Carry::default()
    }
}

/// Positions in order, each below 2^32.
#[derive(Debug, Default)]
pub struct Positions {
    places: Vec<u32>,
    count: usize,
}

impl Positions {
    /// Returns the positions.
    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.places[..self.count]
    }

    /// Drops the first `count`, and subtracts `by` from the others.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn forget(&mut self, count: usize, by: u32) {
        self.places.copy_within(count..self.count, 0);
        self.count -= count;
        for place in &mut self.places[..self.count] {
            *place -= by;
        }
    }

    /// Drops all.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Makes room for `more`, and for the surplus writes of [`push_bits`](Self::push_bits).
    pub(crate) fn make_room(&mut self, more: usize) {
        let wanted = self.count + more + STEP;
        if self.places.len() < wanted {
            self.places.resize(wanted.next_power_of_two(), 0);
        }
    }

    /// Appends a position; there must be room.
    #[inline(always)]
    pub(crate) fn push(&mut self, place: u32) {
        self.places[self.count] = place;
        self.count += 1;
    }

    /// Appends `base` + the index of each set bit. Always writes eight at once: their number is hard to
    /// predict, and a misprediction costs more than surplus writes.
    #[inline(always)]
    pub(crate) fn push_bits(&mut self, base: u32, mut bits: u64) {
        let found = bits.count_ones() as usize;
        let mut at = self.count;
        self.count += found;
        while at < self.count {
            let Some((eight, _)) = self.places[at..].split_first_chunk_mut::<8>() else { return };
            for place in eight {
                *place = base.wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
            at += 8;
        }
    }
}

/// The result of [`index`].
#[derive(Debug, Default)]
pub struct Found {
    /// Both quotes of each string, brackets, colons, commas, and the first byte of every other token.
    pub tokens: Positions,
    /// Inside strings: control characters, and bytes escaped by a backslash.
    pub odd: Positions,
}

/// Appends the tokens of `bytes`, which follow the bytes that `carry` comes from; `base` is the position of
/// the first.
pub fn index(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
    found.tokens.make_room(bytes.len());
    found.odd.make_room(bytes.len());
    imp::index(bytes, base, carry, found);
}

/// 64 bytes, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Masks {
    quote: u64,
    backslash: u64,
    /// Space, tab, line feed, carriage return.
    blank: u64,
    /// `{}[]:,`
    operator: u64,
    /// Below a space.
    control: u64,
    comma: u64,
    colon: u64,
    /// `{[`
    open: u64,
    /// `}]`
    close: u64,
    /// Curly brackets among brackets; undefined for other bytes.
    curly: u64,
}

/// The steps, with a function that classifies 64 bytes and one that computes prefix parity: bit i becomes the
/// parity of bits 0 to i.
#[inline(always)]
fn index_by(
    bytes: &[u8],
    base: u32,
    carry: &mut Carry,
    found: &mut Found,
    masks: impl Fn(&[u8; STEP]) -> Masks,
    parity: impl Fn(u64) -> u64,
) {
    let (whole, rest) = bytes.as_chunks::<STEP>();
    let mut at = base;
    for chunk in whole {
        step(&masks(chunk), STEP as u32, at, carry, found, &parity);
        at += STEP as u32;
    }
    if !rest.is_empty() {
        let mut chunk = [b' '; STEP];
        chunk[..rest.len()].copy_from_slice(rest);
        step(&masks(&chunk), rest.len() as u32, at, carry, found, &parity);
    }
}

/// One step. The first `length` bytes are valid; the others are spaces.
#[inline(always)]
fn step(
    masks: &Masks,
    length: u32,
    at: u32,
    carry: &mut Carry,
    found: &mut Found,
    parity: impl Fn(u64) -> u64,
) {
    let last = length - 1;
    let valid = u64::MAX >> (63 - last);
    let escaped = escaped(masks.backslash, last, carry);
    let quote = masks.quote & !escaped;
    // From the opening quote to the byte before the closing one.
    let in_string = parity(quote) ^ carry.in_string;
    carry.in_string = (in_string >> last & 1).wrapping_neg();
    let scalar = !(masks.operator | masks.blank | quote | in_string) & valid;
    let begins = scalar & !(scalar << 1 | carry.scalar);
    carry.scalar = scalar >> last & 1;
    found.tokens.push_bits(at, masks.operator & !in_string | quote | begins);
    let odd = (escaped | masks.control) & in_string & valid;
    if odd != 0 {
        found.odd.push_bits(at, odd);
    }
}

/// Returns which bytes are escaped: those after the odd backslashes of each run.
#[inline(always)]
fn escaped(backslash: u64, last: u32, carry: &mut Carry) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let before = carry.escaped;
    if backslash == 0 {
        carry.escaped = 0;
        return before;
    }
    // A subtraction carries through each run of backslashes and ends on an odd or an even bit.
    let beginning = backslash & !before;
    let codes = ((beginning << 1 | ODD).wrapping_sub(beginning)) ^ ODD;
    carry.escaped = (codes & backslash) >> last & 1;
    codes ^ (backslash | before)
}

/// Prefix parity by shifts, for machines without carry-less multiplication.
#[inline(always)]
pub(crate) fn parity_by_shifts(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// The class of each byte for the portable code: the fields of [`Masks`] as bits.
static KINDS: [u8; 256] = kinds();

const fn kinds() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'"' => 1,
            b'\\' => 2,
            b' ' => 4,
            b'\t' | b'\n' | b'\r' => 4 | 16,
            b'{' | b'}' | b'[' | b']' | b':' | b',' => 8,
            0..b' ' => 16,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn portable(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
    index_by(bytes, base, carry, found, look_at_each, parity_by_shifts);
}

/// A byte at a time.
#[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
fn look_at_each(chunk: &[u8; STEP]) -> Masks {
    let mut masks = Masks::default();
    for (bit, byte) in chunk.iter().enumerate() {
        let kind = u64::from(KINDS[usize::from(*byte)]);
        masks.quote |= (kind & 1) << bit;
        masks.backslash |= (kind >> 1 & 1) << bit;
        masks.blank |= (kind >> 2 & 1) << bit;
        masks.operator |= (kind >> 3 & 1) << bit;
        masks.control |= (kind >> 4) << bit;
        masks.comma |= u64::from(*byte == b',') << bit;
        masks.colon |= u64::from(*byte == b':') << bit;
        masks.open |= u64::from(*byte | 0x20 == b'{') << bit;
        masks.close |= u64::from(*byte | 0x20 == b'}') << bit;
        masks.curly |= u64::from(*byte >> 5 & 1) << bit;
    }
    masks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    use super::{See, look_at_each, parity_by_shifts};

    pub(super) use super::portable as index;

    pub(super) fn blocks(bytes: &[u8], see: &mut impl See) {
        super::blocks::blocks_by(bytes, look_at_each, parity_by_shifts, see);
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use super::blocks::blocks_by;
    use super::{Carry, Found, Masks, STEP, See, index_by, parity_by_shifts};
    use crate::neon::Chunk;

    pub(super) fn index(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_index(bytes, base, carry, found) }
    }

    pub(super) fn blocks(bytes: &[u8], see: &mut impl See) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16_blocks(bytes, see) }
    }

    #[target_feature(enable = "neon")]
    fn by_16_index(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
        index_by(bytes, base, carry, found, |chunk| look(chunk), parity_by_shifts);
    }

    #[target_feature(enable = "neon")]
    fn by_16_blocks(bytes: &[u8], see: &mut impl See) {
        blocks_by(bytes, |chunk| look(chunk), parity_by_shifts, see);
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn look(chunk: &[u8; STEP]) -> Masks {
        let chunk = Chunk::load(chunk);
        // `[` and `]` are 0x20 below `{` and `}`.
        let (open, close) = (chunk.equal_with_bit_5(b'{'), chunk.equal_with_bit_5(b'}'));
        let (comma, colon) = (chunk.equal(b','), chunk.equal(b':'));
        Masks {
            quote: chunk.equal(b'"'),
            backslash: chunk.equal(b'\\'),
            blank: chunk.equal(b' ') | chunk.within(b'\t', b'\n') | chunk.equal(b'\r'),
            operator: comma | colon | open | close,
            control: chunk.within(0, 0x1f),
            comma,
            colon,
            open,
            close,
            curly: chunk.bit_5(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::blocks::blocks_by;
    use super::{Carry, Found, Masks, STEP, See, index_by, parity_by_shifts};

    /// Whether the machine supports `look_at_32`.
    fn is_newer() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq")
    }

    /// Whether the machine supports `look_at_64`, which is no faster if positions are wanted.
    fn is_wide() -> bool {
        is_newer() && is_x86_feature_detected!("avx512bw")
    }

    pub(super) fn index(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
        if is_newer() {
            // SAFETY: the machine has these instructions.
            unsafe { by_32(bytes, base, carry, found) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { by_16(bytes, base, carry, found) }
        }
    }

    pub(super) fn blocks(bytes: &[u8], see: &mut impl See) {
        if is_wide() {
            // SAFETY: the machine has these instructions.
            unsafe { blocks_by_64(bytes, see) }
        } else if is_newer() {
            // SAFETY: the machine has these instructions.
            unsafe { blocks_by_32(bytes, see) }
        } else {
            // SAFETY: every x86-64 has these instructions.
            unsafe { blocks_by_16(bytes, see) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,popcnt,pclmulqdq")]
    fn blocks_by_64(bytes: &[u8], see: &mut impl See) {
        blocks_by(bytes, |chunk| look_at_64(chunk), |bits| parity_by_product(bits), see);
    }

    #[target_feature(enable = "avx2,bmi1,popcnt,pclmulqdq")]
    pub(super) fn by_32(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
        index_by(bytes, base, carry, found, |chunk| look_at_32(chunk), |bits| parity_by_product(bits));
    }

    #[target_feature(enable = "avx2,bmi1,popcnt,pclmulqdq")]
    fn blocks_by_32(bytes: &[u8], see: &mut impl See) {
        blocks_by(bytes, |chunk| look_at_32(chunk), |bits| parity_by_product(bits), see);
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn by_16(bytes: &[u8], base: u32, carry: &mut Carry, found: &mut Found) {
        index_by(bytes, base, carry, found, |chunk| look_at_16(chunk), parity_by_shifts);
    }

    #[target_feature(enable = "sse2")]
    pub(super) fn blocks_by_16(bytes: &[u8], see: &mut impl See) {
        blocks_by(bytes, |chunk| look_at_16(chunk), parity_by_shifts, see);
    }

    /// Returns the code of a machine without AVX-512, if this machine can run it.
    #[cfg(test)]
    pub(super) fn blocks_without_wide<S: See>() -> Option<impl Fn(&[u8], &mut S)> {
        // SAFETY: the machine has these instructions.
        is_newer().then_some(|bytes: &[u8], see: &mut S| unsafe { blocks_by_32(bytes, see) })
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq")]
    fn parity_by_product(bits: u64) -> u64 {
        let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
        _mm_cvtsi128_si64(product) as u64
    }

    /// Builds the shuffle table, indexed by a byte's low half.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn table_of(low: [u8; 16]) -> __m128i {
        _mm_set_epi64x(
            i64::from_le_bytes(low[8..].try_into().unwrap_or_default()),
            i64::from_le_bytes(low[..8].try_into().unwrap_or_default()),
        )
    }

    /// Two shuffles find blanks and operators: the low half of each byte looks up the only blank or operator
    /// with that low half.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt,pclmulqdq")]
    fn look_at_32(chunk: &[u8; STEP]) -> Masks {
        let table = |low: [u8; 16]| _mm256_broadcastsi128_si256(table_of(low));
        // Entries without one hold a value that no byte with that low half has.
        let blanks = table([b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0, 0, b'\r', 0, 0]);
        let operators = table([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, b':', b'{', b',', b'}', 0, 0]);
        let (halves, _) = chunk.as_chunks::<32>();
        let [low, high] = [&halves[0], &halves[1]].map(|half| {
            // SAFETY: the half has 32 bytes.
            unsafe { _mm256_loadu_si256(half.as_ptr().cast()) }
        });
        let bits = |test: &dyn Fn(__m256i) -> __m256i| {
            let [low, high] = [low, high].map(|given| u64::from(_mm256_movemask_epi8(test(given)) as u32));
            low | high << 32
        };
        let is = |given: __m256i, byte: u8| _mm256_cmpeq_epi8(given, _mm256_set1_epi8(byte as i8));
        // `[` and `]` are 0x20 below `{` and `}`.
        let moved = |given: __m256i| _mm256_or_si256(given, _mm256_set1_epi8(0x20));
        let control = bits(&|given| _mm256_cmpeq_epi8(_mm256_min_epu8(given, _mm256_set1_epi8(0x1f)), given));
        Masks {
            quote: bits(&|given| is(given, b'"')),
            backslash: bits(&|given| is(given, b'\\')),
            blank: bits(&|given| _mm256_cmpeq_epi8(given, _mm256_shuffle_epi8(blanks, given))),
            // Only control characters also map to `:` and `,`.
            operator: bits(&|given| _mm256_cmpeq_epi8(moved(given), _mm256_shuffle_epi8(operators, given)))
                & !control,
            control,
            comma: bits(&|given| is(given, b',')),
            colon: bits(&|given| is(given, b':')),
            open: bits(&|given| is(moved(given), b'{')),
            close: bits(&|given| is(moved(given), b'}')),
            // Moves that bit to the byte's sign bit.
            curly: bits(&|given| _mm256_slli_epi16::<2>(given)),
        }
    }

    /// As [`look_at_32`], with AVX-512.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx2,bmi1,popcnt,pclmulqdq")]
    fn look_at_64(chunk: &[u8; STEP]) -> Masks {
        let table = |low: [u8; 16]| _mm512_broadcast_i32x4(table_of(low));
        let blanks = table([b' ', 0, 0, 0, 0, 0, 0, 0, 0, b'\t', b'\n', 0, 0, b'\r', 0, 0]);
        // SAFETY: the chunk has 64 bytes.
        let given = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let is = |given: __m512i, byte: u8| _mm512_cmpeq_epi8_mask(given, _mm512_set1_epi8(byte as i8));
        let moved = _mm512_or_si512(given, _mm512_set1_epi8(0x20));
        let (comma, colon, open, close) =
            (is(given, b','), is(given, b':'), is(moved, b'{'), is(moved, b'}'));
        Masks {
            quote: is(given, b'"'),
            backslash: is(given, b'\\'),
            blank: _mm512_cmpeq_epi8_mask(given, _mm512_shuffle_epi8(blanks, given)),
            operator: comma | colon | open | close,
            control: _mm512_cmple_epu8_mask(given, _mm512_set1_epi8(0x1f)),
            comma,
            colon,
            open,
            close,
            curly: _mm512_test_epi8_mask(given, _mm512_set1_epi8(0x20)),
        }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn look_at_16(chunk: &[u8; STEP]) -> Masks {
        let is = |given: __m128i, byte: u8| _mm_cmpeq_epi8(given, _mm_set1_epi8(byte as i8));
        let (quarters, _) = chunk.as_chunks::<16>();
        let mut masks = Masks::default();
        for quarter in quarters.iter().rev() {
            // SAFETY: the quarter has 16 bytes.
            let given = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
            let any = |bytes: [u8; 4], given| {
                let [a, b, c, d] = bytes.map(|byte| is(given, byte));
                _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))
            };
            let put = |mask: &mut u64, hits| *mask = *mask << 16 | u64::from(_mm_movemask_epi8(hits) as u32);
            let moved = _mm_or_si128(given, _mm_set1_epi8(0x20));
            put(&mut masks.quote, is(given, b'"'));
            put(&mut masks.backslash, is(given, b'\\'));
            put(&mut masks.blank, any([b' ', b'\t', b'\n', b'\r'], given));
            put(&mut masks.control, _mm_cmpeq_epi8(_mm_min_epu8(given, _mm_set1_epi8(0x1f)), given));
            put(&mut masks.comma, is(given, b','));
            put(&mut masks.colon, is(given, b':'));
            put(&mut masks.open, is(moved, b'{'));
            put(&mut masks.close, is(moved, b'}'));
            put(&mut masks.curly, _mm_slli_epi16::<2>(given));
        }
        masks.operator = masks.comma | masks.colon | masks.open | masks.close;
        masks
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    type Variant = fn(&[u8], u32, &mut Carry, &mut Found);

    fn variants() -> Vec<Variant> {
        let mut variants: Vec<Variant> = vec![index, |bytes, base, carry, found| {
            found.tokens.make_room(bytes.len());
            found.odd.make_room(bytes.len());
            portable(bytes, base, carry, found);
        }];
        #[cfg(target_arch = "x86_64")]
        variants.push(|bytes, base, carry, found| {
            found.tokens.make_room(bytes.len());
            found.odd.make_room(bytes.len());
            // SAFETY: every x86-64 has these instructions.
            unsafe { imp::by_16(bytes, base, carry, found) }
        });
        variants
    }

    /// A straightforward reference, a byte at a time.
    fn plainly(bytes: &[u8]) -> (Vec<u32>, Vec<u32>) {
        let (mut tokens, mut odd) = (Vec::new(), Vec::new());
        let (mut string, mut escaped, mut scalar) = (false, false, false);
        for (at, byte) in (0..).zip(bytes) {
            let escapes = *byte == b'\\' && !escaped;
            if string && (escaped || *byte < b' ') {
                odd.push(at);
            }
            let quote = *byte == b'"' && !escaped;
            let plain = !string && !quote && !b"{}[]:, \t\n\r".contains(byte);
            if quote || !string && b"{}[]:,".contains(byte) || plain && !scalar {
                tokens.push(at);
            }
            string ^= quote;
            (escaped, scalar) = (escapes, plain);
        }
        (tokens, odd)
    }

    fn in_pieces(variant: Variant, bytes: &[u8], piece: usize) -> (Vec<u32>, Vec<u32>) {
        let (mut carry, mut found) = (Carry::default(), Found::default());
        for (number, piece_of) in bytes.chunks(piece).enumerate() {
            variant(piece_of, (number * piece) as u32, &mut carry, &mut found);
        }
        (found.tokens.as_slice().to_vec(), found.odd.as_slice().to_vec())
    }

    fn agree(bytes: &[u8]) {
        let expected = plainly(bytes);
        for (number, variant) in variants().into_iter().enumerate() {
            for piece in [1, 3, 63, 64, 65, 200, 100_000] {
                let found = in_pieces(variant, bytes, piece);
                assert_eq!(found, expected, "{number} by {piece}: {}", bytes.escape_ascii());
            }
        }
    }

    #[test]
    fn every_byte_alone() {
        for byte in 0..=255u8 {
            agree(&[byte]);
            agree(&[b'"', byte, b'x', b'"', byte, b'y']);
        }
    }

    #[test]
    fn random_texts_of_telling_bytes() {
        let telling = b"\"\"\"\\\\\\{}[]:, \t\n\r1a\x00\x1f\x0c\x1a\x7f\x80\xff0-e.";
        let mut random = Random::new(1);
        for _ in 0..300 {
            let length = random.below(400);
            let bytes: Vec<u8> = (0..length).map(|_| telling[random.below(telling.len())]).collect();
            agree(&bytes);
        }
    }

    #[test]
    fn what_is_forgotten_moves_the_others() {
        let (mut carry, mut found) = (Carry::default(), Found::default());
        index(b"[1, \"a\"]", 0, &mut carry, &mut found);
        assert_eq!(found.tokens.as_slice(), [0, 1, 2, 4, 6, 7]);
        found.tokens.forget(2, 1);
        assert_eq!(found.tokens.as_slice(), [1, 3, 5, 6]);
        found.tokens.clear();
        assert!(found.tokens.as_slice().is_empty());
    }
}
