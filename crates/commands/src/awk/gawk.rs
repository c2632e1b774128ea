//! What of gawk's language is its own: what it says to standard error, and where its characters are no bytes.

use std::collections::BTreeSet;

use crate::regex::Judges;
use crate::{Accept, Context, Declined, Family, Implementation};

use super::Dialect;
use super::arguments::Line;
use super::arithmetic::is_sure_divisor;
use super::code::{Get, is_number};
use super::compile::Compiled;
use super::fields::Separator;
use super::format::{self, Piece, arguments};
use super::gawk_messages::GawkMessages;
use super::lone_format;
use super::loop_keys;
use super::names::is_refused;
use super::pattern::Pattern;
use super::rules;
use super::tree::{Arith, Builtin, Expr, Program, Statement};
use super::visit::{any_expr, any_statement, every_expr, every_statement};

/// Versions in which `x+x+` matches one x.
const JOINS_REPETITIONS: &[&str] = &["5.1.0", "5.1.1"];
/// Versions between those that were compared and that treat invalid bytes differently.
const BETWEEN: &[&str] = &["5.1.1", "5.2.0"];
/// Versions that pad infinity, and end with an internal error where a search that may find nothing meets bytes that are no
/// characters.
const FROM_5_3: &[&str] = &["5.3.0", "5.3.1", "5.3.2"];

/// Which expressions a version does not match as the tested one does.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternLimits {
    joins_repetitions: bool,
    may_crash: bool,
    /// Whether its `.` may miss characters, as that of 5.1.0 does, which was not asked.
    is_between: bool,
}

impl PatternLimits {
    pub(super) fn of(dialect: Dialect, implementation: &Implementation) -> Self {
        PatternLimits {
            joins_repetitions: implementation.is_one_of(Family::Gawk, JOINS_REPETITIONS),
            may_crash: dialect == Dialect::Gawk { utf8: true, variant: rules::Variant::Gawk5_3 },
            is_between: implementation.is_one_of(Family::Gawk, BETWEEN),
        }
    }

    /// Declines a pattern that this version does not search for as the tested one does.
    pub(super) fn check(self, pattern: &Pattern) -> Accept<()> {
        if self.joins_repetitions && pattern.repeats_twice() {
            return Declined::because("several repetitions in an expression, which this gawk may join");
        }
        if self.may_crash && pattern.may_match_nothing() {
            return Declined::because("an expression that may match nothing, at which this gawk may crash");
        }
        Ok(())
    }

    /// Returns the texts in which a pattern matches as in this version.
    pub(super) fn judges(self, pattern: &Pattern) -> Judges {
        match self.is_between && pattern.is_wide() {
            true => pattern.judges().max(Judges::NoLateUtf8),
            false => pattern.judges(),
        }
    }

    /// Returns the texts in which a separator is found as in this version.
    pub(super) fn judges_of_separator(self, separator: &Separator) -> Judges {
        separator.pattern().map_or_else(|| separator.judges(), |pattern| self.judges(pattern))
    }
}

/// Returns the version as far as operations depend on it.
pub(super) fn variant(implementation: &Implementation) -> rules::Variant {
    if implementation.is_one_of(Family::Gawk, FROM_5_3) {
        rules::Variant::Gawk5_3
    } else if implementation.is_one_of(Family::Gawk, JOINS_REPETITIONS) {
        rules::Variant::Gawk5_1
    } else {
        rules::Variant::Gawk
    }
}

/// Declines patterns that this version does not search for as the tested one does.
pub(super) fn check_version(
    compiled: &Compiled,
    implementation: &Implementation,
    counts_characters: bool,
) -> Accept<()> {
    if counts_characters && implementation.is_one_of(Family::Gawk, BETWEEN) {
        return Declined::because(
            "characters, which the versions before and after this gawk count in two ways",
        );
    }
    let of_separators =
        compiled.separators.iter().chain([&compiled.code.fields]).filter_map(Separator::pattern);
    let limits = compiled.code.limits.gawk;
    compiled.patterns.iter().chain(of_separators).try_for_each(|pattern| limits.check(pattern))
}

/// Declines programs of which gawk may say something that is not known here.
pub(super) fn check(program: &Program, line: &Line, fraction_arrays: &BTreeSet<String>) -> Accept<()> {
    if loop_keys::type_shows(program) {
        return Declined::because(loop_keys::MAY_BE_NUMBERS);
    }
    super::gensub::check_types(program)?;
    if let Some((name, _)) = line.variables.iter().find(|(name, _)| is_refused(name)) {
        return Declined::because(format!("-v {name}"));
    }
    // gawk rejects some such programs, and some not.
    if line.script.is_some() && !line.program.ends_with(b"\n") && !line.program.ends_with(b"}") {
        return Declined::because(
            "a program in a file whose last line is a pattern without a newline behind it",
        );
    }
    if line.variables.iter().any(|(_, value)| may_be_nan(value)) {
        return Declined::because("a variable that may be NaN");
    }
    if line.variables.iter().any(|(_, value)| value.starts_with(b"@/")) {
        return Declined::because("-v with an expression between slashes");
    }
    let is_element = |arg: &Expr| array_of(arg).is_some();
    let is_passed = |expr: &Expr| matches!(expr, Expr::Call(_, args) if args.iter().any(is_element));
    let is_index = |statement: &Statement| matches!(statement, Statement::Delete(_, Some(index)) if index.iter().any(is_element));
    if any_expr(program, is_passed) || any_statement(program, is_index) {
        return Declined::because("an element as an argument or an index, which gawk may take for an array");
    }
    if let Some(why) = super::fractional_keys::why_declined(program, fraction_arrays) {
        return Declined::because(why);
    }
    let lends_a_field = |expr: &Expr| expr.parts().into_iter().any(copies_into_field);
    if any_expr(program, lends_a_field) {
        return Declined::because("the value of an assignment to a field, which gawk may overwrite");
    }
    if !rules::is_gawk_5_1() && !rules::is_gawk_5_3() && compares_what_was_printed(program) {
        return Declined::because(
            "elements that are printed and compared: gawk 5.2 may keep as a string what was not set",
        );
    }
    if !rules::is_gawk_5_3() && compares_beside_nan(program) {
        return Declined::because(
            "a comparison of input with what may be NaN: gawk up to 5.2 minds whether it was used as a number before",
        );
    }
    let divides_by_zero = |expr: &Expr| match expr {
        Expr::Arith(Arith::Divide | Arith::Remainder, _, by) => is_constant(by) && !is_sure_divisor(by),
        _ => false,
    };
    if any_expr(program, divides_by_zero) {
        return Declined::because("a division by a constant that may be 0, which gawk evaluates first");
    }
    Ok(())
}

/// Returns the messages of a program of which gawk may say something while it runs.
pub(super) fn messages(program: &Program, context: &Context) -> Accept<GawkMessages> {
    if program.spans_lines {
        return Declined::because(
            "gawk's messages name the line, and it may have to say something of what goes over several lines",
        );
    }
    let asks =
        |statement: &Statement| matches!(statement, Statement::Printf(args, _) if lone_format::may_ask(args));
    if any_statement(program, asks) {
        context.locale.messages.in_english()?;
    }
    GawkMessages::in_language_of(&context.locale.messages)
}

/// Whether it may warn of arguments outside a function's domain.
pub(super) fn warns_of_numbers(program: &Program) -> bool {
    any_expr(program, |expr| matches!(expr, Expr::Builtin(Builtin::Sqrt | Builtin::Log | Builtin::Exp, _)))
}

/// Declines formats that versions of gawk read differently, and `%c` of what may be an empty string: gawk prints the byte
/// that lies behind it in memory.
pub(super) fn check_format(pieces: &[Piece], args: &[Get]) -> Accept<()> {
    let mut at = 0;
    for piece in pieces {
        let length = arguments(std::slice::from_ref(piece));
        let arg = args.get((at + length).saturating_sub(1));
        at += length;
        let Piece::Conversion(conversion) = piece else { continue };
        if conversion.alternative {
            return Declined::because("printf with the flag #");
        }
        let is_sure = arg.is_some_and(|arg| match arg {
            Get::Text(text) => !text.bytes().is_empty(),
            arg => is_number(arg),
        });
        if conversion.what == b'c' && !is_sure {
            return Declined::because("printf %c of what may be an empty string");
        }
    }
    Ok(())
}

/// Whether gawk may evaluate an expression while it reads the program.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) | Expr::Text(_) => true,
        Expr::Negate(_)
        | Expr::Plus(_)
        | Expr::Not(_)
        | Expr::Arith(..)
        | Expr::Concat(..)
        | Expr::Group(_) => expr.parts().into_iter().all(is_constant),
        _ => false,
    }
}

/// Whether values of variables or fields are compared with each other where functions may have made one of them NaN.
fn compares_beside_nan(program: &Program) -> bool {
    let makes_nan = |expr: &Expr| matches!(expr, Expr::Builtin(Builtin::Sqrt | Builtin::Log, _));
    let is_input = |expr: &Expr| {
        matches!(expr.bare(), Expr::Field(_) | Expr::Name(_) | Expr::Element(..) | Expr::Call(..))
    };
    let is_plain = |expr: &Expr| matches!(expr.bare(), Expr::Number(_)) || expr.is_text();
    let compares = |expr: &Expr| match expr {
        Expr::Compare(_, left, right) => {
            (is_input(left) || is_input(right)) && !is_plain(left) && !is_plain(right)
        }
        _ => false,
    };
    any_expr(program, makes_nan) && any_expr(program, compares)
}

/// Whether a text may be a number that is none, which versions of gawk compare in their own ways.
fn may_be_nan(text: &[u8]) -> bool {
    matches!(text.trim_ascii(), [b'+' | b'-', rest @ ..] if rest.len() >= 3 && rest[..3].eq_ignore_ascii_case(b"nan"))
}

/// Returns the array of an element, which may be in parentheses; `None` for any other expression.
fn array_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Element(name, _) => Some(name),
        Expr::Group(inner) => match inner.as_slice() {
            [Expr::Element(name, _)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it copies something other than a constant into a field. The value of that expression lies in the record, which
/// gawk overwrites with the next one.
fn copies_into_field(expr: &Expr) -> bool {
    match expr {
        Expr::Group(inner) => inner.iter().any(copies_into_field),
        Expr::Assign(place, value) => {
            matches!(**place, Expr::Field(_))
                && !matches!(**value, Expr::Text(_) | Expr::Number(_))
                && !expr.sets_fields_to_a_constant()
        }
        _ => false,
    }
}

/// Whether elements of an array are compared or copied after elements of it were printed, searched or formatted. After
/// gawk 5.2 prints an element that was never set, the element is the empty string, and no longer equals 0.
fn compares_what_was_printed(program: &Program) -> bool {
    let before_end = Program { end: Vec::new(), ..program.clone() };
    let at_the_end = Program { begin: Vec::new(), rules: Vec::new(), ..program.clone() };
    let [(printed, compared), (printed_last, compared_last)] =
        [&before_end, &at_the_end].map(printed_and_compared);
    // A parameter may be any array.
    let meet = |printed: &BTreeSet<_>, compared: &BTreeSet<_>| match program.functions.is_empty() {
        true => !printed.is_disjoint(compared),
        false => !printed.is_empty() && !compared.is_empty(),
    };
    meet(&printed, &compared) || meet(&printed, &compared_last) || meet(&printed_last, &compared_last)
}

/// Returns the arrays whose elements are printed, searched or formatted, and those whose elements are compared or copied.
fn printed_and_compared(program: &Program) -> (BTreeSet<&str>, BTreeSet<&str>) {
    fn arrays<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> impl Iterator<Item = &'a str> {
        exprs.into_iter().filter_map(array_of)
    }
    let (mut printed, mut compared) = (BTreeSet::new(), BTreeSet::new());
    every_statement(program, &mut |statement| match statement {
        Statement::Print(args, _) | Statement::Printf(args, _) => printed.extend(arrays(args)),
        Statement::Return(Some(value)) | Statement::Switch(value, _) => compared.extend(arrays([value])),
        _ => {}
    });
    every_expr(program, &mut |expr| match expr {
        Expr::Builtin(
            Builtin::Index
            | Builtin::Sprintf
            | Builtin::Sub
            | Builtin::Gsub
            | Builtin::Gensub
            | Builtin::Match
            | Builtin::Split,
            args,
        ) => printed.extend(arrays(args)),
        Expr::Match { regex, .. } => printed.extend(arrays([&**regex])),
        // Beside a string, an element that was not set is the empty string anyway.
        Expr::Compare(_, left, right)
            if !matches!((&**left, &**right), (Expr::Text(_), _) | (_, Expr::Text(_))) =>
        {
            compared.extend(arrays([&**left, &**right]));
        }
        Expr::Assign(_, value) => compared.extend(arrays([&**value])),
        Expr::If(_, yes, no) => {
            // The choice may be printed, and it may be compared.
            printed.extend(arrays([&**yes, &**no]));
            compared.extend(arrays([&**yes, &**no]));
        }
        _ => {}
    });
    (printed, compared)
}

/// Returns the input for which the patterns of this program match as gawk's do, where strings are of characters.
pub(super) fn judges(compiled: &Compiled) -> Judges {
    let limits = compiled.code.limits.gawk;
    let separators = compiled.separators.iter().chain([&compiled.code.fields]);
    let of_separators = separators.map(|separator| limits.judges_of_separator(separator));
    let of_patterns = compiled.patterns.iter().map(|pattern| limits.judges(pattern));
    of_patterns.chain(of_separators).max().unwrap_or(Judges::AnyBytes)
}

/// Whether it counts, cuts or changes characters.
pub(super) fn counts_characters(program: &Program) -> bool {
    let of_expr = |expr: &Expr| match expr {
        Expr::LengthAlone => true,
        Expr::Builtin(Builtin::Sprintf, args) => pads(args),
        Expr::Builtin(builtin, _) => matches!(
            builtin,
            Builtin::Length
                | Builtin::Substr
                | Builtin::Index
                | Builtin::Match
                | Builtin::ToLower
                | Builtin::ToUpper
        ),
        _ => false,
    };
    let of_statement = |statement: &Statement| matches!(statement, Statement::Printf(args, _) if pads(args));
    any_expr(program, of_expr) || any_statement(program, of_statement)
}

/// Whether a format has more for strings than a plain `%s`.
fn pads(args: &[Expr]) -> bool {
    let Some(Expr::Text(text)) = args.first() else { return true };
    let Ok(pieces) = format::parse(text) else { return true };
    pieces.iter().any(|piece| match piece {
        Piece::Text(_) => false,
        Piece::Conversion(conversion) => match conversion.what {
            b's' => !conversion.is_plain(),
            what => what == b'c',
        },
    })
}
