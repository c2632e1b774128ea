//! Strings that no other string equals.
//!
//! If each element of a string has last-level weights that no other byte sequence has, the last level spells
//! out the string, including positions. Elements without such weights (ideographs) could only follow
//! unnoticed, and show in the first level. Everything that a locale does not know (unassigned characters,
//! invalid bytes) shares one element, so strings with any of it have many equals.

use std::collections::HashMap;

use super::levels::Levels;
use super::sequences::{Element, Sequences};

/// The elements of exactly one byte sequence.
pub(super) struct Alone {
    elements: Vec<u64>,
    /// ASCII bytes that are such an element before any ASCII.
    plain: [bool; 256],
}

impl Alone {
    pub(super) fn new(sequences: &Sequences, levels: &Levels) -> Alone {
        let mut times: HashMap<&'static [u8], u32> = HashMap::new();
        let mut unseen = false;
        sequences.each(|element, _| {
            let last = levels.last_weights(element);
            *times.entry(last).or_default() += 1;
            unseen |= last.is_empty() && levels.first_weights(element).is_empty();
        });
        let mut alone = Alone { elements: Vec::new(), plain: [false; 256] };
        if unseen {
            // Such an element could follow any string.
            return alone;
        }
        sequences.each(|element, byte| {
            let last = levels.last_weights(element);
            if !last.is_empty() && times.get(last) == Some(&1) {
                alone.add(element);
                let plain = byte.filter(|byte| byte.is_ascii() && !sequences.may_go_on_in_ascii(*byte));
                plain.into_iter().for_each(|byte| alone.plain[usize::from(byte)] = true);
            }
        });
        // The end of a piece is as good as a character.
        alone.plain[0] = true;
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

    pub(super) fn is_all_plain(&self, text: &[u8]) -> bool {
        text.iter().all(|byte| self.plain[usize::from(*byte)])
    }
}

fn place(element: Element) -> (usize, u64) {
    let index = (element & 0x00ff_ffff) as usize;
    (index / 64, 1 << (index % 64))
}
