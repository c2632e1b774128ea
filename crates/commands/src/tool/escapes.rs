//! Backslash escapes of bash's `echo -e` and `printf`. Each of the three contexts has its own rules.

use crate::{Accept, Charset, Declined};

/// The context of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeContext {
    /// In an argument of `echo -e`.
    Echo,
    /// In an argument of printf's `%b`.
    Argument,
    /// In printf's format.
    Format,
}

/// The result of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// It was printed; this many bytes after the backslash belong to it.
    Printed(usize),
    /// `\c`: nothing more is printed.
    Stop,
}

/// Expands all escapes of `text`, appending to `out`. Returns whether printing stops at a `\c`.
pub(crate) fn expand(text: &[u8], place: EscapeContext, charset: Charset, out: &mut Vec<u8>) -> Accept<bool> {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match escape(rest, place, charset, out)? {
            Escape::Printed(length) => rest = &rest[length..],
            Escape::Stop => return Ok(true),
        }
    }
    out.extend_from_slice(rest);
    Ok(false)
}

/// Expands the escape whose backslash precedes `rest`.
pub(crate) fn escape(
    rest: &[u8],
    place: EscapeContext,
    charset: Charset,
    out: &mut Vec<u8>,
) -> Accept<Escape> {
    let Some(&letter) = rest.first() else {
        out.push(b'\\');
        return Ok(Escape::Printed(0));
    };
    let plain = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' | b'E' => 0x1b,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' => b'\\',
        b'\'' | b'"' | b'?' if place == EscapeContext::Format => letter,
        b'c' if place != EscapeContext::Format => return Ok(Escape::Stop),
        b'0'..=b'7' if letter == b'0' || place != EscapeContext::Echo => return Ok(octal(rest, place, out)),
        b'x' | b'u' | b'U' => return hexadecimal(rest, place, charset, out),
        _ => {
            // The letter is read again as if nothing preceded it: in a format it may be a `%`.
            out.push(b'\\');
            return Ok(Escape::Printed(0));
        }
    };
    out.push(plain);
    Ok(Escape::Printed(1))
}

/// Expands up to three octal digits; outside of a format a leading 0 does not count.
fn octal(rest: &[u8], place: EscapeContext, out: &mut Vec<u8>) -> Escape {
    let most = if rest[0] == b'0' && place != EscapeContext::Format { 4 } else { 3 };
    let digits = rest.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (length, value) =
        digits.fold((0, 0u32), |(length, value), digit| (length + 1, value * 8 + u32::from(digit - b'0')));
    out.push(value as u8);
    Escape::Printed(length)
}

/// Expands `\xHH` to a byte, `\uHHHH` and `\UHHHHHHHH` to characters.
fn hexadecimal(rest: &[u8], place: EscapeContext, charset: Charset, out: &mut Vec<u8>) -> Accept<Escape> {
    let most = match rest[0] {
        b'x' => 2,
        b'u' => 4,
        _ => 8,
    };
    let digits: Vec<u32> =
        rest[1..].iter().take(most).map_while(|&byte| char::from(byte).to_digit(16)).collect();
    if digits.is_empty() {
        if place != EscapeContext::Echo {
            return Declined::because("an escape without its digits");
        }
        out.push(b'\\');
        return Ok(Escape::Printed(0));
    }
    let value = digits.iter().fold(0u32, |value, digit| value << 4 | digit);
    match char::from_u32(value) {
        _ if rest[0] == b'x' || value < 0x80 => out.push(value as u8),
        Some(character) if charset == Charset::Utf8 => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        _ => return Declined::because("a character that depends on the locale"),
    }
    Ok(Escape::Printed(1 + digits.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, place: EscapeContext) -> (String, bool) {
        let mut out = Vec::new();
        let stops = expand(text.as_bytes(), place, Charset::Utf8, &mut out).unwrap();
        (out.escape_ascii().to_string(), stops)
    }

    #[test]
    fn each_place_has_its_rules() {
        let text = r#"\0101\101\"\8\"#;
        assert_eq!(read(text, EscapeContext::Echo), (r#"A\\101\\\"\\8\\"#.into(), false));
        assert_eq!(read(text, EscapeContext::Argument), (r#"AA\\\"\\8\\"#.into(), false));
        assert_eq!(read(text, EscapeContext::Format), (r#"\x081A\"\\8\\"#.into(), false));
        assert_eq!(read(r"a\cb", EscapeContext::Echo), ("a".into(), true));
        assert_eq!(read(r"a\cb", EscapeContext::Format), (r"a\\cb".into(), false));
    }

    #[test]
    fn characters_depend_on_the_locale() {
        assert_eq!(read(r"\x41g\u41\U000000e9", EscapeContext::Echo).0, r"AgA\xc3\xa9");
        assert_eq!(read(r"\xg\u", EscapeContext::Echo).0, r"\\xg\\u");
        let mut out = Vec::new();
        for (text, charset) in [(&br"\u00e9"[..], Charset::C), (br"\ud800", Charset::Utf8)] {
            let declined = expand(text, EscapeContext::Echo, charset, &mut out).unwrap_err();
            assert_eq!(declined.reason, "a character that depends on the locale");
        }
        assert!(expand(br"\x", EscapeContext::Format, Charset::C, &mut out).is_err());
    }
}
