//! `getline VARIABLE < "FILE"` in BEGIN: lines of a file that is read before the program runs, as tables of names are.
//!
//! Declined are all other forms: of the input, of commands, into fields, of files whose names are made as it runs, and those
//! behind BEGIN, where what is read depends on the records.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Accept, Declined, Lookup};

use super::Dialect;
use super::arguments::Line;
use super::names::is_special;
use super::tree::{Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_expr_below, any_statement, each_expr_below, every_expr};

/// A file, by name, and what it holds.
pub(super) type ReadFile = (Vec<u8>, Arc<[u8]>);

/// Returns `getline VARIABLE < "FILE"` as a function of both, if it is that.
pub(super) fn of(target: Option<&Expr>, file: Option<&Expr>) -> Option<Expr> {
    match (target, file) {
        (Some(Expr::Name(name)), Some(Expr::Text(_))) if !is_special(name) => {
            Some(Expr::Builtin(Builtin::ReadLine, vec![target?.clone(), file?.clone()]))
        }
        _ => None,
    }
}

/// Returns the name of the file, if an expression reads a line.
pub(super) fn file_of(expr: &Expr) -> Option<&[u8]> {
    match expr {
        Expr::Builtin(Builtin::ReadLine, args) => match args.as_slice() {
            [_, Expr::Text(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Reads the files that the program reads with `getline`.
///
/// # Errors
/// Declines programs that read elsewhere than in BEGIN, close files, write some, or end lines in another way; and files that
/// are missing, no regular ones, or hold what awks read differently.
pub(super) fn files(
    program: &Program,
    line: &Line,
    dialect: Dialect,
    lookup: &dyn Lookup,
) -> Accept<Vec<ReadFile>> {
    let mut reads_in_all = 0;
    every_expr(program, &mut |expr| reads_in_all += usize::from(file_of(expr).is_some()));
    if reads_in_all == 0 {
        return Ok(Vec::new());
    }
    let (mut names, mut reads_in_begin) = (BTreeSet::new(), 0);
    for statement in program.begin.iter().flatten() {
        each_expr_below(statement, &mut |part| {
            reads_in_begin += usize::from(file_of(part).is_some());
            names.extend(file_of(part));
        });
    }
    if reads_in_all > reads_in_begin {
        return Declined::because("a side effect: getline behind BEGIN");
    }
    let in_a_loop_over_keys = any_statement(program, |statement| {
        matches!(statement, Statement::ForIn(..)) && any_expr_below(statement, |part| file_of(part).is_some())
    });
    let closes = any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::Close, _)));
    let writes = any_statement(program, |statement| {
        matches!(statement, Statement::Print(_, Some(_)) | Statement::Printf(_, Some(_)))
    });
    let sets_end = line.variables.iter().any(|(name, _)| name == "RS")
        || any_expr(program, |expr| expr.changed_place() == Some(&Expr::Name("RS".to_owned())));
    if in_a_loop_over_keys || closes || writes || sets_end {
        return Declined::because("getline beside a loop over keys, close, print into files, or another RS");
    }
    names.into_iter().map(|name| file(name, dialect, lookup)).collect()
}

fn file(name: &[u8], dialect: Dialect, lookup: &dyn Lookup) -> Accept<ReadFile> {
    let content = lookup.script(name)?;
    if content.contains(&0) || dialect.has_characters() && !content.is_ascii() {
        return Declined::because("getline of a file with a NUL or characters beyond ASCII");
    }
    Ok((name.to_vec(), content.into()))
}

/// Returns the line at a position, and the position behind it; `None` at the end.
pub(super) fn line_at(content: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = content.get(at..).filter(|rest| !rest.is_empty())?;
    let end = memchr::memchr(b'\n', rest);
    Some((&rest[..end.unwrap_or(rest.len())], at + end.map_or(rest.len(), |end| end + 1)))
}
