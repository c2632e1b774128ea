//! The replacement of `s`: its syntax and its evaluation.

use super::script::{Case, Letters, ReplacementPart};
use crate::{Accept, Declined};

/// Parses a replacement whose delimiters and newlines are unquoted.
pub(super) fn parse(text: &[u8]) -> Accept<Vec<ReplacementPart>> {
    let mut parts = Vec::new();
    let mut part = ReplacementPart::default();
    // The case after the next piece.
    let mut lasting = Case::default();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        let group = match byte {
            b'&' => 0,
            b'\\' => {
                let Some(&escaped) = text.get(at) else { return Declined::because("a trailing backslash") };
                at += 1;
                match escaped {
                    b'0'..=b'9' => usize::from(escaped - b'0'),
                    b'L' | b'U' | b'E' | b'l' | b'u' => {
                        end_part(&mut parts, &mut part, lasting);
                        change_case(escaped, &mut part.case, &mut lasting);
                        continue;
                    }
                    _ => {
                        part.text.push(escape(escaped, text, &mut at)?);
                        continue;
                    }
                }
            }
            _ => {
                part.text.push(byte);
                continue;
            }
        };
        part.group = Some(group);
        end_part(&mut parts, &mut part, lasting);
    }
    end_part(&mut parts, &mut part, lasting);
    Ok(parts)
}

/// Ends a piece; the next has the lasting case. Drops an empty piece, even with a case change for its first
/// letter.
fn end_part(parts: &mut Vec<ReplacementPart>, part: &mut ReplacementPart, lasting: Case) {
    let done = std::mem::replace(part, ReplacementPart { case: lasting, ..ReplacementPart::default() });
    if !done.text.is_empty() || done.group.is_some() {
        parts.push(done);
    }
}

fn change_case(letter: u8, case: &mut Case, lasting: &mut Case) {
    match letter {
        b'u' | b'l' => {
            *lasting = *case;
            case.first = if letter == b'u' { Letters::Upper } else { Letters::Lower };
        }
        _ => {
            case.first = Letters::AsTheyAre;
            case.all = match letter {
                b'U' => Letters::Upper,
                b'L' => Letters::Lower,
                _ => Letters::AsTheyAre,
            };
            *lasting = *case;
        }
    }
}

/// Returns the byte of an escape. `at` is after its letter.
fn escape(letter: u8, text: &[u8], at: &mut usize) -> Accept<u8> {
    Ok(match letter {
        b'n' | b'\n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'f' => 0x0C,
        b'v' => 0x0B,
        b'a' => 0x07,
        b'x' => numbered(text, at, 16, 2)?,
        b'o' => numbered(text, at, 8, 3)?,
        b'd' => numbered(text, at, 10, 3)?,
        _ if letter.is_ascii_punctuation() => letter,
        _ => return Declined::because(format!("\\{} in a replacement", letter.escape_ascii())),
    })
}

fn numbered(text: &[u8], at: &mut usize, radix: u32, digits: usize) -> Accept<u8> {
    let mut value = 0;
    for _ in 0..digits {
        let digit = text.get(*at).and_then(|byte| char::from(*byte).to_digit(radix));
        let Some(digit) = digit else { return Declined::because("a numbered escape with too few digits") };
        value = value * radix + digit;
        *at += 1;
    }
    match u8::try_from(value) {
        Ok(byte) if byte.is_ascii_alphanumeric() || byte.is_ascii_control() && !matches!(byte, 0 | b'\n') => {
            Ok(byte)
        }
        _ => Declined::because("a numbered escape for a special or non-ASCII character"),
    }
}

/// Letters outside ASCII would have to change their case: in C, sed 4.9 changes their bytes. In UTF-8 it
/// stops at a NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAscii;

/// Appends the replacement of a match; `group(n)` is the text of a group.
pub(super) fn append<'a>(
    parts: &[ReplacementPart],
    group: impl Fn(usize) -> &'a [u8],
    out: &mut Vec<u8>,
) -> Result<(), NotAscii> {
    // A first-letter change that met an empty group waits for the next piece.
    let mut waiting = Letters::AsTheyAre;
    for part in parts {
        let mut case = part.case;
        if case.first == Letters::AsTheyAre {
            case.first = waiting;
        }
        waiting = Letters::AsTheyAre;
        if !part.text.is_empty() {
            append_changed(&part.text, case, out)?;
            case.first = Letters::AsTheyAre;
        }
        let Some(number) = part.group else { continue };
        let text = group(number);
        if text.is_empty() && part.case.first != Letters::AsTheyAre {
            waiting = case.first;
        }
        append_changed(text, case, out)?;
    }
    Ok(())
}

fn append_changed(text: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), NotAscii> {
    if case == Case::default() {
        out.extend_from_slice(text);
        return Ok(());
    }
    if !text.is_ascii() || text.contains(&0) {
        return Err(NotAscii);
    }
    let start = out.len();
    out.extend_from_slice(text);
    change(case.all, &mut out[start..]);
    let first = (start + 1).min(out.len());
    change(case.first, &mut out[start..first]);
    Ok(())
}

fn change(letters: Letters, text: &mut [u8]) {
    match letters {
        Letters::AsTheyAre => {}
        Letters::Upper => text.make_ascii_uppercase(),
        Letters::Lower => text.make_ascii_lowercase(),
    }
}
