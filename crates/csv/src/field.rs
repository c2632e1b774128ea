//! Fields, as written and decoded.

use std::borrow::Cow;

/// Decodes a field: removes the quotes around it, and turns doubled quotes into single ones.
#[inline(always)]
pub(crate) fn meaning(raw: &[u8]) -> Cow<'_, [u8]> {
    match inner(raw) {
        None => Cow::Borrowed(raw),
        Some(inner) if memchr::memchr(b'"', inner).is_none() => Cow::Borrowed(inner),
        Some(inner) => Cow::Owned(single(inner)),
    }
}

/// Returns the text between the quotes, if the field is quoted.
#[inline(always)]
pub(crate) fn inner(raw: &[u8]) -> Option<&[u8]> {
    match raw {
        [b'"', inner @ .., b'"'] => Some(inner),
        _ => None,
    }
}

/// Turns doubled quotes into single ones.
fn single(inner: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(quote) = memchr::memchr(b'"', rest) {
        text.extend_from_slice(&rest[..=quote]);
        rest = &rest[(quote + 2).min(rest.len())..];
    }
    text.extend_from_slice(rest);
    text
}

/// Whether a field needs no quotes.
#[inline(always)]
pub(crate) fn is_plain(text: &[u8], delimiter: u8) -> bool {
    memchr::memchr3(delimiter, b'"', b'\n', text).is_none() && memchr::memchr(b'\r', text).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_taken_off() {
        for (raw, text) in [
            ("", ""),
            ("a", "a"),
            ("\"\"", ""),
            ("\"a,b\"", "a,b"),
            ("\"a\"\"b\"", "a\"b"),
            ("\"\"\"\"", "\""),
            ("\"\"\"\"\"\"", "\"\""),
            ("\"a\nb\"", "a\nb"),
        ] {
            assert_eq!(meaning(raw.as_bytes()), text.as_bytes(), "{raw}");
        }
    }
}
