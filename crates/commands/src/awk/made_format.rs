//! Formats that are made while the program runs.
//!
//! A format that the kernel does not follow exactly, or that asks for more arguments than there are, makes the real awk run
//! again from the beginning ([`restart`](super::restart)).

use std::sync::Arc;

use super::code::Get;
use super::format::{self, Piece};
use super::machine::{Machine, Ran, Stop};
use super::tree::{Expr, Statement};
use super::{gawk, mawk};

/// A call of `printf` or `sprintf` whose format is made while the program runs.
#[derive(Clone, Debug)]
pub(super) struct MadeFormat {
    /// The index of its latest format.
    pub(super) slot: usize,
    /// Makes its format.
    pub(super) by: Get,
    pub(super) args: Vec<Get>,
    /// Whether it is `sprintf`.
    pub(super) is_sprintf: bool,
}

/// A format, and what it was made of.
pub(super) type Latest = Option<(Vec<u8>, Arc<[Piece]>)>;

/// Returns the format of a statement, if it is one of `printf`: for a choice, each of the two.
pub(super) fn of_statement(statement: &Statement) -> Vec<&Expr> {
    let Statement::Printf(args, _) = statement else { return Vec::new() };
    let mut formats = Vec::new();
    choices(&args[0], &mut formats);
    formats
}

fn choices<'a>(format: &'a Expr, formats: &mut Vec<&'a Expr>) {
    match format.bare() {
        Expr::If(_, yes, no) => [yes, no].into_iter().for_each(|choice| choices(choice, formats)),
        format => formats.push(format),
    }
}

impl Machine {
    /// Appends what a format that is made now prints.
    pub(super) fn format_made(&mut self, made: &MadeFormat, out: &mut Vec<u8>) -> Ran<()> {
        let text = self.text(&made.by)?;
        let pieces = self.pieces(made, &text);
        self.give_back(text);
        self.printf(&pieces?, &made.args, out)
    }

    fn pieces(&mut self, made: &MadeFormat, text: &[u8]) -> Ran<Arc<[Piece]>> {
        if let Some((latest, pieces)) = &self.formats[made.slot]
            && latest == text
        {
            return Ok(Arc::clone(pieces));
        }
        let pieces: Arc<[Piece]> = self.parsed(made, text).ok_or(Stop::Again)?.into();
        self.formats[made.slot] = Some((text.to_vec(), Arc::clone(&pieces)));
        Ok(pieces)
    }

    /// Returns the pieces of a format, if the kernel follows it exactly.
    fn parsed(&self, made: &MadeFormat, text: &[u8]) -> Option<Vec<Piece>> {
        let dialect = self.code.limits.dialect();
        if text.contains(&0) || str::from_utf8(text).is_err() {
            return None;
        }
        let pieces = format::parse(text).ok()?;
        if format::arguments(&pieces) > made.args.len() {
            return None;
        }
        if dialect.is_gawk() {
            gawk::check_format(&pieces, &made.args).ok()?;
        }
        if made.is_sprintf {
            mawk::check_sprintf(&pieces, dialect).ok()?;
        }
        Some(pieces)
    }
}
