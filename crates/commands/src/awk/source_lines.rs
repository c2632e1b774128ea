//! Which line of the program gawk's messages name: that of the operator or function that fails.
//!
//! A statement that may fail is preceded by [`Statement::Line`]. That suffices as long as a statement, or the test of one,
//! lies in one line; others are noted in `spans_lines` of the program. No other awk names lines while it runs.

use crate::Accept;

use super::arithmetic::is_sure_divisor;
use super::parse::Parser;
use super::tree::{Arith, Builtin, Expr, Statement};
use super::visit::{any_below, any_part};

/// Whether gawk may have something to say of an expression while it runs.
fn may_say(expr: &Expr) -> bool {
    any_part(expr, |part| match part {
        Expr::LengthAlone => true,
        Expr::Builtin(builtin, _) => !matches!(builtin, Builtin::ReadLine | Builtin::NextRecord),
        Expr::Arith(Arith::Divide | Arith::Remainder, _, by)
        | Expr::Update(Arith::Divide | Arith::Remainder, _, by) => !is_sure_divisor(by),
        Expr::Field(index) => !matches!(**index, Expr::Number(_)),
        Expr::Assign(place, _) | Expr::Update(_, place, _) | Expr::Step { place, .. } => {
            matches!(&**place, Expr::Name(name) if name == "NF")
        }
        _ => false,
    })
}

/// Puts statements one after another, without a block around a single one.
fn in_a_block(statements: Vec<Statement>) -> Statement {
    match <[Statement; 1]>::try_from(statements) {
        Ok([single]) => single,
        Err(statements) => Statement::Block(statements),
    }
}

impl Parser<'_> {
    /// Whether messages name lines, of which there are several.
    fn names_lines(&self) -> bool {
        self.lexer.dialect.is_gawk() && self.lexer.has_lines()
    }

    /// Reads something, and returns the line in which it lies with it.
    pub(super) fn with_line<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Accept<T>,
    ) -> Accept<(T, Option<usize>)> {
        let first = self.lexer.line();
        let made = read(self)?;
        Ok((made, (first == self.last_line).then_some(first)))
    }

    /// Returns the line that messages about an expression name, if it may cause one.
    pub(super) fn line_of<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        line: Option<usize>,
    ) -> Option<usize> {
        if !self.names_lines() || !exprs.into_iter().any(may_say) {
            return None;
        }
        self.spans_lines |= line.is_none();
        line
    }

    /// Reads a statement without others in it, and notes its line if it needs one.
    pub(super) fn lined(&mut self, read: impl FnOnce(&mut Self) -> Accept<Statement>) -> Accept<Statement> {
        let first = self.lexer.line();
        let (statement, line) = self.with_line(read)?;
        let exprs = statement.parts().0;
        let line = match &statement {
            // It may warn by itself, and then names the line in which it begins.
            Statement::Printf(..) if self.names_lines() && !exprs.iter().any(|expr| may_say(expr)) => {
                Some(first)
            }
            _ => self.line_of(exprs, line),
        };
        Ok(in_a_block(line.map(Statement::Line).into_iter().chain([statement]).collect()))
    }

    /// Notes the line of a loop's test before the loop, and where the loop comes back to it.
    pub(super) fn again(&mut self, body: Statement, line: Option<usize>) -> Statement {
        let Some(line) = line else { return body };
        self.spans_lines |= any_below(&body, |statement| matches!(statement, Statement::Continue));
        Statement::Block(vec![body, Statement::Line(line)])
    }
}

/// Puts the line of its test before a statement.
pub(super) fn before(line: Option<usize>, statement: Statement) -> Statement {
    in_a_block(line.map(Statement::Line).into_iter().chain([statement]).collect())
}
