//! Arrays.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::value::{Text, Value};

/// From strings to values, in no order.
#[derive(Clone, Debug)]
pub(super) struct Array {
    map: HashMap<Text, Value, Seed>,
}

/// A hash that is fast for short keys: words folded by multiplication, as in wyhash. The seed differs from run to run,
/// so that nobody can prepare keys that all fall together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

impl Seed {
    pub(super) fn new() -> Self {
        Seed(RandomState::new().hash_one(0) | 1)
    }
}

pub(super) struct Folding(u64);

fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl BuildHasher for Seed {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            self.0 = fold(self.0 ^ word, ODD);
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.0 = fold(self.0 ^ u64::from_le_bytes(last), ODD ^ (rest.len() as u64) << 56);
    }

    fn write_usize(&mut self, length: usize) {
        self.0 = self.0.wrapping_add(length as u64);
    }
}

impl Array {
    pub(super) fn new(seed: Seed) -> Self {
        Array { map: HashMap::with_hasher(seed) }
    }

    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.map.contains_key(key)
    }

    /// What stands there; asking for it makes it.
    #[inline]
    pub(super) fn entry(&mut self, key: &[u8]) -> &mut Value {
        self.map.entry(Text::new(key)).or_default()
    }

    pub(super) fn set(&mut self, key: &[u8], value: Value) {
        match self.map.get_mut(key) {
            Some(place) => *place = value,
            None => _ = self.map.insert(Text::new(key), value),
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        self.map.remove(key);
    }

    pub(super) fn clear(&mut self) {
        self.map.clear();
    }

    pub(super) fn keys(&self) -> Vec<Text> {
        self.map.keys().cloned().collect()
    }
}
