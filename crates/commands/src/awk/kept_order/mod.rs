//! The order in which an awk keeps the keys of an array, and `for (k in a)` finds them.
//!
//! It follows from the keys and from the order in which they were looked up ([`mawk`]) or created ([`gawk`], [`one_true`]). That is known
//! where each statement looks up at most one element of an array, or where its indices cannot change.

pub(super) mod gawk;
mod mawk;
mod one_true;

use std::collections::BTreeSet;

use crate::Implementation;

use super::Dialect;
use super::names::patterns;
use super::sorted_loops;
use super::text::Text;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{
    any_below, any_expr_below, any_part, any_statement, each_expr, every_expr, every_statement,
};

/// The order of one array.
#[derive(Clone, Debug)]
pub(super) enum KeyOrder {
    Mawk(Box<mawk::Lookups>),
    /// A table grows when it has more elements than this for each list.
    Gawk(usize),
    OneTrue,
}

impl KeyOrder {
    /// Whether keys from 0 or 1 on, with few gaps, are in ascending order as long as there are no others.
    #[inline]
    pub(super) fn may_be_a_list(&self) -> bool {
        matches!(self, KeyOrder::Gawk(_))
    }

    /// Notes a lookup of the element with this index, which may be new.
    #[inline(always)]
    pub(super) fn found(&mut self, index: usize) {
        if let KeyOrder::Mawk(lookups) = self {
            lookups.found(index);
        }
    }

    /// Forgets an element, whose index the last one takes.
    pub(super) fn remove(&mut self, index: usize) {
        match self {
            KeyOrder::Mawk(lookups) => lookups.remove(index),
            KeyOrder::Gawk(_) | KeyOrder::OneTrue => {
                unreachable!("programs that remove elements have no known order in gawk and the one true awk")
            }
        }
    }

    /// Forgets all elements.
    pub(super) fn clear(&mut self) {
        if let KeyOrder::Mawk(lookups) = self {
            lookups.clear();
        }
    }

    /// Returns which of these keys, in the order in which they were created, gawk keeps as numbers.
    pub(super) fn numbers<T>(keys: &[(Text, T)]) -> Vec<bool> {
        gawk::kept_as_numbers(keys.iter().map(|(key, _)| key.bytes()))
    }

    /// Returns the keys in this order. `keys`: in that in which they were created.
    pub(super) fn sorted<T>(&self, keys: &[(Text, T)]) -> Vec<usize> {
        match self {
            KeyOrder::Mawk(lookups) => lookups.sorted(|index| keys[index].0.bytes()),
            KeyOrder::OneTrue => one_true::sorted(keys.iter().map(|(key, _)| key.bytes())),
            KeyOrder::Gawk(longest) => gawk::sorted(keys.iter().map(|(key, _)| key.bytes()), *longest),
        }
    }
}

/// The arrays that are looped over or sorted by their values, and the order of each at the beginning.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) order: KeyOrder,
    pub(super) arrays: BTreeSet<String>,
}

impl Known {
    /// Returns them, if the order is known.
    pub(super) fn of(program: &Program, dialect: Dialect, implementation: &Implementation) -> Option<Known> {
        // Of one that was found to be like another, the order of large arrays was not.
        if !matches!(implementation, Implementation::Known { .. }) {
            return None;
        }
        let order = match dialect {
            Dialect::Mawk { .. } => KeyOrder::Mawk(Box::default()),
            Dialect::Gawk { .. } => KeyOrder::Gawk(gawk::longest_list(implementation)?),
            Dialect::OneTrue { .. } => KeyOrder::OneTrue,
            Dialect::Portable => return None,
        };
        let looped = looped_over(program);
        let arrays = &looped | &sorted_loops::arrays_sorted_by_value(program);
        let fits = match order {
            KeyOrder::Mawk(_) => has_text_keys(program, &arrays),
            KeyOrder::OneTrue => !removes_elements(program, &arrays),
            KeyOrder::Gawk(_) => {
                !removes_elements(program, &arrays) && !counts_outside_rules(program, &looped)
            }
        };
        let is_known = fits
            && program.functions.is_empty()
            && !loops_again(program)
            && has_known_lookups(program, &arrays);
        is_known.then_some(Known { order, arrays })
    }
}

fn looped_over(program: &Program) -> BTreeSet<String> {
    let mut looped = BTreeSet::new();
    every_statement(program, &mut |statement| {
        if let Statement::ForIn(_, array, _) = statement {
            looped.insert(array.clone());
        }
    });
    looped
}

/// Whether elements of these arrays are looked up in an order that the syntax tells.
fn has_known_lookups(program: &Program, arrays: &BTreeSet<String>) -> bool {
    let mut known = true;
    each_at_once(program, &mut |exprs| {
        let lookups: Vec<_> = lookups(exprs).filter(|(array, _)| arrays.contains(*array)).collect();
        for (at, (array, index)) in lookups.iter().enumerate() {
            // What is evaluated first could matter.
            let mut before = lookups[..at].iter().filter(|(other, _)| other == array).peekable();
            known &= before.peek().is_none() || !exprs.iter().any(|expr| changes_variables(expr));
            known &= before.all(|(_, other)| other == index);
        }
    });
    every_expr(program, &mut |expr| {
        if let Expr::Builtin(Builtin::Split, args) = expr {
            known &= !matches!(args.get(1), Some(Expr::Name(array)) if arrays.contains(array));
        }
        // What is sorted into another array is kept in the order of its indices.
        if let Expr::Builtin(Builtin::Asort | Builtin::Asorti, args) = expr {
            known &= !matches!(args.get(1), Some(Expr::Name(array)) if arrays.contains(array));
        }
    });
    known
}

/// Whether all keys of these arrays are strings and no numbers.
fn has_text_keys(program: &Program, arrays: &BTreeSet<String>) -> bool {
    let texts = mawk::Texts::of(program);
    let mut all = true;
    each_at_once(program, &mut |exprs| all &= texts.are_keys(exprs, arrays));
    all
}

/// Whether it loops over arrays more often than once: the order is made anew for each loop, which takes longer than a
/// real awk's list of keys.
fn loops_again(program: &Program) -> bool {
    let is_loop = |statement: &Statement| {
        matches!(
            statement,
            Statement::ForIn(..) | Statement::For(..) | Statement::While(..) | Statement::Do(..)
        )
    };
    let is_over_array = |statement: &Statement| matches!(statement, Statement::ForIn(..));
    let is_sort = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Asort | Builtin::Asorti, _));
    let has_one =
        |statement: &Statement| any_below(statement, is_over_array) || any_expr_below(statement, is_sort);
    any_statement(program, |statement| is_loop(statement) && statement.parts().1.into_iter().any(has_one))
        || program.rules.iter().flat_map(|rule| &rule.action).any(has_one)
}

/// Whether BEGIN or END look up these arrays by what may be numbers: gawk takes less time for many of these than a table of
/// texts does.
fn counts_outside_rules(program: &Program, arrays: &BTreeSet<String>) -> bool {
    let texts = mawk::Texts::of(program);
    let mut counts = false;
    for statement in program.begin.iter().chain(&program.end).flatten() {
        counts |= any_below(statement, |inner| !texts.are_keys(&inner.parts().0, arrays));
    }
    counts
}

/// Whether single elements of these arrays may be removed.
fn removes_elements(program: &Program, arrays: &BTreeSet<String>) -> bool {
    any_statement(
        program,
        |statement| matches!(statement, Statement::Delete(array, Some(_)) if arrays.contains(array)),
    )
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
        Expr::Builtin(Builtin::ReadLine, _) => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;
    use crate::awk::parse::parse;
    use crate::awk::rules::Variant;

    fn is_known_in(text: &str, dialect: Dialect, family: Family) -> bool {
        let program = parse(text.as_bytes(), dialect).expect("a program");
        Known::of(&program, dialect, &Implementation::tested(family)).is_some()
    }

    fn is_known(text: &str) -> bool {
        is_known_in(text, Dialect::Mawk { is_2025: false }, Family::Mawk)
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
            "{ c[$1]++; for (k in c) print k }",
            "{ c[$1]++ } END { for (k in c) for (j in c) print k, j }",
            "function f(a, k) { a[k] } { f(c, $1) } END { for (k in c) print k }",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }

    #[test]
    fn gawk_keeps_numbers_as_well_and_nothing_is_known_of_what_loses_elements() {
        let gawk = Dialect::Gawk { utf8: false, variant: Variant::Gawk };
        let is_known = |text| is_known_in(text, gawk, Family::Gawk);
        for text in [
            "{ c[NF]++ } END { for (k in c) print k }",
            "{ c[$1]++ } NR == 9 { delete c } END { for (k in c) print k }",
        ] {
            assert!(is_known(text), "{text}");
        }
        for text in [
            "{ c[$1]++; delete c[$2] } END { for (k in c) print k }",
            "{ split($0, c); for (k in c) print k }",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }
}
