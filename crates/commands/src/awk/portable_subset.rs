//! The subset of programs for versions that were not compared where all awks agree: each record is independent, the
//! only numbers are lengths and counts, and every awk parses the expressions alike. Anything not listed is
//! declined.

use crate::{Accept, Charset, Declined};

use super::arguments::Line;
use super::tree::{Builtin, Expr, Order, Pattern, Program, Statement};

/// Declines what may differ from mawk.
pub(super) fn check(program: &Program, line: &Line, charset: Charset) -> Accept<()> {
    // In UTF-8 the one true awk converts what it maps, and ends at an invalid sequence.
    let look = Look { bytes: charset == Charset::C };
    if !program.end.is_empty() || !program.functions.is_empty() {
        return unsure("END, or functions");
    }
    if line.script.is_some() || line.variables.iter().any(|(name, value)| !is_separator(name, value)) {
        return unsure("-f, or -v");
    }
    if line.fs.as_ref().is_some_and(|fs| !is_separator("FS", fs)) {
        return unsure("this -F");
    }
    for statement in program.begin.iter().flatten() {
        let plain = matches!(statement, Statement::Expr(expr) if sets_separators(expr));
        if !plain {
            return unsure("what BEGIN does");
        }
    }
    for rule in &program.rules {
        match &rule.pattern {
            Pattern::Always => {}
            Pattern::When(test) => look.test(test)?,
            Pattern::Range(..) => return unsure("a range"),
        }
        rule.action.iter().try_for_each(|statement| look.statement(statement))?;
    }
    Ok(())
}

/// Declines expressions that do not match characters as they match their bytes.
pub(super) fn check_regex(text: &[u8]) -> Accept<()> {
    Look { bytes: false }.regex(text)
}

fn unsure<T>(what: &str) -> Accept<T> {
    Declined::because(format!("{what}, where the awks were not compared"))
}

fn is_separator(name: &str, value: &[u8]) -> bool {
    let plain = |byte: &u8| {
        matches!(byte, b',' | b':' | b';' | b'|' | b'/' | b'=' | b'-' | b'_' | b'#' | b'@' | b'%' | b'\t')
    };
    match name {
        "FS" => matches!(value, [byte] if plain(byte) || *byte == b' '),
        "OFS" => value.iter().all(|byte| plain(byte) || *byte == b' ' || byte.is_ascii_alphanumeric()),
        _ => false,
    }
}

/// Recognises `FS = OFS = ","`.
fn sets_separators(expr: &Expr) -> bool {
    match expr {
        Expr::Assign(place, value) => match (&**place, &**value) {
            (Expr::Name(name), Expr::Text(text)) => is_separator(name, text),
            (Expr::Name(name), inner @ Expr::Assign(_, _)) => {
                let mut last = inner;
                while let Expr::Assign(_, value) = last {
                    last = value;
                }
                matches!(last, Expr::Text(text) if is_separator(name, text)) && sets_separators(inner)
            }
            _ => false,
        },
        _ => false,
    }
}

/// How far this awk is like mawk.
struct Look {
    /// Whether characters are bytes.
    bytes: bool,
}

impl Look {
    fn statement(&self, statement: &Statement) -> Accept<()> {
        match statement {
            Statement::Print(args, None) => args.iter().try_for_each(|arg| self.printed(arg)),
            Statement::Block(inner) => inner.iter().try_for_each(|inner| self.statement(inner)),
            Statement::If(test, yes, no) => {
                self.test(test)?;
                self.statement(yes)?;
                no.as_deref().map_or(Ok(()), |no| self.statement(no))
            }
            Statement::Next => Ok(()),
            Statement::Expr(Expr::Assign(place, value)) if is_field(place, 1) => self.text(value),
            Statement::Expr(Expr::Builtin(Builtin::Sub | Builtin::Gsub, args)) => self.substitution(args),
            Statement::Expr(expr) => self.test(expr),
            _ => unsure("a statement of this kind"),
        }
    }

    fn substitution(&self, args: &[Expr]) -> Accept<()> {
        let [Expr::Regex(regex), Expr::Text(by), place @ ..] = args else {
            return unsure("what is replaced");
        };
        let plain = !by.iter().any(|byte| matches!(byte, b'&' | b'\\' | b'\n' | 0));
        // Awks disagree about empty matches.
        let something = !regex.iter().any(|byte| matches!(byte, b'*' | b'?' | b'|'));
        // gawk creates a field that it searches in vain.
        let in_record = |place: &Expr| matches!(place, Expr::Field(index) if **index == Expr::Number(0.0));
        if !plain || !something || !place.iter().all(in_record) {
            return unsure("what is replaced");
        }
        self.regex(regex)
    }

    /// Accepts what prints unchanged, or a small integer.
    fn printed(&self, expr: &Expr) -> Accept<()> {
        match expr {
            Expr::Number(number) if number.fract() == 0.0 && (0.0..1e9).contains(number) => Ok(()),
            expr if self.is_count(expr) => Ok(()),
            expr => self.text(expr),
        }
    }

    /// Accepts what is never a number.
    fn text(&self, expr: &Expr) -> Accept<()> {
        match expr {
            Expr::Text(text) if !text.contains(&0) => Ok(()),
            Expr::Field(_) if is_field(expr, 0) || is_last(expr) => Ok(()),
            Expr::Concat(left, right) => {
                self.text(left)?;
                self.text(right)
            }
            Expr::Group(inner) if inner.len() == 1 => self.text(&inner[0]),
            Expr::If(test, yes, no) => {
                self.test(test)?;
                self.text(yes)?;
                self.text(no)
            }
            Expr::Builtin(Builtin::ToLower | Builtin::ToUpper, args) if self.bytes => self.text(&args[0]),
            Expr::Builtin(Builtin::Substr, args) if self.bytes => {
                let whole = |expr: &Expr| matches!(expr, Expr::Number(number) if number.fract() == 0.0 && (1.0..1e6).contains(number));
                if !args[1..].iter().all(whole) {
                    return unsure("what substr cuts out");
                }
                self.text(&args[0])
            }
            _ => unsure("an expression of this kind"),
        }
    }

    /// Whether it is NF, or a length.
    fn is_count(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Name(name) => name == "NF",
            Expr::LengthAlone => self.bytes,
            Expr::Builtin(Builtin::Length, args) => self.bytes && args.iter().all(|arg| is_field(arg, 0)),
            Expr::Group(inner) => inner.len() == 1 && self.is_count(&inner[0]),
            _ => false,
        }
    }

    fn test(&self, expr: &Expr) -> Accept<()> {
        let whole = |expr: &Expr| matches!(expr, Expr::Number(number) if number.fract() == 0.0);
        match expr {
            Expr::Number(_) => Ok(()),
            expr if self.is_count(expr) => Ok(()),
            Expr::Regex(regex) => self.regex(regex),
            Expr::Match { text, regex, .. } => match &**regex {
                Expr::Regex(regex) if is_field(text, 0) || is_last(text) => self.regex(regex),
                _ => unsure("an expression that is no constant"),
            },
            Expr::Compare(Order::Equal | Order::NotEqual, left, right)
                if matches!(**right, Expr::Text(_)) =>
            {
                if is_field(left, 0) || is_last(left) {
                    Ok(())
                } else {
                    unsure("what is compared")
                }
            }
            Expr::Compare(_, left, right)
                if self.is_count(left) && (whole(right) || self.is_count(right)) =>
            {
                Ok(())
            }
            Expr::And(left, right) | Expr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            Expr::Not(inner) => self.test(inner),
            Expr::Group(inner) if inner.len() == 1 => self.test(&inner[0]),
            _ => unsure("what is tested"),
        }
    }

    /// Accepts characters, sets of letters and digits, and repetitions of one of them: no braces, groups or
    /// classes.
    fn regex(&self, text: &[u8]) -> Accept<()> {
        let literal = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b' ' | b'_'
                        | b'-'
                        | b','
                        | b':'
                        | b'='
                        | b'@'
                        | b'#'
                        | b'%'
                        | b'&'
                        | b';'
                        | b'<'
                        | b'>'
                        | b'!'
                        | b'~'
                        | b'"'
                        | b'\''
                )
        };
        let mut at = usize::from(text.first() == Some(&b'^'));
        let mut atom = false;
        while let Some(&byte) = text.get(at) {
            at += 1;
            match byte {
                b'$' if at == text.len() && atom => {}
                b'*' | b'+' | b'?' if atom => {
                    atom = false;
                    // Awks disagree about the operand of a second one.
                    if matches!(text.get(at), Some(b'*' | b'+' | b'?')) {
                        return unsure("an expression of this kind");
                    }
                    continue;
                }
                b'.' if self.bytes => {}
                b'\\'
                    if matches!(
                        text.get(at),
                        Some(b'.' | b'/' | b'$' | b'^' | b'*' | b'+' | b'?' | b'|' | b'(' | b')' | b'[')
                    ) =>
                {
                    at += 1
                }
                b'[' => {
                    let Some(length) = text[at..].iter().position(|byte| *byte == b']') else {
                        return unsure("an expression of this kind");
                    };
                    let (negated, members) = match &text[at..at + length] {
                        [b'^', rest @ ..] => (true, rest),
                        all => (false, all),
                    };
                    let plain = members.iter().all(|byte| {
                        byte.is_ascii_alphanumeric()
                            || matches!(byte, b'-' | b',' | b'.' | b' ' | b':' | b'_')
                    });
                    if !plain || members.is_empty() || negated && !self.bytes {
                        return unsure("a bracket of this kind");
                    }
                    at += length + 1;
                }
                b'|' if atom
                    && at < text.len()
                    && !matches!(text[at], b'*' | b'+' | b'?' | b'|' | b'^' | b'$') =>
                {
                    atom = false;
                    continue;
                }
                byte if literal(byte) => {}
                _ => return unsure("an expression of this kind"),
            }
            atom = true;
        }
        Ok(())
    }
}

/// Whether it is a field with a constant number, at least `least`.
fn is_field(expr: &Expr, least: usize) -> bool {
    let Expr::Field(index) = expr else { return false };
    matches!(&**index, Expr::Number(number) if number.fract() == 0.0 && (least as f64..=100.0).contains(number))
}

/// Whether it is `$NF`.
fn is_last(expr: &Expr) -> bool {
    matches!(expr, Expr::Field(index) if matches!(&**index, Expr::Name(name) if name == "NF"))
}
