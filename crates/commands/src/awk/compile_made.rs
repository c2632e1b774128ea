//! Compiles searches for expressions that are made while the program runs.

use crate::{Accept, Declined};

use super::Dialect;
use super::code::{Do, Get};
use super::compile::{Compiler, InitialState, known_pattern, known_text};
use super::key_search;
use super::made_format::{self, MadeFormat};
use super::made_pattern::{KeyPatterns, Made, Search};
use super::names::{Names, Owner, bodies, patterns};
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_below, any_expr, any_expr_below, any_part, any_statement, each_expr};

/// Whether a program searches for expressions that are made while it runs, or prints in such formats.
pub(super) fn is_in(program: &Program, names: &Names, given: &InitialState) -> bool {
    let is_made_format = |inside: Owner, format: &Expr| known_text(format, inside, names, given).is_none();
    let makes = |inside: Owner, expr: &Expr| match expr {
        Expr::Builtin(Builtin::Sprintf, args) => is_made_format(inside, &args[0]),
        expr => {
            pattern_of(expr).is_some_and(|pattern| known_pattern(pattern, inside, names, given).is_none())
        }
    };
    // What has no arguments is printed by another way ([`lone_format`](super::lone_format)).
    let takes_any = |statement: &Statement| match statement {
        Statement::Printf(args, _) => args.len() == 1 && !given.dialect.is_one_true(),
        _ => false,
    };
    let prints_made = |inside: Owner, statement: &Statement| {
        !takes_any(statement)
            && made_format::of_statement(statement).into_iter().any(|format| is_made_format(inside, format))
    };
    patterns(program).into_iter().any(|test| any_part(test, |expr| makes(Owner::Program, expr)))
        || bodies(program).into_iter().any(|(owner, statement)| {
            any_expr_below(statement, |expr| makes(owner, expr))
                || any_below(statement, |inner| prints_made(owner, inner))
        })
}

/// Returns the expression, or separator, that an operator or function searches for.
fn pattern_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Match { regex, .. } => Some(regex),
        Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => args.first(),
        Expr::Builtin(Builtin::Match, args) => args.get(1),
        Expr::Builtin(Builtin::Split, args) => args.get(2),
        _ => None,
    }
}

/// Whether gawk may take an expression for the number of the one that it compiled for an earlier record at the same place
/// (`check_number` in [`made_pattern`](super::made_pattern)). `is_written`: whether a variable changes from record to record.
pub(super) fn may_be_numbers(program: &Program, is_written: impl Fn(&str) -> bool) -> bool {
    let varies =
        |name: &str| matches!(name, "NR" | "FNR" | "NF") || program.has_parameter(name) || is_written(name);
    any_expr(program, |expr| pattern_of(expr).is_some_and(|pattern| may_be_number(pattern, &varies)))
}

fn may_be_number(expr: &Expr, varies: &impl Fn(&str) -> bool) -> bool {
    match expr.bare() {
        Expr::Name(name) => varies(name),
        Expr::If(_, yes, no) => may_be_number(yes, varies) || may_be_number(no, varies),
        Expr::Number(_) | Expr::Regex(_) => false,
        other => !other.is_text(),
    }
}

/// Whether evaluating it changes nothing, and it is a string or a number.
fn is_plain(expr: &Expr) -> bool {
    let is_plain_here = |part: &Expr| match part {
        Expr::Number(_)
        | Expr::Text(_)
        | Expr::Name(_)
        | Expr::Field(_)
        | Expr::Element(..)
        | Expr::Group(_)
        | Expr::Concat(..)
        | Expr::If(..)
        | Expr::Compare(..)
        | Expr::Arith(..)
        | Expr::LengthAlone => true,
        Expr::Builtin(builtin, _) => matches!(
            builtin,
            Builtin::Length
                | Builtin::Substr
                | Builtin::Index
                | Builtin::ToLower
                | Builtin::ToUpper
                | Builtin::Sprintf
        ),
        _ => false,
    };
    !any_part(expr, |part| !is_plain_here(part))
}

impl Compiler<'_> {
    /// Compiles a search for an expression that is made while the program runs. `beside`: the other operands.
    pub(super) fn made(&mut self, by: &Expr, beside: &[&Expr], search: Search) -> Accept<Get> {
        if self.given.dialect == Dialect::Portable {
            return Declined::because(
                "a regular expression that is made while the program runs, in an awk that was not compared",
            );
        }
        if matches!(by.bare(), Expr::Number(_)) {
            return Declined::because(
                "a number as a regular expression, which the one true awk takes as it is written",
            );
        }
        if matches!(search, Search::Split(..)) && self.given.rs.is_empty() {
            return Declined::because("a separator that is made while the program runs, of paragraphs");
        }
        if !is_plain(by) || !beside.iter().all(|expr| is_plain(expr)) {
            return Declined::because(
                "a regular expression that is made while the program runs, beside more than strings",
            );
        }
        let made = Made { slot: self.made, by: self.get(by)?, search };
        self.made += 1;
        Ok(Get::Made(Box::new(made)))
    }

    /// Compiles a format that is made while the program runs, and its arguments.
    pub(super) fn made_format(&mut self, args: &[Expr], is_sprintf: bool) -> Accept<MadeFormat> {
        if self.given.dialect == Dialect::Portable || !args.iter().all(is_plain) {
            return Declined::because(
                "a format that is made while the program runs, beside more than values",
            );
        }
        let by = self.get(&args[0])?;
        let made = MadeFormat { slot: self.made, by, args: self.gets(&args[1..])?, is_sprintf };
        self.made += 1;
        Ok(made)
    }

    /// Returns what compiles the expressions that a loop over the keys of an array makes, for all keys, before it ends with the
    /// first that matches: the real awk might meet another key first, and end with a message.
    pub(super) fn keys_to_compile(
        &mut self,
        name: &str,
        array: &str,
        body: &Statement,
    ) -> Accept<Option<Do>> {
        let Some(test) = key_search::test(name, body) else { return Ok(None) };
        let makes_format = |expr: &Expr| match expr {
            Expr::Builtin(Builtin::Sprintf, args) => self.known_text(&args[0]).is_none(),
            _ => false,
        };
        if any_part(test, makes_format) {
            return Declined::because("a format that is made in a loop over an array");
        }
        let (mut found, mut made) = (Vec::new(), Vec::new());
        each_expr(test, &mut |expr| {
            if pattern_of(expr).is_some_and(|pattern| self.is_made(pattern)) {
                found.push(expr);
            }
        });
        for expr in &found {
            match self.get(expr)? {
                Get::Made(it) => made.push(*it),
                _ => return Declined::because("a regular expression that is made in a loop"),
            }
        }
        if made.is_empty() {
            return Ok(None);
        }
        let are_keys = found
            .iter()
            .filter_map(|expr| pattern_of(expr))
            .all(|pattern| matches!(pattern.bare(), Expr::Name(key) if key == name));
        let program = self.program;
        let loses_keys = any_statement(program, |statement| matches!(statement, Statement::Delete(..)))
            || any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::Split, _) | Expr::Call(..)));
        let (place, table) = (self.variable(name)?, self.table(array));
        let is_once = are_keys && !loses_keys;
        Ok(Some(Do::CompileKeys(Box::new(KeyPatterns { place, table, made, is_once }))))
    }
}
