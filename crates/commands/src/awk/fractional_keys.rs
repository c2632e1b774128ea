//! Which programs may index an array by a number that is not whole.
//!
//! gawk keeps such elements apart from those of whole numbers, even if both have the same name: after `a[123456.7] = 1`
//! there is an element `123457` that `a[123457]` does not find. So programs whose indices may be fractions are declined.

use std::collections::BTreeMap;

use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement, each_statement, every_expr, every_statement};

/// What a value may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A whole number, or unset.
    #[default]
    Whole,
    /// Text, perhaps one that looks like a number: as an index it stays as it is.
    Text,
    /// Any number.
    Fraction,
}

/// The kinds of variables, of the elements of arrays, and of what functions return, by name: variables of one name in
/// several functions count as one.
struct Kinds<'a>(BTreeMap<&'a str, Kind>);

/// Whether an index may be a fraction. `variables` are set on the command line.
pub(super) fn may_index(program: &Program, variables: &[(String, Vec<u8>)]) -> bool {
    let mut kinds = Kinds(BTreeMap::new());
    for (name, _) in variables {
        kinds.0.insert(name, Kind::Text);
    }
    // A kind only grows, and has three steps.
    loop {
        let mut found = Vec::new();
        every_expr(program, &mut |expr| {
            found.extend(kinds.assigned_by(expr));
            found.extend(kinds.passed_by(expr, program));
        });
        every_statement(program, &mut |statement| {
            if let Statement::ForIn(name, ..) = statement {
                found.push((name.as_str(), Kind::Text));
            }
        });
        for function in &program.functions {
            for statement in &function.body {
                each_statement(statement, &mut |statement| {
                    if let Statement::Return(Some(value)) = statement {
                        found.push((function.name.as_str(), kinds.of(value)));
                    }
                });
            }
        }
        let mut has_grown = false;
        for (name, kind) in found {
            let known = kinds.0.entry(name).or_default();
            has_grown |= kind > *known;
            *known = kind.max(*known);
        }
        if !has_grown {
            break;
        }
    }
    let is_fraction = |index: &[Expr]| matches!(index, [only] if kinds.of(only) == Kind::Fraction);
    any_expr(
        program,
        |expr| matches!(expr, Expr::Element(_, index) | Expr::In(index, _) if is_fraction(index)),
    ) || any_statement(
        program,
        |statement| matches!(statement, Statement::Delete(_, Some(index)) if is_fraction(index)),
    )
}

impl<'a> Kinds<'a> {
    /// Returns what an expression assigns to a variable, or to an element of an array.
    fn assigned_by(&self, expr: &'a Expr) -> Option<(&'a str, Kind)> {
        let (place, kind) = match expr {
            Expr::Assign(place, value) => (&**place, self.of(value)),
            Expr::Update(arith, place, value) => (&**place, self.of_arith(*arith, place, value)),
            Expr::Step { place, .. } => (&**place, self.as_number(place)),
            Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => (args.get(2)?, Kind::Text),
            Expr::Builtin(Builtin::Split, args) => (args.get(1)?, Kind::Text),
            Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, args) => (args.first()?, Kind::Text),
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
                found.push((name.as_str(), self.0.get(parameter.as_str()).copied().unwrap_or_default()));
            }
        }
        found
    }

    fn of(&self, expr: &Expr) -> Kind {
        match expr {
            Expr::Number(number) if number.fract() == 0.0 => Kind::Whole,
            Expr::Number(_) | Expr::Getline(_) => Kind::Fraction,
            Expr::Call(name, _) => self.0.get(name.as_str()).copied().unwrap_or_default(),
            Expr::Text(_) | Expr::Field(_) | Expr::Concat(..) => Kind::Text,
            Expr::Name(name) if name == "FILENAME" => Kind::Text,
            Expr::Name(name) | Expr::Element(name, _) => {
                self.0.get(name.as_str()).copied().unwrap_or_default()
            }
            Expr::Assign(_, value) => self.of(value),
            Expr::Update(arith, place, value) => self.of_arith(*arith, place, value),
            Expr::Arith(arith, left, right) => self.of_arith(*arith, left, right),
            Expr::Step { place: value, .. } | Expr::Negate(value) | Expr::Plus(value) => {
                self.as_number(value)
            }
            Expr::If(_, yes, no) => self.of(yes).max(self.of(no)),
            Expr::Group(inner) => inner.iter().map(|inner| self.of(inner)).max().unwrap_or_default(),
            Expr::Builtin(builtin, _) => match builtin {
                Builtin::Length
                | Builtin::Index
                | Builtin::Match
                | Builtin::Split
                | Builtin::Sub
                | Builtin::Gsub
                | Builtin::Int => Kind::Whole,
                builtin if builtin.is_text() => Kind::Text,
                _ => Kind::Fraction,
            },
            Expr::Regex(_)
            | Expr::In(..)
            | Expr::Not(_)
            | Expr::Compare(..)
            | Expr::Match { .. }
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::LengthAlone => Kind::Whole,
        }
    }

    /// Returns the kind of a value that is used as a number.
    fn as_number(&self, expr: &Expr) -> Kind {
        match self.of(expr) {
            Kind::Whole => Kind::Whole,
            Kind::Text | Kind::Fraction => Kind::Fraction,
        }
    }

    fn of_arith(&self, arith: Arith, left: &Expr, right: &Expr) -> Kind {
        match arith {
            Arith::Divide | Arith::Power => Kind::Fraction,
            Arith::Add | Arith::Subtract | Arith::Multiply | Arith::Remainder => {
                self.as_number(left).max(self.as_number(right))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;

    fn may(text: &str) -> bool {
        may_index(&parse(text.as_bytes(), Dialect::Mawk { is_2025: false }).expect("a program"), &[])
    }

    #[test]
    fn counters_fields_and_pieces_are_no_fractions() {
        for text in [
            "{ a[$1]++ } END { for (k in a) print k, a[k] }",
            "{ for (i = 1; i <= NF; i++) a[i + 1] = $i }",
            "{ n = split($0, p); for (i = n; i > 0; i--) b[p[i]] = i }",
            "{ a[NR % 3] = a[int($1 / 10)] }",
            "{ a[$1 / 10, 2] = 1 }",
            "function fill(a, n, i) { for (i = 1; i <= n; i++) a[i] = i * i } { fill(sq, 3); print sq[1]; b[sq[2]] }",
            "function f(s, a, n, i) { n = split(s, a); for (i = n; i; i--) t = t a[i]; return t } { print f($0) }",
            "function f(x) { return x + 1 } { a[f(NR)] }",
        ] {
            assert!(!may(text), "{text}");
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
        ] {
            assert!(may(text), "{text}");
        }
    }
}
