//! Programs that only add up, and print at the end: `{s += $2} END {print s}`, `{c[$1]++} END {…}`. Each
//! thread adds up some of the records; the results are added at the end.
//!
//! Floating-point sums depend on their order. Sums of small integers do not: a thread refuses a block with
//! anything else in it. Other threads may have added later blocks by then, so all their sums are dropped, and
//! one thread adds again, in order (road not taken: to subtract them again; sums that have passed 2^53 cannot
//! be restored). Pure counts are never refused.

use std::collections::BTreeSet;

use super::analyse::Analysis;
use super::array::Array;
use super::names::{self, is_special};
use super::tree::{Arith, Expr, Program, Statement};
use super::value::Value;
use super::visit::{each_expr, each_expr_below, each_statement};

/// Limit for a thread's sum: all possible threads together stay below 2^53, up to which integers are exact.
pub(super) const SUM_MAX: f64 = (1u64 << 45) as f64;

/// The sums of a program.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Variables and arrays.
    pub(super) names: BTreeSet<String>,
    /// Whether each addition is of one: no number of records makes such a sum inexact.
    pub(super) count: bool,
}

/// Returns the sums, or why threads cannot have separate ones.
pub(super) fn sums(program: &Program, analysis: &Analysis) -> Result<Sums, String> {
    let no = |why: &str| Err(why.to_owned());
    if program.end.is_empty() {
        return no("it has no END");
    }
    if analysis.prints_records {
        return no("it prints before the end");
    }
    if analysis.exits || analysis.may_fail {
        return no("it may end before its input does");
    }
    if analysis.ranges || analysis.settles.is_none() {
        return no("it asks for the number of a record, or for a range");
    }
    if !program.functions.is_empty() {
        return no("it has functions");
    }
    let mut found = BTreeSet::new();
    let statements = || program.rules.iter().flat_map(|rule| &rule.action);
    let (mut adds, mut deletes, mut count) = (Vec::new(), false, true);
    for statement in statements() {
        each_statement(statement, &mut |statement| {
            if let Some((place, value, _)) = added(statement) {
                adds.push(place);
                count &= matches!(value, None | Some(Expr::Number(0.0 | 1.0)));
            }
            deletes |= matches!(statement, Statement::ForIn(..) | Statement::Delete(..));
        });
    }
    if deletes {
        return no("it deletes elements, or looks at all of them, before the end");
    }
    for place in &adds {
        found.extend(name_of(place).map(str::to_owned));
    }
    let needed = analysis.carried.iter().chain(&analysis.joined).filter(|name| *name != "NR");
    if let Some(other) = needed.clone().find(|name| !found.contains(*name)) {
        return Err(format!("{other} depends on the order of records"));
    }
    let needed: BTreeSet<String> = needed.cloned().collect();
    // Each is only ever added to.
    let mut uses = Vec::new();
    let mut note = |expr: &Expr| uses.extend(mentioned(expr).map(str::to_owned));
    names::patterns(program).into_iter().for_each(|pattern| each_expr(pattern, &mut note));
    for statement in statements() {
        each_expr_below(statement, &mut note);
    }
    for name in &needed {
        let count = uses.iter().filter(|used| *used == name).count();
        if count != adds.iter().filter(|place| name_of(place) == Some(name)).count() {
            return Err(format!("{name} is read before the end"));
        }
    }
    Ok(Sums { names: needed, count })
}

/// Returns a statement's target, the added value, and its sign.
pub(super) fn added(statement: &Statement) -> Option<(&Expr, Option<&Expr>, f64)> {
    let (place, value, sign): (&Expr, Option<&Expr>, f64) = match statement {
        Statement::Expr(Expr::Update(Arith::Add, place, value)) => (place, Some(value), 1.0),
        Statement::Expr(Expr::Update(Arith::Subtract, place, value)) => (place, Some(value), -1.0),
        Statement::Expr(Expr::Step { place, by, .. }) => (place, None, *by),
        _ => return None,
    };
    name_of(place).filter(|name| !is_special(name)).map(|_| (place, value, sign))
}

/// Returns the name of a variable or an array.
pub(super) fn name_of(place: &Expr) -> Option<&str> {
    match place {
        Expr::Name(name) | Expr::Element(name, _) => Some(name),
        _ => None,
    }
}

fn mentioned(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::In(_, name) => Some(name),
        expr => name_of(expr),
    }
}

/// Adds another thread's sum; returns the result.
pub(super) fn join(sum: &mut Value, other: &Value) -> f64 {
    if let Value::Number(number) = other {
        *sum = Value::Number(sum.number() + number);
    }
    sum.number()
}

/// Adds all elements, and passes each result to `tell`.
pub(super) fn join_arrays(sums: &mut Array, others: &Array, mut tell: impl FnMut(f64)) {
    others.each(|key, value| tell(join(sums.entry(key), value)));
}
