//! Finds arrays whose elements are above 0 at every key of a loop, as the counts in
//! `{ s[$1] += $2; n[$1]++ } END { for (k in s) print k, s[k] / n[k] }`.

use super::names::is_special;
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr, any_part, any_statement, every_statement};

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
        && if counts == over.array {
            is_never_just_looked_up(program, counts)
        } else {
            is_counted_with(program, over.array, counts)
        }
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
    let is_other_change = |expr: &Expr| match expr.changed_place() {
        Some(Expr::Element(name, _)) if name == array => !counts_up(expr),
        _ => false,
    };
    !any_expr(program, is_other_change)
        && !any_statement(
            program,
            |statement| matches!(statement, Statement::Delete(name, _) if name == array),
        )
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

/// Whether elements are made only by counting, and else looked up only in loops over the array.
fn is_never_just_looked_up(program: &Program, array: &str) -> bool {
    let mut counted = 0;
    any_expr(program, |expr| {
        let is_count =
            matches!(expr.changed_place(), Some(Expr::Element(name, _)) if name == array) && counts_up(expr);
        counted += usize::from(is_count);
        false
    });
    let mut looked_up = 0;
    any_expr(program, |expr| {
        looked_up += usize::from(matches!(expr, Expr::Element(name, _) if name == array));
        false
    });
    looked_up == counted + at_its_keys(program, array, array)
}

/// Returns how often elements of `array` are looked up at the key of a loop over the array `keys`.
fn at_its_keys(program: &Program, array: &str, keys: &str) -> usize {
    let mut found = 0;
    every_statement(program, &mut |statement| {
        let Statement::ForIn(variable, over, body) = statement else { return };
        if over != keys || !is_set_by_loops_alone(program, variable) {
            return;
        }
        any_below(body, |inner| {
            for expr in inner.parts().0 {
                any_part(expr, |part| {
                    found += usize::from(match part {
                        Expr::Element(name, index) => {
                            name == array
                                && matches!(index.as_slice(), [Expr::Name(name)] if name == variable)
                        }
                        _ => false,
                    });
                    false
                });
            }
            false
        });
    });
    found
}

/// Whether each statement that makes an element of `array` stands beside one that counts `counts` up at the same index.
fn is_counted_with(program: &Program, array: &str, counts: &str) -> bool {
    let mut made_together = 0;
    let mut look = |statements: &[&Statement]| {
        for run in statements.split(|statement| !is_change_of_elements(statement)) {
            let mut indices = Vec::new();
            for statement in run {
                let Statement::Expr(expr) = statement else { continue };
                if let Some(Expr::Element(name, index)) = expr.changed_place()
                    && name == counts
                    && counts_up(expr)
                {
                    indices.push(index);
                }
            }
            for statement in run {
                for expr in statement.parts().0 {
                    any_part(expr, |part| {
                        let together = match part {
                            Expr::Element(name, index) => name == array && indices.contains(&index),
                            _ => false,
                        };
                        made_together += usize::from(together);
                        false
                    });
                }
            }
        }
    };
    for rule in &program.rules {
        look(&rule.action.iter().flat_map(Statement::flat).collect::<Vec<_>>());
    }
    let mut looked_up = 0;
    any_expr(program, |expr| {
        looked_up += usize::from(matches!(expr, Expr::Element(name, _) if name == array));
        false
    });
    looked_up == made_together + at_its_keys(program, array, array)
}

/// Whether all that it changes is elements of arrays, so that an index is the same before and behind it.
fn is_change_of_elements(statement: &Statement) -> bool {
    let Statement::Expr(expr) = statement else { return false };
    let is_change = matches!(expr, Expr::Assign(..) | Expr::Update(..) | Expr::Step { .. });
    is_change
        && !any_part(expr, |part| match part {
            part if is_unsteady(part) => true,
            part => part.changed_place().is_some_and(|place| !matches!(place, Expr::Element(..))),
        })
        && !indices_of(expr).any(|index| any_part(index, |part| matches!(part, Expr::Element(..))))
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

/// Returns the indices of all elements in an expression.
fn indices_of(expr: &Expr) -> impl Iterator<Item = &Expr> {
    let mut found = Vec::new();
    any_part(expr, |part| {
        if let Expr::Element(_, index) = part {
            found.extend(index.iter());
        }
        false
    });
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;

    /// Whether the divisor of the only division is positive; it is in `for (k in s)`.
    fn is_known(text: &str) -> bool {
        let program = parse(text.as_bytes(), Dialect::Mawk { is_2025: false }).expect("a program");
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
