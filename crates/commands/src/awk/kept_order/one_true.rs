//! The one true awk's order of keys.
//!
//! One hash table of lists holds all keys, which are strings. New elements come first in their lists. With more than two
//! elements for each list the table becomes four times as large, before the new element is in it, and its lists are moved
//! one after the other.

/// How many lists there are at first.
const LISTS: usize = 50;
/// A table grows when it has more elements than this for each list.
const LONGEST: usize = 2;
/// It becomes so many times as large.
const GROWTH: usize = 4;

/// Returns the indices of keys in this order. The keys come in the order in which they were created.
pub(super) fn sorted<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut hashes = Vec::new();
    // The first of a list comes last.
    let mut lists = vec![Vec::new(); LISTS];
    for (index, key) in keys.enumerate() {
        hashes.push(hash(key));
        if index + 1 > LONGEST * lists.len() {
            lists = moved(&lists, &hashes);
        }
        let list = place(hashes[index], lists.len());
        lists[list].push(index);
    }
    lists.iter().flat_map(|list| list.iter().rev().copied()).collect()
}

/// Returns a larger table with the same elements.
fn moved(lists: &[Vec<usize>], hashes: &[u32]) -> Vec<Vec<usize>> {
    let mut larger = vec![Vec::new(); lists.len() * GROWTH];
    for index in lists.iter().flat_map(|list| list.iter().rev()) {
        let list = place(hashes[*index], larger.len());
        larger[list].push(*index);
    }
    larger
}

/// Returns the hash of a key. Its bytes are signed, as the machine's characters are.
fn hash(key: &[u8]) -> u32 {
    let signed = |byte: u8| i32::from(byte as std::ffi::c_char).cast_unsigned();
    key.iter().fold(0u32, |hash, byte| signed(*byte).wrapping_add(hash.wrapping_mul(31)))
}

fn place(hash: u32, lists: usize) -> usize {
    hash as usize % lists
}
