//! `gensub`, gawk's own substitution: it returns a string, takes groups of the match, and replaces all matches or the n-th one.

use crate::{Accept, Declined};

use super::code::Get;
use super::compile::Compiler;
use super::machine::{Machine, Ran};
use super::pattern::Pattern;
use super::rules;
use super::tree::{Expr, Program};
use super::visit::any_expr;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Gensub {
    /// The index of the pattern.
    pattern: usize,
    by: By,
    which: Which,
    text: Get,
}

/// The matches that are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    /// The one with this number, from 1.
    One(u64),
}

/// The replacement.
#[derive(Clone, Debug)]
enum By {
    /// A constant, already parsed.
    Fixed(Vec<GroupPart>),
    Made(Get),
}

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GroupPart {
    Text(Vec<u8>),
    /// A group; 0 is the match.
    Group(usize),
}

/// Declines calls at which gawk warns, or takes more than lies in a string.
pub(super) fn check(args: &[Expr]) -> Accept<()> {
    if which(&args[2]).is_none() {
        return Declined::because("gensub whose third argument is no constant \"g\" and no constant number");
    }
    if !ends_without_backslash(&args[1]) {
        return Declined::because("gensub with a replacement that may end with a backslash");
    }
    let is_kept = |target: &Expr| matches!(target.bare(), Expr::Name(_) | Expr::Field(_) | Expr::Element(..));
    if args.get(3).is_some_and(|target| !target.is_text() && !is_kept(target)) {
        return Declined::because("gensub in what may be a computed number, which gawk may free too early");
    }
    Ok(())
}

/// Returns the matches that are replaced, if the argument is a constant at which gawk does not warn.
fn which(how: &Expr) -> Option<Which> {
    let of_number = |number: f64| (number > 0.0 && number < 1e15).then(|| Which::One(number.max(1.0) as u64));
    match how.bare() {
        Expr::Text(text) if matches!(text.first(), Some(b'g' | b'G')) => Some(Which::All),
        Expr::Text(text) if text.len() < 15 && text.iter().all(u8::is_ascii_digit) => {
            of_number(String::from_utf8_lossy(text).parse().ok()?)
        }
        Expr::Number(number) => of_number(*number),
        _ => None,
    }
}

/// Whether a replacement cannot end with a backslash: gawk would read beyond its end.
fn ends_without_backslash(by: &Expr) -> bool {
    match by.bare() {
        Expr::Text(text) => replacement(text).is_some(),
        // What a backslash at the end of the first part escapes is in the second.
        Expr::Concat(_, last) => match last.bare() {
            Expr::Text(text) => text.last().is_some_and(|byte| *byte != b'\\'),
            last => is_number(last),
        },
        by => is_number(by),
    }
}

/// Whether it is a number, without a backslash as a string.
fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Number(_) | Expr::Arith(..) | Expr::LengthAlone)
        || matches!(expr, Expr::Name(name) if matches!(name.as_str(), "NR" | "NF" | "FNR"))
}

/// Parses a replacement: `&` and `\0` are the match, `\1` to `\9` its groups, and a backslash before anything else is
/// dropped. `None` if it ends with such a backslash.
fn replacement(text: &[u8]) -> Option<Vec<GroupPart>> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        let group = match byte {
            b'&' => 0,
            b'\\' => match bytes.next()? {
                digit @ b'0'..=b'9' => usize::from(digit - b'0'),
                other => {
                    plain.push(other);
                    continue;
                }
            },
            byte => {
                plain.push(byte);
                continue;
            }
        };
        if !plain.is_empty() {
            parts.push(GroupPart::Text(std::mem::take(&mut plain)));
        }
        parts.push(GroupPart::Group(group));
    }
    if !plain.is_empty() {
        parts.push(GroupPart::Text(plain));
    }
    Some(parts)
}

/// Declines programs where it shows whether the result is a number. Without a match gawk 5.1 returns the target as it is, and
/// later versions do so only if it is input that was not used as a number before.
pub(super) fn check_types(program: &Program) -> Accept<()> {
    let is_it = |expr: &Expr| matches!(expr, Expr::Builtin(super::tree::Builtin::Gensub, _));
    if !any_expr(program, is_it) {
        return Ok(());
    }
    if super::loop_keys::type_of_result_shows(program) {
        return Declined::because(
            "the result of gensub is compared or tested, which gawk may take for a number",
        );
    }
    if rules::is_gawk_5_1() && any_expr(program, |expr| returns_a_number(program, expr)) {
        return Declined::because("gensub in what may be a number, which gawk 5.1 returns as it is");
    }
    Ok(())
}

/// Whether gawk 5.1 may return a number that is none of the input: its value can have more digits than its string.
fn returns_a_number(program: &Program, expr: &Expr) -> bool {
    let Expr::Builtin(super::tree::Builtin::Gensub, args) = expr else { return false };
    let sets_a_field = |expr: &Expr| match expr {
        Expr::Assign(place, value) => matches!(**place, Expr::Field(_)) && !value.is_text(),
        Expr::Update(_, place, _) | Expr::Step { place, .. } => matches!(**place, Expr::Field(_)),
        _ => false,
    };
    match args.get(3).map(Expr::bare) {
        None | Some(Expr::Field(_)) => any_expr(program, sets_a_field),
        Some(target) => !target.is_text(),
    }
}

impl Compiler<'_> {
    /// Compiles a call.
    pub(super) fn gensub(&mut self, args: &[Expr]) -> Accept<Get> {
        let Some(which) = which(&args[2]) else {
            return Declined::because("gensub with an unusual argument");
        };
        let by = match self.known_text(&args[1]).and_then(|text| replacement(&text)) {
            Some(parts) => By::Fixed(parts),
            None => By::Made(self.get(&args[1])?),
        };
        let groups = match &by {
            By::Fixed(parts) => parts.iter().filter_map(GroupPart::group).collect::<Vec<_>>(),
            By::Made(_) => (1..=9).collect(),
        };
        let pattern = self.pattern_with_groups(&args[0], &groups)?;
        let text = match args.get(3) {
            Some(target) => self.get(target)?,
            None => Get::Of(super::code::LValue::Record),
        };
        Ok(Get::Gensub(Box::new(Gensub { pattern, by, which, text })))
    }
}

impl GroupPart {
    /// Returns the number of its group, if that is not the whole match.
    fn group(&self) -> Option<usize> {
        match self {
            GroupPart::Group(group @ 1..) => Some(*group),
            _ => None,
        }
    }
}

impl Machine {
    /// Appends the result of a call.
    pub(super) fn gensub(&mut self, call: &Gensub, out: &mut Vec<u8>) -> Ran<()> {
        let made;
        let parts: &[GroupPart] = match &call.by {
            By::Fixed(parts) => parts,
            By::Made(by) => {
                let by = self.text(by)?;
                // None ends with a backslash.
                made = replacement(&by).unwrap_or_default();
                self.give_back(by);
                &made
            }
        };
        let text = self.text(&call.text)?;
        substitute(&mut self.patterns[call.pattern], call.which, parts, &text, out);
        self.give_back(text);
        Ok(())
    }
}

/// Appends the text with matches replaced.
fn substitute(pattern: &mut Pattern, which: Which, parts: &[GroupPart], text: &[u8], out: &mut Vec<u8>) {
    // Up to which position the text was copied, and where the next match is searched.
    let (mut copied, mut at, mut count) = (0, 0, 0);
    let mut follows_match = false;
    while at <= text.len()
        && let Some((start, end)) = pattern.find(text, at..text.len())
    {
        count += 1;
        let is_wanted = match which {
            Which::All => true,
            Which::One(number) => number == count,
        };
        if start == end && start == at && follows_match {
            // Nothing, directly behind a match, is none.
            follows_match = false;
        } else if is_wanted {
            out.extend_from_slice(&text[copied..start]);
            write(pattern, parts, text, (start, end), out);
            copied = end;
            follows_match |= start < end;
        }
        if which == Which::One(count) {
            break;
        }
        at = if start == end { end + 1 } else { end };
    }
    out.extend_from_slice(&text[copied..]);
}

/// Appends the replacement of a match.
fn write(pattern: &mut Pattern, parts: &[GroupPart], text: &[u8], found: (usize, usize), out: &mut Vec<u8>) {
    let spans = pattern.groups_of(text, found);
    for part in parts {
        match part {
            GroupPart::Text(text) => out.extend_from_slice(text),
            GroupPart::Group(0) => out.extend_from_slice(&text[found.0..found.1]),
            GroupPart::Group(group) => {
                if let Some(Some((start, end))) = spans.get(*group) {
                    out.extend_from_slice(&text[*start..*end]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::awk::Dialect;
    use crate::awk::parse::parse;

    fn is_sure(text: &str) -> bool {
        let dialect = Dialect::Gawk { utf8: false, variant: rules::Variant::Gawk };
        parse(text.as_bytes(), dialect).is_ok_and(|program| check_types(&program).is_ok())
    }

    #[test]
    fn the_type_of_the_result_must_not_show() {
        for text in [
            r#"{ print gensub(/a/, "b", 1) }"#,
            r#"{ $2 = gensub(/(a)(b)/, "\\2\\1", "g", $2); print $2 + 1, $3 > 1 }"#,
            r#"{ x = gensub(/a/, $1 "b", "G"); if (x == "a" || x ~ /b/) print length(x) }"#,
            r#"{ if (gensub(/a/, "b", 2, $1 "") > x) print }"#,
        ] {
            assert!(is_sure(text), "{text}");
        }
        for text in [
            r#"{ print gensub(/a/, "b", 0) }"#,
            r#"{ print gensub(/a/, "b", h) }"#,
            r#"{ print gensub(/a/, $1, 1) }"#,
            r#"{ print gensub(/a/, "b\\", 1) }"#,
            r#"{ if (gensub(/a/, "b", 1, $1) > x) print }"#,
            r#"{ x = gensub(/a/, "b", 1, $1); if (x) print }"#,
            r#"{ $2 = gensub(/a/, "b", 1, $1); if ($2 > $1) print }"#,
            r#"gensub(/a/, "b", 1, $1)"#,
            r#"function f(x) { return x > 1 } { print f(gensub(/a/, "b", 1)) }"#,
        ] {
            assert!(!is_sure(text), "{text}");
        }
    }

    #[test]
    fn a_backslash_is_dropped_before_what_is_no_digit() {
        let text = |text: &str| GroupPart::Text(text.as_bytes().to_vec());
        assert_eq!(
            replacement(br"a\&b&\1\q\\\0"),
            Some(vec![
                text("a&b"),
                GroupPart::Group(0),
                GroupPart::Group(1),
                text("q\\"),
                GroupPart::Group(0)
            ])
        );
        assert_eq!(replacement(br"a\\\"), None);
    }
}
