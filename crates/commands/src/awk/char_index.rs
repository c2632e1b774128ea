//! Where the characters of a long stored string lie: found once, as gawk does, so that a loop that cuts the same string
//! character by character takes linear time.
//!
//! The string that was asked for last is known by its place in memory. Whatever puts another string there must say so with
//! [`is_new`]: long texts when they are made or grow, and the buffers of records.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use super::characters::{self, Measured, measure};

/// Shorter strings are not worth it.
const LONG: usize = 512;
/// The beginning of every so many-th character is known.
const STEP: usize = 64;

/// What is known of the string.
#[derive(Debug)]
struct Index {
    measured: Measured,
    /// Where each [`STEP`]th character begins; empty if each byte is one.
    starts: Vec<usize>,
    /// What the string shows, if not all of its bytes belong to characters.
    shown: Option<Vec<u8>>,
}

thread_local! {
    /// The place of the string: its address and length.
    static PLACE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static INDEX: RefCell<Option<Index>> = const { RefCell::new(None) };
}

/// Says that a buffer has got other bytes.
#[inline]
pub(super) fn is_new(buffer: &[u8]) {
    let (address, length) = PLACE.get();
    let start = buffer.as_ptr() as usize;
    if length > 0 && start < address + length && address < start + buffer.len() {
        PLACE.set((0, 0));
    }
}

/// Forgets the string: its program may have run in another thread meanwhile.
pub(super) fn forget() {
    PLACE.set((0, 0));
}

/// Measures a string that stays where it is, unless [`is_new`] says so.
pub(super) fn measure_stored(text: &[u8]) -> Measured {
    if text.len() < LONG {
        return measure(text);
    }
    with_index(text, |index| index.measured)
}

/// Appends this range of the characters of such a string, with a replacement for each byte that is none.
pub(super) fn append_stored(text: &[u8], range: Range<usize>, is_valid: bool, out: &mut Vec<u8>) {
    if text.len() < LONG {
        return characters::append(text, range, is_valid, out);
    }
    with_index(text, |index| {
        let text = index.shown.as_deref().unwrap_or(text);
        let [start, end] = [range.start, range.end].map(|number| index.start_of(text, number));
        out.extend_from_slice(&text[start..end]);
    });
}

fn with_index<T>(text: &[u8], with: impl FnOnce(&Index) -> T) -> T {
    let place = (text.as_ptr() as usize, text.len());
    INDEX.with_borrow_mut(|index| {
        if PLACE.get() != place {
            *index = None;
            PLACE.set(place);
        }
        with(index.get_or_insert_with(|| Index::new(text)))
    })
}

impl Index {
    fn new(text: &[u8]) -> Index {
        let measured = measure(text);
        if measured.length == text.len() {
            return Index { measured, starts: Vec::new(), shown: None };
        }
        let shown = (!measured.is_valid).then(|| {
            let mut shown = Vec::new();
            characters::append(text, 0..measured.length, false, &mut shown);
            shown
        });
        let visible = shown.as_deref().unwrap_or(text);
        let starts = visible.iter().enumerate().filter(|(_, byte)| !characters::continues(**byte));
        let starts = starts.map(|(at, _)| at).step_by(STEP).collect();
        Index { measured, starts, shown }
    }

    /// Returns where a character begins, from 0.
    fn start_of(&self, text: &[u8], number: usize) -> usize {
        let Some(known) = self.starts.get(number / STEP) else { return text.len() };
        known + characters::start_of(&text[*known..], number % STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_testkit::Random;

    #[test]
    fn pieces_are_those_of_a_string_that_is_measured_anew() {
        let mut random = Random::new(7);
        for _ in 0..300 {
            let pieces: [&[u8]; 6] = [b"a", "é".as_bytes(), "€".as_bytes(), "😀".as_bytes(), b"bc", b"\xff"];
            let kinds = 1 + random.below(6);
            let text: Vec<u8> = (0..400).flat_map(|_| random.pick(&pieces[..kinds]).to_vec()).collect();
            is_new(&text);
            let measured = measure_stored(&text);
            assert_eq!(measured, measure(&text));
            for _ in 0..40 {
                let start = random.below(measured.length);
                let end = start + random.below(measured.length - start + 1);
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                append_stored(&text, start..end, measured.is_valid, &mut found);
                characters::append(&text, start..end, measured.is_valid, &mut expected);
                assert_eq!(found, expected, "{start}..{end} of {}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn other_bytes_in_the_same_place_are_measured_anew() {
        let mut text = "é".repeat(600).into_bytes();
        assert_eq!(measure_stored(&text).length, 600);
        text.fill(b'a');
        is_new(&text);
        assert_eq!(measure_stored(&text).length, 1200);
    }
}
