//! Strings that no other string equals.
//!
//! If each element of a string has last-level weights that no other byte sequence has, the last level spells
//! out the string, including positions. Elements without such weights (ideographs) could only follow
//! unnoticed, and show in the first level. Everything that a locale does not know (unassigned characters,
//! invalid bytes) shares one element, so strings with any of it have many equals.

use std::collections::HashMap;

use super::levels::Levels;
use super::sequences::{Element, Sequences};

/// The ASCII characters that no other byte sequence equals, before any ASCII: enough for most texts, and found without the
/// table of all elements that [`Alone`] needs.
pub(super) struct AloneInAscii([bool; 256]);

impl AloneInAscii {
    pub(super) fn new(sequences: &Sequences, levels: &Levels) -> AloneInAscii {
        let mut times: HashMap<&'static [u8], u32> = HashMap::new();
        let candidates: Vec<(u8, &'static [u8])> = (1..128)
            .filter(|byte| !sequences.may_go_on_in_ascii(*byte))
            .map(|byte| (byte, levels.last_weights(sequences.first_of(&[byte]).0)))
            .filter(|(_, last)| !last.is_empty())
            .collect();
        // The beginnings of their weights, as most others begin differently.
        let mut begins = [false; 1 << 16];
        for (_, last) in &candidates {
            times.insert(*last, 0);
            begins[beginning(last)] = true;
        }
        let mut unseen = false;
        sequences.each(|element| {
            let last = levels.last_weights(element);
            if begins[beginning(last)]
                && let Some(times) = times.get_mut(last)
            {
                *times += 1;
            }
            unseen |= last.is_empty() && levels.first_weights(element).is_empty();
        });
        let mut plain = [false; 256];
        // Otherwise an element could follow any string unnoticed.
        if !unseen {
            for (byte, last) in candidates {
                plain[usize::from(byte)] = times.get(last) == Some(&1);
            }
            // The end of a piece is as good as a character.
            plain[0] = true;
        }
        AloneInAscii(plain)
    }

    pub(super) fn are_all(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.0[usize::from(*byte)])
    }
}

/// Returns the first two bytes of weights as a number.
fn beginning(weights: &[u8]) -> usize {
    let byte = |at| weights.get(at).map_or(0, |byte: &u8| usize::from(*byte));
    byte(0) << 8 | byte(1)
}

/// The elements of exactly one byte sequence.
pub(super) struct Alone {
    elements: Vec<u64>,
}

impl Alone {
    pub(super) fn new(sequences: &Sequences, levels: &Levels) -> Alone {
        let mut times: HashMap<&'static [u8], u32> = HashMap::new();
        let mut unseen = false;
        sequences.each(|element| {
            let last = levels.last_weights(element);
            *times.entry(last).or_default() += 1;
            unseen |= last.is_empty() && levels.first_weights(element).is_empty();
        });
        let mut alone = Alone { elements: Vec::new() };
        if unseen {
            // Such an element could follow any string.
            return alone;
        }
        sequences.each(|element| {
            let last = levels.last_weights(element);
            if !last.is_empty() && times.get(last) == Some(&1) {
                alone.add(element);
            }
        });
        alone
    }

    fn add(&mut self, element: Element) {
        let (word, bit) = place(element);
        if word >= self.elements.len() {
            self.elements.resize(word + 1, 0);
        }
        self.elements[word] |= bit;
    }

    pub(super) fn has(&self, element: Element) -> bool {
        let (word, bit) = place(element);
        self.elements.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

fn place(element: Element) -> (usize, u64) {
    let index = (element & 0x00ff_ffff) as usize;
    (index / 64, 1 << (index % 64))
}
