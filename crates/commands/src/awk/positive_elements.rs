//! Finds arrays whose elements are above 0 at every key of a loop, as the counts in
//! `{ s[$1] += $2; n[$1]++ } END { for (k in s) print k, s[k] / n[k] }`.

use super::names::{bodies, is_special};
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr, any_part, any_statement, each_expr, every_expr};

/// A loop over an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyLoop<'a> {
    pub(super) variable: &'a str,
    pub(super) array: &'a str,
}

/// Whether an expression inside these loops, the innermost of them last, is such an element.
pub(super) fn is_positive(program: &Program, loops: &[KeyLoop], expr: &Expr) -> bool {
    let Expr::Element(counts, index) = expr.bare() else { return false };
    let [Expr::Name(variable)] = index.as_slice() else { return false };
    let Some(over) = loops.iter().rev().find(|known| known.variable == variable) else { return false };
    program.functions.is_empty()
        && is_set_by_loops_alone(program, variable)
        && [counts.as_str(), over.array].iter().all(|array| has_only_its_own_elements(program, array))
        && is_only_counted_up(program, counts)
        && has_counts_at_its_keys(program, over.array, counts)
}

/// Whether only `for (.. in ..)` sets the variable, and never inside another loop with it.
fn is_set_by_loops_alone(program: &Program, variable: &str) -> bool {
    let is_it = |statement: &Statement| matches!(statement, Statement::ForIn(name, ..) if name == variable);
    let changes = |expr: &Expr| matches!(expr.changed_place(), Some(Expr::Name(name)) if name == variable);
    !any_expr(program, changes)
        && !any_statement(program, |statement| {
            is_it(statement) && statement.parts().1.into_iter().any(|body| any_below(body, is_it))
        })
}

/// Whether elements are made only by naming them.
fn has_only_its_own_elements(program: &Program, array: &str) -> bool {
    let is_it = |expr: &Expr| matches!(expr, Expr::Name(name) if name == array);
    let passes = |expr: &Expr| match expr {
        Expr::Builtin(Builtin::Length, _) => false,
        expr => expr.parts().into_iter().any(is_it),
    };
    !is_special(array) && !any_expr(program, passes)
}

/// Whether every change of an element adds a number above 0 to it, and none is removed.
fn is_only_counted_up(program: &Program, array: &str) -> bool {
    let is_other_change = |expr: &Expr| {
        expr.changed_place().is_some_and(|place| index_in(place, array).is_some()) && !counts_up(expr)
    };
    let loses = |statement: &Statement| matches!(statement, Statement::Delete(name, _) if name == array);
    !any_expr(program, is_other_change) && !any_statement(program, loses)
}

/// Returns the index, if it is an element of this array.
fn index_in<'a>(expr: &'a Expr, array: &str) -> Option<&'a [Expr]> {
    match expr {
        Expr::Element(name, index) if name == array => Some(index),
        _ => None,
    }
}

/// Whether it is `n[..]++` or the like.
fn counts_up(expr: &Expr) -> bool {
    match expr {
        Expr::Step { by, .. } => *by > 0.0,
        Expr::Update(Arith::Add, _, value) | Expr::Assign(_, value) => {
            matches!(**value, Expr::Number(number) if number > 0.0 && number.is_finite())
        }
        _ => false,
    }
}

/// Whether there is a count at each key of `array`, since each lookup that may make an element of it counts at the same index,
/// or is at a key that is there.
fn has_counts_at_its_keys(program: &Program, array: &str, counts: &str) -> bool {
    let (mut lookups, mut counted) = (0, 0);
    every_expr(program, &mut |expr| {
        lookups += usize::from(index_in(expr, array).is_some());
        let is_changed = expr.changed_place().is_some_and(|place| index_in(place, counts).is_some());
        counted += usize::from(is_changed && counts_up(expr));
    });
    let counting = if array == counts { counted } else { lookups_beside_counts(program, array, counts) };
    lookups == counting + lookups_at_keys(program, array)
}

/// Returns how many lookups in `array` are at the key of a loop over it.
fn lookups_at_keys(program: &Program, array: &str) -> usize {
    let mut found = 0;
    for (_, statement) in bodies(program) {
        each_in_loops(statement, &mut Vec::new(), &mut |inner, loops| {
            let is_key = |name: &str| {
                loops.iter().any(|known| known.variable == name && known.array == array)
                    && is_set_by_loops_alone(program, name)
            };
            let is_at_key =
                |part: &Expr| matches!(index_in(part, array), Some([Expr::Name(name)]) if is_key(name));
            for expr in inner.parts().0 {
                each_expr(expr, &mut |part| found += usize::from(is_at_key(part)));
            }
        });
    }
    found
}

/// Returns how many lookups in `array` stand beside a statement that counts `counts` up at the same index.
fn lookups_beside_counts(program: &Program, array: &str, counts: &str) -> usize {
    let mut found = 0;
    for rule in &program.rules {
        let statements: Vec<&Statement> = rule.action.iter().flat_map(Statement::flat).collect();
        for run in statements.split(|statement| !is_change_of_elements(statement)) {
            let changes = || run.iter().flat_map(|statement| statement.parts().0);
            let counted: Vec<&[Expr]> = changes()
                .filter(|change| counts_up(change))
                .filter_map(|change| index_in(change.changed_place()?, counts))
                .collect();
            let is_beside = |part: &Expr| index_in(part, array).is_some_and(|index| counted.contains(&index));
            for change in changes() {
                each_expr(change, &mut |part| found += usize::from(is_beside(part)));
            }
        }
    }
    found
}

/// Calls `call` for a statement and all below it, with the loops over arrays around each.
pub(super) fn each_in_loops<'a>(
    statement: &'a Statement,
    loops: &mut Vec<KeyLoop<'a>>,
    call: &mut impl FnMut(&'a Statement, &[KeyLoop<'a>]),
) {
    call(statement, loops);
    let around = loops.len();
    if let Statement::ForIn(variable, array, _) = statement {
        loops.push(KeyLoop { variable, array });
    }
    for inner in statement.parts().1 {
        each_in_loops(inner, loops, call);
    }
    loops.truncate(around);
}

/// Whether all that it changes is elements of arrays, so that an index is the same before and behind it.
fn is_change_of_elements(statement: &Statement) -> bool {
    let Statement::Expr(expr) = statement else { return false };
    let is_change = matches!(expr, Expr::Assign(..) | Expr::Update(..) | Expr::Step { .. });
    let disturbs = |part: &Expr| {
        is_unsteady(part) || part.changed_place().is_some_and(|place| !matches!(place, Expr::Element(..)))
    };
    let is_element = |part: &Expr| matches!(part, Expr::Element(..));
    let has_element_in_index = |part: &Expr| match part {
        Expr::Element(_, index) => index.iter().any(|index| any_part(index, is_element)),
        _ => false,
    };
    is_change && !any_part(expr, |part| disturbs(part) || has_element_in_index(part))
}

/// Whether it may give another value each time, or change what other expressions give.
pub(super) fn is_unsteady(expr: &Expr) -> bool {
    use Builtin::{Close, Flush, Gsub, Match, NextRecord, Rand, ReadLine, Split, Srand, Sub, System};
    match expr {
        Expr::Call(..) | Expr::Getline(_) => true,
        Expr::Builtin(builtin, _) => matches!(
            builtin,
            Close | Flush | Gsub | Match | NextRecord | Rand | ReadLine | Split | Srand | Sub | System
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::parse::parse_for_test;

    /// Whether the divisor of the only division is positive; it is in `for (k in s)`.
    fn is_known(text: &str) -> bool {
        let program = parse_for_test(text);
        let mut known = false;
        any_expr(&program, |expr| {
            if let Expr::Arith(Arith::Divide, _, by) = expr {
                known = is_positive(&program, &[KeyLoop { variable: "k", array: "s" }], by);
            }
            false
        });
        known
    }

    #[test]
    fn a_count_beside_a_sum_is_positive() {
        for text in [
            "{ s[$1] += $2; n[$1]++ } END { for (k in s) print k, s[k] / n[k] }",
            "NR > 1 { n[$1, $2] += 1; s[$1, $2] = s[$1, $2] + $3 } END { for (k in s) print s[k] / (n[k]) }",
            "{ s[$1] += $2; m[$1] = $3; ++n[$1] } END { for (k in s) print s[k] / n[k], length(n) }",
            "{ s[$1]++ } END { for (k in s) print 1 / s[k] }",
            "{ s[$1]++ } $2 in s { n++ } END { for (k in s) print 1 / s[k]; for (k in s) delete t[k] }",
            "{ s[$1] += $2; n[$1]++ } END { for (k in s) t += s[k]; for (k in s) print s[k] / n[k] }",
        ] {
            assert!(is_known(text), "{text}");
        }
    }

    #[test]
    fn what_may_have_no_count_is_not() {
        for text in [
            "{ s[$1] += $2; n[$2]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1] += $3 } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; $1 = 7; n[$1]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[rand()] += $2; n[rand()]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += sub(/a/, \"\"); n[$1]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += match($2, /a/); n[$1]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[i] += $2; n[i++]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; if ($3) n[$1]++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1]++ } s[$3] { x++ } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1]++; delete n[$2] } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1]++; n[$3] = 0 } END { for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1]++ } END { split(x, s); for (k in s) print k, s[k] / n[k] }",
            "{ s[$1] += $2; n[$1]++ } END { for (k in s) { k = k 1; print k, s[k] / n[k] } }",
            "{ s[$1] += $2; n[$1]++ } END { for (k in s) { for (k in n) m++; print k, s[k] / n[k] } }",
            "{ s[$1]++; if (s[$2]) m++ } END { for (k in s) print 1 / s[k] }",
            "{ s[$1] += n[$1]; n[s[$1]]++; } END { for (k in s) print 1 / n[k] }",
            "{ s[n[$1]] = 1; n[n[$1]]++ } END { for (k in s) print 1 / n[k] }",
            "function f() { delete n } { s[$1] += $2; n[$1]++ } END { f(); for (k in s) print k, s[k] / n[k] }",
        ] {
            assert!(!is_known(text), "{text}");
        }
    }
}
