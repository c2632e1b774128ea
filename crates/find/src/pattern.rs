//! Name patterns. Simple ones are compared as bytes; the C library's fnmatch(3) handles all others.

use pelton_sys::libc_patterns;
use std::ffi::{CStr, CString};

#[derive(Debug)]
pub(crate) struct Pattern {
    text: CString,
    fold_case: bool,
    shape: Shape,
}

/// The shape of a pattern in which only a `*` at either end is special.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Exactly(Vec<u8>),
    EndsWith(Vec<u8>),
    StartsWith(Vec<u8>),
    Contains(Vec<u8>),
    /// None of these.
    Other,
}

impl Pattern {
    /// Makes a pattern. `utf8`: names are encoded in UTF-8; otherwise in ASCII.
    pub fn new(text: &CStr, fold_case: bool, utf8: bool) -> Self {
        Pattern { text: text.to_owned(), fold_case, shape: shape(text.to_bytes(), fold_case, utf8) }
    }

    /// Whether all names can be compared as bytes, without fnmatch(3), which depends on the process's locale.
    pub fn is_bytes(&self) -> bool {
        self.shape != Shape::Other && !self.fold_case
    }

    /// Whether a name or a path matches.
    pub fn matches(&self, name: &CStr) -> bool {
        let bytes = name.to_bytes();
        if self.fold_case && !bytes.is_ascii() {
            // Some non-ASCII letters have an ASCII letter as their other case.
            return libc_patterns::matches(&self.text, name, true);
        }
        let equal = |a: &[u8], b: &[u8]| if self.fold_case { a.eq_ignore_ascii_case(b) } else { a == b };
        let cut = |from: usize, to: usize| bytes.get(from..to);
        match &self.shape {
            Shape::Exactly(text) => equal(bytes, text),
            Shape::StartsWith(text) => cut(0, text.len()).is_some_and(|start| equal(start, text)),
            Shape::EndsWith(text) => {
                let from = bytes.len().wrapping_sub(text.len());
                cut(from, bytes.len()).is_some_and(|end| equal(end, text))
            }
            Shape::Contains(text) => bytes.windows(text.len()).any(|window| equal(window, text)),
            Shape::Other => libc_patterns::matches(&self.text, name, self.fold_case),
        }
    }
}

/// Classifies a pattern. In UTF-8 no character is part of another, so comparing bytes is correct if the
/// pattern is valid. For an invalid name, the library compares bytes itself.
fn shape(text: &[u8], fold_case: bool, utf8: bool) -> Shape {
    let judged = if fold_case || !utf8 { text.is_ascii() } else { std::str::from_utf8(text).is_ok() };
    let star_first = text.first() == Some(&b'*');
    let rest = if star_first { &text[1..] } else { text };
    let star_last = rest.last() == Some(&b'*');
    let rest = if star_last { &rest[..rest.len() - 1] } else { rest };
    let special = rest.iter().any(|byte| b"*?[\\".contains(byte));
    if special || !judged || (rest.is_empty() && (star_first || star_last)) {
        return Shape::Other;
    }
    let rest = rest.to_vec();
    match (star_first, star_last) {
        (false, false) => Shape::Exactly(rest),
        (true, false) => Shape::EndsWith(rest),
        (false, true) => Shape::StartsWith(rest),
        (true, true) => Shape::Contains(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_match_as_the_library_does() {
        let texts =
            [c"", c"*", c"a", c"*a", c"a*", c"*a*", c"**", c"*.c", c"[a]", c"a\\", c"\\a", c"ab*", c"*ab*"];
        let names =
            [c"", c"a", c"b", c"ab", c"ba", c"bab", c"x.c", c".c", c"A", c"aB", c"BAB", c"a\xff", c"\xffa"];
        for text in texts {
            for (name, fold) in names.iter().flat_map(|name| [(name, false), (name, true)]) {
                let ours = Pattern::new(text, fold, false).matches(name);
                assert_eq!(ours, libc_patterns::matches(text, name, fold), "{text:?} {name:?} {fold}");
            }
        }
    }

    #[test]
    fn the_usual_ones_need_no_library() {
        assert_eq!(shape(b"*.rs", false, true), Shape::EndsWith(b".rs".to_vec()));
        assert_eq!(shape("é*".as_bytes(), false, true), Shape::StartsWith("é".as_bytes().to_vec()));
        assert_eq!(shape("é*".as_bytes(), true, true), Shape::Other);
        assert_eq!(shape(b"a?", false, true), Shape::Other);
    }
}
