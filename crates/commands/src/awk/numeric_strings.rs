//! Strings that look like numbers: the one true awk makes one a number too as soon as it is used as one, and then compares it as
//! a number (`BEGIN {x = "10"; print (x < 9); y = x + 0; print (x < 9)}` prints 1 and 0).
//!
//! The kernel does not, so this finds the programs in which that could show. What may hold the same value, since one is
//! copied to the other, is one class.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{self, Piece};
use super::names::{is_special, patterns};
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_expr, each_statement, every_expr, every_statement};

/// What holds a value. Names of different functions count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder<'a> {
    Variable(&'a str),
    Elements(&'a str),
    /// All fields, if one has a number that is no constant.
    Field(Option<u32>),
    Result(&'a str),
}

/// What is known of the holders.
struct Holders<'a> {
    program: &'a Program,
    any_field: bool,
    classes: BTreeMap<Holder<'a>, usize>,
    texts: BTreeSet<Holder<'a>>,
    numbers: BTreeSet<Holder<'a>>,
    shown: BTreeSet<Holder<'a>>,
}

/// Whether it could show that a string became a number.
pub(super) fn type_shows(program: &Program) -> bool {
    let mut holders = Holders::new(program);
    every_expr(program, &mut |expr| holders.expr(expr));
    every_statement(program, &mut |statement| holders.statement(statement));
    for pattern in patterns(program) {
        holders.show(pattern);
    }
    for function in &program.functions {
        for statement in &function.body {
            each_statement(statement, &mut |inner| {
                if let Statement::Return(Some(value)) = inner {
                    holders.flows(Holder::Result(&function.name), value);
                }
            });
        }
    }
    holders.are_met()
}

impl<'a> Holders<'a> {
    fn new(program: &'a Program) -> Self {
        let is_dynamic =
            |expr: &Expr| matches!(expr, Expr::Field(index) if !matches!(**index, Expr::Number(_)));
        Holders {
            program,
            any_field: any_expr(program, is_dynamic),
            classes: BTreeMap::new(),
            texts: BTreeSet::new(),
            numbers: BTreeSet::new(),
            shown: BTreeSet::new(),
        }
    }

    /// Returns what a place is, if it is one.
    fn holder(&self, place: &'a Expr) -> Option<Holder<'a>> {
        Some(match place {
            Expr::Name(name) => Holder::Variable(name),
            Expr::Element(array, _) => Holder::Elements(array),
            Expr::Field(_) if self.any_field => Holder::Field(None),
            Expr::Field(index) => match **index {
                Expr::Number(number) => Holder::Field(Some(number as u32)),
                _ => Holder::Field(None),
            },
            _ => return None,
        })
    }

    /// Returns what may hold the value of an expression unchanged, and whether it may be a string that nothing held before.
    fn sources(&self, expr: &'a Expr) -> (Vec<Holder<'a>>, bool) {
        match expr {
            Expr::Group(inner) if inner.len() == 1 => self.sources(&inner[0]),
            Expr::Assign(place, _) => self.sources(place),
            Expr::If(_, yes, no) => {
                let ((mut all, one), (others, other)) = (self.sources(yes), self.sources(no));
                all.extend(others);
                (all, one || other)
            }
            Expr::Call(function, _) => (vec![Holder::Result(function)], false),
            Expr::Name(name) => (vec![Holder::Variable(name)], is_special(name)),
            place if place.is_place() => (self.holder(place).into_iter().collect(), false),
            other => (Vec::new(), other.is_text()),
        }
    }

    /// Notes that the value of an expression comes to a holder.
    fn flows(&mut self, to: Holder<'a>, value: &'a Expr) {
        let (from, is_text) = self.sources(value);
        if is_text {
            self.texts.insert(to);
        }
        for holder in from {
            self.join(to, holder);
        }
    }

    fn class(&mut self, holder: Holder<'a>) -> usize {
        let next = self.classes.len();
        *self.classes.entry(holder).or_insert(next)
    }

    fn join(&mut self, one: Holder<'a>, other: Holder<'a>) {
        let (into, from) = (self.class(one), self.class(other));
        self.classes.values_mut().filter(|class| **class == from).for_each(|class| *class = into);
    }

    fn count(&mut self, expr: &'a Expr) {
        let holders = self.sources(expr).0;
        self.numbers.extend(holders);
    }

    fn show(&mut self, expr: &'a Expr) {
        let holders = self.sources(expr).0;
        self.shown.extend(holders);
    }

    fn be_text(&mut self, place: &'a Expr) {
        let holder = self.holder(place.bare());
        self.texts.extend(holder);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Assign(place, value) => {
                if let Some(to) = self.holder(place.bare()) {
                    self.flows(to, value);
                }
            }
            Expr::Update(_, _, value) => self.count(value),
            Expr::Arith(_, left, right) => [left, right].into_iter().for_each(|part| self.count(part)),
            Expr::Negate(part) | Expr::Plus(part) | Expr::Field(part) => self.count(part),
            Expr::Compare(_, left, right) => {
                if !right.is_text() {
                    self.show(left);
                }
                if !left.is_text() {
                    self.show(right);
                }
            }
            Expr::And(left, right) | Expr::Or(left, right) => {
                self.show(left);
                self.show(right);
            }
            Expr::Not(test) | Expr::If(test, ..) => self.show(test),
            Expr::Call(function, args) => self.call(function, args),
            Expr::Builtin(builtin, args) => self.builtin(*builtin, args),
            _ => {}
        }
    }

    fn call(&mut self, function: &'a str, args: &'a [Expr]) {
        let program = self.program;
        let Some(called) = program.functions.iter().find(|known| known.name == *function) else { return };
        for (parameter, arg) in called.parameters.iter().zip(args) {
            self.flows(Holder::Variable(parameter), arg);
            if let Expr::Name(name) = arg {
                self.join(Holder::Elements(parameter), Holder::Elements(name));
            }
        }
    }

    fn builtin(&mut self, builtin: Builtin, args: &'a [Expr]) {
        match builtin {
            Builtin::Sub | Builtin::Gsub => match args.get(2) {
                Some(place) => self.be_text(place),
                None => _ = self.texts.insert(Holder::Field(self.any_field_or(0))),
            },
            Builtin::Substr => args[1..].iter().for_each(|arg| self.count(arg)),
            Builtin::Sprintf => self.format(args),
            Builtin::Length
            | Builtin::Index
            | Builtin::Split
            | Builtin::Match
            | Builtin::ToLower
            | Builtin::ToUpper => {}
            _ => args.iter().for_each(|arg| self.count(arg)),
        }
    }

    fn any_field_or(&self, number: u32) -> Option<u32> {
        (!self.any_field).then_some(number)
    }

    /// Notes what a format takes for numbers, and where it asks for the type.
    fn format(&mut self, args: &'a [Expr]) {
        let Some((Expr::Text(text), values)) = args.split_first() else {
            return args.iter().for_each(|arg| self.note(arg));
        };
        let is_text = |piece: &Piece| match piece {
            Piece::Text(_) => true,
            Piece::Conversion(conversion) => conversion.what == b's' && conversion.is_plain(),
        };
        match format::parse(text) {
            Ok(pieces) if pieces.iter().all(is_text) => {}
            Ok(pieces) if pieces.iter().any(Piece::is_character) => {
                values.iter().for_each(|value| self.note(value));
            }
            _ => values.iter().for_each(|value| self.count(value)),
        }
    }

    fn note(&mut self, expr: &'a Expr) {
        self.count(expr);
        self.show(expr);
    }

    fn statement(&mut self, statement: &'a Statement) {
        match statement {
            Statement::ForIn(name, ..) => _ = self.texts.insert(Holder::Variable(name)),
            Statement::If(test, ..)
            | Statement::While(test, _)
            | Statement::Do(_, test)
            | Statement::For(_, Some(test), ..) => self.show(test),
            Statement::Printf(args, _) => match args.as_slice() {
                [Expr::Group(inner)] => self.format(inner),
                args => self.format(args),
            },
            Statement::Exit(Some(status)) => self.count(status),
            _ => {}
        }
    }

    /// Whether a class holds strings, is used as numbers, and shows its type.
    fn are_met(&self) -> bool {
        self.texts.iter().any(|text| {
            let is_same = |other: &&Holder<'a>| {
                *other == text
                    || match (self.classes.get(text), self.classes.get(other)) {
                        (Some(one), Some(other)) => one == other,
                        _ => false,
                    }
            };
            self.numbers.iter().any(|other| is_same(&other)) && self.shown.iter().any(|other| is_same(&other))
        })
    }
}
