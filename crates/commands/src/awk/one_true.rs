//! What the one true awk (20220912, and two versions of the second edition) reads or does in a way of its own, and is declined.

use std::collections::BTreeSet;

use crate::{Accept, Context, Declined, Family};

use super::arguments::Line;
use super::names::{bodies, patterns};
use super::numeric_strings;
use super::rules;
use super::tree::{Arith, Builtin, Expr, Order, Program, Statement};
use super::visit::{
    any_below, any_expr, any_expr_below, any_part, any_statement, changes, each_expr, every_expr,
    every_statement,
};

/// Versions of the second edition that were compared.
const SECOND_EDITION: &[&str] = &["20250116", "20251225"];

/// Whether it is a version of the second edition that was compared.
pub(super) fn is_second_edition(context: &Context) -> bool {
    context.implementation.is_one_of(Family::OriginalAwk, SECOND_EDITION)
}

/// Declines what the second edition may do otherwise than with bytes, where its strings are of characters: all that counts or
/// changes them. What it searches must be UTF-8.
pub(super) fn check_characters(program: &Program, line: &Line) -> Accept<()> {
    if super::gawk::counts_characters(program) {
        return Declined::because("characters, which were not compared in this awk");
    }
    let is_whole = |text: &[u8]| str::from_utf8(text).is_ok();
    let is_cut = |expr: &Expr| matches!(expr, Expr::Text(text) if !is_whole(text));
    if any_expr(program, is_cut) || !line.variables.iter().all(|(_, value)| is_whole(value)) {
        return Declined::because("bytes that are no characters");
    }
    Ok(())
}

/// Declines separators of fields or records beyond ASCII.
pub(super) fn check_separators(fs: &[u8], rs: &[u8]) -> Accept<()> {
    match fs.is_ascii() && rs.is_ascii() {
        true => Ok(()),
        false => Declined::because("a separator beyond ASCII"),
    }
}

/// Declines programs that this awk reads otherwise, or of whose run too little is known.
pub(super) fn check(program: &Program, line: &Line, args: &[Vec<u8>], may_complain: bool) -> Accept<()> {
    check_syntax(program)?;
    if any_expr(program, is_unsure_power) {
        return Declined::because("a power whose exponent is no constant: this awk may warn of it");
    }
    if any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::ReadLine | Builtin::NextRecord, _))) {
        return Declined::because("a side effect: getline");
    }
    if rules::is_second_edition() && any_expr(program, asks_for_difference) {
        return Declined::because(
            "!= of values that may have been NaN before, which this awk takes for different",
        );
    }
    let counted = counted(program, &line.variables);
    if !rules::is_second_edition()
        && any_expr(
            program,
            |expr| matches!(expr, Expr::Field(index) if !has_known_name(program, index, &counted)),
        )
    {
        return Declined::because(
            "the number of a field that may be none, of which this awk says where it comes from",
        );
    }
    if any_statement(program, is_illegal) {
        return Declined::because("a value that is no statement to this awk");
    }
    if any_expr(program, |expr| takes_text(program, line, expr)) {
        return Declined::because(
            "log, exp or sqrt of what may be a text: this awk warns of one beyond the range of numbers",
        );
    }
    if jumps_out_of_functions(program) {
        return Declined::because("a function that exits, beside which this awk goes on with the expression");
    }
    if any_statement(program, |statement| changes_what_it_loops_over(program, statement)) {
        return Declined::because("a loop over an array that it changes");
    }
    if numeric_strings::type_shows(program) {
        return Declined::because("a string that is used as a number and compared: this awk makes it one");
    }
    if reads_last_record(program) && changes_records(program) {
        return Declined::because("the last record in END, behind changes of records");
    }
    let says_where = may_complain || super::mentions(program, &["FILENAME"]);
    if says_where && args.iter().any(|arg| arg == b"-") {
        return Declined::because("the name of the standard input");
    }
    if may_complain && line.program.trim_ascii_end().contains(&b'\n') {
        return Declined::because(
            "its messages name the line, and it may have to say something of several ones",
        );
    }
    Ok(())
}

/// Whether it is a function that warns, of what may be a text.
fn takes_text(program: &Program, line: &Line, expr: &Expr) -> bool {
    let Expr::Builtin(Builtin::Log | Builtin::Exp | Builtin::Sqrt, args) = expr else { return false };
    let numbers = BTreeSet::new();
    let is_sure = |arg: &Expr| match arg.bare() {
        Expr::Name(name) => is_number(arg.bare(), &numbers) || holds_numbers(program, line, name),
        arg => is_number(arg, &numbers),
    };
    !args.iter().all(is_sure)
}

/// Returns the variable to which an expression may give something else than a number.
fn gets_more_than_numbers(expr: &Expr) -> Option<&str> {
    let Some(Expr::Name(name)) = expr.changed_place().map(Expr::bare) else { return None };
    let is_number = match expr {
        Expr::Step { .. } | Expr::Update(..) => true,
        Expr::Assign(_, value) => is_number(value, &BTreeSet::new()),
        _ => false,
    };
    (!is_number).then_some(name)
}

/// Whether a variable only ever gets numbers.
fn holds_numbers(program: &Program, line: &Line, name: &String) -> bool {
    !super::names::is_special(name)
        && !line.variables.iter().any(|(given, _)| given == name)
        && !program.has_parameter(name)
        && !any_expr(program, |expr| gets_more_than_numbers(expr) == Some(name.as_str()))
        && !any_statement(program, |statement| matches!(statement, Statement::ForIn(key, ..) if key == name))
}

/// Whether it compares two values for being different, none of which is a constant.
fn asks_for_difference(expr: &Expr) -> bool {
    let is_constant = |expr: &Expr| matches!(expr.bare(), Expr::Number(_) | Expr::Text(_));
    matches!(expr, Expr::Compare(Order::NotEqual, left, right) if !is_constant(left) && !is_constant(right))
}

/// Whether it is a statement that consists of a variable or a constant.
fn is_illegal(statement: &Statement) -> bool {
    fn is_value(expr: &Expr) -> bool {
        match expr.bare() {
            Expr::Name(_) | Expr::Number(_) | Expr::Text(_) => true,
            Expr::Concat(left, right) => matches!(**right, Expr::Text(_)) && is_value(left),
            _ => false,
        }
    }
    matches!(statement, Statement::Expr(expr) if is_value(expr))
}

/// Whether its value is a number, whatever the variables hold. `counted`: those that hold numbers.
pub(super) fn is_number(expr: &Expr, counted: &BTreeSet<&str>) -> bool {
    match expr {
        Expr::Name(name) => {
            matches!(name.as_str(), "NF" | "NR" | "FNR" | "RSTART" | "RLENGTH")
                || counted.contains(name.as_str())
        }
        Expr::Group(inner) => inner.iter().all(|inner| is_number(inner, counted)),
        Expr::If(_, yes, no) => is_number(yes, counted) && is_number(no, counted),
        Expr::Assign(_, value) => is_number(value, counted),
        Expr::Builtin(builtin, _) => !builtin.is_text(),
        Expr::Text(_)
        | Expr::Concat(..)
        | Expr::Field(_)
        | Expr::Element(..)
        | Expr::Call(..)
        | Expr::Getline(_) => false,
        _ => true,
    }
}

/// Returns the variables that are numbers wherever they are numbers of fields: they only get numbers, and a loop that counts
/// stands around.
pub(super) fn counted<'a>(program: &'a Program, variables: &[(String, Vec<u8>)]) -> BTreeSet<&'a str> {
    let mut counted = BTreeSet::new();
    every_statement(program, &mut |statement| counted.extend(begins_with(statement)));
    counted.retain(|name| !variables.iter().any(|(given, _)| given == name));
    every_expr(program, &mut |expr| {
        if let Some(name) = gets_more_than_numbers(expr) {
            counted.remove(name);
        }
    });
    every_statement(program, &mut |statement| {
        if let Statement::ForIn(name, ..) = statement {
            counted.remove(name.as_str());
        }
    });
    for pattern in patterns(program) {
        each_expr(pattern, &mut |expr| _ = index_name(expr).map(|name| counted.remove(name)));
    }
    for (_, statement) in bodies(program) {
        remove_outside(statement, &mut Vec::new(), &mut counted);
    }
    counted
}

/// Returns the variable to which a loop gives a number first.
fn begins_with(statement: &Statement) -> Option<&str> {
    let Statement::For(Some(first), ..) = statement else { return None };
    match &**first {
        Statement::Expr(Expr::Assign(place, value)) if is_number(value, &BTreeSet::new()) => match &**place {
            Expr::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn index_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Field(index) => match index.bare() {
            Expr::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Removes the variables that are numbers of fields outside of the loops that begin with them.
fn remove_outside<'a>(statement: &'a Statement, loops: &mut Vec<&'a str>, counted: &mut BTreeSet<&'a str>) {
    let begins = begins_with(statement);
    loops.extend(begins);
    let (exprs, statements) = statement.parts();
    for expr in exprs {
        each_expr(expr, &mut |part| {
            if let Some(name) = index_name(part).filter(|name| !loops.contains(name)) {
                counted.remove(name);
            }
        });
    }
    statements.into_iter().for_each(|inner| remove_outside(inner, loops, counted));
    loops.truncate(loops.len() - usize::from(begins.is_some()));
}

/// Whether the message about the number of a field, should it be none, is known: it names the variable or the element.
fn has_known_name(program: &Program, index: &Expr, counted: &BTreeSet<&str>) -> bool {
    let is_parameter = |name: &String| program.has_parameter(name);
    is_number(index, counted)
        || match index.bare() {
            Expr::Name(name) => !is_parameter(name),
            Expr::Field(inner) => is_number(inner, counted),
            Expr::Element(_, parts) => !parts.iter().any(|part| {
                any_part(part, |part| part.changed_place().is_some() || matches!(part, Expr::Call(..)))
            }),
            _ => false,
        }
}

fn is_unsure_power(expr: &Expr) -> bool {
    let is_sure = |exponent: &Expr| match exponent.bare() {
        Expr::Number(number) => number.fract() == 0.0 && (0.0..1e9).contains(number),
        _ => false,
    };
    match expr {
        Expr::Arith(Arith::Power, _, exponent) | Expr::Update(Arith::Power, _, exponent) => {
            !is_sure(exponent)
        }
        _ => false,
    }
}

/// Declines what its grammar does not have: `print a == b`, `a == b ~ c`, `1 + /x/`.
fn check_syntax(program: &Program) -> Accept<()> {
    let compares = |statement: &Statement| match statement {
        Statement::Print(args, _) | Statement::Printf(args, _) => args.iter().any(compares_openly),
        _ => false,
    };
    if any_statement(program, compares) {
        return Declined::because("print with a comparison that is not in parentheses");
    }
    if any_expr(program, is_foreign) {
        return Declined::because("an expression that this awk reads in its own way");
    }
    let mut divisions = 0;
    every_expr(program, &mut |expr| divisions += usize::from(is_division(expr)));
    every_statement(program, &mut |statement| {
        if let Statement::Expr(expr) = statement {
            divisions -= usize::from(is_division(expr));
        }
    });
    if divisions > 0 {
        return Declined::because("/= within an expression, which this awk reads in its own way");
    }
    Ok(())
}

fn is_division(expr: &Expr) -> bool {
    matches!(expr, Expr::Update(Arith::Divide, ..))
}

/// Whether it compares outside of parentheses.
fn compares_openly(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(..) => true,
        Expr::Group(_) | Expr::Builtin(..) | Expr::Call(..) | Expr::Element(..) => false,
        other => other.parts().into_iter().any(compares_openly),
    }
}

/// Whether it puts together what this awk puts together otherwise, or not at all.
fn is_foreign(expr: &Expr) -> bool {
    let is_relation = |part: &&Expr| matches!(part, Expr::Compare(..) | Expr::Match { .. } | Expr::In(..));
    let is_assignment = |part: &&Expr| matches!(part, Expr::Assign(..) | Expr::Update(..));
    let parts = expr.parts();
    let mut parts = parts.iter().copied();
    match expr {
        Expr::Concat(left, right) if joins_constants(left, right) => true,
        Expr::Compare(..) | Expr::Match { .. } | Expr::In(..) => {
            parts.any(|part| is_relation(&part) || is_assignment(&part))
        }
        Expr::Arith(..) | Expr::Concat(..) | Expr::Negate(_) | Expr::Plus(_) | Expr::Field(_) => {
            parts.any(|part| is_regex(part) || is_relation(&part) || is_assignment(&part))
        }
        Expr::If(..) | Expr::And(..) | Expr::Or(..) => parts.any(|part| is_assignment(&part)),
        Expr::Not(inner) => is_relation(&&**inner) || is_assignment(&&**inner),
        Expr::Update(Arith::Divide, _, by) => !is_term(by),
        _ => false,
    }
}

/// Whether two strings of the program meet in a concatenation that is of more than these: this awk joins them first
/// (`"1" "2" + 3` is 15).
fn joins_constants(left: &Expr, right: &Expr) -> bool {
    fn last(expr: &Expr) -> &Expr {
        match expr {
            Expr::Arith(_, _, part) | Expr::Concat(_, part) => last(part),
            Expr::Negate(part) | Expr::Plus(part) | Expr::Not(part) => last(part),
            part => part,
        }
    }
    fn first(expr: &Expr) -> &Expr {
        match expr {
            Expr::Arith(_, part, _) | Expr::Concat(part, _) => first(part),
            part => part,
        }
    }
    let is_text = |expr: &Expr| matches!(expr, Expr::Text(_));
    let is_alone = match left {
        Expr::Concat(_, before) => is_text(before),
        left => is_text(left),
    };
    is_text(last(left)) && is_text(first(right)) && !(is_alone && is_text(right))
}

/// Whether it is an expression between slashes, or the opposite of one.
fn is_regex(expr: &Expr) -> bool {
    match expr {
        Expr::Not(inner) => is_regex(inner),
        expr => matches!(expr, Expr::Regex(_)),
    }
}

/// Whether it is what this awk's grammar calls a term.
fn is_term(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Number(_)
            | Expr::Text(_)
            | Expr::Name(_)
            | Expr::Field(_)
            | Expr::Element(..)
            | Expr::Group(_)
            | Expr::Arith(..)
            | Expr::Builtin(..)
            | Expr::Call(..)
            | Expr::LengthAlone
    )
}

fn jumps_out_of_functions(program: &Program) -> bool {
    let mut bodies = program.functions.iter().flat_map(|function| &function.body);
    bodies.any(|statement| any_below(statement, Statement::leaves_record))
}

/// Whether it is a loop over an array that may get or lose other elements than the one at hand: this awk walks through the
/// array itself, not through a list of its keys.
fn changes_what_it_loops_over(program: &Program, statement: &Statement) -> bool {
    let Statement::ForIn(name, array, body) = statement else { return false };
    let has_functions = !program.functions.is_empty();
    let is_it = |other: &String| other == array || has_functions;
    let is_kept = !changes(body, name);
    let is_at_hand = |index: &[Expr]| is_kept && matches!(index, [Expr::Name(key)] if key == name);
    let may_make = |expr: &Expr| match expr {
        Expr::Element(other, index) => is_it(other) && !is_at_hand(index),
        Expr::Builtin(Builtin::Split, args) => matches!(args.get(1), Some(Expr::Name(other)) if is_it(other)),
        Expr::Call(..) => uses_arrays(program),
        _ => false,
    };
    let removes = |inner: &Statement| match inner {
        Statement::Delete(other, index) => is_it(other) && !index.as_deref().is_some_and(is_at_hand),
        Statement::ForIn(key, ..) => key == name,
        _ => false,
    };
    any_expr_below(body, may_make) || any_below(body, removes)
}

/// Whether a function of the program uses an array.
fn uses_arrays(program: &Program) -> bool {
    let is_use = |expr: &Expr| matches!(expr, Expr::Element(..) | Expr::Builtin(Builtin::Split, _));
    let removes = |statement: &Statement| matches!(statement, Statement::Delete(..));
    program
        .functions
        .iter()
        .flat_map(|function| &function.body)
        .any(|statement| any_expr_below(statement, is_use) || any_below(statement, removes))
}

/// Whether END, or a function, reads the record.
fn reads_last_record(program: &Program) -> bool {
    let reads = |expr: &Expr| match expr {
        Expr::Field(_) | Expr::LengthAlone | Expr::Regex(_) => true,
        Expr::Name(name) => name == "NF",
        Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) => args.len() == 2,
        _ => false,
    };
    let prints_it = |statement: &Statement| matches!(statement, Statement::Print(args, _) if args.is_empty());
    let of_functions = program.functions.iter().flat_map(|function| &function.body);
    program
        .end
        .iter()
        .flatten()
        .chain(of_functions)
        .any(|statement| any_expr_below(statement, reads) || any_below(statement, prints_it))
}

fn changes_records(program: &Program) -> bool {
    any_expr(program, |expr| {
        let place = expr.changed_place().map(Expr::bare);
        matches!(place, Some(Expr::Field(_)))
            || matches!(place, Some(Expr::Name(name)) if name == "NF")
            || matches!(expr, Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 2)
    }) || any_statement(program, |statement| matches!(statement, Statement::ForIn(name, ..) if name == "NF"))
}

/// Whether an expression in which one part disturbs another is put together from left to right all the same: each part is
/// taken as a string or a number before the next one is evaluated.
pub(super) fn takes_parts_in_turn(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Concat(..)
            | Expr::Arith(..)
            | Expr::Element(..)
            | Expr::Group(_)
            | Expr::In(..)
            | Expr::Builtin(Builtin::Sprintf, _)
    ) && !any_part(expr, |part| matches!(part, Expr::Call(..)))
}
