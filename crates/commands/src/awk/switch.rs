//! `switch`, a statement of gawk: constants are compared with a value, and expressions searched in it.

use crate::{Accept, Declined};

use super::code::{Do, Get};
use super::compile::Compiler;
use super::eval;
use super::lex::Token;
use super::machine::{Flow, Machine, Ran};
use super::number;
use super::parse::Parser;
use super::text::Text;
use super::tree::{Case, Expr, Statement};
use super::value::Operand;

/// An executable statement.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    value: Get,
    /// What the value is tested for, one after another, and the index of the first statement behind each.
    tests: Vec<(Test, usize)>,
    /// The first statement behind `default`, or the end.
    default: usize,
    /// The statements of all cases: one goes on into the next.
    body: Vec<Do>,
}

#[derive(Clone, Debug)]
enum Test {
    Number(f64),
    Text(Text),
    /// The index of a pattern.
    Pattern(usize),
}

impl Parser<'_> {
    /// Whether a name is a word of gawk's `switch`.
    fn is_word(&self, word: &str) -> bool {
        let is_it = matches!(&self.token, Token::Name(name) | Token::Function(name) if name == word);
        is_it && self.lexer.dialect.is_gawk()
    }

    /// Whether a `switch` begins.
    pub(super) fn begins_switch(&self) -> bool {
        self.is_word("switch")
    }

    /// Parses a `switch`, and returns the line of its value, if messages name it.
    pub(super) fn switch(&mut self) -> Accept<(Statement, Option<usize>)> {
        self.advance()?;
        let (value, line) = self.test()?;
        self.skip_newlines()?;
        self.expect("{")?;
        self.skip_newlines()?;
        let mut cases: Vec<Case> = Vec::new();
        while !self.is("}") {
            let case = self.case()?;
            if cases.iter().any(|other| is_twice(other.constant.as_ref(), case.constant.as_ref())) {
                return Declined::because("a case twice, at which gawk ends with a message");
            }
            cases.push(case);
        }
        self.advance()?;
        Ok((Statement::Switch(value, cases), line))
    }

    fn case(&mut self) -> Accept<Case> {
        let constant = if self.is_word("default") {
            self.advance()?;
            None
        } else if self.is_word("case") {
            self.advance()?;
            Some(self.constant()?)
        } else {
            return self.unexpected();
        };
        self.expect(":")?;
        let mut body = Vec::new();
        self.skip_ends()?;
        while !self.is("}") && !self.is_word("case") && !self.is_word("default") {
            body.push(self.statement()?);
            self.skip_ends()?;
        }
        Ok(Case { constant, body: Statement::Block(body) })
    }

    /// Parses a number, which may have a minus, a string or a regular expression.
    fn constant(&mut self) -> Accept<Expr> {
        match self.token {
            Token::Sign("-") => {}
            Token::Number(_) | Token::Text(_) | Token::Sign("/" | "/=") => return self.primary(),
            // Gawk 5.2 crashes at a plus.
            _ => return self.unexpected(),
        }
        self.advance()?;
        let Token::Number(number) = self.token else { return self.unexpected() };
        self.advance()?;
        Ok(Expr::Number(-number))
    }
}

/// Whether gawk takes two cases for one: it compares constants as strings, and no expressions.
fn is_twice(one: Option<&Expr>, other: Option<&Expr>) -> bool {
    let text = |constant: &Expr| match constant {
        Expr::Number(number) => Some(number::written(*number)),
        Expr::Text(text) => Some(text.clone()),
        _ => None,
    };
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => text(one).is_some_and(|one| Some(one) == text(other)),
        _ => false,
    }
}

impl Compiler<'_> {
    /// Compiles a `switch`.
    pub(super) fn switch(&mut self, value: &Expr, cases: &[Case]) -> Accept<Do> {
        let value = self.get(value)?;
        let (mut tests, mut default, mut body) = (Vec::new(), None, Vec::new());
        for case in cases {
            let test = match &case.constant {
                None => {
                    default = Some(body.len());
                    None
                }
                Some(Expr::Number(number)) => Some(Test::Number(*number)),
                Some(Expr::Text(text)) => Some(Test::Text(Text::new(text))),
                Some(regex) => Some(Test::Pattern(self.pattern(regex)?)),
            };
            tests.extend(test.map(|test| (test, body.len())));
            body.extend(self.in_switch(&case.body)?);
        }
        let default = default.unwrap_or(body.len());
        Ok(Do::Switch(Box::new(Switch { value, tests, default, body })))
    }
}

impl Machine {
    /// Runs a `switch`.
    pub(super) fn switch(&mut self, switch: &Switch) -> Ran<Flow> {
        let value = self.value(&switch.value)?;
        let mut written = None;
        let found = switch.tests.iter().find(|(test, _)| match test {
            Test::Number(number) => eval::equals(&value, Operand::Number(*number)),
            Test::Text(text) => eval::equals(&value, Operand::Text(text.bytes())),
            Test::Pattern(pattern) => {
                let text = written.get_or_insert_with(|| value.as_text());
                self.patterns[*pattern].is_match(text)
            }
        });
        let first = found.map_or(switch.default, |(_, first)| *first);
        match self.run(&switch.body[first..])? {
            Flow::Break => Ok(Flow::Go),
            flow => Ok(flow),
        }
    }
}
