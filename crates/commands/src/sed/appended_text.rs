//! The text of `a`, `i` and `c`.
//!
//! Two forms: `a text` on one line, optionally after blanks and one backslash, and POSIX's `a\` with the text
//! on the next lines. In both, a backslash at the end of a line continues the text.

use super::white_space::is_blank;
use crate::{Accept, Declined};

/// Parses the text after the command and blanks. Returns how much of `rest` it takes, and the output. In a
/// script of several `pieces`, the next piece continues a text.
pub(super) fn read(rest: &[u8], pieces: bool) -> Accept<(usize, Vec<u8>)> {
    let mut at = 0;
    if rest.first() == Some(&b'\\') {
        at += 1;
        let blanks = rest[at..].iter().take_while(|byte| is_blank(**byte)).count();
        match rest.get(at + blanks) {
            // sed 4.9 ignores blanks before the newline, other versions do not.
            Some(b'\n') if blanks == 0 => at += 1,
            Some(b'\n') => return Declined::because("blanks behind the backslash of a text"),
            // A backslash on the same line keeps the blanks after it, and is not interpreted further.
            Some(byte) if *byte != b'\\' => {}
            _ => return Declined::because("a text that is empty or begins with backslashes"),
        }
        if rest.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric()) && rest[at - 1] == b'\\' {
            // Its first character is not an escape.
            return said(rest, at + 1, vec![rest[at]], pieces);
        }
    }
    said(rest, at, Vec::new(), pieces)
}

/// Parses the rest of the text from `at` on, after `made`.
fn said(rest: &[u8], mut at: usize, mut made: Vec<u8>, pieces: bool) -> Accept<(usize, Vec<u8>)> {
    while let Some(&byte) = rest.get(at).filter(|byte| **byte != b'\n') {
        at += 1;
        if byte != b'\\' {
            made.push(byte);
            continue;
        }
        made.push(match rest.get(at) {
            Some(b'\n') if pieces => return Declined::because("a text that goes on, in several pieces"),
            Some(b't') if !made.is_empty() => b'\t',
            Some(&quoted) if matches!(quoted, b'\n' | b' ') || quoted.is_ascii_punctuation() => quoted,
            _ => return Declined::because("an escape in a text"),
        });
        at += 1;
    }
    if made.is_empty() {
        return Declined::because("a text that is empty");
    }
    made.push(b'\n');
    Ok((at, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_all_their_forms() {
        for (rest, made) in [
            (&b"text\np"[..], "text\n"),
            (b"\\\ntext", "text\n"),
            (b"\\\n  text", "  text\n"),
            (b"\\  text", "  text\n"),
            (b"\\text", "text\n"),
            (b"a\\tb", "a\tb\n"),
            (b"one\\\ntwo\\\n three\np", "one\ntwo\n three\n"),
            (b"a \\\\ b;p}", "a \\ b;p}\n"),
        ] {
            let (length, text) = read(rest, false).expect("a text");
            assert_eq!(text, made.as_bytes(), "{}", rest.escape_ascii());
            assert!(matches!(rest.get(length), None | Some(b'\n')));
        }
        for rest in [&b""[..], b"\n", b"\\", b"\\\n", b"\\\\x", b"a\\x41", b"\\ \n x", b"a\\"] {
            assert!(read(rest, false).is_err(), "{}", rest.escape_ascii());
        }
    }
}
