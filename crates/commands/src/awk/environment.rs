//! `ENVIRON["NAME"]`: as a variable with an initial value, as those of `-v` are.
//!
//! That is all that is served of ENVIRON: the whole array would show what a program may not depend on, such as the order
//! of variables.

use std::collections::BTreeSet;

use crate::{Accept, Declined, Lookup};

use super::Dialect;
use super::names::Names;
use super::tree::{Expr, Program};
use super::visit::every_expr;

/// What the variable's name begins with. No program can name such a variable.
const PREFIX: &str = "ENVIRON[";

/// Returns the variable that stands for an element of ENVIRON with a constant index.
pub(super) fn variable(array: &str, index: &[Expr]) -> Option<Expr> {
    match index {
        [Expr::Text(name)] if array == "ENVIRON" => {
            let name = std::str::from_utf8(name).ok()?;
            Some(Expr::Name(format!("{PREFIX}{name}")))
        }
        _ => None,
    }
}

/// Returns the values of the environment's variables that a program reads.
///
/// # Errors
/// Declines programs that change one, or use it as an array; and, in gawk, variables that are not set: there they become
/// elements, some of which keep how they were first used.
pub(super) fn values(
    program: &Program,
    names: &Names,
    dialect: Dialect,
    lookup: &dyn Lookup,
) -> Accept<Vec<(String, Vec<u8>)>> {
    let (mut read, mut changed) = (BTreeSet::new(), false);
    every_expr(program, &mut |expr| {
        if let Expr::Name(name) = expr
            && name.starts_with(PREFIX)
        {
            read.insert(name.as_str());
        }
        let place = expr.changed_place().map(Expr::bare);
        changed |= matches!(place, Some(Expr::Name(name)) if name.starts_with(PREFIX));
    });
    if changed || read.iter().any(|name| names.is_no_variable(name)) {
        return Declined::because("a change of ENVIRON");
    }
    let mut values = Vec::new();
    for name in read {
        match lookup.variable(&name.as_bytes()[PREFIX.len()..])? {
            Some(value) => values.push((name.to_owned(), value)),
            None if dialect.is_gawk() => {
                return Declined::because("a variable of the environment that is not set");
            }
            None => {}
        }
    }
    Ok(values)
}
