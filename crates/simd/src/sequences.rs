//! Finds short sequences of byte sets, such as a digit, a point, a digit; several sequences at once.
//!
//! The two halves of a byte select entries of two 16-entry tables; the bits set in both say whose sets may
//! hold the byte. So sets cost no more than single bytes, and 64 positions are tested at once (as Hyperscan's
//! Teddy does for strings). A set that is not a product of halves is split into several, as long as there are
//! bits.

/// A bit for each byte value.
pub type Set = [u64; 4];

/// How many positions one mask covers.
pub const STEP: usize = 64;

/// Maximum number of sequences.
pub const SEQUENCES_MAX: usize = 32;
/// Maximum length of a sequence.
pub const LENGTH_MAX: usize = 32;

/// How many bytes of each sequence the tables compare.
const WIDTH_MAX: usize = 4;
/// Bits of a table entry.
const BITS: usize = 8;
/// Bytes read for one step.
const READ: usize = STEP + WIDTH_MAX - 1;

/// Sequences to search for.
#[derive(Clone, Debug)]
pub struct Sequences {
    tables: Tables,
    /// For each position in a sequence and each byte there, a bit for each sequence that continues with it.
    members: Vec<[u32; 256]>,
    /// The sequences that end at each position.
    ends: Vec<u32>,
    /// Whether the tables alone decide a match.
    exact: bool,
}

/// The tables selected by the halves of a byte.
#[derive(Clone, Debug)]
struct Tables {
    low: [[u8; 16]; WIDTH_MAX],
    high: [[u8; 16]; WIDTH_MAX],
    width: usize,
}

/// All bytes with one of these upper halves and one of these lower halves.
#[derive(Clone, Copy)]
struct Product {
    high: u16,
    low: u16,
}

impl Product {
    fn bytes(self) -> u32 {
        self.high.count_ones() * self.low.count_ones()
    }
}

/// Splits a set into products.
fn products(set: &Set) -> Vec<Product> {
    let mut products: Vec<Product> = Vec::new();
    for high in 0..16 {
        let low = (set[high / 4] >> (high % 4 * 16)) as u16;
        match products.iter_mut().find(|product| product.low == low) {
            _ if low == 0 => {}
            Some(same) => same.high |= 1 << high,
            None => products.push(Product { high: 1 << high, low }),
        }
    }
    products
}

/// Returns the smallest product that contains them all.
fn joined(products: &[Product]) -> Product {
    let either =
        |one: Product, other: &Product| Product { high: one.high | other.high, low: one.low | other.low };
    products.iter().fold(Product { high: 0, low: 0 }, either)
}

/// Returns how many bytes the smallest product contains beyond these.
fn surplus(products: &[Product]) -> u32 {
    joined(products).bytes() - products.iter().map(|product| product.bytes()).sum::<u32>()
}

impl Tables {
    /// Builds the tables; also returns whether they match exactly these sequences, up to their width.
    fn new(sequences: &[Vec<Set>], width: usize) -> (Tables, bool) {
        let mut parts: Vec<Vec<Vec<Product>>> =
            sequences.iter().map(|sequence| sequence[..width].iter().map(products).collect()).collect();
        let bits = |parts: &[Vec<Vec<Product>>]| -> usize {
            parts.iter().map(|places| places.iter().map(Vec::len).product::<usize>()).sum()
        };
        let mut exact = sequences.len() <= BITS;
        while bits(&parts) > BITS {
            let several = parts.iter_mut().flatten().filter(|place| place.len() > 1);
            let Some(place) = several.min_by_key(|place| surplus(place)) else { break };
            exact &= surplus(place) == 0;
            *place = vec![joined(place)];
        }
        let mut tables = Tables { low: [[0; 16]; WIDTH_MAX], high: [[0; 16]; WIDTH_MAX], width };
        let mut bit = 0;
        for places in &parts {
            let count: usize = places.iter().map(Vec::len).product();
            for mut choice in 0..count {
                for (at, place) in places.iter().enumerate() {
                    tables.add(at, place[choice % place.len()], 1 << (bit % BITS));
                    choice /= place.len();
                }
                bit += 1;
            }
        }
        (tables, exact)
    }

    fn add(&mut self, at: usize, product: Product, bit: u8) {
        for half in 0..16 {
            if product.low >> half & 1 == 1 {
                self.low[at][half] |= bit;
            }
            if product.high >> half & 1 == 1 {
                self.high[at][half] |= bit;
            }
        }
    }

    /// A position at a time.
    #[cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))]
    fn portable(&self, bytes: &[u8; READ]) -> u64 {
        let has = |at: usize| {
            let bits = (0..self.width).fold(u8::MAX, |bits, place| {
                let byte = usize::from(bytes[at + place]);
                bits & self.low[place][byte & 15] & self.high[place][byte >> 4]
            });
            u64::from(bits != 0)
        };
        (0..STEP).fold(0, |word, at| word | has(at) << at)
    }
}

impl Sequences {
    /// Returns `None` if there are no or too many sequences, or one is empty or too long.
    pub fn new(sequences: &[Vec<Set>]) -> Option<Self> {
        let shortest = sequences.iter().map(Vec::len).min()?;
        let longest = sequences.iter().map(Vec::len).max()?;
        if shortest == 0 || longest > LENGTH_MAX || sequences.len() > SEQUENCES_MAX {
            return None;
        }
        let (tables, exact) = Tables::new(sequences, shortest.min(WIDTH_MAX));
        let exact = exact && longest == tables.width;
        let mut members = vec![[0; 256]; longest];
        let mut ends = vec![0; longest];
        for (number, sequence) in sequences.iter().enumerate() {
            ends[sequence.len() - 1] |= 1 << number;
            for (at, set) in sequence.iter().enumerate() {
                for byte in (0..256).filter(|byte| set[byte / 64] >> (byte % 64) & 1 == 1) {
                    members[at][byte] |= 1 << number;
                }
            }
        }
        Some(Sequences { tables, members, ends, exact })
    }

    /// Returns the length of the longest sequence.
    pub fn longest(&self) -> usize {
        self.members.len()
    }

    /// Whether [`mark`](Self::mark) can be used.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns the length of the longest sequence at the start of these bytes.
    #[inline]
    pub fn length(&self, bytes: impl Iterator<Item = u8>) -> Option<usize> {
        let (mut alive, mut length) = (u32::MAX, None);
        for (at, (byte, members)) in bytes.zip(&self.members).enumerate() {
            alive &= members[usize::from(byte)];
            if alive == 0 {
                break;
            }
            if alive & self.ends[at] != 0 {
                length = Some(at + 1);
            }
        }
        length
    }

    /// Returns the first position where a sequence begins, and the end of the longest one there.
    pub fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let mut found = None;
        places(&self.tables, bytes, |at, mut word| {
            while word != 0 {
                let start = at + word.trailing_zeros() as usize;
                if let Some(length) = self.length(bytes[start..].iter().copied()) {
                    found = Some((start, start + length));
                    return false;
                }
                word &= word - 1;
            }
            true
        });
        found
    }

    /// Sets bit i of `words[w]` to whether a sequence begins at byte 64w + i, for as many words as there are.
    ///
    /// # Panics
    /// If the sequences are not [exact](Self::is_exact).
    pub fn mark(&self, bytes: &[u8], words: &mut [u64]) {
        assert!(self.exact, "the tables say all");
        words.fill(0);
        places(&self.tables, bytes, |at, word| {
            if let Some(known) = words.get_mut(at / STEP) {
                *known = word;
            }
            true
        });
    }
}

/// Calls `each` as [`places_by`] does, with code for the width of the tables.
fn places(tables: &Tables, bytes: &[u8], each: impl FnMut(usize, u64) -> bool) {
    match tables.width {
        1 => imp::places_of::<1>(tables, bytes, each),
        2 => imp::places_of::<2>(tables, bytes, each),
        3 => imp::places_of::<3>(tables, bytes, each),
        _ => imp::places_of::<4>(tables, bytes, each),
    }
}

/// Calls `each` with every multiple of [`STEP`] and a mask of candidate positions from there on, until it
/// returns false.
#[inline(always)]
fn places_by(
    width: usize,
    bytes: &[u8],
    word: impl Fn(&[u8; READ]) -> u64,
    mut each: impl FnMut(usize, u64) -> bool,
) {
    let mut at = 0;
    while let Some(read) = bytes[at..].first_chunk::<READ>() {
        let word = word(read);
        if word != 0 && !each(at, word) {
            return;
        }
        at += STEP;
    }
    let rest = &bytes[at..];
    let mut padded = [0; STEP + READ];
    padded[..rest.len()].copy_from_slice(rest);
    let mut left = (rest.len() + 1).saturating_sub(width);
    for from in [0, STEP] {
        let Some(read) = padded[from..].first_chunk::<READ>() else { return };
        let valid = if left < STEP { (1 << left) - 1 } else { u64::MAX };
        let word = if left > 0 { word(read) & valid } else { 0 };
        if word != 0 && !each(at + from, word) {
            return;
        }
        left = left.saturating_sub(STEP);
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    use super::{Tables, places_by};

    pub(super) fn places_of<const W: usize>(
        tables: &Tables,
        bytes: &[u8],
        each: impl FnMut(usize, u64) -> bool,
    ) {
        places_by(W, bytes, |read| tables.portable(read), each);
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    use std::arch::aarch64::*;

    use super::{READ, Tables, places_by};
    use crate::neon::{bits, load};

    pub(super) fn places_of<const W: usize>(
        tables: &Tables,
        bytes: &[u8],
        each: impl FnMut(usize, u64) -> bool,
    ) {
        // SAFETY: every 64-bit ARM has these instructions.
        unsafe { by_16::<W>(tables, bytes, each) }
    }

    #[target_feature(enable = "neon")]
    fn by_16<const W: usize>(tables: &Tables, bytes: &[u8], each: impl FnMut(usize, u64) -> bool) {
        let tables: [_; W] = std::array::from_fn(|at| (load(&tables.low[at]), load(&tables.high[at])));
        let hits = |read: &[u8; READ], from: usize| {
            let mut hits = vdupq_n_u8(255);
            for (place, (low, high)) in tables.iter().enumerate() {
                // SAFETY: at most 3 + 48 bytes lie before the 16.
                let given = unsafe { vld1q_u8(read[from + place..].as_ptr()) };
                let lower = vqtbl1q_u8(*low, vandq_u8(given, vdupq_n_u8(15)));
                let upper = vqtbl1q_u8(*high, vshrq_n_u8::<4>(given));
                hits = vandq_u8(hits, vandq_u8(lower, upper));
            }
            vtstq_u8(hits, hits)
        };
        places_by(W, bytes, |read| bits([0, 16, 32, 48].map(|from| hits(read, from))), each);
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::*;

    use super::{READ, Tables, places_by};

    #[inline]
    pub(super) fn places_of<const W: usize>(
        tables: &Tables,
        bytes: &[u8],
        each: impl FnMut(usize, u64) -> bool,
    ) {
        if is_x86_feature_detected!("avx512bw") {
            // SAFETY: the machine has these instructions.
            unsafe { by_64::<W>(tables, bytes, each) }
        } else if is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has these instructions.
            unsafe { by_32::<W>(tables, bytes, each) }
        } else {
            places_by(tables.width, bytes, |read| tables.portable(read), each);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn by_64<const W: usize>(tables: &Tables, bytes: &[u8], each: impl FnMut(usize, u64) -> bool) {
        let (mut low, mut high) = ([_mm512_setzero_si512(); W], [_mm512_setzero_si512(); W]);
        for place in 0..W {
            // SAFETY: a table has 16 bytes.
            let table = unsafe { _mm_loadu_si128(tables.low[place].as_ptr().cast()) };
            low[place] = _mm512_broadcast_i32x4(table);
            // SAFETY: as above.
            let table = unsafe { _mm_loadu_si128(tables.high[place].as_ptr().cast()) };
            high[place] = _mm512_broadcast_i32x4(table);
        }
        let half = _mm512_set1_epi8(15);
        let word = |read: &[u8; READ]| {
            let mut bits = _mm512_set1_epi8(-1);
            for place in 0..W {
                // SAFETY: at most 3 bytes lie before the 64.
                let given = unsafe { _mm512_loadu_si512(read[place..].as_ptr().cast()) };
                let upper = _mm512_and_si512(_mm512_srli_epi16::<4>(given), half);
                let lower = _mm512_shuffle_epi8(low[place], _mm512_and_si512(given, half));
                let upper = _mm512_shuffle_epi8(high[place], upper);
                bits = _mm512_and_si512(bits, _mm512_and_si512(lower, upper));
            }
            _mm512_test_epi8_mask(bits, bits)
        };
        places_by(W, bytes, word, each);
    }

    #[target_feature(enable = "avx2")]
    fn by_32<const W: usize>(tables: &Tables, bytes: &[u8], each: impl FnMut(usize, u64) -> bool) {
        let (mut low, mut high) = ([_mm256_setzero_si256(); W], [_mm256_setzero_si256(); W]);
        for place in 0..W {
            // SAFETY: a table has 16 bytes.
            let table = unsafe { _mm_loadu_si128(tables.low[place].as_ptr().cast()) };
            low[place] = _mm256_broadcastsi128_si256(table);
            // SAFETY: as above.
            let table = unsafe { _mm_loadu_si128(tables.high[place].as_ptr().cast()) };
            high[place] = _mm256_broadcastsi128_si256(table);
        }
        let half = _mm256_set1_epi8(15);
        let word = |read: &[u8; READ]| {
            let mut word = 0;
            for from in [0, 32] {
                let mut bits = _mm256_set1_epi8(-1);
                for place in 0..W {
                    // SAFETY: at most 3 + 32 bytes lie before the 32.
                    let given = unsafe { _mm256_loadu_si256(read[from + place..].as_ptr().cast()) };
                    let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(given), half);
                    let lower = _mm256_shuffle_epi8(low[place], _mm256_and_si256(given, half));
                    let upper = _mm256_shuffle_epi8(high[place], upper);
                    bits = _mm256_and_si256(bits, _mm256_and_si256(lower, upper));
                }
                let none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bits, _mm256_setzero_si256()));
                word |= u64::from(!none as u32) << from;
            }
            word
        };
        places_by(W, bytes, word, each);
    }

    #[cfg(test)]
    #[target_feature(enable = "avx2")]
    pub(super) fn places_of_32(tables: &Tables, bytes: &[u8], each: impl FnMut(usize, u64) -> bool) {
        match tables.width {
            1 => by_32::<1>(tables, bytes, each),
            2 => by_32::<2>(tables, bytes, each),
            3 => by_32::<3>(tables, bytes, each),
            _ => by_32::<4>(tables, bytes, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    fn set(members: &[u8]) -> Set {
        let mut set = [0; 4];
        members.iter().for_each(|byte| set[usize::from(*byte) / 64] |= 1 << (byte % 64));
        set
    }

    /// A reference that follows the definition.
    fn expected(sequences: &[Vec<Set>], bytes: &[u8]) -> Vec<Option<usize>> {
        let has = |set: &Set, byte: u8| set[usize::from(byte) / 64] >> (byte % 64) & 1 == 1;
        let matches = |sequence: &Vec<Set>, at: usize| {
            let given = &bytes[at..];
            given.len() >= sequence.len() && sequence.iter().zip(given).all(|(set, byte)| has(set, *byte))
        };
        let longest = |at| sequences.iter().filter(|sequence| matches(sequence, at)).map(Vec::len).max();
        (0..bytes.len()).map(longest).collect()
    }

    /// Returns which positions the tables select.
    fn named(bytes: &[u8], places: impl FnOnce(&mut dyn FnMut(usize, u64) -> bool)) -> Vec<bool> {
        let mut named = vec![false; bytes.len()];
        places(&mut |at, word| {
            (0..STEP).filter(|bit| word >> bit & 1 == 1).for_each(|bit| named[at + bit] = true);
            true
        });
        named
    }

    #[test]
    fn what_is_found_is_what_a_loop_finds() {
        let mut random = Random::new(3);
        let kinds: [&[u8]; 9] = [
            b"ab",
            b"a",
            b"\n",
            b"0123456789",
            b"aeiouAEIOU",
            b"abcdxyz_AZ09",
            b".",
            b"b\xff\x80",
            b"\xc3\x7f\x00",
        ];
        let mut exact = 0;
        for _ in 0..3000 {
            let some: Vec<Vec<Set>> = (0..1 + random.below(10))
                .map(|_| (0..1 + random.below(6)).map(|_| set(random.pick(&kinds))).collect())
                .collect();
            let sequences = &some[..1 + random.below(some.len())];
            let alphabet: &[u8] =
                random.pick(&[&b"ab\n0.\xff"[..], b"xyzab09._\xc3\x80", b"a", b"a---------"]);
            let length = random.below(400);
            let bytes: Vec<u8> = (0..length).map(|_| random.pick(alphabet)).collect();
            let expected = expected(sequences, &bytes);
            let ours = Sequences::new(sequences).expect("few and short");
            let first = expected.iter().position(Option::is_some);
            assert_eq!(ours.find(&bytes), first.and_then(|at| Some((at, at + expected[at]?))));
            if ours.is_exact() {
                exact += 1;
                let mut words = vec![7; random.below(length.div_ceil(STEP) + 2)];
                ours.mark(&bytes, &mut words);
                for (at, expected) in expected.iter().enumerate().take(words.len() * STEP) {
                    assert_eq!(words[at / STEP] >> (at % STEP) & 1 == 1, expected.is_some());
                }
            }
            let tables = &ours.tables;
            let all = named(&bytes, |each| places(tables, &bytes, each));
            assert!(expected.iter().zip(&all).all(|(expected, named)| expected.is_none() || *named));
            let portable = named(&bytes, |each| {
                places_by(tables.width, &bytes, |read| tables.portable(read), each);
            });
            assert_eq!(all, portable);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the machine has these instructions.
                let by_32 = named(&bytes, |each| unsafe { imp::places_of_32(tables, &bytes, each) });
                assert_eq!(all, by_32);
            }
        }
        assert!(exact > 300, "only {exact} exact ones");
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let a = set(b"a");
        assert!(Sequences::new(&[]).is_none());
        assert!(Sequences::new(&[vec![a], vec![]]).is_none());
        assert!(Sequences::new(&vec![vec![a]; SEQUENCES_MAX + 1]).is_none());
        assert!(Sequences::new(&[vec![a; LENGTH_MAX + 1]]).is_none());
    }
}
