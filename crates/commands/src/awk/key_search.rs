//! `for (k in a) if (TEST) { …; next }`: asks whether a test is true for any key. The order of the keys does not show.

use crate::Accept;

use super::effects::Looker;
use super::names::{Owner, is_special};
use super::tree::{Expr, Statement};
use super::visit::{any_below, any_expr_below, any_part};

/// Returns the test, if a loop does only this and ends with the first key for which it is true.
pub(super) fn test<'a>(name: &str, body: &'a Statement) -> Option<&'a Expr> {
    let [Statement::If(test, then, None)] = body.flat().as_slice() else { return None };
    let then = then.flat();
    let (last, before) = then.split_last()?;
    let leaves = matches!(last, Statement::Break | Statement::Return(_)) || last.leaves_record();
    let is_key = |expr: &Expr| matches!(expr, Expr::Name(found) if found == name);
    let may_go_on = |statement: &Statement| {
        matches!(statement, Statement::Break | Statement::Continue | Statement::ForIn(..))
    };
    let goes_on = before.iter().any(|statement| any_below(statement, may_go_on));
    let shows_key = then.iter().any(|statement| any_expr_below(statement, is_key));
    (leaves && !goes_on && !shows_key && !is_special(name)).then_some(test)
}

/// Whether a loop over an array only asks whether a test without effects is true for any key.
pub(super) fn is_one(
    looker: &mut Looker,
    owner: Owner,
    name: &str,
    array: &str,
    body: &Statement,
) -> Accept<bool> {
    let Some(test) = test(name, body) else { return Ok(false) };
    let uses = looker.expr(owner, test)?;
    // An element that is read exists from then on.
    let is_own = |expr: &Expr| match expr {
        Expr::Element(found, index) => {
            found == array && matches!(index.as_slice(), [Expr::Name(key)] if key == name)
        }
        _ => true,
    };
    let calls = |expr: &Expr| matches!(expr, Expr::Call(..));
    let is_still = uses.writes.is_empty() && !uses.prints && !uses.exits;
    Ok(is_still && !any_part(test, |expr| !is_own(expr) || calls(expr)))
}
