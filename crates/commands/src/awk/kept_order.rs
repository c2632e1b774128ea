//! The order in which mawk keeps the keys of an array, and `for (k in a)` finds them.
//!
//! mawk has a hash table of lists. Whatever an element is looked up for, it moves to the front of its list, and a table
//! that doubles keeps the order of each list. So the order follows from the hashes of the keys, the most elements that
//! there were, and when each was last looked up (source: `array.w` of mawk 1.3.4 20200120, by its author).
//!
//! That is so for keys that are strings. Numbers have lists of their own, and an array with both kinds depends on more;
//! such programs have no known order. mawk takes fields and pieces of strings for strings, whatever they look like.

use std::collections::BTreeSet;

use super::names::patterns;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_part, each_expr, every_expr, every_statement};

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
pub(super) struct Lookups {
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

/// Returns the arrays that are looped over, if the order of each is known.
pub(super) fn looped_over(program: &Program) -> Option<BTreeSet<String>> {
    if !program.functions.is_empty() {
        return None;
    }
    let mut looped = BTreeSet::new();
    every_statement(program, &mut |statement| {
        if let Statement::ForIn(_, array, _) = statement {
            looped.insert(array.clone());
        }
    });
    let texts = Texts::of(program);
    let mut known = true;
    each_at_once(program, &mut |exprs| {
        let lookups: Vec<_> = lookups(exprs).filter(|(array, _)| looped.contains(*array)).collect();
        for (at, (array, index)) in lookups.iter().enumerate() {
            known &= index.len() > 1 || texts.is_text(&index[0]);
            // What is evaluated first could matter.
            let mut before = lookups[..at].iter().filter(|(other, _)| other == array).peekable();
            known &= before.peek().is_none() || !exprs.iter().any(|expr| changes_variables(expr));
            known &= before.all(|(_, other)| other == index);
        }
    });
    every_expr(program, &mut |expr| {
        if let Expr::Builtin(Builtin::Split, args) = expr {
            known &= !matches!(args.get(1), Some(Expr::Name(array)) if looped.contains(array));
        }
    });
    known.then_some(looped)
}

/// Passes the expressions of each statement, and each pattern, to `call`.
fn each_at_once<'a>(program: &'a Program, call: &mut impl FnMut(&[&'a Expr])) {
    every_statement(program, &mut |statement| call(&statement.parts().0));
    patterns(program).into_iter().for_each(|pattern| call(&[pattern]));
}

/// Returns the elements that are looked up, as arrays with indices.
fn lookups<'a>(exprs: &[&'a Expr]) -> impl Iterator<Item = (&'a str, &'a [Expr])> {
    let mut found: Vec<(&str, &[Expr])> = Vec::new();
    for expr in exprs {
        each_expr(expr, &mut |part| {
            if let Expr::Element(array, index) | Expr::In(index, array) = part {
                found.push((array, index));
            }
        });
    }
    found.into_iter()
}

/// Whether it changes a variable or a field.
fn changes_variables(expr: &Expr) -> bool {
    any_part(expr, |part| match part {
        Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => {
            !matches!(**place, Expr::Element(..))
        }
        Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => !matches!(args.get(2), Some(Expr::Element(..))),
        _ => false,
    })
}

/// What is never a number: only text, or unset.
struct Texts<'a> {
    /// Variables, and arrays for their elements, that may be numbers.
    numbers: BTreeSet<&'a str>,
    /// Whether a field may be a number.
    of_fields: bool,
}

/// Variables that are numbers from the beginning.
const COUNTERS: [&str; 5] = ["NF", "NR", "FNR", "RSTART", "RLENGTH"];

impl<'a> Texts<'a> {
    fn of(program: &'a Program) -> Self {
        let mut texts = Texts { numbers: COUNTERS.into(), of_fields: false };
        // One variable may get its value from another.
        loop {
            let mut found = Vec::new();
            every_expr(program, &mut |expr| match expr {
                Expr::Assign(place, value) if !texts.is_text(value) => found.push(&**place),
                Expr::Update(_, place, _) | Expr::Step { place, .. } => found.push(&**place),
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

    fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Text(_) | Expr::Concat(..) => true,
            Expr::Field(_) => !self.of_fields,
            Expr::Name(name) | Expr::Element(name, _) => !self.numbers.contains(name.as_str()),
            Expr::If(_, yes, no) => self.is_text(yes) && self.is_text(no),
            Expr::Group(inner) => inner.len() == 1 && self.is_text(&inner[0]),
            Expr::Builtin(builtin, _) => {
                matches!(builtin, Builtin::Substr | Builtin::Sprintf | Builtin::ToLower | Builtin::ToUpper)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;

    fn is_known(text: &str) -> bool {
        looped_over(&parse(text.as_bytes(), Dialect::Mawk { is_2025: false }).expect("a program")).is_some()
    }

    #[test]
    fn the_order_is_known_if_all_keys_are_text() {
        for text in [
            "{ c[$1]++ } END { for (k in c) print k, c[k] }",
            "{ k = substr($4, 2, 11); c[k] += $10; n[$1, $2]++ } END { for (k in c) print k; for (k in n) print k }",
            "{ n = split($0, p); for (i = 1; i <= n; i++) c[p[i]] = c[p[i]] i } END { for (k in c) print k }",
            "$1 in c { delete c[$1] } !($2 in c) { c[$2] = NR } END { for (k in c) print k }",
        ] {
            assert!(is_known(text), "{text}");
        }
    }

    #[test]
    fn the_order_is_unknown_if_a_key_may_be_a_number_or_two_keys_are_looked_up_at_once() {
        for text in [
            "{ c[NF]++ } END { for (k in c) print k }",
            "{ $1 = $1 + 1; c[$1]++ } END { for (k in c) print k }",
            "{ x = $1; y = x; x += 1; c[y]++ } END { for (k in c) print k }",
            "{ for (i = 1; i <= NF; i++) c[i] = $i } END { for (k in c) print k }",
            "{ split($0, c); for (k in c) print k }",
            "{ c[$1] = c[$2] } END { for (k in c) print k }",
            "{ c[k] = (k = $1) c[k] } END { for (k in c) print k }",
            "function f(a, k) { a[k] } { f(c, $1) } END { for (k in c) print k }",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }

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
