//! A grow-only set of strings, for programs that test whether each record is new: short strings are in the
//! table itself, so that a lookup reads one location.

use super::array::Seed;

/// Maximum length of a short string.
const SHORT_MAX: usize = 15;
const SLOTS_AT_FIRST: usize = 256;

/// A slot: empty; the bytes of a short string followed by its length plus one; or the hash of a long string
/// and its offset.
type Slot = [u64; 2];

const NOTHING: Slot = [0, 0];
/// Marks the slot of a long string, in the last byte.
const LONG: u64 = 0xFF << 56;

/// The set.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// A power of two, at least half of them empty.
    slots: Vec<Slot>,
    used: usize,
    /// Long strings, each after its length in eight bytes.
    long: Vec<u8>,
    seed: Seed,
}

impl Seen {
    pub(super) fn new() -> Self {
        Seen { slots: vec![NOTHING; SLOTS_AT_FIRST], used: 0, long: Vec::new(), seed: Seed::new() }
    }

    /// Adds a substring. Returns whether it is new.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8], start: usize, end: usize) -> bool {
        if end - start > SHORT_MAX {
            return self.add_long(&text[start..end]);
        }
        let slot = short(text, start, end - start);
        let mut at = self.place(self.seed.hash_pair(slot));
        loop {
            match self.slots[at] {
                found if found == slot => return false,
                NOTHING => break,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
        self.put(at, slot);
        true
    }

    fn add_long(&mut self, string: &[u8]) -> bool {
        let hash = self.seed.hash(string);
        let mut at = self.place(hash);
        loop {
            match self.slots[at] {
                NOTHING => break,
                [known, place] if known == hash && self.is_at(place, string) => return false,
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
        let place = LONG | self.long.len() as u64;
        self.long.extend_from_slice(&(string.len() as u64).to_le_bytes());
        self.long.extend_from_slice(string);
        self.put(at, [hash, place]);
        true
    }

    /// Whether the slot refers to this long string. `false` for a short one.
    fn is_at(&self, place: u64, string: &[u8]) -> bool {
        let lies = (place & !LONG) as usize;
        place & LONG == LONG
            && self.long[lies..].first_chunk().map(|length| u64::from_le_bytes(*length))
                == Some(string.len() as u64)
            && self.long[lies + 8..].starts_with(string)
    }

    fn put(&mut self, at: usize, slot: Slot) {
        self.slots[at] = slot;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![NOTHING; self.slots.len() * 4];
        let old = std::mem::replace(&mut self.slots, more);
        for slot in old.into_iter().filter(|slot| *slot != NOTHING) {
            let is_long = slot[1] & LONG == LONG;
            let mut at = self.place(if is_long { slot[0] } else { self.seed.hash_pair(slot) });
            while self.slots[at] != NOTHING {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// Returns the first slot to probe.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}

/// Makes the slot of a short string.
#[inline]
fn short(text: &[u8], start: usize, length: usize) -> Slot {
    let sixteen = match text[start..].first_chunk::<16>() {
        Some(sixteen) => u128::from_le_bytes(*sixteen) & ((1 << (length * 8)) - 1),
        None => {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&text[start..start + length]);
            u128::from_le_bytes(bytes)
        }
    };
    [sixteen as u64, (sixteen >> 64) as u64 | (length as u64 + 1) << 56]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelton_testkit::Random;
    use std::collections::HashSet;

    #[test]
    fn it_is_like_a_set_of_strings() {
        let (mut seen, mut expected, mut random) = (Seen::new(), HashSet::new(), Random::new(1));
        for _ in 0..300_000 {
            // Lengths around the limit of short strings, with bytes that occur in slots.
            let length = random.below(24);
            let text: Vec<u8> = (0..length + random.below(20))
                .map(|at| if at < 10 { 0 } else { random.pick(&[0, 0, 0, 1, 0xFF]) })
                .collect();
            let start = random.below(text.len() - length + 1);
            let string = &text[start..start + length];
            assert_eq!(
                seen.add(&text, start, start + length),
                expected.insert(string.to_vec()),
                "{string:?}"
            );
        }
        assert!(expected.len() > SLOTS_AT_FIRST && seen.used == expected.len());
    }
}
