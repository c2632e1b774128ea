//! gawk's characters where the locale's are of UTF-8: lengths, positions, case, and the widths of formats.
//!
//! A byte that begins no character counts as one. Functions that make wide strings warn of it, once in a process; formats
//! do not, and measure strings in their own way (`mbc_char_count` and `mbc_byte_count` in gawk's sources).

use std::cell::RefCell;
use std::ops::Range;

use crate::locale::characters::{Classes, Decoded, decode};

use super::rules;

/// Returns a character as a wide string has it, or what becomes there of a byte that begins none: in 5.1, 255 becomes a NUL.
fn shown((bytes, character): (&[u8], Option<u32>)) -> &[u8] {
    match character {
        Some(_) => bytes,
        None if is_taken(bytes[0]) => b"\0",
        None => "\u{fffd}".as_bytes(),
    }
}

/// Whether a byte that begins no character is taken for one all the same, without a warning.
fn is_taken(byte: u8) -> bool {
    byte == 0xff && rules::is_gawk_5_1()
}

/// A string that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// Its number of characters.
    pub(super) length: usize,
    /// Whether all of its bytes belong to characters.
    pub(super) is_valid: bool,
    /// Whether gawk warns of one that does not.
    pub(super) warns: bool,
}

/// Measures a string.
pub(super) fn measure(text: &[u8]) -> Measured {
    if text.is_ascii() {
        return Measured { length: text.len(), is_valid: true, warns: false };
    }
    if std::str::from_utf8(text).is_ok() {
        return Measured { length: length_of_valid(text), is_valid: true, warns: false };
    }
    let mut measured = Measured { length: 0, is_valid: true, warns: false };
    for (bytes, character) in each(text) {
        measured.length += 1;
        measured.is_valid &= character.is_some();
        measured.warns |= character.is_none() && !is_taken(bytes[0]);
    }
    measured
}

/// Returns the number of characters of a string all of whose bytes belong to some.
pub(super) fn length_of_valid(text: &[u8]) -> usize {
    text.iter().filter(|byte| !continues(**byte)).count()
}

/// Whether a byte is not the first of its character.
pub(super) fn continues(byte: u8) -> bool {
    matches!(byte, 0x80..0xc0)
}

/// Returns where the character of this number begins, from 0, in a string all of whose bytes belong to characters.
pub(super) fn start_of(text: &[u8], number: usize) -> usize {
    let mut starts = text.iter().enumerate().filter(|(_, byte)| !continues(**byte));
    starts.nth(number).map_or(text.len(), |(at, _)| at)
}

/// Appends this range of characters, with a replacement for each byte that is none.
pub(super) fn append(text: &[u8], characters: Range<usize>, is_valid: bool, out: &mut Vec<u8>) {
    if is_valid {
        let text = &text[start_of(text, characters.start)..];
        return out.extend_from_slice(&text[..start_of(text, characters.len())]);
    }
    for character in each(text).skip(characters.start).take(characters.len()) {
        out.extend_from_slice(shown(character));
    }
}

/// Returns the position of the first occurrence in characters, from 1; 0 if there is none. At the beginning, bytes count.
pub(super) fn position(text: &[u8], wanted: &[u8], are_valid: bool) -> usize {
    if text.starts_with(wanted) {
        return 1;
    }
    if are_valid {
        return memchr::memmem::find(text, wanted).map_or(0, |at| length_of_valid(&text[..at]) + 1);
    }
    if wanted.len() > text.len() {
        return 0;
    }
    // All invalid bytes are equal, and equal U+FFFD.
    let [text, wanted] = [text, wanted].map(|text| each(text).map(shown).collect::<Vec<_>>());
    text.windows(wanted.len().max(1)).position(|window| window == wanted).map_or(0, |at| at + 1)
}

/// Whether the C library decodes all of a string.
pub(super) fn is_decoded(text: &[u8]) -> bool {
    text.is_ascii()
        || each(text).all(|(_, character)| character.is_some_and(|code| !(0xd800..0xe000).contains(&code)))
}

/// Which case a string is changed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Upper,
}

/// Changes the case of all from `start` on, of ASCII alone where strings are of bytes. Returns whether gawk warns of it.
pub(super) fn change_case(out: &mut Vec<u8>, start: usize, case: Case) -> bool {
    if !(rules::has_characters() || rules::decodes_case()) || out[start..].is_ascii() {
        match case {
            Case::Lower => out[start..].make_ascii_lowercase(),
            Case::Upper => out[start..].make_ascii_uppercase(),
        }
        return false;
    }
    let text = out.split_off(start);
    for (bytes, character) in each(&text) {
        match character.and_then(|character| changed(character, case)) {
            Some(changed) => out.extend_from_slice(changed.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(shown((bytes, character))),
        }
    }
    measure(&text).warns
}

/// Returns the other case of a character by the C library's tables; `None` if it stays.
fn changed(char: u32, case: Case) -> Option<char> {
    thread_local! {
        static CLASSES: RefCell<Option<Classes>> = RefCell::new(Classes::new());
    }
    let class = CLASSES.with_borrow_mut(|classes| classes.as_mut().map(|classes| classes.get(char)))?;
    let other = match case {
        Case::Lower => class.lower,
        Case::Upper => class.upper,
    };
    char::from_u32(other).filter(|_| other != 0)
}

/// Returns how many characters formats take from a string, at most `most`, and how many bytes those are: up to the first byte
/// that is no character, or a NUL. If it begins with one, bytes count as characters.
pub(super) fn formatted(text: &[u8], most: usize) -> (usize, usize) {
    let is_counted = |(bytes, character): &(&[u8], Option<u32>)| character.is_some() && bytes[0] != 0;
    if each(text).next().is_none_or(|first| !is_counted(&first)) {
        let length = text.len().min(most);
        return (length, length);
    }
    let counted = each(text).take_while(is_counted).take(most);
    counted.fold((0, 0), |(length, size), (bytes, _)| (length + 1, size + bytes.len()))
}

/// Returns what `%c` prints of a number: a character, or its lowest byte if it is none.
pub(super) fn of_number(number: u64) -> Vec<u8> {
    let wide = number as u32;
    if let Some(char) = char::from_u32(wide) {
        return char.to_string().into_bytes();
    }
    // Beyond Unicode the C library encodes up to 31 bits.
    let (head, continuations) = match wide {
        0x11_0000..0x20_0000 => (0xf0, 3),
        0x20_0000..0x400_0000 => (0xf8, 4),
        0x400_0000..0x8000_0000 => (0xfc, 5),
        _ => return vec![number as u8],
    };
    let mut bytes = vec![head | (wide >> (6 * continuations)) as u8];
    bytes.extend((0..continuations).rev().map(|at| 0x80 | (wide >> (6 * at)) as u8 & 0x3f));
    bytes
}

/// Returns the first character of a string, or its first byte if that begins none.
pub(super) fn first(text: &[u8]) -> &[u8] {
    each(text).next().map_or(&text[..0], |(bytes, _)| bytes)
}

/// Returns the characters' bytes and numbers; a byte that begins none has no number.
fn each(mut text: &[u8]) -> impl Iterator<Item = (&[u8], Option<u32>)> {
    std::iter::from_fn(move || {
        let (character, length) = match decode(text) {
            _ if text.is_empty() => return None,
            _ if text[0].is_ascii() => (Some(u32::from(text[0])), 1),
            Decoded::Character(character, length) => (Some(character), length),
            Decoded::None | Decoded::CutOff => (None, 1),
        };
        let (bytes, rest) = text.split_at(length);
        text = rest;
        Some((bytes, character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_bytes_that_are_none_are_counted() {
        let measured = |text: &[u8]| (measure(text).length, measure(text).is_valid);
        assert_eq!(measured(b"abc"), (3, true));
        assert_eq!(measured("aé€😀".as_bytes()), (4, true));
        assert_eq!(measured(b"a\xe9\xc3b"), (4, false));
        assert_eq!(measured(b"\xed\xa0\x80b"), (4, false));
        assert_eq!(measured(b"\xf4\x90\x80\x80b\xfc\x84\x80\x80\x80\x80"), (3, true));
        assert_eq!(measured(b"\xe2\x82"), (2, false));
    }

    #[test]
    fn spans_and_positions_are_in_characters() {
        let text = "aé€b".as_bytes();
        let piece = |text: &[u8], characters: Range<usize>| {
            let mut out = Vec::new();
            append(text, characters, measure(text).is_valid, &mut out);
            out
        };
        assert_eq!(piece(text, 1..3), "é€".as_bytes());
        assert_eq!(piece(text, 2..2), b"");
        assert_eq!(piece(text, 0..4), text);
        assert_eq!(piece(b"\xc3\xa9\xff", 1..2), "\u{fffd}".as_bytes());
        assert_eq!(position(text, b"b", true), 4);
        assert_eq!(position(b"\xc3\xa9\xc3b", "\u{fffd}b".as_bytes(), false), 2);
        assert_eq!(position(b"\xe9", "\u{fffd}".as_bytes(), false), 0);
        assert_eq!(position("é".as_bytes(), b"\xc3", false), 1);
        assert_eq!(position("xé".as_bytes(), b"\xc3", false), 0);
    }

    #[test]
    fn formats_stop_at_what_is_no_character() {
        assert_eq!(formatted(b"a\xe9\xc3b c", usize::MAX), (1, 1));
        assert_eq!(formatted(b"\xe9b", usize::MAX), (2, 2));
        assert_eq!(formatted(b"ab\0c", usize::MAX), (2, 2));
        assert_eq!(formatted("é€b".as_bytes(), 2), (2, 5));
        assert_eq!(of_number(0x7fff_ffff), [0xfd, 0xbf, 0xbf, 0xbf, 0xbf, 0xbf]);
        assert_eq!((of_number(0xd800), of_number(233)), (vec![0], "é".as_bytes().to_vec()));
    }

    #[test]
    fn case_is_that_of_the_library() {
        let Some(_) = Classes::new() else { return };
        rules::follow(rules::Rules { characters: true, ..rules::Rules::in_c(rules::Variant::Gawk) });
        let changed = |text: &[u8], case| {
            let mut out = text.to_vec();
            let warns = change_case(&mut out, 0, case);
            (out, warns)
        };
        assert_eq!(changed("aé ı ß".as_bytes(), Case::Upper), ("AÉ I ß".as_bytes().to_vec(), false));
        assert_eq!(changed("İÉ".as_bytes(), Case::Lower), ("ié".as_bytes().to_vec(), false));
        assert_eq!(changed(b"a\xe9", Case::Upper), ("A\u{fffd}".as_bytes().to_vec(), true));
    }
}
