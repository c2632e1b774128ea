//! Arrays.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::value::{Text, Value};

/// From strings to values, in no order. What is looked for need not be a string of its own, as it had to be in the map of
/// the standard library.
#[derive(Clone, Debug)]
pub(super) struct Array {
    table: HashTable<(Text, Value)>,
    seed: Seed,
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

fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Seed {
    #[inline]
    fn hash(self, bytes: &[u8]) -> u64 {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut hash = self.0.wrapping_add(bytes.len() as u64);
        for word in bytes.as_chunks::<8>().0 {
            hash = fold(hash ^ u64::from_le_bytes(*word), ODD);
        }
        fold(hash ^ last(bytes), ODD)
    }
}

/// The last bytes, some of which may be in a word already; of less than eight, all.
#[inline]
fn last(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.last_chunk() {
        return u64::from_le_bytes(*eight);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Array {
    pub(super) fn new(seed: Seed) -> Self {
        Array { table: HashTable::new(), seed }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.table.find(self.seed.hash(key), |(known, _)| known.bytes() == key).is_some()
    }

    #[inline]
    fn at(&mut self, key: &[u8]) -> Entry<'_, (Text, Value)> {
        let seed = self.seed;
        self.table.entry(seed.hash(key), |(known, _)| known.bytes() == key, |(key, _)| seed.hash(key.bytes()))
    }

    /// What stands there; asking for it makes it.
    #[inline]
    pub(super) fn entry(&mut self, key: &[u8]) -> &mut Value {
        &mut self.at(key).or_insert_with(|| (Text::new(key), Value::Unset)).into_mut().1
    }

    #[inline]
    pub(super) fn set(&mut self, key: &[u8], value: Value) {
        match self.at(key) {
            Entry::Occupied(mut entry) => entry.get_mut().1 = value,
            Entry::Vacant(entry) => _ = entry.insert((Text::new(key), value)),
        }
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Entry::Occupied(entry) = self.at(key) {
            entry.remove();
        }
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
    }

    pub(super) fn keys(&self) -> Vec<Text> {
        self.table.iter().map(|(key, _)| key.clone()).collect()
    }
}
