//! Sorts by windows alone: by the bits in which they differ, the highest first.
//!
//! ```text
//!   range ── copied aside, dealt back by up to 12 of the differing bits ──▶ parts ── each a range again
//!                                                                              │
//!                                                                few entries ──▶ sorted by comparing windows
//! ```
//! Text uses few bits of each byte: four for digits. A pass takes the differing bits of up to four bytes, so
//! that it deals as finely as possible. Ranges are copied aside only up to a cache-friendly size: longer ones
//! are dealt in place, which costs more per entry but no memory.

use super::item::Item;
use super::memory_budget::make_room;

/// Ranges up to this length are sorted by comparing windows.
const COMPARE_MAX: usize = 96;
/// Ranges with more entries than this are dealt in place.
const ASIDE_MAX: usize = 2 << 20;
/// Most bits per pass. Ranges shorter than [`COARSE_MAX`] use fewer, which cost less to count, and so do
/// ranges dealt in place, where each part needs cache.
const FINE_BITS: u32 = 12;
const COARSE_BITS: u32 = 8;
const COARSE_MAX: usize = 1 << 14;
/// A pass over few entries leaves about two to this power in each part.
const PART_BITS: u32 = 2;
const BITS_MIN: u32 = 4;

/// Sorts by windows. `aside` is scratch space for reuse.
pub(super) fn sort_windows<I: Item>(items: &mut [I], aside: &mut Vec<I>) {
    match items.len() {
        0..=COMPARE_MAX => items.sort_unstable_by_key(I::window),
        COARSE_MAX..=ASIDE_MAX => pass(items, aside, &mut vec![0; 1 << FINE_BITS]),
        _ => pass(items, aside, &mut [0; 1 << COARSE_BITS]),
    }
}

/// Deals by the highest differing bits, as many as there are `cells` for, and sorts each part.
fn pass<I: Item>(items: &mut [I], aside: &mut Vec<I>, cells: &mut [usize]) {
    let first = items[0].window();
    let differing = items.iter().fold(0, |bits, item| bits | (item.window() ^ first));
    if differing == 0 {
        return;
    }
    let bits = items.len().ilog2().saturating_sub(PART_BITS).clamp(BITS_MIN, cells.len().ilog2());
    let digit = Digit::of(differing, bits);
    let ends = &mut cells[..digit.count()];
    if items.len() <= ASIDE_MAX {
        deal_from_aside(items, aside, ends, &digit);
    } else {
        deal_in_place(items, ends, &digit);
    }
    let mut start = 0;
    for end in ends {
        if *end - start > 1 {
            sort_windows(&mut items[start..*end], aside);
        }
        start = *end;
    }
}

/// Deals by way of a copy. Afterwards `ends` has the end of each part; at first it holds zeros. Keeps the
/// order within a part.
pub(super) fn deal_from_aside<I: Item>(
    items: &mut [I],
    aside: &mut Vec<I>,
    ends: &mut [usize],
    digit: &Digit,
) {
    aside.clear();
    make_room(aside, items.len());
    aside.extend_from_slice(items);
    count(items, ends, digit);
    let mut total = 0;
    for end in ends.iter_mut() {
        (*end, total) = (total, total + *end);
    }
    for item in aside {
        let place = &mut ends[digit.of_window(item.window())];
        items[*place] = *item;
        *place += 1;
    }
}

/// Deals in place: takes a misplaced entry, puts it where it belongs, and continues with the one that was
/// there (an American flag sort). Does not keep the order.
fn deal_in_place<I: Item>(items: &mut [I], ends: &mut [usize], digit: &Digit) {
    count(items, ends, digit);
    let mut heads = Vec::with_capacity(ends.len());
    let mut total = 0;
    for end in ends.iter_mut() {
        heads.push(total);
        total += *end;
        *end = total;
    }
    for part in 0..ends.len() {
        while heads[part] < ends[part] {
            let mut item = items[heads[part]];
            let mut wanted = digit.of_window(item.window());
            while wanted != part {
                item = std::mem::replace(&mut items[heads[wanted]], item);
                heads[wanted] += 1;
                wanted = digit.of_window(item.window());
            }
            items[heads[part]] = item;
            heads[part] += 1;
        }
    }
}

fn count<I: Item>(items: &[I], counts: &mut [usize], digit: &Digit) {
    items.iter().for_each(|item| counts[digit.of_window(item.window())] += 1);
}

/// Some bits of a window, combined: entries that agree in all higher bits order by them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digit {
    /// Rotation and mask for each piece of a window.
    pieces: [(u32, u64); PIECES],
    bits: u32,
}

const PIECES: usize = 4;

impl Digit {
    /// Takes the highest of these bits, at most `bits_max`. All bits between two of one byte are taken: that
    /// is one piece.
    pub(super) fn of(differing: u64, bits_max: u32) -> Self {
        let mut found = [(0, 0); PIECES];
        let (mut rest, mut bits) = (differing, 0);
        for piece in &mut found {
            if rest == 0 || bits == bits_max {
                break;
            }
            let top = u64::BITS - 1 - rest.leading_zeros();
            let byte = top / 8 * 8;
            let low = (rest & (0xff << byte)).trailing_zeros();
            let width = (top + 1 - low).min(bits_max - bits);
            let from = top + 1 - width;
            *piece = (from, width);
            bits += width;
            rest &= (1 << from) - 1;
        }
        let mut below = bits;
        let pieces = found.map(|(from, width)| {
            below -= width;
            ((u64::BITS + from - below) % u64::BITS, ((1 << width) - 1) << below)
        });
        Digit { pieces, bits }
    }

    /// Returns the number of its values.
    pub(super) fn count(&self) -> usize {
        1 << self.bits
    }

    #[inline]
    fn of_window(&self, window: u64) -> usize {
        self.pieces.iter().fold(0, |digit, (turn, mask)| digit | (window.rotate_right(*turn) & mask)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::Plain;
    use super::*;

    #[test]
    fn a_digit_is_made_of_the_bits_that_differ() {
        let digit = Digit::of(0x0f00_1f00_0000_0003, 12);
        assert_eq!(digit.count(), 1 << 11);
        assert_eq!(digit.of_window(0x0a00_1500_0000_0002), 0b101_0101_0110);
        assert_eq!(digit.of_window(0xfa31_f577_7777_777e), 0b101_0101_0110);
        let digit = Digit::of(u64::MAX, 12);
        assert_eq!((digit.count(), digit.of_window(0xabcd_ef01_2345_6789)), (1 << 12, 0xabc));
        let digit = Digit::of(1, 8);
        assert_eq!((digit.count(), digit.of_window(7)), (2, 1));
    }

    #[test]
    fn any_windows_end_in_order() {
        let mut state = 7u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let masks = [u64::MAX, 0x0f0f_0f0f_0f0f_0f0f, 0xff, 0xff00_0000_0000_0000, 0x8000_0000_0000_0001, 0];
        for mask in masks {
            for len in [0, 1, 2, 50, 97, 1000, 40_000] {
                let plain = |window| Plain { window, offset: 0, len: 0 };
                let mut items: Vec<Plain> = (0..len).map(|_| plain(next() & mask)).collect();
                let mut expected: Vec<u64> = items.iter().map(|item| item.window).collect();
                expected.sort_unstable();
                sort_windows(&mut items, &mut Vec::new());
                assert!(items.iter().map(|item| item.window).eq(expected.iter().copied()), "{mask:x} {len}");
            }
        }
    }

    #[test]
    fn dealing_in_place_makes_the_same_parts() {
        let plain = |index: u32| Plain {
            window: u64::from(index.wrapping_mul(2_654_435_761) >> 20),
            offset: index,
            len: 0,
        };
        let items: Vec<Plain> = (0..5000).map(plain).collect();
        let digit = Digit::of(0xfff, 7);
        let (mut aside, mut in_place) = (items.clone(), items);
        let (mut ends, mut others) = (vec![0; digit.count()], vec![0; digit.count()]);
        deal_from_aside(&mut aside, &mut Vec::new(), &mut ends, &digit);
        deal_in_place(&mut in_place, &mut others, &digit);
        assert_eq!(ends, others);
        let digits =
            |items: &[Plain]| items.iter().map(|item| digit.of_window(item.window)).collect::<Vec<_>>();
        assert!(digits(&aside).is_sorted());
        assert_eq!(digits(&aside), digits(&in_place));
        assert!(
            aside
                .chunk_by(|a, b| digits(&[*a]) == digits(&[*b]))
                .all(|part| part.is_sorted_by_key(|item| item.offset))
        );
    }
}
