//! In which order loops over arrays run, where a program sets `PROCINFO["sorted_in"]`, and whether that can depend on the
//! order in which gawk keeps the array.

use std::collections::BTreeSet;

use crate::{Accept, Declined};

use super::names::bodies;
use super::sort_order::SortOrder;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{
    any_below, any_expr, any_expr_below, changes, each_expr, each_statement, every_statement,
};

/// The orders in which something may run. `None`: as the array is kept.
type Orders = BTreeSet<Option<SortOrder>>;

/// The orders of all loops of a program.
pub(super) struct LoopOrders<'a> {
    loops: Vec<(&'a Statement, Orders)>,
}

impl<'a> LoopOrders<'a> {
    pub(super) fn of(program: &'a Program) -> Self {
        let mut all = Orders::new();
        every_statement(program, &mut |statement| all.extend(set_by(statement)));
        let mut found = LoopOrders { loops: Vec::new() };
        let mut now = Orders::from([None]);
        program.begin.iter().for_each(|block| found.block(block, &mut now));
        // A rule may set the order for all that follow, and a function is called from anywhere.
        let rules_set = program.rules.iter().flat_map(|rule| &rule.action).any(sets);
        let functions_set = program.functions.iter().flat_map(|function| &function.body).any(sets);
        if rules_set || functions_set {
            now.extend(&all);
        }
        let rules = program.rules.iter().flat_map(|rule| &rule.action);
        rules.for_each(|statement| found.loops_below(statement, &now));
        let anywhere: Orders = all.iter().copied().chain([None]).collect();
        let functions = program.functions.iter().flat_map(|function| &function.body);
        functions.for_each(|statement| found.loops_below(statement, &anywhere));
        program.end.iter().for_each(|block| found.block(block, &mut now));
        if functions_set {
            found.loops.iter_mut().for_each(|(_, orders)| orders.extend(&anywhere));
        }
        found
    }

    /// Follows the statements of BEGIN or END.
    fn block(&mut self, block: &'a [Statement], now: &mut Orders) {
        for statement in block {
            match statement {
                Statement::Block(inner) => self.block(inner, now),
                Statement::SortedIn(order) => *now = Orders::from([*order]),
                other => {
                    each_statement(other, &mut |inner| now.extend(set_by(inner)));
                    self.loops_below(other, now);
                }
            }
        }
    }

    fn loops_below(&mut self, statement: &'a Statement, orders: &Orders) {
        each_statement(statement, &mut |inner| {
            if matches!(inner, Statement::ForIn(..)) {
                self.loops.push((inner, orders.clone()));
            }
        });
    }

    fn orders_of(&self, statement: &Statement) -> Option<&Orders> {
        self.loops.iter().find(|(known, _)| std::ptr::eq(*known, statement)).map(|(_, orders)| orders)
    }

    /// Whether a loop is sure to run in an order of its indices.
    pub(super) fn is_by_index(&self, statement: &Statement) -> bool {
        let is_it = |order: &Option<SortOrder>| order.is_some_and(SortOrder::is_by_index);
        self.orders_of(statement).is_some_and(|orders| orders.iter().all(is_it))
    }

    /// Whether a loop may run in an order of values.
    fn may_be_by_value(&self, statement: &Statement) -> bool {
        let is_it = |order: &Option<SortOrder>| order.is_some_and(|order| !order.is_by_index());
        self.orders_of(statement).is_some_and(|orders| orders.iter().any(is_it))
    }
}

fn set_by(statement: &Statement) -> Option<Option<SortOrder>> {
    match statement {
        Statement::SortedIn(order) => Some(*order),
        _ => None,
    }
}

fn sets(statement: &Statement) -> bool {
    any_below(statement, |inner| set_by(inner).is_some())
}

/// Returns the array that a call sorts by its values.
fn sorted_by_value(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Builtin(builtin @ (Builtin::Asort | Builtin::Asorti), args) => match args.first() {
            Some(Expr::Name(array))
                if SortOrder::of_call(*builtin, args).is_some_and(|it| !it.is_by_index()) =>
            {
                Some(array)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the arrays that `asort` or `asorti` sort by their values, unless a `split` right before has made them: then they
/// are kept in the order of their indices.
pub(super) fn arrays_sorted_by_value(program: &Program) -> BTreeSet<String> {
    let mut sorted = BTreeSet::new();
    let mut of_list = |statements: &[&Statement]| {
        for (at, statement) in statements.iter().enumerate() {
            let (exprs, _) = statement.parts();
            for expr in exprs {
                each_expr(expr, &mut |part| {
                    let array =
                        sorted_by_value(part).filter(|array| !is_split_before(&statements[..at], array));
                    sorted.extend(array.map(str::to_owned));
                });
            }
        }
    };
    let lists = program.begin.iter().chain(&program.end).chain(program.rules.iter().map(|rule| &rule.action));
    for list in lists.chain(program.functions.iter().map(|function| &function.body)) {
        of_list(&list.iter().collect::<Vec<_>>());
    }
    every_statement(program, &mut |statement| of_list(&statement.parts().1));
    for pattern in super::names::patterns(program) {
        each_expr(pattern, &mut |part| sorted.extend(sorted_by_value(part).map(str::to_owned)));
    }
    sorted
}

/// Whether the last statement that mentions an array splits a string into it.
fn is_split_before(before: &[&Statement], array: &str) -> bool {
    let splits = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Split, args) if matches!(args.get(1), Some(Expr::Name(name)) if name == array));
    let last = before.iter().rev().find(|statement| mentions(statement, array));
    match last {
        Some(Statement::Expr(Expr::Assign(place, value))) => {
            matches!(**place, Expr::Name(_)) && splits(value)
        }
        Some(Statement::Expr(expr)) => splits(expr),
        _ => false,
    }
}

/// Whether a statement may use an array.
fn mentions(statement: &Statement, array: &str) -> bool {
    let is_it = |name: &String| name == array;
    any_expr_below(statement, |part| match part {
        Expr::Name(name) | Expr::Element(name, _) | Expr::In(_, name) => is_it(name),
        Expr::Call(..) => true,
        _ => false,
    }) || any_below(statement, |inner| match inner {
        Statement::ForIn(_, name, _) | Statement::Delete(name, _) => is_it(name),
        _ => false,
    })
}

/// Declines programs that sort values of which one may never have been set: gawk 5.2 ends there with an internal error.
pub(super) fn check_values(program: &Program, orders: &LoopOrders) -> Accept<()> {
    let mut arrays = arrays_sorted_by_value(program);
    every_statement(program, &mut |statement| {
        if let Statement::ForIn(_, array, _) = statement
            && orders.may_be_by_value(statement)
        {
            arrays.insert(array.clone());
        }
    });
    if arrays.is_empty() {
        return Ok(());
    }
    if !program.functions.is_empty() {
        return Declined::because("an order of values in a program with functions");
    }
    for array in arrays {
        if may_be_unset(program, orders, &array) {
            return Declined::because(format!(
                "an order of the values of {array}, of which one may not be set: some gawks then end with an error"
            ));
        }
    }
    Ok(())
}

/// Whether an element may be looked up before the last sort of an array without being set.
fn may_be_unset(program: &Program, orders: &LoopOrders, array: &str) -> bool {
    let sorts = |statement: &Statement| {
        any_expr_below(statement, |part| sorted_by_value(part) == Some(array))
            || any_below(statement, |inner| {
                matches!(inner, Statement::ForIn(_, name, _) if name == array)
                    && orders.may_be_by_value(inner)
            })
    };
    let end: Vec<&Statement> = program.end.iter().flatten().flat_map(Statement::flat).collect();
    let last = end.iter().rposition(|statement| sorts(statement)).map_or(0, |last| last + 1);
    let is_before = |statement: &Statement| {
        !end[last..].iter().any(|behind| any_below(behind, |inner| std::ptr::eq(inner, statement)))
    };
    let in_patterns =
        super::names::patterns(program).into_iter().any(|pattern| looks_up(pattern, array, &[]));
    let in_bodies = bodies(program)
        .into_iter()
        .any(|(_, statement)| statement_looks_up(statement, array, &mut Vec::new(), &is_before));
    in_patterns || in_bodies
}

fn statement_looks_up<'a>(
    statement: &'a Statement,
    array: &str,
    keys: &mut Vec<&'a str>,
    is_before: &impl Fn(&Statement) -> bool,
) -> bool {
    if !is_before(statement) {
        return false;
    }
    let (exprs, inner) = statement.parts();
    if exprs.into_iter().any(|expr| looks_up(expr, array, keys)) {
        return true;
    }
    let key = match statement {
        Statement::ForIn(key, name, body) if name == array && !changes(body, key) => Some(key.as_str()),
        _ => None,
    };
    keys.extend(key);
    let found = inner.into_iter().any(|inner| statement_looks_up(inner, array, keys, is_before));
    keys.truncate(keys.len() - usize::from(key.is_some()));
    found
}

/// Whether an expression looks up an element without setting it, except at the keys of a loop.
fn looks_up(expr: &Expr, array: &str, keys: &[&str]) -> bool {
    let in_parts = |parts: &[Expr]| parts.iter().any(|part| looks_up(part, array, keys));
    match expr {
        Expr::Assign(place, value) | Expr::Update(_, place, value) => {
            let in_place = match &**place {
                Expr::Element(_, index) => in_parts(index),
                other => looks_up(other, array, keys),
            };
            in_place || looks_up(value, array, keys)
        }
        Expr::Step { place, .. } => match &**place {
            Expr::Element(_, index) => in_parts(index),
            other => looks_up(other, array, keys),
        },
        Expr::Element(name, index) => {
            let is_key = matches!(index.as_slice(), [Expr::Name(key)] if keys.contains(&key.as_str()));
            name == array && !is_key || in_parts(index)
        }
        other => other.parts().into_iter().any(|part| looks_up(part, array, keys)),
    }
}

/// Whether a program sorts at all.
pub(super) fn sorts(program: &Program) -> bool {
    let is_call = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Asort | Builtin::Asorti, _));
    let mut sorted = any_expr(program, is_call);
    every_statement(program, &mut |statement| sorted |= set_by(statement).is_some());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;
    use crate::awk::rules::Variant;

    fn read(text: &str) -> Program {
        parse(text.as_bytes(), Dialect::Gawk { utf8: false, variant: Variant::Gawk }).expect("a program")
    }

    fn are_by_index(text: &str) -> bool {
        let program = read(text);
        let orders = LoopOrders::of(&program);
        let mut all = true;
        every_statement(&program, &mut |statement| {
            all &= !matches!(statement, Statement::ForIn(..)) || orders.is_by_index(statement);
        });
        all
    }

    #[test]
    fn a_loop_has_the_order_that_was_set_before() {
        for text in [
            "END { PROCINFO[\"sorted_in\"] = \"@ind_str_asc\"; for (k in c) print k }",
            "BEGIN { PROCINFO[\"sorted_in\"] = \"@ind_num_desc\" } { for (k in c) print k }",
            "BEGIN { PROCINFO[\"sorted_in\"] = \"@ind_num_asc\" } END { if (x) PROCINFO[\"sorted_in\"] = \"@ind_str_asc\"; for (k in c) print k }",
        ] {
            assert!(are_by_index(text), "{text}");
        }
        for text in [
            "END { for (k in c) print k; PROCINFO[\"sorted_in\"] = \"@ind_str_asc\" }",
            "END { if (x) PROCINFO[\"sorted_in\"] = \"@ind_str_asc\"; for (k in c) print k }",
            "END { PROCINFO[\"sorted_in\"] = \"@val_num_asc\"; for (k in c) print k }",
            "BEGIN { PROCINFO[\"sorted_in\"] = \"@ind_num_asc\" } { PROCINFO[\"sorted_in\"] = \"\" } END { for (k in c) print k }",
            "function f() { for (k in c) print k } BEGIN { PROCINFO[\"sorted_in\"] = \"@ind_num_asc\" } { f() }",
        ] {
            assert!(!are_by_index(text), "{text}");
        }
    }

    #[test]
    fn values_that_may_not_be_set_are_found() {
        let is_sure = |text: &str| {
            let program = read(text);
            check_values(&program, &LoopOrders::of(&program)).is_ok()
        };
        for text in [
            "{ c[$1]++ } END { PROCINFO[\"sorted_in\"] = \"@val_num_desc\"; for (k in c) print k, c[k] }",
            "{ a[NR] = $1 } END { n = asort(a); for (i = 1; i <= n; i++) print a[i] }",
            "{ n = split($0, a); asort(a); for (i = 1; i <= n; i++) print a[i] }",
            "{ c[$1] } END { n = asorti(c, d); print d[1], c[2] }",
        ] {
            assert!(is_sure(text), "{text}");
        }
        for text in [
            "{ c[$1] } END { PROCINFO[\"sorted_in\"] = \"@val_num_desc\"; for (k in c) print k }",
            "{ a[NR] = $1; if (a[NR + 1]) n++ } END { n = asort(a); print n }",
            "{ a[NR] = $1 } END { print a[1]; n = asort(a); print n }",
            "{ c[$1]++ } END { PROCINFO[\"sorted_in\"] = \"@val_num_desc\"; for (k in c) { k = \"x\"; print c[k] } }",
        ] {
            assert!(!is_sure(text), "{text}");
        }
    }
}
