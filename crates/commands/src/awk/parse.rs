//! Parses the whole language of POSIX: programs, rules and statements. Expressions are in `expression`.
//!
//! Declines errors, and syntax that awks parse differently: the real awk then reports it.

use std::collections::BTreeSet;

use crate::{Accept, Declined};

use super::Dialect;
use super::lex::{Lexer, Token};
use super::names;
use super::sort_order;
use super::source_lines;
use super::tree::{Expr, Function, Pattern, Program, Redirect, Rule, Statement};

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    pub(super) token: Token,
    /// The line in which the token before it ends.
    pub(super) last_line: usize,
    pub(super) spans_lines: bool,
    /// Whether `>` begins a redirection, not a comparison.
    pub(super) no_greater: bool,
    /// The nesting depth.
    pub(super) depth: usize,
    /// The number of the function that is being read, and its parameters.
    function: Option<(usize, Vec<String>)>,
    /// Names that the text has used as arrays so far.
    arrays: BTreeSet<(Option<usize>, String)>,
    early_lengths: BTreeSet<(Option<usize>, String)>,
}

/// Deeper nesting of expressions and statements is declined.
const DEPTH_MAX: usize = 100;

/// Parses a program of a test, in mawk's language.
#[cfg(test)]
pub(super) fn parse_for_test(text: &str) -> Program {
    parse(text.as_bytes(), Dialect::Mawk { is_2025: false }).expect("a program")
}

/// Parses a program.
pub(super) fn parse(text: &[u8], dialect: Dialect) -> Accept<Program> {
    if text.contains(&0) {
        return Declined::because("a NUL in the program");
    }
    let mut lexer = Lexer::new(text, dialect);
    let token = lexer.token()?;
    let mut parser = Parser {
        lexer,
        token,
        last_line: 1,
        spans_lines: false,
        no_greater: false,
        depth: 0,
        function: None,
        arrays: BTreeSet::new(),
        early_lengths: BTreeSet::new(),
    };
    let mut program = Program::default();
    parser.skip_newlines()?;
    while parser.token != Token::End {
        parser.item(&mut program)?;
        // One semicolon ends an item; a stray one differs between awks.
        let _ended = parser.eat(";")?;
        parser.skip_newlines()?;
    }
    program.early_lengths = parser.early_lengths;
    program.spans_lines = parser.spans_lines;
    Ok(program)
}

impl Parser<'_> {
    /// Notes that the text uses a name as an array.
    pub(super) fn is_array(&mut self, name: &str) {
        let name = self.owned(name);
        self.arrays.insert(name);
    }

    /// Notes that the text asks for the length of what may be an array.
    pub(super) fn asks_length(&mut self, name: &str) {
        let name = self.owned(name);
        if !self.arrays.contains(&name) {
            self.early_lengths.insert(name);
        }
    }

    fn owned(&self, name: &str) -> (Option<usize>, String) {
        let is_parameter = |(_, parameters): &&(usize, Vec<String>)| parameters.iter().any(|one| one == name);
        (self.function.as_ref().filter(is_parameter).map(|(number, _)| *number), name.to_owned())
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(found) if *found == sign)
    }

    pub(super) fn advance(&mut self) -> Accept<()> {
        self.last_line = self.lexer.line();
        self.token = self.lexer.token()?;
        Ok(())
    }

    pub(super) fn eat(&mut self, sign: &str) -> Accept<bool> {
        let found = self.is(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Accept<()> {
        if self.eat(sign)? { Ok(()) } else { self.unexpected() }
    }

    pub(super) fn unexpected<T>(&self) -> Accept<T> {
        Declined::because(match &self.token {
            Token::End => "the program ends too early".to_owned(),
            Token::Newline => "a line of the program ends too early".to_owned(),
            Token::Sign(sign) => format!("'{sign}' where the grammar has no place for it"),
            Token::Name(name) | Token::Function(name) => {
                format!("'{name}' where the grammar has no place for it")
            }
            Token::Number(_) | Token::Text(_) => {
                "a constant where the grammar has no place for it".to_owned()
            }
        })
    }

    /// Parses one level deeper, so that no program can overflow the stack.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Accept<T>) -> Accept<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Declined::because("a program that is nested too deeply");
        }
        let read = read(self);
        self.depth -= 1;
        read
    }

    pub(super) fn skip_newlines(&mut self) -> Accept<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    pub(super) fn skip_ends(&mut self) -> Accept<()> {
        while self.token == Token::Newline || self.is(";") {
            self.advance()?;
        }
        Ok(())
    }

    fn item(&mut self, program: &mut Program) -> Accept<()> {
        if self.eat("BEGIN")? {
            program.begin.push(self.block()?);
        } else if self.eat("END")? {
            program.end.push(self.block()?);
        } else if self.eat("function")? {
            let function = self.function(program.functions.len())?;
            program.functions.push(function);
        } else {
            let rule = self.rule()?;
            program.rules.push(rule);
        }
        Ok(())
    }

    fn rule(&mut self) -> Accept<Rule> {
        if self.is("{") {
            return Ok(Rule { pattern: Pattern::Always, action: self.block()?, line: None });
        }
        let (pattern, line) = self.with_line(|parser| {
            let first = parser.expr()?;
            if !parser.eat(",")? {
                return Ok(Pattern::When(first));
            }
            parser.skip_newlines()?;
            Ok(Pattern::Range(first, parser.expr()?))
        })?;
        let line = match &pattern {
            Pattern::Always => None,
            Pattern::When(test) => self.line_of([test], line),
            Pattern::Range(start, end) => self.line_of([start, end], line),
        };
        if self.is("{") {
            return Ok(Rule { pattern, action: self.block()?, line });
        }
        if self.token == Token::Newline || self.token == Token::End || self.is(";") {
            return Ok(Rule { pattern, action: vec![Statement::Print(Vec::new(), None)], line });
        }
        self.unexpected()
    }

    fn function(&mut self, number: usize) -> Accept<Function> {
        let (Token::Name(name) | Token::Function(name)) = self.token.clone() else {
            return self.unexpected();
        };
        if self.lexer.dialect.is_gawk() && names::is_refused(&name) {
            return Declined::because("a function with a name that gawk reserves");
        }
        self.advance()?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.is(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
                self.skip_newlines()?;
            }
            let Token::Name(parameter) = self.token.clone() else { return self.unexpected() };
            if parameters.contains(&parameter) || parameter == name {
                return Declined::because("a parameter's name twice");
            }
            parameters.push(parameter);
            self.advance()?;
        }
        self.advance()?;
        self.skip_newlines()?;
        self.function = Some((number, parameters.clone()));
        let body = self.block()?;
        self.function = None;
        Ok(Function { name, parameters, body })
    }

    /// Parses `{ statements }`.
    fn block(&mut self) -> Accept<Vec<Statement>> {
        self.deeper(|parser| {
            parser.expect("{")?;
            let mut statements = Vec::new();
            parser.skip_ends()?;
            while !parser.is("}") {
                statements.push(parser.statement()?);
                parser.skip_ends()?;
            }
            parser.advance()?;
            Ok(statements)
        })
    }

    pub(super) fn statement(&mut self) -> Accept<Statement> {
        self.deeper(Self::statement_here)
    }

    fn statement_here(&mut self) -> Accept<Statement> {
        if self.is("{") {
            return Ok(Statement::Block(self.block()?));
        }
        if self.eat("if")? {
            return self.if_();
        }
        if self.eat("while")? {
            let (test, line) = self.test()?;
            let body = self.body()?;
            let body = Box::new(self.again(body, line));
            return Ok(source_lines::before(line, Statement::While(test, body)));
        }
        if self.begins_switch() {
            let (switch, line) = self.switch()?;
            return Ok(source_lines::before(line, switch));
        }
        if self.eat("do")? {
            return self.do_();
        }
        if self.eat("for")? {
            return self.for_();
        }
        let statement = self.lined(Self::simple)?;
        self.end_of_simple()?;
        Ok(statement)
    }

    fn end_of_simple(&mut self) -> Accept<()> {
        match &self.token {
            Token::Newline => self.advance(),
            Token::Sign(";") => self.advance(),
            Token::Sign("}") => Ok(()),
            _ => self.unexpected(),
        }
    }

    /// Parses `(expr)`. Also returns its line, if messages name it.
    pub(super) fn test(&mut self) -> Accept<(Expr, Option<usize>)> {
        self.expect("(")?;
        let (test, line) = self.with_line(Self::expr)?;
        self.expect(")")?;
        let line = self.line_of([&test], line);
        Ok((test, line))
    }

    /// Parses the body of a loop, possibly empty.
    fn body(&mut self) -> Accept<Statement> {
        self.skip_newlines()?;
        if self.eat(";")? {
            return Ok(Statement::Block(Vec::new()));
        }
        self.statement()
    }

    fn if_(&mut self) -> Accept<Statement> {
        let (test, line) = self.test()?;
        let yes = Box::new(self.body()?);
        // Newlines may precede else; a semicolon only as the end of a simple statement, which is consumed
        // already.
        self.skip_newlines()?;
        let ends_again = self.is(";");
        self.skip_ends()?;
        if ends_again && self.is("else") {
            return self.unexpected();
        }
        let no = if self.eat("else")? { Some(Box::new(self.body()?)) } else { None };
        Ok(source_lines::before(line, Statement::If(test, yes, no)))
    }

    fn do_(&mut self) -> Accept<Statement> {
        let body = self.body()?;
        self.skip_newlines()?;
        self.expect("while")?;
        let (test, line) = self.test()?;
        self.end_of_simple()?;
        Ok(Statement::Do(Box::new(self.again(body, line)), test))
    }

    fn for_(&mut self) -> Accept<Statement> {
        self.expect("(")?;
        let first = if self.is(";") { None } else { Some(Box::new(self.lined(Self::simple)?)) };
        if self.is(")") {
            let Some(Statement::Expr(Expr::In(names, array))) = first.map(|first| *first) else {
                return self.unexpected();
            };
            let [Expr::Name(name)] = names.as_slice() else { return self.unexpected() };
            self.advance()?;
            return Ok(Statement::ForIn(name.clone(), array, Box::new(self.body()?)));
        }
        self.expect(";")?;
        self.skip_newlines()?;
        let (test, line) = self.with_line(|it| if it.is(";") { Ok(None) } else { it.expr().map(Some) })?;
        let line = self.line_of(&test, line);
        self.expect(";")?;
        self.skip_newlines()?;
        let mut step = if self.is(")") { None } else { Some(Box::new(self.lined(Self::simple)?)) };
        self.expect(")")?;
        let body = Box::new(self.body()?);
        let Some(line) = line else { return Ok(Statement::For(first, test, step, body)) };
        let steps = step.take().map(|step| *step).into_iter().chain([Statement::Line(line)]).collect();
        let loops = Statement::For(None, test, Some(Box::new(Statement::Block(steps))), body);
        let before = first.map(|first| *first).into_iter().chain([Statement::Line(line), loops]);
        Ok(Statement::Block(before.collect()))
    }

    fn simple(&mut self) -> Accept<Statement> {
        let Token::Sign(sign) = self.token else {
            let expr = self.expr()?;
            let is_gawk = self.lexer.dialect.is_gawk();
            let sets_order = is_gawk.then(|| sort_order::assigned(&expr)).flatten();
            return Ok(sets_order.unwrap_or(Statement::Expr(expr)));
        };
        match sign {
            "print" | "printf" => self.print(sign == "printf"),
            "next" => self.advance().map(|()| Statement::Next),
            "nextfile" => self.advance().map(|()| Statement::NextFile),
            "break" => self.advance().map(|()| Statement::Break),
            "continue" => self.advance().map(|()| Statement::Continue),
            "exit" => self.maybe_expr().map(Statement::Exit),
            "return" => self.maybe_expr().map(Statement::Return),
            "delete" => self.delete(),
            _ => Ok(Statement::Expr(self.expr()?)),
        }
    }

    fn ends_simple(&self) -> bool {
        matches!(self.token, Token::Newline | Token::End | Token::Sign(";" | "}"))
    }

    /// Parses the optional expression after `exit` and `return`.
    fn maybe_expr(&mut self) -> Accept<Option<Expr>> {
        self.advance()?;
        if self.ends_simple() { Ok(None) } else { self.expr().map(Some) }
    }

    fn delete(&mut self) -> Accept<Statement> {
        self.advance()?;
        let Token::Name(name) = self.token.clone() else { return self.unexpected() };
        self.is_array(&name);
        self.advance()?;
        if !self.eat("[")? {
            return Ok(Statement::Delete(name, None));
        }
        let index = self.list()?;
        self.expect("]")?;
        if self.lexer.dialect.is_gawk() && sort_order::is_sorted_in(&name, &index) {
            return Ok(Statement::SortedIn(None));
        }
        Ok(Statement::Delete(name, Some(index)))
    }

    fn print(&mut self, formatted: bool) -> Accept<Statement> {
        let line = self.lexer.line();
        self.advance()?;
        self.no_greater = true;
        let mut args = Vec::new();
        if !self.ends_simple() && !matches!(self.token, Token::Sign(">" | ">>" | "|")) {
            args = self.list()?;
        }
        let redirect = match self.token {
            Token::Sign(how @ (">" | ">>" | "|")) => {
                self.advance()?;
                Some(Redirect { how, to: self.concatenation()?, line })
            }
            _ => None,
        };
        self.no_greater = false;
        if let [Expr::Group(inner)] = args.as_slice() {
            args = inner.clone();
        }
        if formatted && args.is_empty() {
            return Declined::because("printf of nothing");
        }
        Ok(if formatted { Statement::Printf(args, redirect) } else { Statement::Print(args, redirect) })
    }
}
