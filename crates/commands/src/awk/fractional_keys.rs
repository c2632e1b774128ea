//! Arrays of gawk that may be indexed by numbers that are not whole.
//!
//! gawk keeps an array whose first element was at an integer from 0 on in two parts, and what the first part does not take in the second. That is a table of
//! texts, if the first index that it got was no integer: `a[123457]; a[123456.7]` makes two elements `123457`, but
//! `a[1]; a[123456.7]; a[123457]` one. If it was an integer, or if the first element of all was at a negative one, integers never meet
//! texts. Where the first element was at anything else, the text alone counts. What `for (k in a)` finds is as a number the one at
//! which the element was created (sources: `cint_array.c`, `int_array.c` and `str_array.c` of gawk 5.1 to 5.3, by their comments and what they
//! do). A table of texts has -0 at `0`, and finds it as -0 if the element was created at that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::array::Key;
use super::kept_order::gawk::{Sequences, integer};
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement, each_statement, every_expr, every_statement};

/// Where an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Among the integers.
    Number(i32),
    /// Among the texts.
    Text,
}

/// What an array with such indices knows beside its elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Fractions {
    parts: Parts,
    /// Integers from 0 on in the first part.
    sequences: Sequences,
    /// The numbers that are not whole, or -0, at which elements were created, by their texts.
    numbers: HashMap<Vec<u8>, f64>,
}

/// How an array keeps integers apart from texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Parts {
    /// Not at all.
    #[default]
    One,
    /// Nothing is in the second part yet.
    FirstOnly,
    /// What is in the second part counts by its text.
    TextsBeside,
    /// Integers never meet texts.
    Apart,
}

impl Fractions {
    /// Returns where an element with this key may be.
    pub(super) fn places(&self, key: Key, text: &[u8]) -> [Option<Place>; 2] {
        match (self.parts, key.with_zero_as_integer()) {
            (Parts::One, _) => [Some(number_or_text(text)), None],
            (Parts::TextsBeside, Key::Number(number)) => [Some(Place::Number(number)), Some(Place::Text)],
            (_, Key::Number(number)) => [Some(Place::Number(number)), None],
            (_, Key::Text(_) | Key::Fraction(..)) => [Some(Place::Text), None],
        }
    }

    /// Returns where to create an element. `is_first`: there is no other one.
    pub(super) fn place_of_new(&mut self, key: Key, text: &[u8], is_first: bool) -> Place {
        let created_at = key;
        let key = key.with_zero_as_integer();
        let whole = if matches!(key, Key::Fraction(..)) { None } else { integer(text) };
        if is_first {
            let parts = match whole {
                None => Parts::One,
                Some(0..) => Parts::FirstOnly,
                Some(_) => Parts::Apart,
            };
            *self = Fractions { parts, ..Fractions::default() };
        }
        if let Key::Fraction(_, number) = created_at
            && (self.parts == Parts::One || number != 0.0)
        {
            self.numbers.insert(text.to_vec(), number);
        }
        if self.parts == Parts::One {
            return number_or_text(text);
        }
        let Some(whole) = whole else {
            if self.parts == Parts::FirstOnly {
                self.parts = Parts::TextsBeside;
            }
            return Place::Text;
        };
        let own = if let Key::Number(number) = key { Place::Number(number) } else { Place::Text };
        match self.parts {
            Parts::Apart => own,
            _ if self.sequences.take(whole, 0) => own,
            Parts::TextsBeside => Place::Text,
            _ => {
                self.parts = Parts::Apart;
                own
            }
        }
    }

    /// Whether an element was created at a number that is not whole, or at -0 among texts.
    pub(super) fn has_any(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Returns the number that is not whole, or -0, at which an element was created.
    pub(super) fn number_of(&self, key: Key, text: &[u8]) -> Option<f64> {
        let may_be = self.parts == Parts::One || !matches!(key, Key::Number(_));
        self.numbers.get(text).copied().filter(|_| may_be)
    }
}

fn number_or_text(text: &[u8]) -> Place {
    match Key::of(text) {
        Key::Number(number) => Place::Number(number),
        _ => Place::Text,
    }
}

/// What a value may be beside a whole number, or unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kind {
    /// Text, perhaps one that looks like a number: as an index it stays as it is.
    text: bool,
    /// A number that is not whole.
    fraction: bool,
    minus_zero: bool,
}

impl Kind {
    const WHOLE: Kind = Kind { text: false, fraction: false, minus_zero: false };
    const WHOLE_OR_MINUS_ZERO: Kind = Kind { minus_zero: true, ..Kind::WHOLE };
    const TEXT: Kind = Kind { text: true, ..Kind::WHOLE };
    const NUMBER: Kind = Kind { fraction: true, minus_zero: true, text: false };

    fn or(self, other: Kind) -> Kind {
        Kind {
            text: self.text || other.text,
            fraction: self.fraction || other.fraction,
            minus_zero: self.minus_zero || other.minus_zero,
        }
    }

    /// Returns the kind of the value as a number.
    fn as_number(self) -> Kind {
        if self.text { Kind::NUMBER } else { self }
    }

    /// Whether it may show which number an index was, and not only its text.
    fn shows_number(self) -> bool {
        self.fraction || self.text && self.minus_zero
    }
}

/// The kinds of variables, of the elements of arrays, and of what functions return, by name: variables of one name in
/// several functions count as one.
struct Kinds<'a> {
    values: BTreeMap<&'a str, Kind>,
    /// Those of the indices of arrays.
    indices: BTreeMap<&'a str, Kind>,
}

/// Returns the arrays of which an index may be a number that is not whole, or -0 among texts. `variables` are set on the command line.
pub(super) fn arrays(program: &Program, variables: &[(String, Vec<u8>)]) -> BTreeSet<String> {
    let mut kinds = Kinds { values: BTreeMap::new(), indices: BTreeMap::new() };
    for (name, _) in variables {
        kinds.values.insert(name, Kind::TEXT);
    }
    // A kind only grows, and has few steps.
    while kinds.grow(program) {}
    let found = kinds.indices.into_iter().filter(|(_, kind)| kind.shows_number());
    found.map(|(name, _)| name.to_owned()).collect()
}

/// Why programs with such arrays are declined, if they are.
pub(super) fn why_declined(program: &Program, arrays: &BTreeSet<String>) -> Option<&'static str> {
    let is_one = |name: &str| arrays.contains(name);
    let is_split = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Split, args) if matches!(args.get(1), Some(Expr::Name(name)) if is_one(name)));
    let loses_one =
        |statement: &Statement| matches!(statement, Statement::Delete(name, Some(_)) if is_one(name));
    if !arrays.is_empty() && super::sorted_loops::sorts(program) {
        return Some("an array with indices that may be fractions, in a program that sorts arrays");
    }
    if are_passed(program, arrays) {
        return Some("an array with indices that may be fractions, which a function gets");
    }
    if any_expr(program, is_split) || any_statement(program, loses_one) {
        return Some(
            "an array with indices that may be fractions, into which text is split or of which an element is deleted",
        );
    }
    None
}

/// Whether a function gets one of these arrays, and so knows it by another name.
fn are_passed(program: &Program, arrays: &BTreeSet<String>) -> bool {
    let is_one = |name: &String| arrays.contains(name);
    program.functions.iter().any(|function| function.parameters.iter().any(is_one))
        || any_expr(program, |expr| match expr {
            Expr::Call(_, args) => args.iter().any(|arg| matches!(arg, Expr::Name(name) if is_one(name))),
            _ => false,
        })
}

/// Adds kinds to those that are known. Returns whether that told anything new.
fn add<'a>(known: &mut BTreeMap<&'a str, Kind>, found: Vec<(&'a str, Kind)>) -> bool {
    let mut has_grown = false;
    for (name, kind) in found {
        let known = known.entry(name).or_default();
        has_grown |= known.or(kind) != *known;
        *known = known.or(kind);
    }
    has_grown
}

impl<'a> Kinds<'a> {
    /// Follows each expression once. Returns whether that told anything new.
    fn grow(&mut self, program: &'a Program) -> bool {
        let (mut found, mut indices) = (Vec::new(), Vec::new());
        every_expr(program, &mut |expr| {
            found.extend(self.assigned_by(expr));
            found.extend(self.passed_by(expr, program));
            if let Expr::Element(name, index) | Expr::In(index, name) = expr {
                indices.push((name.as_str(), self.of_index(index)));
            }
        });
        every_statement(program, &mut |statement| match statement {
            Statement::ForIn(name, array, _) => {
                let index = self.indices.get(array.as_str()).copied().unwrap_or_default();
                let found_as = if index.shows_number() { index } else { Kind::WHOLE };
                found.push((name.as_str(), found_as.or(Kind::TEXT)));
            }
            Statement::Delete(name, Some(index)) => indices.push((name.as_str(), self.of_index(index))),
            _ => {}
        });
        for function in &program.functions {
            for statement in &function.body {
                each_statement(statement, &mut |statement| {
                    if let Statement::Return(Some(value)) = statement {
                        found.push((function.name.as_str(), self.of(value)));
                    }
                });
            }
        }
        add(&mut self.values, found) | add(&mut self.indices, indices)
    }

    fn of_index(&self, index: &[Expr]) -> Kind {
        match index {
            [only] => self.of(only),
            _ => Kind::TEXT,
        }
    }

    /// Returns what an expression assigns to a variable, or to an element of an array.
    fn assigned_by(&self, expr: &'a Expr) -> Option<(&'a str, Kind)> {
        let (place, kind) = match expr {
            Expr::Assign(place, value) => (&**place, self.of(value)),
            Expr::Update(arith, place, value) => (&**place, self.of_arith(*arith, place, value)),
            Expr::Step { place, .. } => (&**place, self.of(place).as_number()),
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => (args.get(2)?, Kind::TEXT),
            Expr::Builtin(Builtin::Split, args) => (args.get(1)?, Kind::TEXT),
            Expr::Builtin(Builtin::Asort, args) => (args.iter().take(2).next_back()?, Kind::NUMBER),
            // A program that sorts has no arrays with fractions as indices.
            Expr::Builtin(Builtin::Asorti, args) => (args.iter().take(2).next_back()?, Kind::TEXT),
            Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, args) => (args.first()?, Kind::TEXT),
            _ => return None,
        };
        match place {
            Expr::Name(name) | Expr::Element(name, _) => Some((name, kind)),
            _ => None,
        }
    }

    /// Returns what a call passes to parameters, and, as an argument may be an array, what its parameter is.
    fn passed_by(&self, expr: &'a Expr, program: &'a Program) -> Vec<(&'a str, Kind)> {
        let Expr::Call(name, args) = expr else { return Vec::new() };
        let Some(function) = program.functions.iter().find(|function| function.name == *name) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (parameter, arg) in function.parameters.iter().zip(args) {
            found.push((parameter.as_str(), self.of(arg)));
            if let Expr::Name(name) = arg {
                found.push((name.as_str(), self.values.get(parameter.as_str()).copied().unwrap_or_default()));
            }
        }
        found
    }

    fn of(&self, expr: &Expr) -> Kind {
        match expr {
            Expr::Number(number) if number.fract() == 0.0 => Kind::WHOLE,
            Expr::Number(_) | Expr::Getline(_) => Kind::NUMBER,
            Expr::Call(name, _) => self.values.get(name.as_str()).copied().unwrap_or_default(),
            Expr::Text(_) | Expr::Field(_) | Expr::Concat(..) => Kind::TEXT,
            Expr::Name(name) if name == "FILENAME" => Kind::TEXT,
            Expr::Name(name) | Expr::Element(name, _) => {
                self.values.get(name.as_str()).copied().unwrap_or_default()
            }
            Expr::Assign(_, value) => self.of(value),
            Expr::Update(arith, place, value) => self.of_arith(*arith, place, value),
            Expr::Arith(arith, left, right) => self.of_arith(*arith, left, right),
            Expr::Negate(value) if matches!(**value, Expr::Number(number) if number != 0.0) => self.of(value),
            Expr::Negate(value) => self.of(value).as_number().or(Kind::WHOLE_OR_MINUS_ZERO),
            Expr::Step { place: value, .. } | Expr::Plus(value) => self.of(value).as_number(),
            Expr::If(_, yes, no) => self.of(yes).or(self.of(no)),
            Expr::Group(inner) => inner.iter().map(|inner| self.of(inner)).fold(Kind::WHOLE, Kind::or),
            Expr::Builtin(builtin, _) => match builtin {
                Builtin::Length
                | Builtin::Index
                | Builtin::Match
                | Builtin::Split
                | Builtin::Sub
                | Builtin::Gsub => Kind::WHOLE,
                Builtin::Int => Kind::WHOLE_OR_MINUS_ZERO,
                Builtin::Gensub => Kind::TEXT,
                builtin if builtin.is_text() => Kind::TEXT,
                _ => Kind::NUMBER,
            },
            Expr::Regex(_)
            | Expr::In(..)
            | Expr::Not(_)
            | Expr::Compare(..)
            | Expr::Match { .. }
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::LengthAlone => Kind::WHOLE,
        }
    }

    fn of_arith(&self, arith: Arith, left: &Expr, right: &Expr) -> Kind {
        let both = self.of(left).as_number().or(self.of(right).as_number());
        match arith {
            Arith::Divide | Arith::Power => Kind::NUMBER,
            Arith::Add | Arith::Subtract => both,
            Arith::Multiply | Arith::Remainder => both.or(Kind::WHOLE_OR_MINUS_ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::parse::parse_for_test;

    fn may(text: &str) -> bool {
        let program = parse_for_test(text);
        !arrays(&program, &[]).is_empty()
    }

    #[test]
    fn counters_fields_and_pieces_are_no_fractions() {
        for text in [
            "{ a[$1]++ } END { for (k in a) print k, a[k] }",
            "{ for (i = 1; i <= NF; i++) a[i + 1] = $i }",
            "{ n = split($0, p); for (i = n; i > 0; i--) b[p[i]] = i }",
            "{ a[NR % 3] = a[int($1 / 10)] }",
            "{ a[-1] = a[$1] }",
            "{ a[$1 / 10, 2] = 1 }",
            "function fill(a, n, i) { for (i = 1; i <= n; i++) a[i] = i * i } { fill(sq, 3); print sq[1]; b[sq[2]] }",
            "function f(s, a, n, i) { n = split(s, a); for (i = n; i; i--) t = t a[i]; return t } { print f($0) }",
            "function f(x) { return x + 1 } { a[f(NR)] }",
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn what_may_be_minus_zero_shows_number_among_texts_only() {
        for text in ["{ a[-(NR > 3)]; b[$1] }", "{ a[NR % 3]; a[int($1)] }", "{ n = -n; a[n] = $1 }"] {
            assert!(!may(text), "{text}");
        }
        for text in [
            "{ a[$2]; a[-(NR > 3)] }",
            "{ a[$2]; a[int($1)] }",
            "{ n = NR % 3; if (n in a) print; a[$1, $2] }",
            "{ n = $1; a[n]; n = -NR; }",
        ] {
            assert!(may(text), "{text}");
        }
    }

    #[test]
    fn quotients_and_sums_of_input_may_be() {
        for text in [
            "{ a[$1 / 10]++ }",
            "{ x = y; y = $1 + 1; delete a[x] }",
            "{ s += $1; if (s in a) print }",
            "function f(k) { return a[k] } { print f($1 / 2) }",
            "function f(x) { return x + 1 } { a[f($1)] }",
            "function f(x) { return g(x) } function g(y) { return y / 2 } { a[f(NR)] }",
            "function f(a) { a[1] = $1 / 2 } { f(v); b[v[1]] }",
            "function f(a, b) { b[a[1]] } { v[1] = $1 / 2; f(v, w) }",
            "{ a[1.5] = 1 }",
            "{ a[$1 / 2]; for (k in a) b[k] }",
        ] {
            assert!(may(text), "{text}");
        }
    }
}
