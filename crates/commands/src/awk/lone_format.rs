//! `printf $1`: a format that is made while the program runs, without arguments, as people write it for text.
//!
//! Both awks print it as it is, except for `%%`, as long as it asks for nothing. Where it asks for an argument they end with
//! a message: mawk at any other `%`, having printed what stands before it; gawk at a complete conversion, having printed
//! nothing, while it prints what is none as it is.

use crate::{Accept, Declined};

use super::Dialect;
use super::code::{Do, Get, LValue, OFS, is_still};
use super::machine::{Machine, Ran, Stop};
use super::rules;
use super::tree::{Builtin, Expr, Program};
use super::visit::any_expr;

/// Whether a format without arguments may ask for one.
pub(super) fn may_ask(args: &[Expr]) -> bool {
    fn is_known(expr: &Expr) -> bool {
        match expr.bare() {
            Expr::Text(_) => true,
            Expr::Concat(left, right) => is_known(left) && is_known(right),
            Expr::If(_, yes, no) => is_known(yes) && is_known(no),
            _ => false,
        }
    }
    matches!(args, [format] if !is_known(format))
}

/// Returns the statement that prints `format`, with whether a called function may print first.
///
/// # Errors
/// Declines it for awks that were not compared.
pub(super) fn statement(format: Get, calls: bool, dialect: Dialect, program: &Program) -> Accept<Do> {
    let is_field = matches!(format, Get::Of(LValue::Field(_) | LValue::FieldAt(_)));
    if dialect.is_gawk() && is_field && any_expr(program, changes_record) {
        return Declined::because(
            "a field as a format, beside changes of fields: gawk's message shows what lies behind it",
        );
    }
    match dialect {
        Dialect::Portable | Dialect::OneTrue { .. } => {
            Declined::because("a format that is made while the program runs")
        }
        Dialect::Mawk { .. } | Dialect::Gawk { .. } => Ok(Do::PrintFormat(format, calls)),
    }
}

fn changes_record(expr: &Expr) -> bool {
    let is_record =
        |place: &Expr| matches!(place.bare(), Expr::Field(_)) || *place.bare() == Expr::Name("NF".to_owned());
    expr.changed_place().is_some_and(is_record)
        || matches!(expr, Expr::Builtin(Builtin::Sub | Builtin::Gsub, args) if args.len() == 2)
}

/// What a format asks for that is not there.
#[derive(Debug, PartialEq, Eq)]
enum Lacking {
    /// An argument, at this offset.
    Argument(usize),
    /// The argument with this number.
    Numbered(u64),
    /// The argument before the first.
    NumberedZero,
    /// A number of an argument in the place of a precision.
    NumberedPrecision,
    /// The `$` behind the number of a width.
    NumberedWidth,
}

impl Lacking {
    fn in_gawk(&self, format: &[u8]) -> Vec<u8> {
        match self {
            Lacking::Argument(at) => {
                let shown = &format[..memchr::memchr(0, format).unwrap_or(format.len())];
                let mark = format!("'\n\t{}^ ran out for this one", " ".repeat(*at));
                [b"not enough arguments to satisfy format string\n\t`", shown, mark.as_bytes()].concat()
            }
            Lacking::Numbered(number) => {
                format!("argument index {number} greater than total number of supplied arguments").into()
            }
            Lacking::NumberedZero => b"argument index with `$' must be > 0".to_vec(),
            Lacking::NumberedPrecision => b"`$' not permitted after period in format".to_vec(),
            Lacking::NumberedWidth => b"no `$' supplied for positional field width or precision".to_vec(),
        }
    }
}

/// Appends what gawk makes of a format without arguments.
fn append_as_gawk(format: &[u8], out: &mut Vec<u8>) -> Result<(), Lacking> {
    let (mut printed, mut at) = (0, 0);
    while let Some(next) = memchr::memchr(b'%', &format[at..]) {
        out.extend_from_slice(&format[printed..at + next]);
        printed = at + next;
        at = printed + 1;
        if let Some(end) = end_of_percent(format, &mut at)? {
            out.push(b'%');
            printed = end;
        }
    }
    out.extend_from_slice(&format[printed..]);
    Ok(())
}

/// Where a number in a conversion belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Width,
    Precision,
    Over,
}

/// Reads the conversion behind a percent sign, as far as gawk does. Returns its end if it is `%%`, flags and sizes included.
fn end_of_percent(format: &[u8], at: &mut usize) -> Result<Option<usize>, Lacking> {
    let is_5_3 = rules::is_gawk_5_3();
    let (mut part, mut number, mut sizes) = (Part::Width, 0u64, [false; 3]);
    while let Some(&byte) = format.get(*at) {
        *at += 1;
        match byte {
            b'%' => return Ok(Some(*at)),
            b'0'..=b'9' if part == Part::Over => return Ok(None),
            b'0'..=b'9' => {
                number = u64::from(byte - b'0');
                while let Some(digit) = format.get(*at).filter(|byte| byte.is_ascii_digit()) {
                    number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
                    *at += 1;
                }
                if part == Part::Precision {
                    part = Part::Over;
                }
            }
            b'$' if part != Part::Width && !is_5_3 => return Err(Lacking::NumberedPrecision),
            b'$' if number == 0 => return Err(Lacking::NumberedZero),
            b'$' => return Err(Lacking::Numbered(number)),
            b'*' if part == Part::Over => return Ok(None),
            b'*' => return Err(star(format, *at)),
            b' ' | b'+' | b'-' | b'#' | b'\'' if part == Part::Width => {}
            b'-' if part == Part::Precision => {}
            b'.' if part == Part::Width => part = Part::Precision,
            b'l' | b'L' | b'h' => {
                let seen = &mut sizes[usize::from(byte == b'L') + 2 * usize::from(byte == b'h')];
                if std::mem::replace(seen, true) {
                    return Ok(None);
                }
            }
            b'P' | 0xff => {}
            b'j' | b't' | b'z' if !rules::is_gawk_5_1() => {}
            b'D' | b'H' | b'w' if is_5_3 => {}
            b'C' | b'S' if is_5_3 => return Err(Lacking::Argument(*at - 1)),
            b'c' | b's' | b'd' | b'i' | b'o' | b'x' | b'X' | b'u' | b'a' | b'A' | b'e' | b'E' | b'f'
            | b'F' | b'g' | b'G' => return Err(Lacking::Argument(*at - 1)),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns what `*` lacks; `at` is behind it.
fn star(format: &[u8], at: usize) -> Lacking {
    let digits = format[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    match format.get(at + digits) {
        _ if digits == 0 => Lacking::Argument(at - 1),
        Some(b'$') => Lacking::Argument(at + digits),
        _ => Lacking::NumberedWidth,
    }
}

/// Appends what mawk makes of a format without arguments. Returns whether it asks for one.
fn append_as_mawk(format: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'%', &format[at..]) {
        out.extend_from_slice(&format[at..at + next]);
        at += next + 1;
        if format.get(at) != Some(&b'%') {
            return true;
        }
        out.push(b'%');
        at += 1;
    }
    out.extend_from_slice(&format[at..]);
    false
}

impl Machine {
    /// Prints a format that has no arguments.
    pub(super) fn print_format(&mut self, format: &Get) -> Ran<()> {
        // What a called function prints comes first.
        let text = self.text(format)?;
        let start = self.out.len();
        let printed = if rules::is_gawk() {
            append_as_gawk(&text, &mut self.out).map_err(|lacking| {
                self.out.truncate(start);
                self.lacks_in_gawk(format, &lacking, &text)
            })
        } else {
            let seen = &text[..memchr::memchr(0, &text).unwrap_or(text.len())];
            if append_as_mawk(seen, &mut self.out) { Err(self.lacks_in_mawk(seen)) } else { Ok(()) }
        };
        self.give_back(text);
        printed
    }

    fn lacks_in_gawk(&mut self, format: &Get, lacking: &Lacking, text: &[u8]) -> Stop {
        let field = match format {
            Get::Of(LValue::Field(field)) => Some(*field),
            Get::Of(LValue::FieldAt(index)) if is_still(index) => {
                self.number(index).ok().map(|number| number as usize)
            }
            _ => None,
        };
        let shown = match field.filter(|field| *field > 0) {
            // It shows all that lies in memory up to a NUL.
            Some(field) => self.record.text_from_field(field, &self.globals[OFS]),
            None => text.to_vec(),
        };
        self.fatal_in_gawk(&lacking.in_gawk(&shown))
    }

    fn lacks_in_mawk(&mut self, format: &[u8]) -> Stop {
        let said = [b"run time error: not enough arguments passed to printf(\"", format, b"\")"].concat();
        self.fatal_in_mawk(&said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_gawk(format: &str) -> Result<String, Lacking> {
        let mut out = Vec::new();
        append_as_gawk(format.as_bytes(), &mut out).map(|()| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn gawk_prints_what_asks_for_nothing() {
        for (format, printed) in [
            ("50%", "50%"),
            ("a%%b%", "a%b%"),
            ("%5%x", "%x"),
            ("% %", "%"),
            ("%y%q", "%y%q"),
            ("%lld", "%lld"),
            ("%.3.d", "%.3.d"),
            ("50%, x", "50%, x"),
        ] {
            assert_eq!(in_gawk(format).as_deref(), Ok(printed), "{format}");
        }
    }

    #[test]
    fn gawk_asks_where_a_conversion_is_complete() {
        assert_eq!(in_gawk("100% sure"), Err(Lacking::Argument(5)));
        assert_eq!(in_gawk("%q%d"), Err(Lacking::Argument(3)));
        assert_eq!(in_gawk("%*d"), Err(Lacking::Argument(1)));
        assert_eq!(in_gawk("%1$s"), Err(Lacking::Numbered(1)));
        assert_eq!(in_gawk("%.1$s"), Err(Lacking::NumberedPrecision));
    }

    #[test]
    fn mawk_asks_at_any_single_percent_sign() {
        let mut out = Vec::new();
        assert!(append_as_mawk(b"a%%b% c", &mut out));
        assert_eq!(out, b"a%b");
    }
}
