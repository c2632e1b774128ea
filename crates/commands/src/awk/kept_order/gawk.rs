//! gawk's order of keys.
//!
//! gawk keeps strings and integers apart: strings in a hash table of lists, integers in one of pairs, and those from 0 on
//! in arrays as long as these are well filled. New elements come first in their lists, and a table that grows moves one
//! list after the other. So the order follows from the keys in the order in which they were created (sources:
//! `str_array.c`, `int_array.c` and `cint_array.c` of gawk 5.1 to 5.3, by their comments and what they do).

use std::collections::HashSet;
use std::ffi::c_char;

use crate::{Family, Implementation};

/// The sizes of a table, one after the other.
const SIZES: [usize; 21] = [
    13,
    127,
    1021,
    8191,
    16_381,
    32_749,
    65_497,
    131_101,
    262_147,
    524_309,
    1_048_583,
    2_097_169,
    4_194_319,
    8_388_617,
    16_777_259,
    33_554_467,
    67_108_879,
    134_217_757,
    268_435_459,
    536_870_923,
    1_073_741_827,
];

/// Versions whose lists may have ten elements. Those between were not compared.
const LONG_LISTS: &[&str] = &["5.3.2"];
const UNKNOWN: &[&str] = &["5.3.0", "5.3.1"];

/// Returns how many elements for each list a table has before it grows, if that is known.
pub(super) fn longest_list(implementation: &Implementation) -> Option<usize> {
    if implementation.is_one_of(Family::Gawk, UNKNOWN) {
        return None;
    }
    Some(if implementation.is_one_of(Family::Gawk, LONG_LISTS) { 10 } else { 2 })
}

/// Returns the indices of keys in gawk's order. The keys come in the order in which they were created.
pub(super) fn sorted<'a>(keys: impl Iterator<Item = &'a [u8]>, longest: usize) -> Vec<usize> {
    let mut keys = keys.enumerate().peekable();
    let Some((_, first)) = keys.peek() else { return Vec::new() };
    let has_sequences = matches!(integer(first), Some(0..));
    let mut sequences = Sequences::default();
    let mut tables = Tables { longest, ..Tables::default() };
    for (index, key) in keys {
        let number = integer(key);
        let taken = has_sequences && number.is_some_and(|number| sequences.take(number, index));
        if !taken {
            tables.add(key, number, index);
        }
    }
    let mut order = tables.order();
    sequences.found.sort_unstable();
    order.extend(sequences.found.into_iter().map(|(_, index)| index));
    order
}

/// Returns which of these keys gawk keeps as numbers, without a string. They come in the order in which they were created.
pub(in crate::awk) fn kept_as_numbers<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Vec<bool> {
    let mut sequences: Option<Sequences> = None;
    // Whether the part for what is in no sequence keeps integers apart from strings: as its first key is.
    let mut keeps_integers = None;
    let mut is_first = true;
    let of_key = |key: &[u8]| {
        let number = integer(key);
        if std::mem::replace(&mut is_first, false) && matches!(number, Some(0..)) {
            sequences = Some(Sequences::default());
        }
        let is_taken =
            sequences.as_mut().zip(number).is_some_and(|(sequences, number)| sequences.take(number, 0));
        is_taken || *keeps_integers.get_or_insert(number.is_some()) && number.is_some()
    };
    keys.map(of_key).collect()
}

/// Returns the integer of 32 bits that is written so.
pub(in crate::awk) fn integer(key: &[u8]) -> Option<i32> {
    let digits = key.strip_prefix(b"-").unwrap_or(key);
    match digits {
        b"0" if digits.len() < key.len() => None,
        [b'0', _, ..] => None,
        // An integer of more digits would not fit.
        [b'0'..=b'9', ..] if digits.len() <= 10 => str::from_utf8(key).ok()?.parse().ok(),
        _ => None,
    }
}

/// Arrays of integers from 0 on. Each holds those between two powers of two, in leaves of the same size.
#[derive(Clone, Debug, Default)]
pub(in crate::awk) struct Sequences {
    found: Vec<(i32, usize)>,
    leaves: HashSet<(u32, u32)>,
    /// Of all leaves.
    capacity: usize,
}

impl Sequences {
    /// The numbers below the power of two with this exponent are in one array.
    const FIRST: u32 = 10;
    /// More places than this may not be left free.
    const FREE_MAX: usize = 2048;

    /// Takes a key that is new, unless too many places would be left free.
    pub(in crate::awk) fn take(&mut self, key: i32, index: usize) -> bool {
        let Ok(number) = u32::try_from(key) else { return false };
        let above = number.checked_ilog2().filter(|power| *power >= Self::FIRST);
        let power = above.unwrap_or(Self::FIRST);
        let halved = |mut power: u32, until: u32| {
            loop {
                power = power.div_ceil(2);
                if power <= until {
                    return power;
                }
            }
        };
        // The estimate of the size of a leaf is not always its size.
        let estimate = 1usize << halved(power, Self::FIRST - 1);
        if self.capacity + estimate > Self::FREE_MAX + self.found.len() {
            return false;
        }
        let size = halved(power, Self::FIRST);
        let base = above.map_or(0, |power| 1 << power);
        if self.leaves.insert((above.unwrap_or(0), (number - base) >> size)) {
            self.capacity += 1 << size;
        }
        self.found.push((key, index));
        true
    }
}

/// A table of integers, if the first key was one, and a table of strings.
#[derive(Debug, Default)]
struct Tables {
    longest: usize,
    strings: Strings,
    integers: Option<Integers>,
}

impl Tables {
    fn add(&mut self, key: &[u8], number: Option<i32>, index: usize) {
        if self.strings.keys.is_empty() && self.integers.is_none() && number.is_some() {
            self.integers = Some(Integers::default());
        }
        match (&mut self.integers, number) {
            (Some(integers), Some(number)) => integers.add(number, index, self.longest),
            _ => self.strings.add(key, index, self.longest),
        }
    }

    fn order(self) -> Vec<usize> {
        let mut order = self.strings.order();
        order.extend(self.integers.iter().flat_map(Integers::order));
        order
    }
}

/// The end of a list.
const NONE: u32 = u32::MAX;

/// Returns the next size of a table.
fn next_size(size: usize) -> usize {
    SIZES.into_iter().find(|next| *next > size).unwrap_or(size)
}

/// Whether a table must grow before it has this many elements.
fn must_grow(size: usize, elements: usize, longest: usize) -> bool {
    size == 0 || elements / size > longest
}

#[derive(Debug, Default)]
struct Strings {
    /// The first key of each list.
    heads: Vec<u32>,
    keys: Vec<StringKey>,
}

#[derive(Debug)]
struct StringKey {
    hash: u32,
    index: usize,
    next: u32,
}

impl Strings {
    fn add(&mut self, key: &[u8], index: usize, longest: usize) {
        self.keys.push(StringKey { hash: hash(key), index, next: NONE });
        let place = self.keys.len() - 1;
        if must_grow(self.heads.len(), place + 1, longest) {
            self.grow();
        }
        self.link(place);
    }

    /// Puts a key first in its list.
    fn link(&mut self, place: usize) {
        let list = self.keys[place].hash as usize % self.heads.len();
        self.keys[place].next = std::mem::replace(&mut self.heads[list], place as u32);
    }

    fn grow(&mut self) {
        let larger = vec![NONE; next_size(self.heads.len())];
        for mut place in std::mem::replace(&mut self.heads, larger) {
            while place != NONE {
                let next = self.keys[place as usize].next;
                self.link(place as usize);
                place = next;
            }
        }
    }

    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.keys.len());
        for mut place in self.heads.iter().copied() {
            while let Some(key) = self.keys.get(place as usize) {
                order.push(key.index);
                place = key.next;
            }
        }
        order
    }
}

/// Returns the hash of a string (sdbm, of 32 bits). Characters are signed where those of C are.
fn hash(key: &[u8]) -> u32 {
    key.iter().fold(0, |hash: u32, byte| hash.wrapping_mul(65_599).wrapping_add(*byte as c_char as u32))
}

#[derive(Debug, Default)]
struct Integers {
    /// The first pair of each list. Only that one may have a free place.
    heads: Vec<u32>,
    pairs: Vec<Pair>,
    count: usize,
}

#[derive(Debug)]
struct Pair {
    keys: [Option<(i32, usize)>; 2],
    next: u32,
}

impl Integers {
    fn add(&mut self, number: i32, index: usize, longest: usize) {
        self.count += 1;
        if must_grow(self.heads.len(), self.count, longest) {
            self.grow();
        }
        self.insert(number, index);
    }

    fn insert(&mut self, number: i32, index: usize) {
        let list = mix(number) as usize % self.heads.len();
        let key = Some((number, index));
        match self.pairs.get_mut(self.heads[list] as usize) {
            Some(Pair { keys: [_, free @ None], .. }) => *free = key,
            _ => {
                let place = self.pairs.len() as u32;
                let next = std::mem::replace(&mut self.heads[list], place);
                self.pairs.push(Pair { keys: [key, None], next });
            }
        }
    }

    fn grow(&mut self) {
        let larger = vec![NONE; next_size(self.heads.len())];
        let before = Integers {
            heads: std::mem::replace(&mut self.heads, larger),
            pairs: std::mem::take(&mut self.pairs),
            count: 0,
        };
        before.keys().for_each(|(number, index)| self.insert(number, index));
    }

    /// Returns the keys, list by list.
    fn keys(&self) -> impl Iterator<Item = (i32, usize)> {
        let list = |head: u32| {
            std::iter::successors(self.pairs.get(head as usize), |pair| self.pairs.get(pair.next as usize))
        };
        self.heads.iter().flat_map(move |head| list(*head)).flat_map(|pair| pair.keys.into_iter().flatten())
    }

    fn order(&self) -> impl Iterator<Item = usize> {
        self.keys().map(|(_, index)| index)
    }
}

/// Mixes the bits of an integer, as the last step of SuperFastHash does.
fn mix(number: i32) -> u32 {
    let mut bits = number.cast_unsigned();
    bits ^= bits << 3;
    bits = bits.wrapping_add(bits >> 5);
    bits ^= bits << 4;
    bits = bits.wrapping_add(bits >> 17);
    bits ^= bits << 25;
    bits.wrapping_add(bits >> 6)
}
