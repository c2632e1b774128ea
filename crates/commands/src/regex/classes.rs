//! Named classes as defined by glibc, as far as certain.
//!
//! Outside ASCII, glibc's version decides what is a letter. Classes with letters, marks or symbols are only
//! partly known: [`Known::Ascii`] means that lines with other bytes must go to the real tool.

use super::chars::CharSet;

/// A class and the range where it is known.
pub(super) struct Class {
    pub(super) set: CharSet,
    pub(super) known: Known,
}

/// Where membership is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Everywhere,
    /// Only for ASCII characters (and for every byte of the C locale).
    Ascii,
}

/// Returns the class `[:name:]`; `None` if glibc has no such class in every locale.
pub(super) fn named(name: &[u8], utf8: bool) -> Option<Class> {
    let (member, known): (fn(u8) -> bool, Known) = match name {
        b"digit" => (|b| b.is_ascii_digit(), Known::Everywhere),
        b"xdigit" => (|b| b.is_ascii_hexdigit(), Known::Everywhere),
        b"space" => (is_space, Known::Everywhere),
        b"blank" => (|b| b == b' ' || b == b'\t', Known::Everywhere),
        b"alpha" => (|b| b.is_ascii_alphabetic(), Known::Ascii),
        b"alnum" => (|b| b.is_ascii_alphanumeric(), Known::Ascii),
        b"upper" => (|b| b.is_ascii_uppercase(), Known::Ascii),
        b"lower" => (|b| b.is_ascii_lowercase(), Known::Ascii),
        b"punct" => (|b| b.is_ascii_punctuation(), Known::Ascii),
        b"cntrl" => (|b| b.is_ascii_control(), Known::Ascii),
        b"graph" => (|b| b.is_ascii_graphic(), Known::Ascii),
        b"print" => (|b| b.is_ascii_graphic() || b == b' ', Known::Ascii),
        _ => return None,
    };
    let mut set = CharSet::of((0..0x80).filter(|&b| member(b)).map(u32::from));
    if utf8 {
        let wide: &[(u32, u32)] = match name {
            b"space" => &WIDE_SPACE,
            b"blank" => &WIDE_BLANK,
            _ => &[],
        };
        wide.iter().for_each(|&(first, last)| set.add(first, last));
    }
    Some(Class { set, known: if utf8 { known } else { Known::Everywhere } })
}

/// Returns the class of `\w`.
pub(super) fn word(utf8: bool) -> Class {
    let set = CharSet::of((0..0x80u8).filter(|&b| is_word(b)).map(u32::from));
    Class { set, known: if utf8 { Known::Ascii } else { Known::Everywhere } }
}

pub(super) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// Unicode's separators without the no-break ones. They have not changed since glibc 2.26, and a test checks
/// every code point with the installed tools.
const WIDE_BLANK: [(u32, u32); 5] =
    [(0x1680, 0x1680), (0x2000, 0x2006), (0x2008, 0x200A), (0x205F, 0x205F), (0x3000, 0x3000)];
const WIDE_SPACE: [(u32, u32); 6] = [
    (0x1680, 0x1680),
    (0x2000, 0x2006),
    (0x2008, 0x200A),
    (0x2028, 0x2029),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
];

/// Adds what `-i` (grep) and `I` (sed) make equal to the set's members. The set must be ASCII.
///
/// The tools compare by upper case. Two letters outside ASCII have an ASCII upper case: ı and ſ. (The Kelvin
/// sign has k as its lower case, but is its own upper case.)
pub(super) fn fold(set: &mut CharSet, utf8: bool) {
    let letters: Vec<u8> = (b'a'..=b'z')
        .filter(|&b| set.contains(b.into()) || set.contains(b.to_ascii_uppercase().into()))
        .collect();
    for lower in letters {
        set.add(lower.into(), lower.into());
        set.add(lower.to_ascii_uppercase().into(), lower.to_ascii_uppercase().into());
        match lower {
            b'i' if utf8 => set.add(0x131, 0x131),
            b's' if utf8 => set.add(0x17F, 0x17F),
            _ => {}
        }
    }
}
