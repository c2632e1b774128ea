//! The same 64-byte steps for callers that need no positions: the masks themselves.

use super::{Carry, Masks, STEP, escaped, imp};

/// 64 bytes of a text, a bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Position of the first byte.
    pub at: usize,
    /// Opening quotes.
    pub strings: u64,
    /// First bytes of numbers and words.
    pub scalars: u64,
    /// `{[` outside strings.
    pub open: u64,
    /// `}]`
    pub close: u64,
    /// Curly brackets among brackets; undefined for other bytes.
    pub curly: u64,
    /// `:`
    pub colon: u64,
    /// `,`
    pub comma: u64,
    /// Inside strings: bytes escaped by a backslash.
    pub escaped: u64,
    /// Inside strings: control characters.
    pub control: u64,
    /// Whether no string, number or word continues after it.
    pub clean: bool,
}

/// Receives blocks. Not a closure: unless small, a closure is not compiled with the instructions that its
/// caller may use.
pub trait See {
    /// Takes the next block; returns whether to continue.
    fn see(&mut self, block: &Block) -> bool;
}

/// Passes the blocks of `bytes` to `see` in order, until it returns false. The text begins outside strings,
/// numbers and words. An incomplete block at the end is not passed.
pub fn blocks(bytes: &[u8], see: &mut impl See) {
    imp::blocks(bytes, see);
}

#[inline(always)]
pub(super) fn blocks_by(
    bytes: &[u8],
    masks: impl Fn(&[u8; STEP]) -> Masks,
    parity: impl Fn(u64) -> u64,
    see: &mut impl See,
) {
    let mut carry = Carry::default();
    let (whole, _) = bytes.as_chunks::<STEP>();
    for (number, chunk) in whole.iter().enumerate() {
        if !see.see(&block(number * STEP, &masks(chunk), &mut carry, &parity)) {
            return;
        }
    }
}

#[inline(always)]
fn block(at: usize, masks: &Masks, carry: &mut Carry, parity: impl Fn(u64) -> u64) -> Block {
    let escaped = escaped(masks.backslash, STEP as u32 - 1, carry);
    let quote = masks.quote & !escaped;
    // From the opening quote to the byte before the closing one.
    let in_string = parity(quote) ^ carry.in_string;
    carry.in_string = (in_string >> 63).wrapping_neg();
    let operator = masks.comma | masks.colon | masks.open | masks.close;
    let scalar = !(operator | masks.blank | quote | in_string);
    let scalars = scalar & !(scalar << 1 | carry.scalar);
    carry.scalar = scalar >> 63;
    Block {
        at,
        strings: quote & in_string,
        scalars,
        open: masks.open & !in_string,
        close: masks.close & !in_string,
        curly: masks.curly,
        colon: masks.colon & !in_string,
        comma: masks.comma & !in_string,
        escaped: escaped & in_string,
        control: masks.control & in_string,
        clean: carry.is_clean(),
    }
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::super::{Found, index, look_at_each, parity_by_shifts};
    use super::*;

    #[derive(Default)]
    struct All(Vec<Block>);

    impl See for All {
        fn see(&mut self, block: &Block) -> bool {
            self.0.push(*block);
            true
        }
    }

    /// Asserts that all variants find the same as [`index`].
    fn agree(text: &[u8]) {
        let (mut carry, mut found) = (Carry::default(), Found::default());
        index(text, 0, &mut carry, &mut found);
        let mut seen: Vec<All> = vec![All::default(), All::default()];
        blocks(text, &mut seen[0]);
        blocks_by(text, look_at_each, parity_by_shifts, &mut seen[1]);
        #[cfg(target_arch = "x86_64")]
        {
            seen.push(All::default());
            // SAFETY: every x86-64 has these instructions.
            unsafe { imp::blocks_by_16(text, &mut seen[2]) }
            if let Some(by_32) = imp::blocks_without_wide() {
                seen.push(All::default());
                by_32(text, &mut seen[3]);
            }
        }
        let length = text.len() / STEP * STEP;
        for All(seen) in seen {
            let bits = |of: &dyn Fn(&Block) -> u64| -> Vec<u32> {
                let one = |block: &Block| {
                    let bits = of(block);
                    (0..64)
                        .filter(move |bit| bits >> bit & 1 == 1)
                        .map({
                            let at = block.at as u32;
                            move |bit| at + bit
                        })
                        .collect::<Vec<_>>()
                };
                seen.iter().flat_map(one).collect()
            };
            let at = |place: &u32| text[*place as usize];
            let mut quotes = 0;
            let tokens: Vec<u32> = found
                .tokens
                .as_slice()
                .iter()
                .copied()
                .filter(|place| {
                    quotes += usize::from(at(place) == b'"');
                    at(place) != b'"' || quotes % 2 == 1
                })
                .filter(|place| (*place as usize) < length)
                .collect();
            let all = |block: &Block| {
                block.strings | block.scalars | block.open | block.close | block.colon | block.comma
            };
            assert_eq!(bits(&all), tokens, "{}", text.escape_ascii());
            let odd: Vec<u32> =
                found.odd.as_slice().iter().copied().filter(|place| (*place as usize) < length).collect();
            assert_eq!(bits(&|block| block.escaped | block.control), odd, "{}", text.escape_ascii());
            for place in bits(&|block| block.open | block.close) {
                let block = &seen[place as usize / STEP];
                let bit = |set: u64| set >> (place as usize % STEP) & 1 == 1;
                assert_eq!(bit(block.open), b"{[".contains(&at(&place)));
                assert_eq!(bit(block.curly), b"{}".contains(&at(&place)));
            }
            assert!(bits(&|block| block.colon).iter().all(|place| at(place) == b':'));
            assert!(bits(&|block| block.comma).iter().all(|place| at(place) == b','));
            if length == text.len() && length > 0 {
                assert_eq!(seen[length / STEP - 1].clean, carry.is_clean());
            }
        }
    }

    #[test]
    fn blocks_show_what_the_index_finds() {
        let telling = b"\"\"\"\\\\\\{}[]:, \t\n\r1a\x00\x1f\x0c\x1a\x7f\x80\xff0-e.";
        let mut random = Random::new(1);
        for round in 0..300 {
            let length = if round % 2 == 0 { random.below(400) } else { STEP * (1 + random.below(4)) };
            let text: Vec<u8> = (0..length).map(|_| telling[random.below(telling.len())]).collect();
            agree(&text);
        }
    }
}
