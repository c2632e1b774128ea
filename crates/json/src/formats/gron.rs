//! gron's output: a JavaScript assignment for each value, in document order.
//!
//! ```text
//! json = {};
//! json.menu = {};
//! json.menu.id = "file";
//! ```
//! gron itself sorts its lines, and of duplicate names it keeps the last.

use std::io;

use crate::decode::Decoder;
use crate::out::Out;
use crate::selected::{Format, Prints};
use crate::trail::{Style, Trail, push_number};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{PADDING, Raw, Text};
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Prints gron's lines. Strings are decoded and encoded again, so that escapes are gron's; numbers stay as
/// written.
pub struct Gron<'a> {
    trail: Trail<JavaScript>,
    /// Decodes a string that comes in pieces.
    decoder: Decoder,
    shows: bool,
    out: Out<'a>,
}

impl<'a> Gron<'a> {
    /// Makes a format that prints to `out`.
    pub fn new(out: Out<'a>) -> Self {
        Gron { trail: Trail::new(), decoder: Decoder::default(), shows: true, out }
    }

    #[inline(always)]
    fn assignment(&mut self, value: Raw<'_>) {
        self.out.text().put((self.trail.path(), *b" = ", value, *b";\n"));
        self.out.relieve();
    }
}

impl Prints for Gron<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Format for Gron<'_> {
    fn show(&mut self, shows: bool) {
        self.shows = shows;
    }
}

impl Visitor for Gron<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        Interest::Visit
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        Interest::Visit
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        if self.shows {
            let end = [b' ', b'=', b' ', kind.opening(), kind.closing(), b';', b'\n'];
            self.out.text().put((self.trail.path(), end));
            self.out.relieve();
        }
        self.trail.open(kind);
        Interest::Visit
    }

    #[inline(always)]
    fn close(&mut self, _: Kind) {
        self.trail.close();
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        if raw[0] == b'"' && !is_quoted_alike(raw) {
            self.piece(&raw, StringPosition::First);
            self.piece(b"", StringPosition::Last);
        } else {
            self.assignment(raw);
        }
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        if place == StringPosition::First {
            self.decoder = Decoder::default();
            self.out.text().put((self.trail.path(),));
            self.out.text().extend(b" = \"");
        }
        let mut text = Vec::new();
        self.decoder.add(raw, &mut text);
        if place == StringPosition::Last {
            self.decoder.end(&mut text);
        }
        quote(&text, self.out.text());
        if place == StringPosition::Last {
            self.out.text().extend(b"\";\n");
        }
        self.out.relieve();
    }

    fn path(&self) -> Vec<u8> {
        self.trail.path().bytes().to_vec()
    }

    fn pause(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Paths such as `json.menu[0]["a b"]`.
struct JavaScript;

impl Style for JavaScript {
    const ROOT: &'static [u8] = b"json";

    fn key(path: &mut Text, raw: Raw<'_>) {
        let inner = Raw::of(raw.padded(), 1, raw.len() - 1);
        if is_plain_identifier(&inner) {
            path.put((*b".", inner));
        } else {
            JavaScript::rare_key(path, raw);
        }
    }

    fn index(path: &mut Text, index: u64) {
        path.push(b'[');
        push_number(path, index);
        path.push(b']');
    }
}

impl JavaScript {
    /// Appends a name that may need quotes.
    fn rare_key(path: &mut Text, raw: Raw<'_>) {
        let inner = &raw[1..raw.len() - 1];
        let mut text = Vec::new();
        let text: &[u8] = if inner.contains(&b'\\') {
            crate::decode::decode(&raw, &mut text);
            &text
        } else {
            inner
        };
        if is_identifier(text) {
            path.push(b'.');
            path.extend(text);
        } else {
            path.extend(b"[\"");
            quote(text, path);
            path.extend(b"\"]");
        }
    }
}

/// Whether gron would write a string exactly as it is written here.
#[inline(always)]
fn is_quoted_alike(raw: Raw<'_>) -> bool {
    // Checks whole vectors, so it may look at bytes after the string.
    let (chunks, _) = raw.padded().as_chunks::<PADDING>();
    let chunks = &chunks[..raw.len().div_ceil(PADDING)];
    let telling = |chunk: &[u8; PADDING]| chunk.iter().fold(0, |any, byte| any | is_telling(*byte)) != 0;
    !chunks.iter().any(telling) || is_quoted_alike_by_bytes(&raw)
}

/// Whether the byte begins an escape, or may begin a control character or line separator above U+001F.
#[inline(always)]
fn is_telling(byte: u8) -> u8 {
    u8::from(byte == b'\\') | u8::from(byte == 0x7f) | u8::from(byte == 0xc2) | u8::from(byte == 0xe2)
}

/// As [`is_quoted_alike`], but exact.
fn is_quoted_alike_by_bytes(raw: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = raw[at..].iter().position(|byte| is_telling(*byte) != 0) {
        at += found;
        at += match raw[at..] {
            [b'\\', b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [0xc2, 0xa0..=0xff, ..] => 2,
            // The line separators are E2 80 A8 and E2 80 A9.
            [0xe2, second, third, ..] if second != 0x80 || !matches!(third, 0xa8 | 0xa9) => 3,
            _ => return false,
        };
    }
    true
}

/// Appends the text as gron writes it between quotes.
fn quote(text: &[u8], to: &mut Text) {
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '"' | '\\' => to.extend(&[b'\\', character as u8]),
            '\u{8}' => to.extend(b"\\b"),
            '\u{c}' => to.extend(b"\\f"),
            '\n' => to.extend(b"\\n"),
            '\r' => to.extend(b"\\r"),
            '\t' => to.extend(b"\\t"),
            '\u{2028}' | '\u{2029}' => to.extend(format!("\\u{:x}", character as u32).as_bytes()),
            _ if character.is_control() => {
                to.extend(format!("\\u{:04X}", character as u32).as_bytes());
            }
            _ => to.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Whether the name is a JavaScript reserved word, which gron quotes.
fn is_reserved(name: &[u8]) -> bool {
    matches!(
        name,
        b"break"
            | b"case"
            | b"catch"
            | b"class"
            | b"const"
            | b"continue"
            | b"debugger"
            | b"default"
            | b"delete"
            | b"do"
            | b"else"
            | b"export"
            | b"extends"
            | b"false"
            | b"finally"
            | b"for"
            | b"function"
            | b"if"
            | b"import"
            | b"in"
            | b"instanceof"
            | b"new"
            | b"null"
            | b"return"
            | b"super"
            | b"switch"
            | b"this"
            | b"throw"
            | b"true"
            | b"try"
            | b"typeof"
            | b"var"
            | b"void"
            | b"while"
            | b"with"
            | b"yield"
    )
}

/// Whether gron writes `.name`, for an ASCII name. False for names with escapes.
#[inline(always)]
fn is_plain_identifier(name: &[u8]) -> bool {
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let mut byte = 0u8;
        while byte < 128 {
            plain[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
            byte += 1;
        }
        plain
    };
    let all = name.iter().fold(true, |all, byte| all & PLAIN[usize::from(*byte)]);
    all && name.first().is_some_and(|first| !first.is_ascii_digit()) && !is_reserved(name)
}

/// Whether gron writes `.name`: it starts with a letter (not title case), `$` or `_`; marks, digits and
/// connectors may follow.
fn is_identifier(name: &[u8]) -> bool {
    let Ok(mut characters) = std::str::from_utf8(name).map(str::chars) else { return false };
    !is_reserved(name)
        && characters.next().is_some_and(begins_identifier)
        && characters.all(|one| begins_identifier(one) || continues_identifier(one))
}

fn begins_identifier(character: char) -> bool {
    use Category::{LetterNumber, LowercaseLetter, ModifierLetter, OtherLetter, UppercaseLetter};
    let letters = [UppercaseLetter, LowercaseLetter, ModifierLetter, OtherLetter, LetterNumber];
    matches!(character, '$' | '_') || letters.contains(&get_general_category(character))
}

fn continues_identifier(character: char) -> bool {
    use Category::{ConnectorPunctuation, DecimalNumber, NonspacingMark, SpacingMark};
    let marks = [NonspacingMark, SpacingMark, DecimalNumber, ConnectorPunctuation];
    marks.contains(&get_general_category(character))
}

#[cfg(test)]
mod tests {
    use pelton_testkit::Random;

    use super::*;

    #[test]
    fn names_that_need_no_quotes() {
        for name in ["a", "A1", "_x", "$", "é", "日本", "a\u{301}", "enum", "ª"] {
            assert!(is_identifier(name.as_bytes()), "{name}");
        }
        for name in ["", "1a", "a b", "a-b", "true", "yield", "\u{301}a", "ǅ", "a.b", "a\n"] {
            assert!(!is_identifier(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn strings_are_quoted_as_gron_quotes_them() {
        let mut quoted = Text::default();
        quote("a\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}\u{85}\u{2028}é😀".as_bytes(), &mut quoted);
        let expected = "a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007F\\u0085\\u2028é😀";
        assert_eq!(String::from_utf8(quoted.bytes().to_vec()), Ok(expected.to_owned()));
    }

    /// Returns a random quoted string with padding. gron would write many of them differently.
    fn random_string(random: &mut Random) -> Vec<u8> {
        const PIECES: &[&str] = &[
            "a",
            "Z9",
            "_",
            "$",
            "7",
            " ",
            "name",
            "\\\"",
            "\\\\",
            "\\/",
            "\\b\\f\\n\\r\\t",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\ud800",
            "é",
            "\u{7f}",
            "\u{85}",
            "\u{a0}",
            "\u{2027}",
            "\u{2028}",
            "\u{2029}",
            "日本",
            "😀",
            "if",
            "typeof",
            "a text of more than thirty-two bytes",
        ];
        let inner: String = (0..random.below(5)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let mut text = format!("\"{inner}\"").into_bytes();
        text.extend([b'\\'; PADDING]);
        text
    }

    #[test]
    fn short_ways_write_what_long_ways_do() {
        let mut random = Random::new(1);
        for _ in 0..50_000 {
            let text = random_string(&mut random);
            let raw = Raw::of(&text, 0, text.len() - PADDING);
            let [mut short, mut long] = [(); 2].map(|()| Gron::new(Out::kept()));
            short.scalar(raw);
            long.piece(&raw, StringPosition::First);
            long.piece(b"", StringPosition::Last);
            assert_eq!(short.out.text().bytes(), long.out.text().bytes(), "{}", raw.escape_ascii());
            let [mut short, mut long] = [(); 2].map(|()| Text::default());
            JavaScript::key(&mut short, raw);
            JavaScript::rare_key(&mut long, raw);
            assert_eq!(short.bytes(), long.bytes(), "{}", raw.escape_ascii());
        }
    }
}
