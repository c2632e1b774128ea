//! `getline` and `getline VARIABLE` in rules: the next record of the input, in the middle of a record.
//!
//! Records come in blocks, and a rule cannot wait for the next one. So how many records a rule may take at most must be
//! known: as many as there are `getline`s, which may stand in no loop and in no function. That many records are looked
//! ahead before a record is processed that may need them; others, of which that can be told, are processed at once, so that
//! nothing is late where input comes slowly.

use std::collections::VecDeque;
use std::ops::Range;

use crate::{Accept, Declined};

use super::code::{Get, LValue};
use super::fields::each_record;
use super::machine::{Machine, Ran};
use super::rules;
use super::tree::{Builtin, Expr, Pattern, Program, Rule, Statement};
use super::value::Value;
use super::visit::{
    any_below, any_expr, any_expr_below, any_part, any_statement, each_expr_below, every_expr,
};

/// What a program with `getline` needs.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    /// How many records one may take at most, beside itself.
    pub(super) records: usize,
    /// One of these is true of a record that takes more, if that is known before it is processed.
    pub(super) tests: Option<Vec<Get>>,
}

/// Returns `getline` as a function of what it sets.
pub(super) fn of(target: Option<Expr>) -> Expr {
    let place = target.unwrap_or_else(|| Expr::Field(Box::new(Expr::Number(0.0))));
    Expr::Builtin(Builtin::NextRecord, vec![place])
}

fn is_next(expr: &Expr) -> bool {
    matches!(expr, Expr::Builtin(Builtin::NextRecord, _))
}

/// Whether a statement has a `getline`.
fn reads(statement: &Statement) -> bool {
    any_expr_below(statement, is_next)
}

/// Returns how many records a rule may take, and the rules that take some, if a program has a `getline` of the input.
///
/// # Errors
/// Declines such programs that read in BEGIN, in END, in functions, in loops or in patterns, or several inputs.
pub(super) fn of_program(
    program: &Program,
    inputs: usize,
    has_paragraphs: bool,
) -> Accept<Option<(usize, Vec<&Rule>)>> {
    let mut records = 0;
    every_expr(program, &mut |expr| records += usize::from(is_next(expr)));
    if records == 0 {
        return Ok(None);
    }
    let is_loop = |statement: &Statement| {
        matches!(
            statement,
            Statement::While(..) | Statement::Do(..) | Statement::For(..) | Statement::ForIn(..)
        )
    };
    let rules: Vec<&Rule> = program.rules.iter().filter(|rule| rule.action.iter().any(reads)).collect();
    let mut in_rules = 0;
    for statement in rules.iter().flat_map(|rule| &rule.action) {
        for inner in statement.flat() {
            if any_below(inner, |part| is_loop(part) && reads(part)) {
                return Declined::because("getline in a loop");
            }
        }
        each_expr_below(statement, &mut |part| in_rules += usize::from(is_next(part)));
    }
    if in_rules < records {
        return Declined::because("getline elsewhere than in the action of a rule");
    }
    // The place is found before the record is counted.
    let counts = |expr: &Expr| {
        matches!(expr, Expr::Call(..))
            || matches!(expr, Expr::Name(name) if matches!(name.as_str(), "NR" | "FNR"))
    };
    if any_expr(program, |expr| is_next(expr) && any_part(expr, counts)) {
        return Declined::because("getline into a place that depends on the number of the record");
    }
    if inputs != 1 || has_paragraphs {
        return Declined::because("getline with several inputs, or of paragraphs");
    }
    if any_statement(program, |statement| matches!(statement, Statement::NextFile)) {
        return Declined::because("getline beside nextfile");
    }
    Ok(Some((records, rules)))
}

/// Returns the patterns of rules that take records, if what they say is known before a record is processed: they ask only
/// for the record, which nothing but `getline` changes.
pub(super) fn tests<'a>(program: &Program, rules: &[&'a Rule]) -> Option<Vec<&'a Expr>> {
    let changes = |expr: &Expr| {
        let is_record = |place: &Expr| {
            matches!(place.bare(), Expr::Field(_)) || *place.bare() == Expr::Name("NF".to_owned())
        };
        !is_next(expr) && (expr.changed_place().is_some_and(is_record) || changes_whole(expr))
    };
    if any_expr(program, changes) || !program.functions.is_empty() {
        return None;
    }
    rules
        .iter()
        .map(|rule| match &rule.pattern {
            Pattern::When(test) if asks_only_the_record(test) => Some(test),
            _ => None,
        })
        .collect()
}

/// Whether it is `sub` or `gsub` of the record.
fn changes_whole(expr: &Expr) -> bool {
    matches!(expr, Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 2)
}

fn asks_only_the_record(test: &Expr) -> bool {
    match test {
        Expr::Regex(_) | Expr::Text(_) | Expr::Number(_) => true,
        Expr::Field(index) => matches!(**index, Expr::Number(_)),
        Expr::Name(name) => name == "NF",
        Expr::Group(_)
        | Expr::Not(_)
        | Expr::And(..)
        | Expr::Or(..)
        | Expr::Compare(..)
        | Expr::Match { .. } => test.parts().into_iter().all(asks_only_the_record),
        _ => false,
    }
}

/// Records that were not processed yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    text: Vec<u8>,
}

impl Pending {
    /// Processes records with `run`, and keeps those that may have to wait for others; `is_all` says that no others come.
    pub(super) fn run(
        &mut self,
        machine: &mut Machine,
        ahead: &Ahead,
        block: &[u8],
        is_all: bool,
        run: impl Fn(&mut Machine, Range<usize>) -> Ran<()>,
    ) -> Ran<()> {
        let mut text = std::mem::take(&mut self.text);
        text.extend_from_slice(block);
        machine.record.set_block(&text);
        machine.upcoming.clear();
        let end = machine.code.record_end;
        let upcoming = &mut machine.upcoming;
        let found: Result<(), ()> = each_record(&text, end, &mut Vec::new(), |span| {
            upcoming.push_back(span);
            Ok(())
        });
        debug_assert!(found.is_ok(), "each record is noted");
        while let Some(span) = machine.upcoming.front().cloned() {
            let has_enough = is_all || machine.upcoming.len() > ahead.records;
            if !has_enough && machine.may_take_more(ahead, &span)? {
                text.drain(..span.start);
                self.text = text;
                return Ok(());
            }
            machine.upcoming.pop_front();
            run(machine, span)?;
        }
        text.clear();
        self.text = text;
        Ok(())
    }

    /// Whether there are records.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Records of the block that follow the one that is processed.
pub(super) type Upcoming = VecDeque<Range<usize>>;

impl Machine {
    /// Whether a record may take others.
    fn may_take_more(&mut self, ahead: &Ahead, span: &Range<usize>) -> Ran<bool> {
        let Some(tests) = &ahead.tests else { return Ok(true) };
        self.record.enter(span.clone());
        for test in tests {
            if self.is_true(test)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does what naming a place does, to which nothing is then assigned: an element, and in gawk a field, comes to be.
    fn name_place(&mut self, place: &LValue) -> Ran<()> {
        let field = match place {
            LValue::Element(table, index) => return self.element(*table, index, |_| ()),
            LValue::Field(field) => *field,
            LValue::FieldAt(index) => self.field_number(index)?,
            _ => return Ok(()),
        };
        if rules::is_gawk() && field > 0 {
            self.record.reach(field);
        }
        Ok(())
    }

    /// Takes the next record, as the record or into a variable. Returns whether there is one.
    pub(super) fn next_record(&mut self, place: &LValue) -> Ran<f64> {
        let Some(span) = self.upcoming.pop_front() else {
            return self.name_place(place).map(|()| 0.0);
        };
        self.records += 1;
        self.file_records += 1;
        if matches!(place, LValue::Record) {
            self.record.enter(span);
        } else {
            let value = Value::input(self.record.lying(&span));
            self.set(place, value)?;
        }
        Ok(1.0)
    }
}
