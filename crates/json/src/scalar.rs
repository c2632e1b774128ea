//! Numbers and words (`true`, `false`, `null`): JSON values without quotes or brackets.

use crate::error::{Fault, Flaw, word_at};

/// The end of a number or a word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// It ends at this offset.
    Until(usize),
    /// It reaches the end of the text, and may continue.
    Open,
}

/// Whether this byte continues a number or a word: any byte but blanks, quotes, brackets, `:` and `,`.
#[inline(always)]
fn goes_on(byte: u8) -> bool {
    const ENDS: [bool; 256] = {
        let mut ends = [false; 256];
        let bytes = b" \t\n\r\"{}[]:,";
        let mut at = 0;
        while at < bytes.len() {
            ends[bytes[at] as usize] = true;
            at += 1;
        }
        ends
    };
    !ENDS[usize::from(byte)]
}

/// Reads the number or word at `at`. `whole`: nothing follows `text`.
#[inline(always)]
pub(crate) fn read(text: &[u8], at: usize, whole: bool) -> Result<Scalar, Flaw> {
    let end = match text[at] {
        b'-' | b'0'..=b'9' => number(text, at, whole)?,
        _ => word(text, at, whole)?,
    };
    let Some(end) = end else { return Ok(Scalar::Open) };
    match text.get(end) {
        None if whole => Ok(Scalar::Until(end)),
        None => Ok(Scalar::Open),
        Some(byte) if goes_on(*byte) => trailing(text, at, end, whole),
        Some(_) => Ok(Scalar::Until(end)),
    }
}

/// Whether the text is exactly one JSON number or word.
pub(crate) fn read_whole(text: &[u8]) -> bool {
    !text.is_empty() && read(text, 0, true) == Ok(Scalar::Until(text.len()))
}

#[cold]
fn trailing(text: &[u8], at: usize, end: usize, whole: bool) -> Result<Scalar, Flaw> {
    match text[at] {
        b'-' | b'0'..=b'9' if text[end - 1] == b'0' && text[end].is_ascii_digit() => {
            Err((at, Fault::Number("it begins with a needless 0")))
        }
        b'-' | b'0'..=b'9' => Err((end, Fault::Number("something stands behind it"))),
        _ => no_word(text, at, whole).map(|_| Scalar::Open),
    }
}

/// Returns the error for a word that is none of the three; `None` if its end is not there yet.
#[cold]
fn no_word(text: &[u8], at: usize, whole: bool) -> Result<Option<usize>, Flaw> {
    word_at(text, at, whole).map_or(Ok(None), |word| Err((at, Fault::Word(word))))
}

/// Reads a number (RFC 8259, section 6); `None` if the text ends within it.
#[inline(always)]
fn number(text: &[u8], start: usize, whole: bool) -> Result<Option<usize>, Flaw> {
    let digits = |mut at: usize| {
        while text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let lacking = |at: usize, reason| {
        if at == text.len() && !whole { Ok(None) } else { Err((at, Fault::Number(reason))) }
    };
    let first = start + usize::from(text[start] == b'-');
    let mut at = match text.get(first) {
        Some(b'0') => first + 1,
        Some(b'1'..=b'9') => digits(first + 1),
        _ => return lacking(first, "a digit is expected behind the sign"),
    };
    if text.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if end == at + 1 {
            return lacking(end, "a digit is expected behind the point");
        }
        at = end;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end == at + 1 + sign {
            return lacking(end, "a digit is expected in the exponent");
        }
        at = end;
    }
    Ok(Some(at))
}

#[inline(always)]
fn word(text: &[u8], at: usize, whole: bool) -> Result<Option<usize>, Flaw> {
    let rest = &text[at..];
    // Each has a comparison of constant length: a variable length would need a call.
    let (wanted, stands): (&[u8], bool) = match rest[0] {
        b't' => (b"true", rest.starts_with(b"true")),
        b'f' => (b"false", rest.starts_with(b"false")),
        b'n' => (b"null", rest.starts_with(b"null")),
        _ => (b"", false),
    };
    if stands {
        return Ok(Some(at + wanted.len()));
    }
    if !wanted.is_empty() && !whole && wanted.starts_with(rest) {
        return Ok(None);
    }
    no_word(text, at, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_json_and_others() {
        for good in
            ["0", "-0", "1", "10", "-12.50", "1e5", "1E+05", "0.0e-0", "123456789012345678901234567890"]
        {
            assert_eq!(read(good.as_bytes(), 0, true), Ok(Scalar::Until(good.len())), "{good}");
            assert_eq!(
                read(format!("{good},").as_bytes(), 0, false),
                Ok(Scalar::Until(good.len())),
                "{good}"
            );
            assert_eq!(read(good.as_bytes(), 0, false), Ok(Scalar::Open), "{good}");
        }
        for bad in [
            "-", "01", "-01", "1.", ".5", "+1", "1e", "1e+", "0x1", "1a", "--1", "1.2.3", "1e5.5", "-a",
            "NaN", "Infinity",
        ] {
            assert!(read(bad.as_bytes(), 0, true).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_may_still_become_a_value_is_open() {
        for open in ["-", "1.", "1e", "1e-", "t", "tru", "true", "nul", "f"] {
            assert_eq!(read(open.as_bytes(), 0, false), Ok(Scalar::Open), "{open}");
        }
        for bad in ["tx ", "trux,", "01", "1.x", "truee]"] {
            assert!(read(bad.as_bytes(), 0, false).is_err(), "{bad}");
        }
    }
}
