//! How many lines a program needs: `NR <= 3`, `NR == 1 {print; exit}`, `NR > 3 {exit} {print}`.

use super::tree::{Builtin, Expr, Order, Pattern, Program, Rule, Statement};
use super::visit::{any_expr, any_statement};

/// Returns how many records of the beginning of its input determine all that a program does, if a number of them does: every
/// rule is for records up to some number, or one rule certainly ends the program.
///
/// The caller knows that records are lines of one input. END would see how many there were.
pub(super) fn needed_lines(program: &Program) -> Option<u64> {
    if !program.end.is_empty() || any_expr(program, changes_records) {
        return None;
    }
    let skips =
        any_statement(program, |statement| matches!(statement, Statement::Next | Statement::NextFile));
    let bounded: Option<Vec<u64>> = program.rules.iter().map(|rule| last(&rule.pattern, skips)).collect();
    let bounded = bounded.and_then(|bounds| bounds.into_iter().max());
    let ends = program.rules.iter().filter_map(ends_at).min().filter(|_| !skips);
    bounded.into_iter().chain(ends).min().filter(|lines| *lines > 0)
}

/// Whether it sets the number of the record, or what a record is, or takes one itself.
fn changes_records(expr: &Expr) -> bool {
    let is_special = |place: &Expr| matches!(place, Expr::Name(name) if name == "NR" || name == "RS");
    match expr {
        Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, _) | Expr::Getline(_) => true,
        _ => expr.changed_place().is_some_and(is_special),
    }
}

/// Returns the last record for which a pattern can hold. `skips`: a rule may not be asked about some record, perhaps the end of
/// its range.
fn last(pattern: &Pattern, skips: bool) -> Option<u64> {
    match pattern {
        Pattern::Always => None,
        Pattern::When(expr) => last_true(expr),
        Pattern::Range(from, to) => match (only(from), only(to)) {
            (Some(from), Some(to)) if from == to || from < to && !skips => Some(to),
            _ => None,
        },
    }
}

/// Returns the last record for which an expression can be true. What stands behind `&&` is then not evaluated either.
fn last_true(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Group(parts) => match parts.as_slice() {
            [part] => last_true(part),
            _ => None,
        },
        Expr::And(left, _) => last_true(left),
        Expr::Or(left, right) => Some(last_true(left)?.max(last_true(right)?)),
        _ => {
            let (order, number) = comparison(expr)?;
            match order {
                Order::Less => number.checked_sub(1),
                Order::LessOrEqual | Order::Equal => Some(number),
                Order::NotEqual | Order::Greater | Order::GreaterOrEqual => None,
            }
        }
    }
}

/// Returns the one record for which an expression is true (`NR == 3`).
fn only(expr: &Expr) -> Option<u64> {
    comparison(expr).filter(|(order, _)| *order == Order::Equal).map(|(_, number)| number)
}

/// Returns the record with which a rule certainly ends the program, if rules before it let it come.
fn ends_at(rule: &Rule) -> Option<u64> {
    let ends = rule.action.iter().any(|statement| matches!(statement, Statement::Exit(_)));
    let Pattern::When(expr) = &rule.pattern else { return None };
    let (order, number) = comparison(expr).filter(|_| ends)?;
    match order {
        Order::Equal => Some(number),
        Order::GreaterOrEqual => Some(number.max(1)),
        Order::Greater => number.checked_add(1),
        Order::NotEqual | Order::Less | Order::LessOrEqual => None,
    }
}

/// Returns the whole number that the number of the record is compared with, as if it stood on the left.
fn comparison(expr: &Expr) -> Option<(Order, u64)> {
    let Expr::Compare(order, left, right) = expr else { return None };
    let (order, number) = match (&**left, &**right) {
        (Expr::Name(name), Expr::Number(number)) if name == "NR" => (*order, *number),
        (Expr::Number(number), Expr::Name(name)) if name == "NR" => (order.turned(), *number),
        _ => return None,
    };
    let is_small = number.fract() == 0.0 && (0.0..1e15).contains(&number);
    is_small.then_some((order, number as u64))
}

#[cfg(test)]
mod tests {
    use super::needed_lines;
    use crate::awk::parse::parse_for_test;

    #[test]
    fn lines_that_are_needed() {
        for (text, lines) in [
            ("NR <= 3", 3),
            ("NR < 4", 3),
            ("4 > NR", 3),
            ("NR == 2 {print $1}", 2),
            ("NR == 1 {print; exit}", 1),
            ("NR > 3 {exit} {print}", 4),
            ("{print} NR == 5 {exit 1}", 5),
            ("NR >= 5 {exit} 1", 5),
            ("NR == 1; NR == 7 {print $2}", 7),
            ("NR == 1 || NR == 3", 3),
            ("NR <= 5 && /x/", 5),
            ("(NR <= 5) && f(NR)\nfunction f(x) {print x; return 1}", 5),
            ("NR == 2, NR == 4", 4),
        ] {
            assert_eq!(needed_lines(&parse_for_test(text)), Some(lines), "{text}");
        }
    }

    #[test]
    fn lines_of_which_more_may_be_needed() {
        for text in [
            "{print}",
            "NR > 3",
            "NR != 3",
            "NR <= 3; END {print NR}",
            "/x/ && NR <= 3",
            "NR <= 3 || /x/",
            "NR == 4, NR == 2",
            "NR == 2, /x/",
            "NR <= 3 {NR = 1}",
            "NR <= 3 {getline; print}",
            "{NR = 1} NR == 3 {exit}",
            "/x/ {next} NR == 3 {exit}",
            "NR >= 3 {if ($1) exit}",
            "NR <= n",
            "NR < 1",
            "FNR <= 3",
            "NR == 0 {exit} {print}",
            "NR == 4 {next} NR == 2, NR == 4",
        ] {
            assert_eq!(needed_lines(&parse_for_test(text)), None, "{text}");
        }
    }
}
