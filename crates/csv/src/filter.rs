//! Conditions on records: `city=Oslo`, `price>=10`, `name~^A`.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use crate::field::meaning;
use crate::header::Header;
use crate::select::Columns;

/// A test of one column.
#[derive(Clone, Debug)]
pub struct Condition {
    column: Columns,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// Whether the text equals, or with `false` differs from, these bytes.
    Is(Vec<u8>, bool),
    /// Whether the expression matches, or with `false` does not match.
    Matches(Box<Expression>, bool),
    /// Whether the text compares so with the number; false for a text that is not a number.
    Order(f64, fn(f64, f64) -> bool),
}

#[derive(Clone, Debug)]
struct Expression {
    dfa: DFA,
    /// A number unique to each compilation, the key of the per-thread caches. Clones share it.
    number: usize,
}

/// The reason why a text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError(pub String);

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Longer operators come first.
const OPERATORS: [&str; 8] = ["!=", "!~", "<=", ">=", "=", "~", "<", ">"];

impl Condition {
    /// Parses a condition: a column, an operator, and an operand that extends to the end of the text.
    ///
    /// # Errors
    /// A syntax error.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        let wrong = |reason: &str| ConditionError(format!("`{text}` is not a valid condition: {reason}"));
        let name_end = match text.strip_prefix('"') {
            Some(rest) => rest.find('"').ok_or_else(|| wrong("a quote is never closed"))? + 2,
            None => text
                .find(['!', '=', '~', '<', '>'])
                .ok_or_else(|| wrong("it has none of = != ~ !~ < <= > >="))?,
        };
        let (name, rest) = text.split_at(name_end);
        let operator = OPERATORS.iter().find(|operator| rest.starts_with(**operator));
        let operator =
            *operator.ok_or_else(|| wrong("one of = != ~ !~ < <= > >= is expected behind the column"))?;
        let value = &rest[operator.len()..];
        let column = Columns::one(name).map_err(|error| wrong(error.reason))?;
        let number = || value.trim().parse::<f64>().map_err(|_| wrong("< and > compare with a number"));
        let test = match operator {
            "=" => Test::Is(value.into(), true),
            "!=" => Test::Is(value.into(), false),
            "~" | "!~" => Test::Matches(Box::new(compile(value)?), operator == "~"),
            "<" => Test::Order(number()?, |a, b| a < b),
            "<=" => Test::Order(number()?, |a, b| a <= b),
            ">" => Test::Order(number()?, |a, b| a > b),
            _ => Test::Order(number()?, |a, b| a >= b),
        };
        Ok(Condition { column, test })
    }

    /// Returns the number of its column, from 0.
    ///
    /// # Errors
    /// If there is no such column.
    pub(crate) fn resolve(&self, header: &Header) -> Result<usize, String> {
        Ok(self.column.resolve(header)?[0])
    }

    /// Whether the condition holds for a field as written.
    pub(crate) fn holds(&self, raw: &[u8]) -> bool {
        let text = meaning(raw);
        match &self.test {
            Test::Is(wanted, is) => (*text == **wanted) == *is,
            Test::Matches(expression, does) => matches(expression, &text) == *does,
            Test::Order(wanted, order) => number(&text).is_some_and(|number| order(number, *wanted)),
        }
    }
}

fn number(text: &[u8]) -> Option<f64> {
    let number = std::str::from_utf8(text).ok()?.trim();
    // Rejects `inf` and `nan`, which Rust would parse.
    number.bytes().any(|byte| byte.is_ascii_digit()).then(|| number.parse().ok()).flatten()
}

/// Compiles an expression over bytes, whose character classes are ASCII.
fn compile(expression: &str) -> Result<Expression, ConditionError> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    let config = DFA::config().match_kind(MatchKind::All);
    let dfa = DFA::builder().configure(config).syntax(syntax).build(expression);
    let dfa = dfa.map_err(|error| {
        let mut reason = String::new();
        let mut source: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = source {
            reason = cause.to_string();
            source = cause.source();
        }
        ConditionError(format!("`{expression}` is no regular expression: {}", reason.trim()))
    })?;
    Ok(Expression { dfa, number: COUNT.fetch_add(1, Ordering::Relaxed) })
}

thread_local! {
    /// A cache for each expression that this thread has used, by the expression's number.
    static CACHES: RefCell<Vec<(usize, Cache)>> = const { RefCell::new(Vec::new()) };
}

fn matches(expression: &Expression, text: &[u8]) -> bool {
    let input = Input::new(text).anchored(Anchored::No).earliest(true);
    CACHES.with_borrow_mut(|caches| {
        let at = caches.iter().position(|(known, _)| *known == expression.number).unwrap_or_else(|| {
            caches.push((expression.number, expression.dfa.create_cache()));
            caches.len() - 1
        });
        // The search cannot fail: nothing is configured that makes it give up or quit.
        expression.dfa.try_search_fwd(&mut caches[at].1, &input).is_ok_and(|found| found.is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, raw: &str) -> bool {
        Condition::parse(condition).expect(condition).holds(raw.as_bytes())
    }

    #[test]
    fn conditions_hold_or_not() {
        for (condition, raw) in [
            ("a=x", "x"),
            ("a=x", "\"x\""),
            ("a=x=y", "x=y"),
            ("a=", ""),
            ("a!=x", "y"),
            ("a~^b+$", "bb"),
            ("a!~b", "c"),
            ("a~x", "\"a\nx\""),
            ("a<10", "9.5"),
            ("a<10", " 9 "),
            ("a<=1e1", "10"),
            ("a>-1", "0"),
            ("a>=2", "\"2\""),
            ("\"a b\"=1", "1"),
            ("a=say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a~(?i)OSLO", "oslo"),
        ] {
            assert!(holds(condition, raw), "{condition} {raw}");
        }
        for (condition, raw) in
            [("a=x", "X"), ("a<10", "x"), ("a<10", ""), ("a>1", "inf"), ("a~^b$", "abc"), ("a!=x", "\"x\"")]
        {
            assert!(!holds(condition, raw), "{condition} {raw}");
        }
    }

    #[test]
    fn what_is_no_condition() {
        for text in ["a", "=", "a<x", "a~(", "1-2=3", "\"a=1", "a!1"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
