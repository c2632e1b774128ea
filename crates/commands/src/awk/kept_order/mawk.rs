//! mawk's order of keys that are strings.
//!
//! mawk has a hash table of lists. Whatever an element is looked up for, it moves to the front of its list, and a table
//! that doubles keeps the order of each list. So the order follows from the hashes of the keys, the most elements that
//! there were, and when each was last looked up (source: `array.w` of mawk 1.3.4 20200120, by its author).
//!
//! Numbers have lists of their own, and an array with both kinds depends on more; such programs have no known order. mawk
//! takes fields and pieces of strings for strings, whatever they look like.

use std::collections::BTreeSet;

use crate::awk::tree::{Builtin, Expr, Program};
use crate::awk::visit::every_expr;

/// Lists of the smallest table.
const LISTS: usize = 64;
/// A table doubles if it has more elements for each list.
const IN_LIST: usize = 12;

/// Returns mawk's hash of a key (FNV-1a, of 32 bits).
fn hash(key: &[u8]) -> u32 {
    key.iter().fold(2_166_136_261, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619))
}

/// When the elements of an array were looked up.
#[derive(Clone, Debug, Default)]
pub(in crate::awk) struct Lookups {
    /// Of each element, in the order in which the array stores them.
    last: Vec<u64>,
    count: u64,
    /// The most elements since the array was empty.
    most: usize,
}

impl Lookups {
    /// Counts a lookup of the element with this index, which may be new.
    #[inline]
    pub(super) fn found(&mut self, index: usize) {
        self.count += 1;
        if index == self.last.len() {
            self.last.push(self.count);
            self.most = self.most.max(self.last.len());
        } else {
            self.last[index] = self.count;
        }
    }

    /// Forgets an element, whose index the last one takes.
    pub(super) fn remove(&mut self, index: usize) {
        self.last.swap_remove(index);
        if self.last.is_empty() {
            self.clear();
        }
    }

    /// Forgets all elements.
    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.most = 0;
    }

    /// Returns the indices of the elements in mawk's order.
    pub(super) fn sorted<'a>(&self, key: impl Fn(usize) -> &'a [u8]) -> Vec<usize> {
        let mut lists = LISTS;
        while self.most > lists * IN_LIST {
            lists *= 2;
        }
        let list = |index| hash(key(index)) as usize & (lists - 1);
        let mut places: Vec<(usize, u64, usize)> =
            self.last.iter().enumerate().map(|(index, at)| (list(index), u64::MAX - at, index)).collect();
        places.sort_unstable();
        places.into_iter().map(|(.., index)| index).collect()
    }
}

/// What is never a number: only text, or unset.
pub(super) struct Texts<'a> {
    /// Variables, and arrays for their elements, that may be numbers.
    numbers: BTreeSet<&'a str>,
    /// Whether a field may be a number.
    of_fields: bool,
}

/// Variables that are numbers from the beginning.
const COUNTERS: [&str; 5] = ["NF", "NR", "FNR", "RSTART", "RLENGTH"];

impl<'a> Texts<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        let mut texts = Texts { numbers: COUNTERS.into(), of_fields: false };
        // One variable may get its value from another.
        loop {
            let mut found = Vec::new();
            every_expr(program, &mut |expr| match expr {
                Expr::Assign(place, value) if !texts.is_text(value) => found.push(&**place),
                Expr::Update(_, place, _) | Expr::Step { place, .. } => found.push(&**place),
                Expr::Builtin(Builtin::ReadLine, args) => found.extend(args.first()),
                _ => {}
            });
            let before = (texts.numbers.len(), texts.of_fields);
            for place in found {
                match place {
                    Expr::Name(name) | Expr::Element(name, _) => drop(texts.numbers.insert(name)),
                    _ => texts.of_fields = true,
                }
            }
            if before == (texts.numbers.len(), texts.of_fields) {
                return texts;
            }
        }
    }

    /// Whether these expressions look up elements of these arrays by strings only.
    pub(super) fn are_keys(&self, exprs: &[&Expr], arrays: &BTreeSet<String>) -> bool {
        let mut found = super::lookups(exprs).filter(|(array, _)| arrays.contains(*array));
        found.all(|(_, index)| index.len() > 1 || self.is_text(&index[0]))
    }

    fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Field(_) => !self.of_fields,
            Expr::Name(name) | Expr::Element(name, _) => !self.numbers.contains(name.as_str()),
            Expr::If(_, yes, no) => self.is_text(yes) && self.is_text(no),
            Expr::Group(inner) => inner.len() == 1 && self.is_text(&inner[0]),
            expr => expr.is_text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_up_last_comes_first_in_its_list() {
        let keys: [&[u8]; 3] = [b"one", b"two", b"three"];
        let mut lookups = Lookups::default();
        (0..3).for_each(|index| lookups.found(index));
        let lists: Vec<u32> = keys.iter().map(|key| hash(key) % 64).collect();
        let expected = {
            let mut order = vec![0, 1, 2];
            order.sort_by_key(|index| (lists[*index], 3 - index));
            order
        };
        assert_eq!(lookups.sorted(|index| keys[index]), expected);
        let alike = |_| &b"same"[..];
        lookups.found(1);
        assert_eq!(lookups.sorted(alike), [1, 2, 0]);
        lookups.remove(0);
        assert_eq!(lookups.sorted(alike), [1, 0]);
    }
}
