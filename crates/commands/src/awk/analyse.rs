//! Static analysis of a program: independent records or state, a fold at the end, a private array order.

use std::collections::BTreeSet;

use crate::Accept;

use super::Dialect;
use super::can_fail::Failures;
use super::compile_made;
use super::effects::{Looker, Thing, Uses};
use super::names::{Names, Owner, bodies, patterns};
use super::tree::{Builtin, Expr, Pattern, Program, Statement};
use super::visit::{any_statement, each_expr, each_expr_below, every_statement};

/// The name in [`Analysis::joined`] for `$0` and what depends on it.
pub(super) const LAST_RECORD: &str = "the last record";

/// How the order in which an array keeps its keys shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum ArrayOrder {
    /// It does not.
    #[default]
    Hidden,
    /// Only in the order of whole lines, which a later sort hides.
    InLines,
    /// In more than that: why the program can be served only in that very order.
    Shown(String),
}

/// The results of the analysis.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    /// Whether NR or FNR is read.
    pub(super) counts: bool,
    /// The record number after which all comparisons with it have a fixed result: 1 for `NR > 1`.
    pub(super) settles: Option<u64>,
    /// Variables carried from one record to the next.
    pub(super) carried: Vec<String>,
    /// What END reads of the records.
    pub(super) joined: Vec<String>,
    /// Whether there is a range of records.
    pub(super) ranges: bool,
    pub(super) exits: bool,
    /// Whether records cause output before the end.
    pub(super) prints_records: bool,
    /// Whether only whole lines are printed.
    pub(super) whole_lines: bool,
    /// Whether it may end with an error that shows its position.
    pub(super) may_fail: bool,
    pub(super) array_order: ArrayOrder,
    /// Whether it has an END, where changes of BEGIN would show.
    pub(super) has_end: bool,
}

/// What gawk keeps of a regular expression that is a number, as one of [`Analysis::carried`].
const COMPILED_NUMBER: &str = "a regular expression that is a number";

/// Analyses a program; `variables` are set on the command line. Declines unbounded programs, and results that
/// depend on an unknown order.
pub(super) fn analyse(
    program: &Program,
    names: &Names,
    variables: &[(String, Vec<u8>)],
    dialect: Dialect,
) -> Accept<Analysis> {
    let failures = Failures::of(program, variables);
    let mut looker = Looker::new(program, names, &failures)?;
    let all = everything(program, &mut looker)?;
    let mut analysis = Analysis {
        ranges: program.rules.iter().any(|rule| matches!(rule.pattern, Pattern::Range(..))),
        has_end: !program.end.is_empty(),
        whole_lines: super::whole_lines::prints_whole_lines(program)
            && !variables.iter().any(|(name, _)| name == "ORS"),
        may_fail: failures.are_possible(),
        ..Analysis::default()
    };
    let is_counter = |thing: &Thing| matches!(thing, Thing::Variable(Owner::Program, name) if matches!(name.as_str(), "NR" | "FNR"));
    let mut main = Uses::default();
    for rule in &program.rules {
        super::effects::merge(&mut main, looker.rule(rule)?);
    }
    analysis.prints_records = main.prints;
    analysis.counts = main.reads.iter().any(is_counter);
    analysis.settles = if analysis.counts { settles(program) } else { Some(0) };
    let keys_matter: BTreeSet<Thing> =
        all.reads.iter().filter(|thing| matches!(thing, Thing::Keys(..))).cloned().collect();
    let mut written: BTreeSet<Thing> = main.writes.clone();
    written.extend(main.makes.intersection(&keys_matter).cloned());
    written.remove(&Thing::Record);
    analysis.carried = carried(program, &mut looker, &written)?;
    let is_written = |name: &str| {
        written.iter().any(|thing| matches!(thing, Thing::Variable(_, written) if written == name))
    };
    if dialect.is_gawk() && compile_made::may_be_numbers(program, is_written) {
        analysis.carried.push(COMPILED_NUMBER.to_owned());
    }
    let mut end = Uses::default();
    for statement in program.end.iter().flatten() {
        super::effects::merge(&mut end, looker.statement(Owner::Program, statement)?);
    }
    analysis.joined = end.reads.iter().filter(|thing| written.contains(thing)).map(name_of).collect();
    if end.reads.iter().any(|thing| *thing == Thing::Record) {
        analysis.joined.push(LAST_RECORD.to_owned());
    }
    if end.reads.iter().any(is_counter) {
        analysis.joined.push("NR".to_owned());
    }
    analysis.joined.dedup();
    analysis.exits =
        any_statement(program, |statement| matches!(statement, Statement::Exit(_) | Statement::NextFile));
    analysis.array_order =
        super::for_in_order::check(program, names, &mut looker, &failures, analysis.whole_lines)?;
    super::whole_lines::check_loops(program, &mut looker)?;
    Ok(analysis)
}

fn everything(program: &Program, looker: &mut Looker) -> Accept<Uses> {
    let mut all = Uses::default();
    for (owner, statement) in bodies(program) {
        super::effects::merge(&mut all, looker.statement(owner, statement)?);
    }
    for pattern in patterns(program) {
        super::effects::merge(&mut all, looker.expr(Owner::Program, pattern)?);
    }
    Ok(all)
}

/// Returns the name for `explain`.
fn name_of(thing: &Thing) -> String {
    match thing {
        Thing::Variable(_, name) | Thing::Elements(_, name) | Thing::Keys(_, name) => name.clone(),
        Thing::Record => "$0".to_owned(),
    }
}

/// Whether anything is printed elsewhere than to standard output.
pub(super) fn redirects(program: &Program) -> bool {
    let mut found = false;
    every_statement(program, &mut |statement| {
        found |= matches!(statement, Statement::Print(_, Some(_)) | Statement::Printf(_, Some(_)));
    });
    found
}

/// Returns the record number from which comparisons of NR and FNR are constant, if rules use them only in
/// comparisons.
fn settles(program: &Program) -> Option<u64> {
    const MAX: f64 = (1u64 << 32) as f64;
    let is_counter = |expr: &Expr| matches!(expr, Expr::Name(name) if name == "NR" || name == "FNR");
    let (mut asked, mut compared, mut after) = (0, 0, 0.0f64);
    let mut look = |expr: &Expr| {
        asked += usize::from(is_counter(expr));
        if let Expr::Compare(_, left, right) = expr
            && let (counter, Expr::Number(number)) | (Expr::Number(number), counter) = (&**left, &**right)
            && is_counter(counter)
        {
            compared += 1;
            after = after.max(number.ceil());
        }
    };
    for rule in &program.rules {
        match &rule.pattern {
            Pattern::Always => {}
            Pattern::When(test) => each_expr(test, &mut look),
            Pattern::Range(start, end) => {
                [start, end].into_iter().for_each(|test| each_expr(test, &mut look))
            }
        }
        for statement in &rule.action {
            each_expr_below(statement, &mut look);
        }
    }
    (asked == compared && program.functions.is_empty() && after < MAX).then_some(after as u64)
}

/// Returns the variables that may carry a value between records: read before they are certainly assigned.
fn carried(program: &Program, looker: &mut Looker, written: &BTreeSet<Thing>) -> Accept<Vec<String>> {
    let mut walk = Walk { looker, written, carried: BTreeSet::new() };
    let mut defined = Some(BTreeSet::new());
    for rule in &program.rules {
        let Some(before) = defined.clone() else { break };
        let mut before = Some(before);
        let always = match &rule.pattern {
            Pattern::Always => true,
            Pattern::When(test) | Pattern::Range(test, _) => {
                walk.expr(test, &mut before)?;
                false
            }
        };
        let mut after = before.clone();
        for statement in &rule.action {
            walk.statement(statement, &mut after)?;
        }
        defined = if always { after } else { both(before, after) };
    }
    let mut names: Vec<String> = walk.carried.iter().map(name_of).collect();
    names.dedup();
    Ok(names)
}

/// Variables that are certainly assigned; `None` for unreachable code.
type Defined = Option<BTreeSet<Thing>>;

fn both(left: Defined, right: Defined) -> Defined {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.intersection(&right).cloned().collect()),
        (one, other) => one.or(other),
    }
}

struct Walk<'w, 'a> {
    looker: &'w mut Looker<'a>,
    written: &'w BTreeSet<Thing>,
    carried: BTreeSet<Thing>,
}

impl Walk<'_, '_> {
    fn read(&mut self, uses: &Uses, defined: &Defined) {
        let Some(defined) = defined else { return };
        let unknown =
            uses.reads.iter().filter(|thing| self.written.contains(thing) && !defined.contains(thing));
        self.carried.extend(unknown.cloned());
    }

    fn expr(&mut self, expr: &Expr, defined: &mut Defined) -> Accept<()> {
        match expr {
            Expr::Assign(place, value) if matches!(**place, Expr::Name(_)) => {
                self.expr(value, defined)?;
                let uses = self.looker.expr(Owner::Program, expr)?;
                if let (Some(defined), Expr::Name(name)) = (defined, &**place) {
                    defined.extend(
                        uses.writes
                            .into_iter()
                            .filter(|thing| matches!(thing, Thing::Variable(_, written) if written == name)),
                    );
                }
            }
            Expr::Builtin(Builtin::Split | Builtin::Match, _) => {
                let uses = self.looker.expr(Owner::Program, expr)?;
                self.read(&uses, defined);
                if let Some(defined) = defined {
                    defined.extend(uses.writes);
                }
            }
            Expr::And(left, right) | Expr::Or(left, right) => {
                self.expr(left, defined)?;
                self.expr(right, &mut defined.clone())?;
            }
            Expr::Group(inner) if inner.len() == 1 => self.expr(&inner[0], defined)?,
            Expr::Not(inner) => self.expr(inner, defined)?,
            _ => {
                let uses = self.looker.expr(Owner::Program, expr)?;
                self.read(&uses, defined);
            }
        }
        Ok(())
    }

    fn all(&mut self, exprs: &[&Expr], defined: &mut Defined) -> Accept<()> {
        exprs.iter().try_for_each(|expr| self.expr(expr, defined))
    }

    fn statement(&mut self, statement: &Statement, defined: &mut Defined) -> Accept<()> {
        match statement {
            Statement::Block(body) => body.iter().try_for_each(|inner| self.statement(inner, defined))?,
            Statement::Next
            | Statement::NextFile
            | Statement::Exit(_)
            | Statement::Break
            | Statement::Continue => {
                self.all(&statement.parts().0, defined)?;
                // After break and continue, only assignments before the loop count.
                *defined = None;
            }
            Statement::If(test, yes, no) => {
                self.expr(test, defined)?;
                let mut other = defined.clone();
                self.statement(yes, defined)?;
                if let Some(no) = no {
                    self.statement(no, &mut other)?;
                }
                *defined = both(defined.take(), other);
            }
            Statement::For(first, test, step, body) => {
                if let Some(first) = first {
                    self.statement(first, defined)?;
                }
                self.all(&test.iter().collect::<Vec<_>>(), defined)?;
                let mut inside = defined.clone();
                self.statement(body, &mut inside)?;
                // continue runs the step, from anywhere.
                let mut inside = defined.clone();
                step.as_deref().map_or(Ok(()), |step| self.statement(step, &mut inside))?;
            }
            Statement::While(test, body) => {
                self.expr(test, defined)?;
                self.statement(body, &mut defined.clone())?;
            }
            Statement::Do(body, test) => {
                self.statement(body, &mut defined.clone())?;
                self.expr(test, &mut defined.clone())?;
            }
            Statement::ForIn(name, _, body) => {
                let uses = self.looker.statement(Owner::Program, statement)?;
                let own = |thing: &Thing| matches!(thing, Thing::Variable(_, read) if read == name);
                let keys = Uses {
                    reads: uses
                        .reads
                        .iter()
                        .filter(|thing| matches!(thing, Thing::Keys(..)))
                        .cloned()
                        .collect(),
                    ..Uses::default()
                };
                self.read(&keys, defined);
                let mut inside = defined.clone();
                if let Some(inside) = &mut inside {
                    inside.extend(uses.writes.into_iter().filter(own));
                }
                self.statement(body, &mut inside)?;
            }
            Statement::Delete(_, None) => {
                let uses = self.looker.statement(Owner::Program, statement)?;
                if let Some(defined) = defined {
                    defined.extend(uses.writes);
                }
            }
            Statement::Expr(expr) => self.expr(expr, defined)?,
            _ => {
                let uses = self.looker.statement(Owner::Program, statement)?;
                self.read(&uses, defined);
            }
        }
        Ok(())
    }
}
