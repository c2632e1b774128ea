//! The type of the keys that `for (k in a)` finds: strings, but some awks find numbers.
//!
//! mawk 1.3.4 20260302 and gawk 5.2 find whole numbers as numbers (`BEGIN {a["10"]; for (k in a) print k < 9}`). gawk 5.1
//! to 5.3 find other keys as what they were when the element was created, a field that looks like a number for instance
//! (`{a[$1]} END {for (k in a) print k ? 1 : 0}` with `00`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::format::{self, Piece};
use super::names::patterns;
use super::sort_order::SortOrder;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement, every_expr, every_statement};

/// Why a program in which the type of a key shows is declined.
pub(super) const MAY_BE_NUMBERS: &str = "the key of a loop is compared, which this awk may take for a number";

/// Whether the type of such a key could show: in a comparison, as a condition, or where it is not known what becomes of it.
pub(super) fn type_shows(program: &Program) -> bool {
    shows(program, &Values::of_loops(program))
}

/// Whether the type of a result of `gensub` could show.
pub(super) fn type_of_result_shows(program: &Program) -> bool {
    let results = Values::of_gensub(program);
    shows(program, &results)
        || any_statement(
            program,
            |statement| matches!(statement, Statement::Exit(Some(value)) if results.may_be(value)),
        )
}

fn shows(program: &Program, keys: &Values) -> bool {
    // The caller knows the array by another name.
    let is_parameter = |name: &String| program.has_parameter(name);
    let leaves = |expr: &Expr| match expr {
        Expr::Assign(place, value) => {
            matches!(&**place, Expr::Element(name, _) if is_parameter(name)) && keys.may_be(value)
        }
        _ => false,
    };
    any_expr(program, |expr| {
        leaves(expr)
            || match expr {
                Expr::Compare(_, left, right) => {
                    keys.may_be(left) && !right.is_text() || keys.may_be(right) && !left.is_text()
                }
                Expr::And(left, right) | Expr::Or(left, right) => keys.may_be(left) || keys.may_be(right),
                Expr::Not(inner) | Expr::If(inner, ..) => keys.may_be(inner),
                Expr::Assign(place, value) => {
                    matches!(**place, Expr::Field(_)) && keys.are_loop_keys && keys.may_be(value)
                }
                Expr::Call(_, args) => args.iter().any(|arg| keys.may_be(arg)),
                Expr::Builtin(Builtin::Sprintf, args) => keys.are_printed_as_characters(args),
                Expr::Builtin(builtin @ (Builtin::Asort | Builtin::Asorti), args) => {
                    args.first().is_some_and(|array| keys.may_be(array))
                        && SortOrder::of_call(*builtin, args).is_some_and(SortOrder::shows_types)
                }
                _ => false,
            }
    }) || patterns(program).into_iter().any(|pattern| keys.may_be(pattern))
        || any_statement(program, |statement| match statement {
            Statement::SortedIn(Some(order)) => order.shows_types() && keys.may_be_looped_over(program),
            Statement::Switch(test, _)
            | Statement::If(test, ..)
            | Statement::While(test, _)
            | Statement::Do(_, test)
            | Statement::For(_, Some(test), ..) => keys.may_be(test),
            Statement::Printf(args, _) => keys.are_printed_as_characters(args),
            Statement::Return(Some(value)) => keys.may_be(value),
            _ => false,
        })
}

/// The variables, and arrays for their elements, that may hold such a value. `$2` and the like are fields, and `$` is any of
/// them.
struct Values<'a> {
    names: BTreeSet<Cow<'a, str>>,
    /// Otherwise they are results of `gensub`.
    are_loop_keys: bool,
}

impl<'a> Values<'a> {
    fn of_loops(program: &'a Program) -> Self {
        let mut names = BTreeSet::new();
        every_statement(program, &mut |statement| {
            if let Statement::ForIn(name, ..) = statement {
                names.insert(Cow::from(name));
            }
        });
        Values { names, are_loop_keys: true }.spread(program)
    }

    fn of_gensub(program: &'a Program) -> Self {
        Values { names: BTreeSet::new(), are_loop_keys: false }.spread(program)
    }

    /// Adds what gets its value from another.
    fn spread(mut self, program: &'a Program) -> Self {
        loop {
            let mut found = Vec::new();
            every_expr(program, &mut |expr| {
                if let Expr::Assign(place, value) = expr
                    && self.may_be(value)
                {
                    found.extend(holder(place));
                }
                if let Expr::Builtin(builtin @ (Builtin::Asort | Builtin::Asorti), args) = expr
                    && self.is_sorted_from(*builtin, args)
                {
                    found.extend(args[..args.len().min(2)].last().and_then(holder));
                }
            });
            let before = self.names.len();
            self.names.extend(found);
            if self.names.len() == before {
                return self;
            }
        }
    }

    /// Whether a sort has such values as its result. Indices are found by `asorti` as by loops.
    fn is_sorted_from(&self, builtin: Builtin, args: &[Expr]) -> bool {
        match builtin {
            Builtin::Asorti => self.are_loop_keys,
            _ => args.first().is_some_and(|array| self.may_be(array)),
        }
    }

    /// Whether the value of an expression may be such a value, unchanged.
    fn may_be(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Field(_) => match holder(expr).as_deref() {
                None | Some("$") => self.names.iter().any(|name| name.starts_with('$')),
                Some(field) => self.names.contains(field) || self.names.contains("$"),
            },
            Expr::Name(name) | Expr::Element(name, _) => self.names.contains(name.as_str()),
            Expr::Group(inner) => inner.iter().any(|inner| self.may_be(inner)),
            Expr::If(_, yes, no) => self.may_be(yes) || self.may_be(no),
            Expr::Assign(_, value) => self.may_be(value),
            Expr::Builtin(Builtin::Gensub, _) => !self.are_loop_keys && !expr.is_text(),
            _ => false,
        }
    }

    /// Whether an array of such values is looped over.
    fn may_be_looped_over(&self, program: &Program) -> bool {
        any_statement(
            program,
            |statement| matches!(statement, Statement::ForIn(_, array, _) if self.names.contains(array.as_str())),
        )
    }

    /// Whether a format may print such a key by `%c`: a number as the character that it is the code of.
    fn are_printed_as_characters(&self, args: &[Expr]) -> bool {
        let Some((format, values)) = args.split_first() else { return false };
        let prints = match format {
            Expr::Text(format) => {
                format::parse(format).is_ok_and(|pieces| pieces.iter().any(Piece::is_character))
            }
            _ => true,
        };
        prints && values.iter().any(|value| self.may_be(value))
    }
}

/// Returns the name of what an assignment changes.
fn holder(place: &Expr) -> Option<Cow<'_, str>> {
    match place {
        Expr::Name(name) | Expr::Element(name, _) => Some(Cow::from(name)),
        Expr::Field(index) => Some(match **index {
            Expr::Number(number) => Cow::from(format!("${number}")),
            _ => Cow::from("$"),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;

    #[test]
    fn the_type_of_a_key_shows_where_it_is_compared_or_judged() {
        let shows = |text: &str| {
            type_shows(&parse(text.as_bytes(), Dialect::Mawk { is_2025: true }).expect("a program"))
        };
        for text in [
            "END { for (k in c) if (k < 9) n++ }",
            "END { for (k in c) if (k) n++ }",
            "END { for (k in c) if (!(k in d) && !k) n++ }",
            "END { for (k in c) print (k ? \"yes\" : \"no\") }",
            "END { for (k in c) if (k > max) max = k }",
            "END { for (k in c) last = k; x = y ? last : 1; print x == $1 }",
            "END { for (k in c) v[n++] = k; print v[1] < v[2] }",
            "END { for (k in c) printf \"%c\", k }",
            "END { for (k in c) $1 = k; print }",
            "function f(x) { return x > 1 } END { for (k in c) print f(k) }",
            "{ for (k in c) last = k } last",
            "function f(a, j) { for (j in c) a[j] = j } END { f(v); print v[1] < v[2] }",
        ] {
            assert!(shows(text), "{text}");
        }
        for text in [
            "END { for (k in c) print k, c[k] }",
            "function f(a, j) { for (j in a) print j } END { f(v); print v[1] < v[2] }",
            "END { for (k in c) if (c[k] > max) { max = c[k]; best = k } print best, max }",
            "END { for (k in c) s += k * c[k]; print s }",
            "END { for (k in c) if (k == \"GET\" || k \"\" < 9 || k ~ /1/) print length(k), substr(k, 2) }",
            "END { for (k in c) printf \"%s %d count\\n\", k, k }",
            "{ c[$1]++; if ($1 > 9) n++ } END { for (k in c) if (k in d || c[k] > 1) print d[k] }",
        ] {
            assert!(!shows(text), "{text}");
        }
    }
}
