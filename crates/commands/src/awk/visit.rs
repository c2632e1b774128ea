//! Visits the statements and expressions of a program.

use super::names::{bodies, patterns};
use super::tree::{Expr, Program, Statement};

/// Calls `call` for a statement and all below it.
pub(super) fn each_statement<'a>(statement: &'a Statement, call: &mut impl FnMut(&'a Statement)) {
    call(statement);
    for inner in statement.parts().1 {
        each_statement(inner, call);
    }
}

/// Calls `call` for an expression and all below it.
pub(super) fn each_expr<'a>(expr: &'a Expr, call: &mut impl FnMut(&'a Expr)) {
    call(expr);
    for part in expr.parts() {
        each_expr(part, call);
    }
}

/// Whether an expression, or one below it, is such a one.
pub(super) fn any_part<'a>(expr: &'a Expr, mut is_it: impl FnMut(&'a Expr) -> bool) -> bool {
    let mut found = false;
    each_expr(expr, &mut |part| found |= is_it(part));
    found
}

/// Calls `call` for every expression of a statement and of all statements below it.
pub(super) fn each_expr_below<'a>(statement: &'a Statement, call: &mut impl FnMut(&'a Expr)) {
    each_statement(statement, &mut |statement| {
        for expr in statement.parts().0 {
            each_expr(expr, call);
        }
    });
}

/// Whether some expression of a statement, or of one below it, is such a one.
pub(super) fn any_expr_below<'a>(statement: &'a Statement, mut is_it: impl FnMut(&'a Expr) -> bool) -> bool {
    let mut found = false;
    each_expr_below(statement, &mut |expr| found |= is_it(expr));
    found
}

/// Whether some expression of a program is such a one.
pub(super) fn any_expr<'a>(program: &'a Program, mut is_it: impl FnMut(&'a Expr) -> bool) -> bool {
    let mut found = false;
    every_expr(program, &mut |expr| found |= is_it(expr));
    found
}

/// Whether a statement, or one below it, is such a one.
pub(super) fn any_below<'a>(statement: &'a Statement, mut is_it: impl FnMut(&'a Statement) -> bool) -> bool {
    let mut found = false;
    each_statement(statement, &mut |statement| found |= is_it(statement));
    found
}

/// Whether a statement, or one below it, changes a variable.
pub(super) fn changes(statement: &Statement, name: &str) -> bool {
    let is_it = |expr: &Expr| matches!(expr.changed_place().map(Expr::bare), Some(Expr::Name(changed)) if changed == name);
    any_expr_below(statement, is_it)
        || any_below(statement, |inner| matches!(inner, Statement::ForIn(key, ..) if key == name))
}

/// Whether some statement of a program is such a one.
pub(super) fn any_statement<'a>(program: &'a Program, mut is_it: impl FnMut(&'a Statement) -> bool) -> bool {
    let mut found = false;
    every_statement(program, &mut |statement| found |= is_it(statement));
    found
}

/// Calls `call` for every statement of a program.
pub(super) fn every_statement<'a>(program: &'a Program, call: &mut impl FnMut(&'a Statement)) {
    for (_, statement) in bodies(program) {
        each_statement(statement, call);
    }
}

/// Calls `call` for every expression of a program.
pub(super) fn every_expr<'a>(program: &'a Program, call: &mut impl FnMut(&'a Expr)) {
    for pattern in patterns(program) {
        each_expr(pattern, call);
    }
    for (_, statement) in bodies(program) {
        each_expr_below(statement, call);
    }
}
