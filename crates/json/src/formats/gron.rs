//! The lines of gron, an assignment in JavaScript for each value, in the order of the document.
//!
//! ```text
//! json = {};
//! json.menu = {};
//! json.menu.id = "file";
//! ```
//! gron itself sorts its lines, and of a name that an object has twice it keeps the last.

use std::io;

use crate::decode::Decoder;
use crate::out::Out;
use crate::padded::{Raw, Text};
use crate::selected::{Format, Prints};
use crate::trail::{Style, Trail, push_number};
use crate::visit::{Interest, Kind, Place, Visitor};
use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// Strings are read and written anew, so that escapes are those of gron; numbers stay as written.
pub struct Gron<'a> {
    trail: Trail<JavaScript>,
    /// Of a string that comes in pieces.
    decoder: Decoder,
    shows: bool,
    out: Out<'a>,
}

impl<'a> Gron<'a> {
    /// Prints there.
    pub fn new(out: Out<'a>) -> Self {
        Gron { trail: Trail::new(), decoder: Decoder::default(), shows: true, out }
    }

    #[inline(always)]
    fn assignment(&mut self, value: Raw<'_>) {
        let text = self.out.text();
        text.extend_text(self.trail.path());
        text.extend_array(b" = ");
        text.extend_raw(value);
        text.extend_array(b";\n");
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
            let text = self.out.text();
            text.extend_text(self.trail.path());
            text.extend_array(&[b' ', b'=', b' ', kind.opening(), kind.closing(), b';', b'\n']);
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
        if raw[0] == b'"' && !is_quoted_alike(&raw) {
            self.piece(&raw, Place::First);
            self.piece(b"", Place::Last);
        } else {
            self.assignment(raw);
        }
    }

    fn piece(&mut self, raw: &[u8], place: Place) {
        if place == Place::First {
            self.decoder = Decoder::default();
            self.out.text().extend_text(self.trail.path());
            self.out.text().extend(b" = \"");
        }
        let mut text = Vec::new();
        self.decoder.add(raw, &mut text);
        if place == Place::Last {
            self.decoder.end(&mut text);
        }
        quote(&text, self.out.text());
        if place == Place::Last {
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

/// `json.menu[0]["a b"]`
struct JavaScript;

impl Style for JavaScript {
    const ROOT: &'static [u8] = b"json";

    fn key(path: &mut Text, raw: Raw<'_>) {
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

    fn index(path: &mut Text, index: u64) {
        path.push(b'[');
        push_number(path, index);
        path.push(b']');
    }
}

/// Whether gron would write a string as it is written here: no escapes, and nothing that begins as the control characters
/// and line ends do that Unicode has beside those of ASCII.
#[inline(always)]
fn is_quoted_alike(raw: &[u8]) -> bool {
    let inner = &raw[1..raw.len() - 1];
    memchr::memchr3(b'\\', 0x7f, 0xc2, inner).is_none() && memchr::memchr(0xe2, inner).is_none()
}

/// Appends what gron writes between quotes.
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

/// The words of JavaScript that gron knows, and quotes.
fn is_reserved(name: &str) -> bool {
    matches!(
        name,
        "break"
            | "case"
            | "catch"
            | "class"
            | "const"
            | "continue"
            | "debugger"
            | "default"
            | "delete"
            | "do"
            | "else"
            | "export"
            | "extends"
            | "false"
            | "finally"
            | "for"
            | "function"
            | "if"
            | "import"
            | "in"
            | "instanceof"
            | "new"
            | "null"
            | "return"
            | "super"
            | "switch"
            | "this"
            | "throw"
            | "true"
            | "try"
            | "typeof"
            | "var"
            | "void"
            | "while"
            | "with"
            | "yield"
    )
}

/// Whether gron writes `.name`: letters (but no title case), `$`, `_`, and behind the first also marks, digits and
/// connectors.
fn is_identifier(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let ascii_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || *byte == b'$';
    let plain = match name.as_bytes().split_first() {
        None => return false,
        Some((first, rest)) => {
            ascii_first(first) && rest.iter().all(|byte| ascii_first(byte) || byte.is_ascii_digit())
        }
    };
    if plain {
        return !is_reserved(name);
    }
    let mut characters = name.chars();
    characters.next().is_some_and(begins_identifier)
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
}
