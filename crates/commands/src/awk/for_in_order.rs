//! `for (k in a)`: each awk has its own order. It cannot show, or only in the order of printed lines, which a later sort
//! hides, or in more; then it must be known ([`kept_order`](super::kept_order)).

use crate::Accept;

use super::analyse::ArrayOrder;
use super::can_fail::Failures;
use super::effects::{Looker, Thing};
use super::key_search;
use super::names::{Names, Owner, bodies, patterns};
use super::sorted_loops::{self, LoopOrders};
use super::tree::{Arith, Expr, Order, Program, Statement};
use super::visit::{any_below, each_expr, each_expr_below, each_statement, every_expr};

/// Returns how that order shows. `whole_lines`: whether the program prints only whole lines.
pub(super) fn check(
    program: &Program,
    names: &Names,
    looker: &mut Looker,
    failures: &Failures,
    whole_lines: bool,
) -> Accept<ArrayOrder> {
    let mut printed = false;
    let orders = LoopOrders::of(program);
    sorted_loops::check_values(program, &orders)?;
    if let Some(array) = sorted_loops::arrays_sorted_by_value(program).first() {
        let reason = format!("asort of {array} shows the order of elements with equal values");
        return Ok(ArrayOrder::Shown(reason));
    }
    for (owner, statement) in bodies(program) {
        let mut loops = Vec::new();
        each_statement(statement, &mut |statement| {
            if let Statement::ForIn(name, array, body) = statement {
                loops.push((name, array, &**body, statement));
            }
        });
        for (name, array, body, whole) in loops {
            if orders.is_by_index(whole) {
                continue;
            }
            let is_search = key_search::is_one(looker, owner, name, array, body)?;
            if !is_search && !is_order_free(program, names, looker, owner, name, body)?
                || used_behind(program, owner, name, whole)
            {
                let reason = format!("what it does for (.. in {array}) depends on the order");
                return Ok(ArrayOrder::Shown(reason));
            }
            if failures.depend_on_order(whole) {
                let reason = format!("what it did for (.. in {array}) before an error depends on the order");
                return Ok(ArrayOrder::Shown(reason));
            }
            if any_below(body, prints_elsewhere) {
                let reason = format!("what it prints to standard error for (.. in {array}) shows the order");
                return Ok(ArrayOrder::Shown(reason));
            }
            printed |= !is_search && looker.statement(owner, body)?.prints;
        }
    }
    Ok(match printed {
        false => ArrayOrder::Hidden,
        true if whole_lines => ArrayOrder::InLines,
        true => ArrayOrder::Shown("parts of lines are printed in the order of an array".to_owned()),
    })
}

/// Whether it prints to standard error: no sort behind the program sorts that.
fn prints_elsewhere(statement: &Statement) -> bool {
    match statement {
        Statement::Print(_, Some(to)) | Statement::Printf(_, Some(to)) => to.is_standard_error(),
        _ => false,
    }
}

/// Whether the loop variable is read outside the loop, where the last key would show.
fn used_behind(program: &Program, owner: Owner, name: &str, whole: &Statement) -> bool {
    let mut inside = 0;
    count_reads(whole, name, &mut inside);
    let mut all = 0;
    for (other, statement) in bodies(program) {
        if other == owner {
            count_reads(statement, name, &mut all);
        }
    }
    if owner == Owner::Program {
        for pattern in patterns(program) {
            each_expr(pattern, &mut |expr| all += usize::from(is_name(expr, name)));
        }
        // A function may read it too.
        for function in &program.functions {
            if !function.parameters.iter().any(|parameter| parameter == name) {
                function.body.iter().for_each(|statement| count_reads(statement, name, &mut all));
            }
        }
    }
    // Other loops over arrays set it first.
    let mut in_loops = 0;
    for (other, statement) in bodies(program) {
        each_statement(statement, &mut |statement| {
            if other == owner && matches!(statement, Statement::ForIn(found, ..) if found == name) {
                count_reads(statement, name, &mut in_loops);
            }
        });
    }
    all > in_loops.max(inside)
}

fn count_reads(statement: &Statement, name: &str, count: &mut usize) {
    each_expr_below(statement, &mut |expr| *count += usize::from(is_name(expr, name)));
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Name(found) if found == name)
}

/// Whether each iteration is independent of the earlier ones.
fn is_order_free(
    program: &Program,
    names: &Names,
    looker: &mut Looker,
    owner: Owner,
    name: &str,
    body: &Statement,
) -> Accept<bool> {
    let mut free = true;
    let uses = looker.statement(owner, body)?;
    // No iteration may read what another writes, except in the forms below.
    let mut found: Vec<&Statement> = Vec::new();
    flatten(body, &mut found);
    for statement in found {
        free &= match statement {
            Statement::Print(..) | Statement::Printf(..) | Statement::Continue => true,
            Statement::Delete(_, Some(index)) => index.iter().any(|part| is_name(part, name)),
            Statement::Expr(expr) => is_free_expr(program, names, owner, name, expr),
            Statement::If(test, yes, None) => is_extreme(test, yes) || is_still(looker, owner, test)?,
            Statement::If(test, ..) => is_still(looker, owner, test)?,
            _ => false,
        };
    }
    for thing in &uses.writes {
        let counted = matches!(thing, Thing::Variable(_, written) if written != name);
        let read_elsewhere = counted && reads_freely(looker, owner, body, thing)?;
        free &= !read_elsewhere && *thing != Thing::Record;
    }
    // Written elements must not be read for other keys.
    for thing in &uses.writes {
        if let Thing::Elements(..) = thing {
            free &= !reads_freely(looker, owner, body, thing)?;
        }
    }
    Ok(free
        && !uses.writes.iter().any(|thing| matches!(thing, Thing::Keys(..)) && uses.reads.contains(thing)))
}

/// Whether an expression has no side effects.
fn is_still(looker: &mut Looker, owner: Owner, expr: &Expr) -> Accept<bool> {
    let uses = looker.expr(owner, expr)?;
    Ok(uses.writes.is_empty() && !uses.prints)
}

fn flatten<'a>(statement: &'a Statement, found: &mut Vec<&'a Statement>) {
    match statement {
        Statement::Block(inner) => inner.iter().for_each(|inner| flatten(inner, found)),
        Statement::If(test, yes, no) => {
            found.push(statement);
            if !(no.is_none() && is_extreme(test, yes)) {
                flatten(yes, found);
                no.iter().for_each(|no| flatten(no, found));
            }
        }
        Statement::Line(_) => {}
        other => found.push(other),
    }
}

/// Recognises `if (a[k] > max) max = a[k]`.
fn is_extreme(test: &Expr, then: &Statement) -> bool {
    let inner = match then {
        Statement::Block(inner) if inner.len() == 1 => &inner[0],
        other => other,
    };
    let (Expr::Compare(order, left, right), Statement::Expr(Expr::Assign(place, value))) = (test, inner)
    else {
        return false;
    };
    let strict =
        matches!(order, Order::Less | Order::Greater) && (order.is_greater() || *order == Order::Less);
    strict && (left == value && right == place || right == value && left == place)
}

fn is_free_expr(program: &Program, names: &Names, owner: Owner, name: &str, expr: &Expr) -> bool {
    match expr {
        Expr::Step { place, .. } => is_quiet_place(place, name),
        // Integers can be added in any order.
        Expr::Update(Arith::Add, place, value) => {
            is_quiet_place(place, name) && is_whole(program, names, owner, value)
        }
        Expr::Assign(place, _) => {
            matches!(&**place, Expr::Element(_, index) if index.iter().any(|part| is_name(part, name)))
        }
        _ => false,
    }
}

fn is_quiet_place(place: &Expr, name: &str) -> bool {
    match place {
        Expr::Name(found) => found != name,
        Expr::Element(..) => true,
        _ => false,
    }
}

/// Whether the values are elements that are only counted up, or integers.
fn is_whole(program: &Program, names: &Names, owner: Owner, value: &Expr) -> bool {
    match value {
        Expr::Number(number) => number.fract() == 0.0 && number.abs() < 1e9,
        Expr::Element(array, _)
            if names.owner(owner, array) == Owner::Program && program.functions.is_empty() =>
        {
            let mut whole = true;
            let is_it = |place: &Expr| matches!(place, Expr::Element(found, _) if found == array);
            every_expr(program, &mut |expr| match expr {
                Expr::Assign(place, value) if is_it(place) => {
                    whole &= matches!(**value, Expr::Number(number) if number.fract() == 0.0)
                }
                Expr::Update(arith, place, value) if is_it(place) => {
                    whole &= *arith == Arith::Add
                        && matches!(**value, Expr::Number(number) if number.fract() == 0.0);
                }
                Expr::Builtin(_, args) => {
                    whole &= !args
                        .iter()
                        .any(|arg| is_it(arg) || matches!(arg, Expr::Name(found) if found == array));
                }
                _ => {}
            });
            whole
        }
        _ => false,
    }
}

/// Whether a written element is also read by another expression.
fn reads_freely(looker: &mut Looker, owner: Owner, body: &Statement, thing: &Thing) -> Accept<bool> {
    let mut found: Vec<&Statement> = Vec::new();
    flatten(body, &mut found);
    for statement in found {
        let reads = match statement {
            Statement::Expr(Expr::Update(_, place, value)) => {
                let mut uses = looker.expr(owner, value)?;
                if let Expr::Element(_, index) = &**place {
                    for part in index {
                        super::effects::merge(&mut uses, looker.expr(owner, part)?);
                    }
                }
                uses.reads
            }
            Statement::Expr(Expr::Step { place, .. }) => match &**place {
                Expr::Element(_, index) => {
                    let mut uses = super::effects::Uses::default();
                    for part in index {
                        super::effects::merge(&mut uses, looker.expr(owner, part)?);
                    }
                    uses.reads
                }
                _ => continue,
            },
            Statement::If(test, yes, None) if is_extreme(test, yes) => continue,
            Statement::If(test, ..) => looker.expr(owner, test)?.reads,
            other => looker.statement(owner, other)?.reads,
        };
        if reads.contains(thing) {
            return Ok(true);
        }
    }
    Ok(false)
}
