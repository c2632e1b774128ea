//! Decides whether a program can fail at run time: awk ends with a message if the number of a field is
//! negative, and gawk if it divides by zero. So this finds variables that are never negative: those that only count
//! up from nonnegative numbers, and those that a loop counts down while they are above 0.

use std::collections::BTreeSet;

use super::arithmetic::is_sure_divisor;
use super::names::{bodies, patterns};
use super::one_true;
use super::positive_elements::{KeyLoop, each_in_loops, is_positive, is_unsteady};
use super::rules;
use super::tree::{Arith, Builtin, Expr, Order, Program, Statement};
use super::visit::{
    any_below, any_expr_below, any_part, each_expr, each_expr_below, each_statement, every_expr,
    every_statement,
};

/// Where a program may fail at run time: the real awk then ends with a message.
pub(super) struct Failures<'a> {
    program: &'a Program,
    bounds: Bounds<'a>,
    /// Variables that are numbers wherever they are numbers of fields.
    counted: BTreeSet<&'a str>,
}

impl<'a> Failures<'a> {
    /// `variables` are set on the command line.
    pub(super) fn of(program: &'a Program, variables: &'a [(String, Vec<u8>)]) -> Self {
        let counted = one_true::counted(program, variables);
        Failures { program, bounds: Bounds::of(program, variables), counted }
    }

    /// Whether one is possible.
    pub(super) fn are_possible(&self) -> bool {
        let mut may = false;
        for pattern in patterns(self.program) {
            may |= any_part(pattern, |expr| self.may_fail_at(expr, &[]));
        }
        for (_, statement) in bodies(self.program) {
            each_in_loops(statement, &mut Vec::new(), &mut |inner, loops| {
                may |= self.may_fail_in(inner, loops)
            });
        }
        may
    }

    /// Whether the order of its keys decides what a loop over an array did before it failed, or of what it warned first.
    pub(super) fn depend_on_order(&self, whole: &'a Statement) -> bool {
        let (mut places, mut prints) = (Vec::new(), 0);
        each_in_loops(whole, &mut Vec::new(), &mut |inner, loops| {
            prints += usize::from(inner.is_print());
            for root in inner.parts().0 {
                each_expr(root, &mut |expr| {
                    if self.may_fail_at(expr, loops) || warns(expr) {
                        places.push((inner, root, expr));
                    }
                });
            }
        });
        // Of one division, the message is the same at each key.
        let nothing_shows = prints == 0 && places.len() == 1;
        let body = whole.parts().1.into_iter().flat_map(Statement::flat);
        let ahead: Vec<&Statement> =
            body.take_while(|statement| !any_below(statement, Statement::is_print)).collect();
        let is_ahead = |statement: &Statement| {
            // The one true awk prints what stands before a division in the same print.
            ahead.iter().any(|ahead| std::ptr::eq(*ahead, statement))
                || prints == 1 && statement.is_print() && !rules::is_one_true()
        };
        any_below(whole, may_fail_by_itself)
            || places.iter().any(|(statement, root, expr)| {
                let fails_at_once =
                    is_ahead(statement) && is_always_evaluated(root, expr) && has_fixed_divisor(expr, whole);
                !(nothing_shows && is_division(expr) || fails_at_once)
            })
    }

    /// Whether gawk may end with a message at an expression, or warn, apart from its parts.
    pub(super) fn may_say(&self, expr: &Expr) -> bool {
        !rules::is_mawk() && (self.may_fail_at(expr, &[]) || warns(expr))
    }

    /// Whether a statement may fail, apart from those in it.
    fn may_fail_in(&self, statement: &Statement, loops: &[KeyLoop]) -> bool {
        may_fail_by_itself(statement)
            || statement
                .parts()
                .0
                .into_iter()
                .any(|expr| any_part(expr, |part| self.may_fail_at(part, loops)))
    }

    /// Whether an expression may fail, apart from its parts. `loops`: over arrays, around it.
    fn may_fail_at(&self, expr: &Expr, loops: &[KeyLoop]) -> bool {
        match expr {
            Expr::Field(index) => {
                !self.bounds.is_never_negative(index)
                    || rules::is_one_true()
                        && !rules::is_second_edition()
                        && !one_true::is_number(index, &self.counted)
            }
            Expr::Builtin(Builtin::ToLower | Builtin::ToUpper, _) => rules::decodes_case(),
            Expr::Assign(place, value) if is_count(place) => !self.bounds.is_never_negative(value),
            Expr::Update(_, place, _) if is_count(place) => true,
            Expr::Step { place, by, .. } if is_count(place) => *by < 0.0,
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 3 => is_count(&args[2]),
            expr if is_division(expr) => match expr.parts().last() {
                Some(by) => !is_sure_divisor(by) && !is_positive(self.program, loops, by),
                None => false,
            },
            Expr::Builtin(Builtin::Sprintf, args) if rules::is_mawk() => {
                !matches!(args.as_slice(), [Expr::Text(format), ..] if is_short(format))
            }
            // What it calls counts where it stands, but there it is in no loop.
            Expr::Call(..) if !loops.is_empty() => self.has_failing_function(),
            _ => false,
        }
    }

    fn has_failing_function(&self) -> bool {
        self.program.functions.iter().flat_map(|function| &function.body).any(|statement| {
            any_below(statement, may_fail_by_itself)
                || any_expr_below(statement, |expr| self.may_fail_at(expr, &[]) || warns(expr))
        })
    }
}

/// Whether it sets NF to a key, or prints in a format that may ask for an argument.
fn may_fail_by_itself(statement: &Statement) -> bool {
    match statement {
        Statement::ForIn(name, ..) => name == "NF",
        Statement::Printf(args, _) => super::lone_format::may_ask(args),
        _ => false,
    }
}

/// Whether it divides, which gawk does by no zero.
fn is_division(expr: &Expr) -> bool {
    let divides = matches!(
        expr,
        Expr::Arith(Arith::Divide | Arith::Remainder, ..)
            | Expr::Update(Arith::Divide | Arith::Remainder, ..)
    );
    divides && !rules::is_mawk()
}

/// Whether gawk may warn of a number.
fn warns(expr: &Expr) -> bool {
    !rules::is_mawk() && matches!(expr, Expr::Builtin(Builtin::Sqrt | Builtin::Log | Builtin::Exp, _))
}

/// Whether a part is evaluated whenever the whole is.
fn is_always_evaluated(whole: &Expr, part: &Expr) -> bool {
    std::ptr::eq(whole, part)
        || match whole {
            Expr::And(first, _) | Expr::Or(first, _) | Expr::If(first, ..) => {
                is_always_evaluated(first, part)
            }
            whole => whole.parts().into_iter().any(|inner| is_always_evaluated(inner, part)),
        }
}

/// Whether a division has the same divisor in each turn of a loop: numbers, and variables that the loop does not change.
fn has_fixed_divisor(expr: &Expr, whole: &Statement) -> bool {
    let (mut changed, mut is_steady) = (Vec::new(), true);
    each_expr_below(whole, &mut |part| {
        // A change of a field may be one of NF.
        let place = part.changed_place();
        is_steady &= !is_unsteady(part) && !matches!(place, Some(Expr::Field(_)));
        changed.extend(place.and_then(name_of));
    });
    each_statement(whole, &mut |inner| {
        if let Statement::ForIn(variable, ..) = inner {
            changed.push(variable.as_str());
        }
    });
    let is_fixed = |part: &Expr| match part {
        Expr::Number(_) | Expr::Group(_) | Expr::Arith(..) | Expr::Negate(_) => true,
        Expr::Name(name) => !changed.contains(&name.as_str()),
        _ => false,
    };
    is_steady
        && is_division(expr)
        && expr.parts().last().is_some_and(|by| !any_part(by, |part| !is_fixed(part)))
}

fn is_count(place: &Expr) -> bool {
    matches!(place, Expr::Name(name) if name == "NF")
}

/// Whether a format has no long output: no strings.
fn is_short(format: &[u8]) -> bool {
    format.len() < 200 && !format.windows(2).any(|pair| pair[1] == b's' || pair[1] == b'*')
}

/// Which variables are never negative.
struct Bounds<'a> {
    /// Variables with other or unknown assignments.
    others: BTreeSet<&'a str>,
    /// Variables with only nonnegative assignments.
    counters: BTreeSet<&'a str>,
}

impl<'a> Bounds<'a> {
    /// `variables` are set on the command line.
    fn of(program: &'a Program, variables: &'a [(String, Vec<u8>)]) -> Self {
        let mut bounds = Bounds { others: BTreeSet::new(), counters: BTreeSet::new() };
        for (name, value) in variables {
            let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            let set = if is_number { &mut bounds.counters } else { &mut bounds.others };
            set.insert(name.as_str());
        }
        // A parameter gets its argument.
        let parameters = program.functions.iter().flat_map(|function| &function.parameters);
        bounds.others.extend(parameters.map(String::as_str));
        let (mut assigned, mut lowered) = (Vec::new(), Vec::new());
        every_expr(program, &mut |expr| match expr {
            Expr::Assign(place, value) => assigned.push((place, is_known(value))),
            Expr::Update(arith, place, value) => {
                let grows = *arith == Arith::Add && is_known(value);
                assigned.push((place, grows));
            }
            Expr::Step { place, by, .. } if *by < 0.0 => lowered.extend(name_of(place)),
            Expr::Step { place, .. } => assigned.push((place, true)),
            Expr::Builtin(..) => bounds.others.extend(expr.changed_place().and_then(name_of)),
            Expr::Getline(parts) => bounds.others.extend(parts.iter().filter_map(name_of)),
            _ => {}
        });
        for (place, known) in assigned {
            let set = if known { &mut bounds.counters } else { &mut bounds.others };
            set.extend(name_of(place));
        }
        let mut down = Vec::new();
        every_statement(program, &mut |statement| match statement {
            Statement::ForIn(name, ..) => _ = bounds.others.insert(name),
            statement => down.extend(counts_down(statement)),
        });
        for name in lowered.iter().copied().collect::<BTreeSet<_>>() {
            let count = |names: &[&str]| names.iter().filter(|other| **other == name).count();
            if count(&lowered) != count(&down) {
                bounds.others.insert(name);
            }
        }
        bounds.counters.extend(down);
        bounds
    }

    fn is_never_negative(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Name(name) if self.counters.contains(name.as_str()) => !self.others.contains(name.as_str()),
            Expr::Group(inner) => inner.iter().all(|inner| self.is_never_negative(inner)),
            Expr::Arith(Arith::Add | Arith::Multiply, left, right) => {
                self.is_never_negative(left) && self.is_never_negative(right)
            }
            // Its value is the one before or after.
            Expr::Step { place, by, .. } if *by > 0.0 => self.is_never_negative(place),
            expr => is_known(expr),
        }
    }
}

fn name_of(place: &Expr) -> Option<&str> {
    match place {
        Expr::Name(name) => Some(name),
        _ => None,
    }
}

/// Whether it is inherently nonnegative.
fn is_known(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) | Expr::LengthAlone => true,
        Expr::Name(name) => matches!(name.as_str(), "NF" | "NR" | "FNR" | "RSTART"),
        Expr::Group(inner) => inner.iter().all(is_known),
        Expr::Arith(Arith::Add | Arith::Multiply, left, right) => is_known(left) && is_known(right),
        Expr::Builtin(Builtin::Length | Builtin::Index | Builtin::Match, _) => true,
        _ => false,
    }
}

/// Returns the variable that a loop counts down by 1 while it is at least 1: `for (i = NF; i > 0; i--)`,
/// without other assignments in the loop.
fn counts_down(statement: &Statement) -> Option<&str> {
    let Statement::For(_, Some(test), Some(step), body) = statement else { return None };
    let Statement::Expr(Expr::Step { place, by, .. }) = &**step else { return None };
    let (name, tested) = (name_of(place)?, least(test)?);
    let assigned = any_expr_below(body, |expr| match expr {
        Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => {
            name_of(place) == Some(name)
        }
        // A function may assign it.
        Expr::Call(..) => true,
        _ => false,
    });
    (*by < 0.0 && tested == name && !assigned).then_some(name)
}

/// Returns the variable that is at least 1 if this is true.
fn least(test: &Expr) -> Option<&str> {
    match test {
        Expr::Compare(order, left, right) if order.is_greater() => {
            let Expr::Number(bound) = **right else { return None };
            let least = if *order == Order::Greater { 0.0 } else { 1.0 };
            (bound >= least).then(|| name_of(left))?
        }
        Expr::And(left, right) => least(left).or_else(|| least(right)),
        Expr::Group(inner) if inner.len() == 1 => least(&inner[0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::parse::parse_for_test;

    fn fails(text: &str) -> bool {
        let program = parse_for_test(text);
        Failures::of(&program, &[("v".to_owned(), b"-1".to_vec())]).are_possible()
    }

    #[test]
    fn what_only_counts_up_is_the_number_of_a_field() {
        for text in [
            "{ for (i = 1; i <= NF; i++) print $i }",
            "{ for (i = NF; i > 0; i--) print $i, $(i + 1) }",
            "{ for (i = NF; i >= 1 && $i != \"x\"; --i) n++ } { print $i }",
            "{ n += 2; print $n; n = length; print $(n * 2) }",
            "{ print $(++n), $NF, $(NF + 1) }",
            "{ while (i++ < 3) print $i; i = 0 }",
        ] {
            assert!(!fails(text), "{text}");
        }
    }

    #[test]
    fn what_may_be_negative_is_not() {
        for text in [
            "{ print $(NF - 1) }",
            "{ print $v }",
            "{ print $n }",
            "{ n = $1; print $n }",
            "{ n++; n = -1; print $n }",
            "{ n += -1; print $n }",
            "{ n -= 1; print $n }",
            "{ n--; n = 1; print $n }",
            "{ for (i = 3; i > -2; i--) print $i }",
            "{ for (i = 3; i >= 0; i--) print $i }",
            "{ for (i = 3; i > 0; i--) { print $i; i-- } }",
            "{ for (i = 3; i > 0; i--) { print $i; i = 0 } }",
            "{ for (i = 3; i > 0; i--) { print $i; j = i-- } }",
            "function f() { i = 0 } { for (i = 3; i > 0; i--) { print $i; f() } }",
            "{ for (i = 3; i > 0; i--) print $i; i-- }",
            "{ for (i = 3; i > 0 || $1; i--) print $i }",
            "{ for (i in a) print $i; i = 1 }",
            "{ i = 1; sub(/1/, \"-1\", i); print $i }",
            "function f(i) { return $i } { i = 1; print f(-1) }",
        ] {
            assert!(fails(text), "{text}");
        }
    }
}
