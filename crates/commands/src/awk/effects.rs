//! Reads and writes of expressions and statements.

use std::collections::BTreeSet;

use crate::{Accept, Declined};

use super::can_fail::Failures;
use super::names::{Names, Owner};
use super::one_true;
use super::rules;
use super::tree::{Builtin, Expr, Pattern, Program, Rule, Statement};

/// What can be read and written: a variable, the elements of an array, its set of keys, the record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Variable(Owner, String),
    Elements(Owner, String),
    Keys(Owner, String),
    Record,
}

/// The name of what `getline` counts on: no variable can have it.
pub(super) const PLACE_IN_A_FILE: &str = "getline";

/// Reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) reads: BTreeSet<Thing>,
    pub(super) writes: BTreeSet<Thing>,
    /// Keys that a read creates.
    pub(super) makes: BTreeSet<Thing>,
    pub(super) prints: bool,
    /// Whether gawk may say something: what comes first is said first, and may be all that is done.
    pub(super) says: bool,
    /// Whether it may end the program without a message: then END shows what was done before.
    pub(super) exits: bool,
}

impl Uses {
    fn add(&mut self, other: Uses) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.makes.extend(other.makes);
        self.prints |= other.prints;
        self.says |= other.says;
        self.exits |= other.exits;
    }

    /// Whether the order of both matters.
    fn disturbs(&self, other: &Uses) -> bool {
        // mawk evaluates in the order of the text.
        let exits = |uses: &Uses| uses.exits && !rules::is_mawk();
        let one_way = |one: &Uses, other: &Uses| {
            let is_seen = other.says || exits(other) || other.prints;
            one.writes.iter().any(|thing| other.reads.contains(thing) || other.writes.contains(thing))
                || one.makes.iter().any(|thing| other.reads.contains(thing))
                || (one.says || exits(one)) && is_seen
                || exits(one) && !other.writes.is_empty()
        };
        one_way(self, other) || one_way(other, self) || self.prints && other.prints
    }
}

/// Whether an element exists in END although its value ended the program: mawk makes the element first.
fn makes_before_the_end(made: &Uses, value: &Uses) -> bool {
    rules::is_mawk() && value.exits && !made.makes.is_empty()
}

/// Whether it is a separator.
fn is_between(thing: &Thing) -> bool {
    let between = |name: &str| matches!(name, "OFS" | "ORS" | "SUBSEP");
    matches!(thing, Thing::Variable(Owner::Program, name) if between(name))
}

/// Returns the variable that holds the order of gawk's loops over arrays.
fn loop_order() -> Thing {
    Thing::Variable(Owner::Program, "PROCINFO".to_owned())
}

/// Adds the uses of another.
pub(super) fn merge(uses: &mut Uses, other: Uses) {
    uses.add(other);
}

/// Analyses a program.
pub(super) struct Looker<'a> {
    pub(super) names: &'a Names,
    pub(super) program: &'a Program,
    failures: &'a Failures<'a>,
    functions: Vec<Option<Uses>>,
    open: Vec<usize>,
    /// What functions that call themselves are taken to do within, and whether there is one.
    assumed: Vec<Uses>,
    is_recursive: bool,
}

impl<'a> Looker<'a> {
    /// Finds what functions do; with recursive ones, again until what they are taken to do is all that they do.
    pub(super) fn new(program: &'a Program, names: &'a Names, failures: &'a Failures<'a>) -> Accept<Self> {
        let count = program.functions.len();
        let assumed = vec![Uses::default(); count];
        let (functions, open) = (vec![None; count], Vec::new());
        let mut looker = Looker { names, program, failures, functions, open, assumed, is_recursive: false };
        loop {
            let all = (0..count).map(|number| looker.function(number)).collect::<Accept<Vec<_>>>()?;
            if !looker.is_recursive || all == looker.assumed {
                return Ok(looker);
            }
            looker.assumed = all;
            looker.functions = vec![None; count];
        }
    }

    /// Returns the effects of a call, as seen from outside.
    fn function(&mut self, number: usize) -> Accept<Uses> {
        if let Some(known) = &self.functions[number] {
            return Ok(known.clone());
        }
        if self.open.contains(&number) {
            self.is_recursive = true;
            return Ok(self.assumed[number].clone());
        }
        self.open.push(number);
        let mut uses = Uses::default();
        for statement in &self.program.functions[number].body {
            uses.add(self.statement(Owner::Function(number), statement)?);
        }
        self.open.pop();
        let global = |things: &mut BTreeSet<Thing>| {
            things.retain(|thing| match thing {
                Thing::Variable(owner, _) => *owner == Owner::Program,
                _ => true,
            });
        };
        global(&mut uses.reads);
        global(&mut uses.writes);
        // An array argument may be any array.
        let arrays: Vec<(Owner, String)> =
            self.names.arrays.iter().filter(|(owner, _)| *owner == Owner::Program).cloned().collect();
        for things in [&mut uses.reads, &mut uses.writes, &mut uses.makes] {
            let local = |thing: &Thing| {
                matches!(thing, Thing::Elements(Owner::Function(_), _) | Thing::Keys(Owner::Function(_), _))
            };
            if things.iter().any(local) {
                things.retain(|thing| !local(thing));
                for (owner, name) in &arrays {
                    things.insert(Thing::Elements(*owner, name.clone()));
                    things.insert(Thing::Keys(*owner, name.clone()));
                }
            }
        }
        self.functions[number] = Some(uses.clone());
        Ok(uses)
    }

    fn variable(&self, inside: Owner, name: &str) -> Thing {
        match name {
            "NF" => Thing::Record,
            _ => Thing::Variable(self.names.owner(inside, name), name.to_owned()),
        }
    }

    fn elements(&self, inside: Owner, name: &str) -> Thing {
        Thing::Elements(self.names.owner(inside, name), name.to_owned())
    }

    fn keys(&self, inside: Owner, name: &str) -> Thing {
        Thing::Keys(self.names.owner(inside, name), name.to_owned())
    }

    /// Analyses a rule with its pattern.
    pub(super) fn rule(&mut self, rule: &Rule) -> Accept<Uses> {
        let mut uses = Uses::default();
        match &rule.pattern {
            Pattern::Always => {}
            Pattern::When(test) => uses.add(self.expr(Owner::Program, test)?),
            Pattern::Range(start, end) => {
                uses.add(self.expr(Owner::Program, start)?);
                uses.add(self.expr(Owner::Program, end)?);
            }
        }
        for statement in &rule.action {
            uses.add(self.statement(Owner::Program, statement)?);
        }
        Ok(uses)
    }

    pub(super) fn statement(&mut self, inside: Owner, statement: &Statement) -> Accept<Uses> {
        let mut uses = Uses::default();
        let (exprs, statements) = statement.parts();
        match statement {
            Statement::Print(args, to) | Statement::Printf(args, to) => {
                uses.add(self.side_by_side(inside, args)?);
                if args.is_empty() {
                    uses.reads.insert(Thing::Record);
                }
                if let Some(to) = to {
                    // gawk evaluates the name first.
                    let name = self.expr(inside, &to.to)?;
                    if uses.disturbs(&name) {
                        return Declined::because(
                            "an expression whose value depends on what is evaluated first",
                        );
                    }
                    uses.add(name);
                }
                if matches!(statement, Statement::Print(..)) {
                    uses.reads.insert(self.variable(Owner::Program, "OFS"));
                    uses.reads.insert(self.variable(Owner::Program, "ORS"));
                }
                uses.prints = true;
                return Ok(uses);
            }
            Statement::Exit(_) => uses.exits = true,
            Statement::SortedIn(_) => _ = uses.writes.insert(loop_order()),
            Statement::ForIn(name, array, _) => {
                uses.reads.insert(loop_order());
                uses.writes.insert(self.variable(inside, name));
                uses.reads.insert(self.keys(inside, array));
            }
            Statement::Delete(array, _) => {
                uses.writes.insert(self.elements(inside, array));
                uses.writes.insert(self.keys(inside, array));
            }
            _ => {}
        }
        for expr in exprs {
            uses.add(self.expr(inside, expr)?);
        }
        for statement in statements {
            uses.add(self.statement(inside, statement)?);
        }
        Ok(uses)
    }

    /// Analyses expressions that mawk evaluates from left to right, each to a separate value: only the
    /// separators between them must not change meanwhile.
    fn side_by_side<'e>(&mut self, inside: Owner, exprs: impl IntoIterator<Item = &'e Expr>) -> Accept<Uses> {
        let mut all: Vec<Uses> = Vec::new();
        for expr in exprs {
            let uses = self.expr(inside, expr)?;
            if uses.writes.iter().any(is_between) {
                return Declined::because("an expression whose value depends on what is evaluated first");
            }
            all.push(uses);
        }
        let mut uses = Uses::default();
        all.into_iter().for_each(|one| uses.add(one));
        Ok(uses)
    }

    pub(super) fn expr(&mut self, inside: Owner, expr: &Expr) -> Accept<Uses> {
        let in_turn = matches!(expr, Expr::And(..) | Expr::Or(..) | Expr::If(..));
        let mut uses = if in_turn {
            let mut uses = Uses::default();
            for part in expr.parts() {
                uses.add(self.expr(inside, part)?);
            }
            uses
        } else {
            self.parts(inside, expr)?
        };
        self.own(inside, expr, &mut uses)?;
        Ok(uses)
    }

    fn parts(&mut self, inside: Owner, expr: &Expr) -> Accept<Uses> {
        match expr {
            // Which of them is assigned first makes no difference.
            expr if expr.sets_fields_to_a_constant() => {
                Ok(Uses { writes: BTreeSet::from([Thing::Record]), ..Uses::default() })
            }
            // The target is not read; its index is.
            Expr::Assign(place, value) => {
                let (made, index) = self.place(inside, place)?;
                let value = self.expr(inside, value)?;
                if index.disturbs(&value)
                    || made.disturbs(&value) && value.writes.iter().any(|w| made.writes.contains(w))
                    || made.makes.iter().any(|thing| value.reads.contains(thing))
                    || makes_before_the_end(&made, &value)
                {
                    return Declined::because("an expression whose value depends on what is evaluated first");
                }
                let mut uses = made;
                uses.add(index);
                uses.add(value);
                Ok(uses)
            }
            Expr::Update(_, place, value) => {
                let (made, index) = self.place(inside, place)?;
                let mut value = self.expr(inside, value)?;
                value.says |= self.failures.may_say(expr);
                let touched = value.writes.iter().any(|thing| made.writes.contains(thing));
                if index.disturbs(&value)
                    || touched
                    || made.makes.iter().any(|thing| value.reads.contains(thing))
                    || makes_before_the_end(&made, &value)
                {
                    return Declined::because("an expression whose value depends on what is evaluated first");
                }
                let mut uses = made;
                uses.reads.extend(uses.writes.clone());
                uses.add(index);
                uses.add(value);
                Ok(uses)
            }
            Expr::Step { place, .. } => {
                let (made, index) = self.place(inside, place)?;
                let mut uses = made;
                uses.reads.extend(uses.writes.clone());
                uses.add(index);
                Ok(uses)
            }
            Expr::Builtin(Builtin::Split, args) => {
                let Some(Expr::Name(array)) = args.get(1) else { return Ok(Uses::default()) };
                let others = args.iter().enumerate().filter(|(at, _)| *at != 1).map(|(_, arg)| arg);
                let mut uses = self.side_by_side(inside, others)?;
                let written = [self.elements(inside, array), self.keys(inside, array)];
                if written.iter().any(|thing| uses.writes.contains(thing)) {
                    return Declined::because("an expression whose value depends on what is evaluated first");
                }
                uses.writes.extend(written);
                Ok(uses)
            }
            Expr::Builtin(Builtin::Asort | Builtin::Asorti, args) => Ok(self.sort(inside, args)),
            Expr::Builtin(Builtin::Length, args) if matches!(args.as_slice(), [Expr::Name(_)]) => {
                let [Expr::Name(name)] = args.as_slice() else { return Ok(Uses::default()) };
                let mut uses = Uses::default();
                let is_array = self.names.is_array(inside, name);
                uses.reads.insert(if is_array {
                    self.keys(inside, name)
                } else {
                    self.variable(inside, name)
                });
                Ok(uses)
            }
            Expr::Call(_, args) => {
                let values = args.iter().filter(|arg| !matches!(arg, Expr::Name(_)));
                let mut uses = self.side_by_side(inside, values)?;
                for arg in args {
                    let Expr::Name(name) = arg else { continue };
                    if !self.names.is_array(inside, name) {
                        let read = self.variable(inside, name);
                        if uses.writes.contains(&read) {
                            return Declined::because(
                                "an expression whose value depends on what is evaluated first",
                            );
                        }
                        uses.reads.insert(read);
                    }
                }
                Ok(uses)
            }
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 3 && args[2].is_place() => {
                let mut uses = self.side_by_side(inside, args)?;
                let (made, _) = self.place(inside, &args[2])?;
                uses.add(made);
                Ok(uses)
            }
            Expr::Builtin(builtin @ (Builtin::ReadLine | Builtin::NextRecord), args) => {
                // The place in the file is like a variable that it counts on.
                let (mut uses, index) = self.place(inside, &args[0])?;
                uses.add(index);
                if *builtin == Builtin::NextRecord {
                    let counters = ["NR", "FNR"].map(|name| self.variable(Owner::Program, name));
                    uses.writes.extend(counters);
                }
                let place = Thing::Variable(Owner::Program, PLACE_IN_A_FILE.to_owned());
                uses.reads.insert(place.clone());
                uses.writes.insert(place);
                Ok(uses)
            }
            expr => self.operands(inside, expr),
        }
    }

    /// Analyses the parts of an expression. The one true awk evaluates some of them after it has found where the others are.
    fn operands(&mut self, inside: Owner, expr: &Expr) -> Accept<Uses> {
        if rules::is_one_true() && !one_true::takes_parts_in_turn(expr) {
            let all =
                expr.parts().into_iter().map(|part| self.expr(inside, part)).collect::<Accept<Vec<_>>>()?;
            for (at, uses) in all.iter().enumerate() {
                if all[..at].iter().any(|before| before.disturbs(uses)) {
                    return Declined::because("an expression whose value depends on what is evaluated first");
                }
            }
        }
        self.side_by_side(inside, expr.parts())
    }

    /// Analyses a call of `asort` or `asorti`.
    fn sort(&mut self, inside: Owner, args: &[Expr]) -> Uses {
        let both = |arg: &Expr| match arg {
            Expr::Name(array) => vec![self.elements(inside, array), self.keys(inside, array)],
            _ => Vec::new(),
        };
        let reads = args.first().map(both).unwrap_or_default();
        let writes = args.get(1).map_or_else(|| reads.clone(), both);
        Uses { reads: reads.into_iter().collect(), writes: writes.into_iter().collect(), ..Uses::default() }
    }

    /// Returns what assigning it changes, and what its index uses.
    fn place(&mut self, inside: Owner, place: &Expr) -> Accept<(Uses, Uses)> {
        let (mut made, mut index) = (Uses::default(), Uses::default());
        match place {
            Expr::Name(name) => _ = made.writes.insert(self.variable(inside, name)),
            Expr::Field(inner) => {
                made.writes.insert(Thing::Record);
                index = self.expr(inside, inner)?;
            }
            Expr::Element(array, parts) => {
                made.writes.insert(self.elements(inside, array));
                made.makes.insert(self.keys(inside, array));
                index = self.side_by_side(inside, parts)?;
            }
            _ => {}
        }
        Ok((made, index))
    }

    /// Adds what an expression does besides its parts.
    fn own(&mut self, inside: Owner, expr: &Expr, uses: &mut Uses) -> Accept<()> {
        uses.says |= self.failures.may_say(expr);
        match expr {
            Expr::Name(name) if !self.names.is_array(inside, name) => {
                uses.reads.insert(self.variable(inside, name));
            }
            Expr::Field(_) | Expr::LengthAlone | Expr::Regex(_) => _ = uses.reads.insert(Thing::Record),
            Expr::Element(array, parts) => {
                uses.reads.insert(self.elements(inside, array));
                uses.makes.insert(self.keys(inside, array));
                if parts.len() > 1 {
                    uses.reads.insert(self.variable(Owner::Program, "SUBSEP"));
                }
            }
            Expr::Builtin(Builtin::Close, _) => uses.prints = true,
            Expr::Builtin(Builtin::Rand | Builtin::Srand, _) => {
                // Each number follows from the one before.
                let place = Thing::Variable(Owner::Program, "rand".to_owned());
                uses.reads.insert(place.clone());
                uses.writes.insert(place);
            }
            Expr::In(_, array) => _ = uses.reads.insert(self.keys(inside, array)),
            Expr::Builtin(Builtin::Match, _) => {
                uses.writes.insert(self.variable(Owner::Program, "RSTART"));
                uses.writes.insert(self.variable(Owner::Program, "RLENGTH"));
            }
            Expr::Builtin(Builtin::Gensub, args) if args.len() == 3 => {
                uses.reads.insert(Thing::Record);
            }
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 2 => {
                uses.reads.insert(Thing::Record);
                uses.writes.insert(Thing::Record);
            }
            Expr::Call(name, _) => {
                if let Some(number) = self.names.function(name) {
                    let called = self.function(number)?;
                    uses.add(called);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
