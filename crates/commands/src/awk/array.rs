//! Arrays.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::number;
use super::value::{Text, Value};

/// From strings to values, in no order.
///
/// What stands at 1, 2, 3 and so on, as `split` and counters leave it, is in a list; the rest in a table, where what is looked
/// for need not be a string of its own, as it had to be in the map of the standard library.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// From 1. What was removed leaves a gap.
    list: Vec<Option<Value>>,
    in_list: usize,
    /// No number up to the length of the list.
    table: HashTable<(Text, Value)>,
    seed: Seed,
}

/// A hash that is fast for short keys: words folded by multiplication, as in wyhash. The seed differs from run to run,
/// so that nobody can prepare keys that all fall together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Seed {
    pub(super) fn new() -> Self {
        Seed(RandomState::new().hash_one(0) | 1)
    }

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

/// The number from 1 whose decimal digits these are.
#[inline]
fn place_of(key: &[u8]) -> Option<usize> {
    if key.is_empty() || key.len() > 9 || key[0] == b'0' {
        return None;
    }
    let mut place = 0;
    for byte in key {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        place = place * 10 + usize::from(digit);
    }
    Some(place)
}

/// The same of a number.
#[inline]
pub(super) fn place_of_number(number: f64) -> Option<usize> {
    let place = number as u32;
    (place > 0 && f64::from(place) == number && place < 1_000_000_000).then_some(place as usize)
}

impl Array {
    pub(super) fn new(seed: Seed) -> Self {
        Array { list: Vec::new(), in_list: 0, table: HashTable::new(), seed }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len() + self.in_list
    }

    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        match place_of(key) {
            Some(place) if place <= self.list.len() => self.list[place - 1].is_some(),
            _ => self.is_in_table(key),
        }
    }

    fn is_in_table(&self, key: &[u8]) -> bool {
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
        match place_of(key) {
            Some(place) if self.belongs_in_list(place) => self.in_list(place),
            _ => &mut self.at(key).or_insert_with(|| (Text::new(key), Value::Unset)).into_mut().1,
        }
    }

    /// The same for a number.
    #[inline]
    pub(super) fn entry_at(&mut self, place: usize) -> &mut Value {
        if self.belongs_in_list(place) {
            return self.in_list(place);
        }
        let key = digits(place);
        &mut self.at(&key).or_insert_with(|| (Text::new(&key), Value::Unset)).into_mut().1
    }

    #[inline]
    fn belongs_in_list(&self, place: usize) -> bool {
        let length = self.list.len();
        place <= length || place == length + 1 && (self.table.is_empty() || !self.is_in_table(&digits(place)))
    }

    #[inline]
    fn in_list(&mut self, place: usize) -> &mut Value {
        if place > self.list.len() {
            self.list.push(None);
        }
        let slot = &mut self.list[place - 1];
        self.in_list += usize::from(slot.is_none());
        slot.get_or_insert_default()
    }

    #[inline]
    pub(super) fn set(&mut self, key: &[u8], value: Value) {
        *self.entry(key) = value;
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(place) = place_of(key)
            && place <= self.list.len()
        {
            self.in_list -= usize::from(self.list[place - 1].take().is_some());
        } else if let Entry::Occupied(entry) = self.at(key) {
            entry.remove();
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.in_list = 0;
        self.table.clear();
    }

    /// Calls for each.
    pub(super) fn each(&self, mut call: impl FnMut(&[u8], &Value)) {
        for (index, value) in self.list.iter().enumerate() {
            if let Some(value) = value {
                call(&digits(index + 1), value);
            }
        }
        self.table.iter().for_each(|(key, value)| call(key.bytes(), value));
    }

    pub(super) fn keys(&self) -> Vec<Text> {
        let there = self.list.iter().enumerate().filter(|(_, value)| value.is_some());
        let listed = there.map(|(index, _)| Text::new(&digits(index + 1)));
        listed.chain(self.table.iter().map(|(key, _)| key.clone())).collect()
    }
}

fn digits(place: usize) -> Vec<u8> {
    let mut digits = Vec::with_capacity(10);
    number::write_integer(place as i64, &mut digits);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_list_and_a_table_are_one_map() {
        let mut array = Array::new(Seed::new());
        let mut expected: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        let mut state = 1u64;
        for turn in 0..200_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 40) % 12;
            let key = match (state >> 33) % 8 {
                0 => format!("0{place}"),
                1 => format!("k{place}"),
                _ => place.to_string(),
            };
            match (state >> 50) % 16 {
                0 => {
                    array.remove(key.as_bytes());
                    expected.remove(key.as_bytes());
                }
                1 if turn % 7 == 0 => {
                    array.clear();
                    expected.clear();
                }
                2..6 if place > 0 => {
                    *array.entry_at(place as usize) = Value::Number(turn as f64);
                    expected.insert(place.to_string().into_bytes(), turn as f64);
                }
                6..10 => assert_eq!(array.contains(key.as_bytes()), expected.contains_key(key.as_bytes())),
                _ => {
                    let found = array.entry(key.as_bytes());
                    let known = expected.entry(key.into_bytes()).or_default();
                    assert_eq!(found.number(), *known);
                    (*found, *known) = (Value::Number(turn as f64), turn as f64);
                }
            }
            assert_eq!(array.len(), expected.len());
        }
        let mut keys: Vec<Vec<u8>> = array.keys().iter().map(|key| key.bytes().to_vec()).collect();
        keys.sort();
        assert!(keys.iter().eq(expected.keys()));
    }
}
