//! The length of an array in gawk, which must know by then that it is one.
//!
//! Before its first use as an array a name is nothing yet. `length` of it is 0 and makes it a variable for good: the next
//! `a[1]` ends gawk with an error. An element, `in`, `for (k in a)`, `delete` and `split` make it an array, in 5.1 to 5.3.

use std::collections::BTreeSet;

use super::names::Names;
use super::tree::{Builtin, Expr, Order, Pattern, Program, Statement};
use super::visit::{any_below, any_expr_below, any_statement};

/// When the length of an array may be asked for before it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// Never.
    Never,
    /// In END, if there was no record: each one makes it an array.
    WithoutRecords,
    /// At other times.
    Sometimes,
}

/// Returns when the length of an array may be asked for before it is one. In END it may, if nothing else there uses the array.
pub(super) fn asked_early(program: &Program, names: &Names) -> Early {
    let mut walk = Walk { names, early: Vec::new() };
    let mut known = Some(Known::new());
    walk.blocks(&program.begin, &mut known);
    // After an exit END follows at once.
    let begun = known.unwrap_or_default();
    let mut known = Some(begun.clone());
    for rule in &program.rules {
        walk.pattern(&rule.pattern, &mut known);
        let mut inside = known.clone();
        walk.statements(&rule.action, &mut inside);
        known = match rule.pattern {
            Pattern::Always => inside,
            _ => both(known, inside),
        };
    }
    for function in &program.functions {
        walk.statements(&function.body, &mut Some(Known::new()));
    }
    if !walk.early.is_empty() {
        return Early::Sometimes;
    }
    let exits = program.begin.iter().flatten().any(super::exits);
    let mut asks_early = |known| {
        walk.early.clear();
        walk.blocks(&program.end, &mut Some(known));
        walk.early.iter().any(|name| is_used_otherwise(&program.end, name))
    };
    if !asks_early(if exits { Known::new() } else { begun }) {
        return Early::Never;
    }
    // A record that is left midway may make no array. What BEGIN has done cannot be done again.
    match known.filter(|_| program.begin.is_empty() && !any_statement(program, Statement::leaves_record)) {
        Some(known) if !asks_early(known.clone()) => Early::WithoutRecords,
        _ => Early::Sometimes,
    }
}

/// Names that are arrays by now.
type Known<'a> = BTreeSet<&'a str>;

/// What is known where two ways meet, of which one may end before.
fn both<'a>(one: Option<Known<'a>>, other: Option<Known<'a>>) -> Option<Known<'a>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other).copied().collect()),
        (one, other) => one.or(other),
    }
}

/// Follows the program in the order in which gawk evaluates it. `None` behind `next` and the like: nothing gets there.
struct Walk<'a> {
    names: &'a Names,
    /// What `length` was asked of too early.
    early: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn blocks(&mut self, blocks: &'a [Vec<Statement>], known: &mut Option<Known<'a>>) {
        blocks.iter().for_each(|block| self.statements(block, known));
    }

    fn statements(&mut self, statements: &'a [Statement], known: &mut Option<Known<'a>>) {
        statements.iter().for_each(|statement| self.statement(statement, known));
    }

    fn pattern(&mut self, pattern: &'a Pattern, known: &mut Option<Known<'a>>) {
        match pattern {
            Pattern::Always => {}
            Pattern::When(test) => self.expr(test, known),
            // Which of them is asked depends on the record.
            Pattern::Range(from, to) => [from, to].iter().for_each(|test| self.aside(test, known)),
        }
    }

    fn statement(&mut self, statement: &'a Statement, known: &mut Option<Known<'a>>) {
        match statement {
            Statement::Block(inner) => self.statements(inner, known),
            Statement::If(test, yes, no) => {
                self.expr(test, known);
                let mut otherwise = known.clone();
                self.statement(yes, known);
                no.iter().for_each(|no| self.statement(no, &mut otherwise));
                *known = both(known.take(), otherwise);
            }
            Statement::Switch(value, cases) => {
                self.expr(value, known);
                cases.iter().for_each(|case| self.statement(&case.body, &mut known.clone()));
            }
            Statement::While(test, body) => {
                self.expr(test, known);
                self.statement(body, &mut known.clone());
            }
            Statement::Do(body, test) => {
                self.statement(body, &mut known.clone());
                self.expr(test, known);
            }
            Statement::For(first, test, step, body) => {
                first.iter().for_each(|first| self.statement(first, known));
                test.iter().for_each(|test| self.expr(test, known));
                if runs_once(first.as_deref(), test.as_ref(), body) {
                    self.statement(body, known);
                } else {
                    self.statement(body, &mut known.clone());
                }
                step.iter().for_each(|step| self.statement(step, &mut known.clone()));
            }
            Statement::ForIn(_, array, body) => {
                self.learn(array, known);
                self.statement(body, &mut known.clone());
            }
            Statement::Delete(array, index) => {
                index.iter().flatten().for_each(|part| self.expr(part, known));
                self.learn(array, known);
            }
            Statement::Expr(_) | Statement::Print(..) | Statement::Printf(..) => {
                statement.parts().0.into_iter().for_each(|expr| self.expr(expr, known));
            }
            Statement::Line(_) | Statement::SortedIn(_) => {}
            Statement::Exit(_)
            | Statement::Return(_)
            | Statement::Next
            | Statement::NextFile
            | Statement::Break
            | Statement::Continue => {
                statement.parts().0.into_iter().for_each(|expr| self.expr(expr, known));
                *known = None;
            }
        }
    }

    /// Follows what may not be evaluated.
    fn aside(&mut self, expr: &'a Expr, known: &Option<Known<'a>>) {
        self.expr(expr, &mut known.clone());
    }

    fn expr(&mut self, expr: &'a Expr, known: &mut Option<Known<'a>>) {
        match expr {
            Expr::And(left, right) | Expr::Or(left, right) => {
                self.expr(left, known);
                self.aside(right, known);
            }
            Expr::If(test, yes, no) => {
                self.expr(test, known);
                self.aside(yes, known);
                self.aside(no, known);
            }
            // The value comes first.
            Expr::Assign(place, value) | Expr::Update(_, place, value) => {
                self.expr(value, known);
                self.expr(place, known);
            }
            Expr::Builtin(Builtin::Length, args) if self.array(args).is_some() => {
                let name =
                    self.array(args).filter(|name| known.as_ref().is_some_and(|it| !it.contains(name)));
                self.early.extend(name);
            }
            Expr::Builtin(Builtin::Split, args) => {
                args.iter().for_each(|arg| self.expr(arg, known));
                if let Some(Expr::Name(array)) = args.get(1) {
                    self.learn(array, known);
                }
            }
            _ => {
                expr.parts().into_iter().for_each(|part| self.expr(part, known));
                if let Expr::Element(array, _) | Expr::In(_, array) = expr {
                    self.learn(array, known);
                }
            }
        }
    }

    fn learn(&mut self, array: &'a str, known: &mut Option<Known<'a>>) {
        if let Some(known) = known {
            known.insert(array);
        }
    }

    /// Returns the array whose length is asked for.
    fn array(&self, args: &'a [Expr]) -> Option<&'a str> {
        match args {
            [Expr::Name(name)] if self.names.arrays.iter().any(|(_, array)| array == name) => Some(name),
            _ => None,
        }
    }
}

/// Whether the body of `for (i = 5; i >= 0; i--)` is executed, whole, at least once.
fn runs_once(first: Option<&Statement>, test: Option<&Expr>, body: &Statement) -> bool {
    let Some(Statement::Expr(Expr::Assign(counter, value))) = first else { return false };
    let Some(Expr::Compare(order, left, right)) = test else { return false };
    let (Expr::Name(_), Expr::Number(begin), Expr::Number(end)) = (&**counter, &**value, &**right) else {
        return false;
    };
    let begins = match order {
        Order::Less => begin < end,
        Order::LessOrEqual => begin <= end,
        Order::Equal => begin == end,
        Order::NotEqual => begin != end,
        Order::Greater => begin > end,
        Order::GreaterOrEqual => begin >= end,
    };
    let leaves = |statement: &Statement| {
        statement.leaves_record()
            || matches!(statement, Statement::Break | Statement::Continue | Statement::Return(_))
    };
    begins && left == counter && !any_below(body, leaves)
}

/// Whether these blocks do more with an array than ask for its length, or call functions, which may.
fn is_used_otherwise(blocks: &[Vec<Statement>], name: &str) -> bool {
    let uses = |expr: &Expr| match expr {
        Expr::Element(array, _) | Expr::In(_, array) => array == name,
        Expr::Builtin(Builtin::Split, args) => args.contains(&Expr::Name(name.to_owned())),
        Expr::Call(..) => true,
        _ => false,
    };
    let mut found = false;
    for statement in blocks.iter().flatten() {
        found |= any_expr_below(statement, uses)
            || any_below(
                statement,
                |inner| matches!(inner, Statement::ForIn(_, array, _) | Statement::Delete(array, _) if array == name),
            );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::parse::parse_for_test;

    fn early(text: &str) -> Early {
        let program = parse_for_test(text);
        asked_early(&program, &Names::of(&program).expect("names"))
    }

    #[test]
    fn after_a_use_as_an_array_the_length_is_known() {
        for text in [
            "{ n = split($0, p); print length(p) }",
            "{ delete a; a[$1]; print length(a) }",
            "{ for (k in a) delete a[k]; print length(a) }",
            "{ print a[$1]++, length(a) }",
            "{ if ($1 in a) print length(a); else print \"new\", length(a) }",
            "{ if ($1) a[1]; else next; print length(a) }",
            "BEGIN { a[1] } { print length(a) } END { print length(a), a[1] }",
            "{ a[$1] } NR % 2 { print length(a) }",
            "{ a[$1] } END { print length(a) }",
            "BEGIN { for (i = 5; i >= 0; i--) a[i]; print length(a) }",
            "function f(s, t, n) { n = split(s, t); return n length(t) } { print f($0) }",
        ] {
            assert_eq!(early(text), Early::Never, "{text}");
        }
    }

    #[test]
    fn a_record_makes_it_an_array() {
        for text in [
            "{ a[$1] } END { print length(a), a[1] }",
            "{ a[$1]++ } END { print length(a); for (k in a) print k, a[k] }",
            "{ x = $2; if (x) a[x]; else delete a } /x/ { n++ } END { print length(a), n; delete a }",
        ] {
            assert_eq!(early(text), Early::WithoutRecords, "{text}");
        }
        for text in [
            "/x/ { next } { a[$1] } END { print length(a), a[1] }",
            "{ if ($2) exit; a[$1] } END { print length(a), a[1] }",
            "/x/ { a[$1] } END { print length(a), a[1] }",
            "BEGIN { print } { a[$1] } END { print length(a), a[1] }",
        ] {
            assert_eq!(early(text), Early::Sometimes, "{text}");
        }
    }

    #[test]
    fn before_that_or_on_another_way_it_is_not() {
        for text in [
            "{ a[length(a) + 1] = $0 }",
            "{ a[1] = length(a) }",
            "{ if ($1) a[1]; print length(a) }",
            "{ while ($1 > i++) a[i]; print length(a) }",
            "BEGIN { for (i = 5; i >= 9; i--) a[i]; print length(a) }",
            "BEGIN { for (i = 5; i >= 0; i--) { if (x) break; a[i] } print length(a) }",
            "{ x = $1 && a[1]; print length(a) }",
            "{ x = $1 ? a[1] : 0; print length(a) }",
            "$1 { a[$1] } { print length(a) }",
            "BEGIN { if (x) exit; a[1] } END { print length(a), a[1] }",
            "function f(t) { return length(t) } { a[1]; print f(a) }",
        ] {
            assert_eq!(early(text), Early::Sometimes, "{text}");
        }
    }
}
