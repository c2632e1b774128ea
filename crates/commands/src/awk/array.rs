//! Arrays.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::fractional_keys::{Fractions, Place};
use super::kept_order::KeyOrder;
use super::text::{Text, same};
use super::value::Value;

/// A map from strings to values, without order.
///
/// Elements at 1, 2, 3 and so on, with few gaps, as `split` and counters create them, are in a list; other
/// integers in a table of their own, without digit strings; the rest in a table whose lookups need no owned
/// string, unlike the map of the standard library. mawk also has two forms of arrays, but converts between
/// them.
#[derive(Clone, Debug)]
pub(super) struct Array {
    /// From 0. Removed elements leave a gap, and so does 0 if the list began with 1.
    list: Vec<Option<Value>>,
    in_list: usize,
    /// Each key is at least the length of the list.
    numbers: HashTable<(i32, Value)>,
    /// Other keys, in order of insertion.
    texts: Vec<(Text, Value)>,
    /// The index of each of them: small, so that it stays in cache when the elements do not.
    places: HashTable<u32>,
    /// Of texts found before, at some bits of the hash: the others and the index, which may be out of date.
    recent: Vec<(u32, u32)>,
    /// All keys as last requested, until they change.
    keys: Option<Arc<[Text]>>,
    /// Set if its keys are kept in an awk's order. Then all of them are texts, or all are in the list.
    order: Option<KeyOrder>,
    /// Set in gawk, if an index may be a number that is not whole.
    fractions: Option<Box<Fractions>>,
    seed: Seed,
}

/// Smaller numbers are always in the list, with any gaps: for levels, some of which may be empty.
const GAPS_MAX: usize = 16;

/// Lookups are mostly of few texts: these are found without a search.
const RECENT: usize = 256;

/// Room for more elements is given back when there are none.
const EMPTY_MAX: usize = 1024;

/// The keys of larger arrays are generated each time.
const KEYS_KEPT_MAX: usize = 1 << 16;

/// The key of an element. A string of digits is a number if that formats to the same digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Key<'a> {
    Number(i32),
    Text(&'a [u8]),
    /// A number that is not whole, or -0, and its text: only of an array that was made for them.
    Fraction(&'a [u8], f64),
}

impl<'a> Key<'a> {
    /// All integers of this many digits fit.
    const DIGITS_MAX: usize = 9;

    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Key<'a> {
        whole(text).map_or(Key::Text(text), Key::Number)
    }

    /// Returns the string.
    pub(super) fn text(self) -> Text {
        as_text(self, Text::new)
    }

    pub(super) fn is_minus_zero(number: f64) -> bool {
        number == 0.0 && number.is_sign_negative()
    }

    /// Returns it, or the key of 0 if it is that of -0.
    pub(super) fn with_zero_as_integer(self) -> Self {
        match self {
            Key::Fraction(_, 0.0) => Key::Number(0),
            key => key,
        }
    }

    /// Returns the integer key, unless the number must be formatted.
    #[inline]
    pub(super) fn of_number(number: f64) -> Option<Key<'static>> {
        let whole = number as i32;
        (f64::from(whole) == number && whole.unsigned_abs() < 1_000_000_000).then_some(Key::Number(whole))
    }
}

/// Returns the number that formats to exactly these digits.
#[inline]
fn whole(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [] => return None,
        [b'0', rest @ ..] => return (rest.is_empty() && !negative).then_some(0),
        digits if digits.len() > Key::DIGITS_MAX => return None,
        _ => {}
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i32::from(digit);
    }
    Some(if negative { -number } else { number })
}

/// A fast hash for short keys: words folded by multiplication, as in wyhash. The seed differs from run to
/// run, so that no input can be crafted with colliding keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seed(u64);

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

impl Seed {
    pub(super) fn new() -> Self {
        Seed(RandomState::new().hash_one(0) | 1)
    }

    #[inline]
    pub(super) fn hash(self, bytes: &[u8]) -> u64 {
        let mut hash = self.0.wrapping_add(bytes.len() as u64);
        for word in bytes.as_chunks::<8>().0 {
            hash = fold(hash ^ u64::from_le_bytes(*word), ODD);
        }
        fold(hash ^ last(bytes), ODD)
    }

    #[inline]
    fn hash_number(self, number: i32) -> u64 {
        fold(self.0 ^ number as u64, ODD)
    }

    #[inline]
    pub(super) fn hash_pair(self, [first, second]: [u64; 2]) -> u64 {
        fold(first ^ self.0, second ^ ODD)
    }
}

/// Returns the last bytes, possibly overlapping an earlier word; all if less than eight.
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
        Array {
            list: Vec::new(),
            in_list: 0,
            numbers: HashTable::new(),
            texts: Vec::new(),
            places: HashTable::new(),
            recent: Vec::new(),
            keys: None,
            order: None,
            fractions: None,
            seed,
        }
    }

    /// Makes an array whose indices may be numbers that are not whole.
    pub(super) fn with_fractions(seed: Seed) -> Self {
        Array { fractions: Some(Box::default()), ..Array::new(seed) }
    }

    /// Makes an array that keeps its keys in this order.
    pub(super) fn in_kept_order(seed: Seed, order: KeyOrder) -> Self {
        Array { order: Some(order), ..Array::new(seed) }
    }

    /// Whether all its keys are texts, also those that are written as numbers.
    #[inline]
    fn has_texts_only(&self) -> bool {
        self.order.as_ref().is_some_and(|order| !order.may_be_a_list() || !self.texts.is_empty())
    }

    /// Returns the key of a text.
    #[inline]
    pub(super) fn key<'a>(&self, text: &'a [u8]) -> Key<'a> {
        if self.has_texts_only() { Key::Text(text) } else { Key::of(text) }
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len() + self.numbers.len() + self.in_list
    }

    #[inline]
    pub(super) fn contains(&mut self, key: Key) -> bool {
        match key {
            key if self.has_fractions() => self.place_with_fractions(key).is_some(),
            key if self.has_texts_only() => {
                let found = as_text(key, |text| self.place_of(text, self.seed.hash(text)));
                if let (Some(place), Some(order)) = (found, &mut self.order) {
                    order.found(place);
                }
                found.is_some()
            }
            Key::Number(number) => self.has_number(number),
            Key::Text(text) | Key::Fraction(text, _) => self.place_of(text, self.seed.hash(text)).is_some(),
        }
    }

    #[inline(always)]
    fn place_of(&mut self, text: &[u8], hash: u64) -> Option<usize> {
        let slot = hash as usize % RECENT;
        let rest = (hash >> 32) as u32;
        if let Some((known, place)) = self.recent.get(slot)
            && *known == rest
            && self.texts.get(*place as usize).is_some_and(|(found, _)| same(found.bytes(), text))
        {
            return Some(*place as usize);
        }
        let place = self.search(text, hash)?;
        if self.recent.is_empty() {
            self.recent = vec![(0, u32::MAX); RECENT];
        }
        self.recent[slot] = (rest, place);
        Some(place as usize)
    }

    #[inline(never)]
    fn search(&self, text: &[u8], hash: u64) -> Option<u32> {
        let is_it = |place: &u32| same(self.texts[*place as usize].0.bytes(), text);
        self.places.find(hash, is_it).copied()
    }

    #[inline]
    fn has_number(&self, number: i32) -> bool {
        match self.list.get(number as usize) {
            Some(slot) => slot.is_some(),
            None => self.is_in_numbers(number),
        }
    }

    fn is_in_numbers(&self, number: i32) -> bool {
        // Growing lists ask this for each element; an empty table needs no hash.
        !self.numbers.is_empty()
            && self.numbers.find(self.seed.hash_number(number), |(known, _)| *known == number).is_some()
    }

    #[inline]
    fn at_text(&mut self, text: &[u8]) -> &mut Value {
        let hash = self.seed.hash(text);
        let place = self.place_of(text, hash).unwrap_or_else(|| self.new_text(text, hash));
        if let Some(order) = &mut self.order {
            order.found(place);
        }
        &mut self.texts[place].1
    }

    fn new_text(&mut self, text: &[u8], hash: u64) -> usize {
        self.keys = None;
        if self.order.is_some() && !self.list.is_empty() {
            self.turn_list_into_texts();
        }
        let Array { texts, places, seed, .. } = self;
        let place = texts.len();
        assert!(place < u32::MAX as usize, "an array of four thousand million strings");
        texts.push((Text::new(text), Value::Unset));
        places.insert_unique(hash, place as u32, |place| seed.hash(texts[*place as usize].0.bytes()));
        place
    }

    /// Makes texts of the keys in the list, before one that is not.
    fn turn_list_into_texts(&mut self) {
        self.in_list = 0;
        for (number, value) in std::mem::take(&mut self.list).into_iter().enumerate() {
            let Some(value) = value else { continue };
            as_text(Key::Number(number as i32), |text| *self.at_text(text) = value);
        }
    }

    /// Removes a text; the last one takes its index.
    fn remove_text(&mut self, text: &[u8]) {
        let Array { texts, places, seed, .. } = self;
        let is_it = |place: &u32| texts[*place as usize].0.bytes() == text;
        let Ok(found) = places.find_entry(seed.hash(text), is_it) else { return };
        let (place, _) = found.remove();
        let last = texts.len() as u32 - 1;
        let hash_of_last = seed.hash(texts[last as usize].0.bytes());
        if let Some(moved) = places.find_mut(hash_of_last, |place| *place == last) {
            *moved = place;
        }
        texts.swap_remove(place as usize);
        if let Some(order) = &mut self.order {
            order.remove(place as usize);
        }
    }

    /// Returns the element, created if missing.
    #[inline]
    fn at_number(&mut self, number: i32) -> &mut Value {
        match number_entry(&mut self.numbers, self.seed, number) {
            Entry::Occupied(entry) => &mut entry.into_mut().1,
            Entry::Vacant(entry) => {
                self.keys = None;
                &mut entry.insert((number, Value::Unset)).into_mut().1
            }
        }
    }

    /// Whether an index may be a number that is not whole.
    #[inline(always)]
    pub(super) fn has_fractions(&self) -> bool {
        self.fractions.is_some()
    }

    /// Returns the element, created if missing, where indices may be numbers that are not whole.
    #[inline(never)]
    fn entry_with_fractions(&mut self, key: Key) -> &mut Value {
        let text = as_text(key, <[u8]>::to_vec);
        let place = match (self.place_with_fractions(key), self.len()) {
            (Some(place), _) => place,
            (None, length) => {
                self.fractions.as_mut().map_or(Place::Text, |it| it.place_of_new(key, &text, length == 0))
            }
        };
        match place {
            Place::Number(number) if self.belongs_in_list(number) => self.in_list(number as usize),
            Place::Number(number) => self.at_number(number),
            Place::Text => self.at_text(&text),
        }
    }

    /// Returns where an element is, if there is one.
    #[inline(never)]
    fn place_with_fractions(&self, key: Key) -> Option<Place> {
        let fractions = self.fractions.as_ref()?;
        as_text(key, |text| {
            let places = fractions.places(key, text);
            places.into_iter().flatten().find(|place| match place {
                Place::Number(number) => self.has_number(*number),
                Place::Text => self.search(text, self.seed.hash(text)).is_some(),
            })
        })
    }

    /// Returns all keys as `for (k in a)` finds them.
    pub(super) fn found_keys(&mut self) -> impl Iterator<Item = Value> + use<> {
        let keys = self.keys();
        let mut fractions = Vec::new();
        if let Some(known) = self.fractions.as_ref().filter(|known| known.has_any()) {
            self.each(|key, _| fractions.push(as_text(key, |text| known.number_of(key, text))));
        }
        (0..keys.len()).map(move |at| match fractions.get(at) {
            Some(Some(number)) => Value::Number(*number),
            _ => Value::Text(keys[at].clone()),
        })
    }

    /// Returns the element, created if missing.
    #[inline]
    pub(super) fn entry(&mut self, key: Key) -> &mut Value {
        match key {
            key if self.has_fractions() => self.entry_with_fractions(key),
            Key::Number(_) if self.has_texts_only() => as_text(key, |text| self.at_text(text)),
            Key::Number(number) if self.belongs_in_list(number) => self.in_list(number as usize),
            Key::Number(_) if self.order.is_some() => as_text(key, |text| self.at_text(text)),
            Key::Number(number) => self.at_number(number),
            Key::Text(text) | Key::Fraction(text, _) => self.at_text(text),
        }
    }

    /// Returns the element of a text, created if missing.
    #[inline]
    pub(super) fn entry_of(&mut self, text: &[u8]) -> &mut Value {
        if self.has_texts_only() { self.at_text(text) } else { self.entry(Key::of(text)) }
    }

    /// Returns the element in the list, if any.
    #[inline]
    pub(super) fn listed(&mut self, number: f64) -> Option<&mut Value> {
        let place = number as i32;
        let slot = self.list.get_mut(place as usize).filter(|_| f64::from(place) == number);
        slot.and_then(Option::as_mut)
    }

    /// Replaces all content by the result of `split`: `make` calls back for each piece. Reuses the old
    /// strings.
    pub(super) fn be_split<'a>(&mut self, make: impl FnOnce(&mut dyn FnMut(&'a [u8]))) -> usize {
        self.keys = None;
        self.numbers.clear();
        self.texts.clear();
        self.places.clear();
        match self.list.first_mut() {
            Some(zeroth) => *zeroth = None,
            None => self.list.push(None),
        }
        let (list, mut pieces) = (&mut self.list, 0);
        make(&mut |piece| {
            pieces += 1;
            match list.get_mut(pieces) {
                Some(Some(value)) => value.be_input(piece),
                Some(slot) => *slot = Some(Value::input(piece)),
                None => list.push(Some(Value::input(piece))),
            }
        });
        // An empty list has no element 0.
        self.list.truncate(if pieces == 0 { 0 } else { pieces + 1 });
        self.in_list = pieces;
        pieces
    }

    /// Replaces all content by values with the indices 1, 2, 3 and so on.
    pub(super) fn be_list(&mut self, values: impl Iterator<Item = Value>) {
        self.clear();
        self.list.push(None);
        self.list.extend(values.map(Some));
        self.in_list = self.list.len() - 1;
        if self.in_list == 0 {
            self.list.clear();
        }
    }

    /// Whether the number is in the list, or next to it.
    #[inline]
    fn belongs_in_list(&self, number: i32) -> bool {
        let place = number as usize;
        place < self.list.len() || self.is_next(number)
    }

    fn is_next(&self, number: i32) -> bool {
        let length = self.list.len();
        // A negative number becomes very large here.
        if self.numbers.is_empty() && (number as usize) < GAPS_MAX {
            return true;
        }
        let next = number as usize == length || number == 1 && length == 0;
        next && !self.is_in_numbers(number) && !(length == 0 && self.is_in_numbers(0))
    }

    #[inline]
    fn in_list(&mut self, place: usize) -> &mut Value {
        while place >= self.list.len() {
            self.list.push(None);
        }
        let slot = &mut self.list[place];
        if slot.is_none() {
            self.in_list += 1;
            self.keys = None;
        }
        slot.get_or_insert_default()
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.keys = None;
        match key {
            Key::Number(_) if self.order.is_some() => as_text(key, |text| self.remove_text(text)),
            Key::Number(number) if (number as usize) < self.list.len() => {
                self.in_list -= usize::from(self.list[number as usize].take().is_some());
            }
            Key::Number(number) => {
                if let Entry::Occupied(entry) = number_entry(&mut self.numbers, self.seed, number) {
                    entry.remove();
                }
            }
            Key::Text(text) | Key::Fraction(text, _) => self.remove_text(text),
        }
    }

    /// Whether its tables have so little capacity that clearing them takes no time.
    pub(super) fn takes_little(&self) -> bool {
        let rooms =
            [self.list.capacity(), self.numbers.capacity(), self.texts.capacity(), self.places.capacity()];
        rooms.into_iter().all(|room| room <= EMPTY_MAX)
    }

    pub(super) fn clear(&mut self) {
        self.keys = None;
        if !self.takes_little() {
            (self.numbers, self.places) = (HashTable::new(), HashTable::new());
        }
        self.list.clear();
        self.in_list = 0;
        self.numbers.clear();
        self.texts.clear();
        self.places.clear();
        if let Some(order) = &mut self.order {
            order.clear();
        }
    }

    /// Calls `call` for each element.
    pub(super) fn each(&self, mut call: impl FnMut(Key, &Value)) {
        for (index, value) in self.list.iter().enumerate() {
            if let Some(value) = value {
                call(Key::Number(index as i32), value);
            }
        }
        self.numbers.iter().for_each(|(number, value)| call(Key::Number(*number), value));
        self.texts.iter().for_each(|(text, value)| call(Key::Text(text.bytes()), value));
    }

    /// Returns all keys. Those of a small array are cached.
    pub(super) fn keys(&mut self) -> Arc<[Text]> {
        if let Some(order) = &self.order {
            if !self.list.is_empty() {
                return self.written_keys().into();
            }
            return order.sorted(&self.texts).into_iter().map(|index| self.texts[index].0.clone()).collect();
        }
        if let Some(keys) = &self.keys {
            return Arc::clone(keys);
        }
        let keys: Arc<[Text]> = self.written_keys().into();
        self.keys = (keys.len() <= KEYS_KEPT_MAX).then(|| Arc::clone(&keys));
        keys
    }

    /// Returns all elements in the order in which they are kept, and whether gawk keeps their indices as numbers.
    pub(super) fn found_elements(&mut self) -> Vec<(Value, Value, bool)> {
        if let Some(order) = &self.order
            && self.list.is_empty()
        {
            let are_numbers = KeyOrder::numbers(&self.texts);
            let element = |at: usize| {
                let (key, value) = &self.texts[at];
                (Value::Text(key.clone()), value.clone(), are_numbers[at])
            };
            return order.sorted(&self.texts).into_iter().map(element).collect();
        }
        let mut found = Vec::with_capacity(self.len());
        self.each(|key, value| {
            found.push((Value::Text(key.text()), value.clone(), matches!(key, Key::Number(_))));
        });
        found
    }

    fn written_keys(&self) -> Vec<Text> {
        let mut keys = Vec::with_capacity(self.len());
        self.each(|key, _| keys.push(key.text()));
        keys
    }
}

/// Passes the text of a key to `call`.
fn as_text<T>(key: Key, call: impl FnOnce(&[u8]) -> T) -> T {
    match key {
        Key::Text(text) | Key::Fraction(text, _) => call(text),
        Key::Number(number) => call(digits(number, &mut [0; Key::DIGITS_MAX + 1])),
    }
}

/// Writes a number at the end of `room`.
fn digits(number: i32, room: &mut [u8; Key::DIGITS_MAX + 1]) -> &[u8] {
    let (mut start, mut rest) = (room.len(), number.unsigned_abs());
    while rest > 0 || start == room.len() {
        start -= 1;
        room[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        start -= 1;
        room[start] = b'-';
    }
    &room[start..]
}

#[inline]
fn number_entry(numbers: &mut HashTable<(i32, Value)>, seed: Seed, number: i32) -> Entry<'_, (i32, Value)> {
    let hash = |(known, _): &(i32, Value)| seed.hash_number(*known);
    numbers.entry(seed.hash_number(number), |(known, _)| *known == number, hash)
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;
    use std::collections::{BTreeMap, HashSet};

    #[test]
    fn a_list_and_a_table_are_one_map() {
        let mut array = Array::new(Seed::new());
        let mut expected: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
        let mut random = Random::new(1);
        for turn in 0..200_000u64 {
            let state = random.next();
            let place = (state >> 40) as i32 % 12;
            let key = match (state >> 33) % 8 {
                0 => format!("0{place}"),
                1 => format!("k{place}"),
                2 => format!("-{place}"),
                _ => place.to_string(),
            };
            let text = key.as_bytes();
            match (state >> 50) % 16 {
                0 => {
                    array.remove(Key::of(text));
                    expected.remove(text);
                }
                1 if turn % 7 == 0 => {
                    array.clear();
                    expected.clear();
                }
                2..6 => {
                    let number = f64::from(if turn % 3 == 0 { -place } else { place });
                    *array.entry(Key::of_number(number).unwrap()) = Value::Number(turn as f64);
                    expected.insert((number as i32).to_string().into_bytes(), turn as f64);
                }
                6..10 => assert_eq!(array.contains(Key::of(text)), expected.contains_key(text)),
                _ => {
                    let found = array.entry(Key::of(text));
                    let known = expected.entry(key.into_bytes()).or_default();
                    assert_eq!(found.number(), *known);
                    (*found, *known) = (Value::Number(turn as f64), turn as f64);
                }
            }
            assert_eq!(array.len(), expected.len());
            if turn.is_multiple_of(4) {
                let mut keys: Vec<Vec<u8>> = array.keys().iter().map(|key| key.bytes().to_vec()).collect();
                keys.sort();
                assert!(keys.iter().eq(expected.keys()));
            }
        }
    }

    #[test]
    fn a_list_is_in_the_order_that_its_keys_would_have_in_tables() {
        let mut random = Random::new(2);
        for round in 0..60u64 {
            let order = KeyOrder::Gawk(if round % 2 == 0 { 2 } else { 10 });
            let mut array = Array::in_kept_order(Seed::new(), order.clone());
            let (mut created, mut known) = (Vec::<(Text, ())>::new(), HashSet::new());
            let (first, until) = (round % 5, random.next() % 3000);
            for turn in 0..until {
                let key = match random.next() % 4000 {
                    0 => format!("k{turn}"),
                    1 => format!("-{turn}"),
                    2 => format!("{}", turn * 100_003),
                    3 => "007".to_owned(),
                    4..100 => (random.next() % (turn + 1)).to_string(),
                    _ => (first + turn).to_string(),
                };
                let text = key.as_bytes();
                assert_eq!(array.contains(array.key(text)), known.contains(text));
                match Key::of(text) {
                    number @ Key::Number(_) if turn % 2 == 0 => *array.entry(number) = Value::text(text),
                    _ => *array.entry_of(text) = Value::text(text),
                }
                if known.insert(text.to_vec()) {
                    created.push((Text::new(text), ()));
                }
            }
            let expected = order.sorted(&created).into_iter().map(|index| created[index].0.bytes().to_vec());
            let keys = array.keys();
            assert!(keys.iter().map(|key| key.bytes().to_vec()).eq(expected), "round {round}");
            assert_eq!(array.len(), created.len());
            for key in keys.iter() {
                assert!(
                    matches!(array.entry_of(key.bytes()), Value::Text(text) if text.bytes() == key.bytes())
                );
            }
        }
    }

    #[test]
    fn what_is_split_takes_the_place_of_everything() {
        let mut array = Array::new(Seed::new());
        for pieces in [
            &[&b"a"[..], b"bc"][..],
            &[],
            &[b"1"],
            &[b"", b"a long piece of more than a few bytes", b"3", b"4"],
        ] {
            for key in [&b"0"[..], b"2", b"77", b"k"] {
                *array.entry(Key::of(key)) = Value::Number(7.0);
            }
            assert_eq!(array.keys().len(), array.len());
            let made = array.be_split(|piece| pieces.iter().for_each(|text| piece(text)));
            assert_eq!((made, array.len()), (pieces.len(), pieces.len()));
            assert_eq!(array.keys().len(), array.len());
            for (at, text) in pieces.iter().enumerate() {
                let value = array.entry(Key::Number(at as i32 + 1));
                assert!(matches!(value, Value::Input(found) if found.bytes() == *text));
            }
            assert_eq!(array.len(), pieces.len());
            assert!(!array.contains(Key::of(b"0")) && !array.contains(Key::of(b"k")));
        }
    }

    #[test]
    fn a_key_is_a_number_if_it_is_written_so() {
        for (text, number) in
            [("0", 0), ("7", 7), ("-12", -12), ("999999999", 999_999_999), ("-999999999", -999_999_999)]
        {
            assert_eq!(Key::Number(number).text().bytes(), text.as_bytes());
            assert_eq!(Key::of(text.as_bytes()), Key::Number(number));
            assert_eq!(Key::of_number(f64::from(number)), Some(Key::Number(number)));
        }
        for text in ["", "-", "-0", "00", "01", "+1", "1.0", " 1", "1 ", "1000000000", "-1000000000", "1e3"] {
            assert_eq!(Key::of(text.as_bytes()), Key::Text(text.as_bytes()));
        }
        assert_eq!(Key::of_number(-0.0), Some(Key::Number(0)));
        for number in [0.5, 1e9, -1e9, f64::NAN, f64::INFINITY] {
            assert_eq!(Key::of_number(number), None);
        }
    }
}
