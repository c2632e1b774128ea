//! The lines of [`Lines`](super::Lines) that contain a given text.
//!
//! A line is a path, a separator and a value. If the text contains no separator byte, it can only occur in a
//! path or in a value. Whether the path contains it is known when its last name arrives, and no line is made
//! for a value without it. Otherwise each line is made, searched, and removed if it does not match.

use std::io;

use memchr::memmem::Finder;

use crate::out::Out;
use crate::selected::Prints;
use crate::trail::{Trail, Written};
use crate::visit::{Interest, Kind, StringPosition, Visitor};
use pelton_simd::padded::{PADDING, Raw, Text};

/// Prints matching lines. A line whose value is too long for the window is printed unsearched.
pub struct Matching<'a> {
    trail: Trail<Written>,
    wanted: Wanted,
    /// Whether the current path contains the text.
    found: bool,
    /// For each open container: whether its path contains the text, and the length of the path.
    levels: Vec<(bool, usize)>,
    out: Out<'a>,
}

impl<'a> Matching<'a> {
    /// Makes a format that prints lines with `text` to `out`.
    pub fn new(text: &[u8], out: Out<'a>) -> Self {
        Matching { trail: Trail::new(), wanted: Wanted::new(text), found: false, levels: Vec::new(), out }
    }

    /// Updates `found` after the path has got a new last step.
    #[inline(always)]
    fn step(&mut self, may_hold: bool) {
        let (found, length) = self.levels.last().copied().unwrap_or_default();
        self.found = found || (may_hold && self.ends_in(length));
    }

    /// Whether the path contains the text, ending after its first `length` bytes.
    fn ends_in(&self, length: usize) -> bool {
        let from = (length + 1).saturating_sub(self.wanted.finder.needle().len());
        self.wanted.is_in(&self.trail.path().bytes()[from..])
    }

    #[inline(always)]
    fn bracket(&mut self, byte: u8) {
        if !self.found && self.wanted.only_inside {
            return;
        }
        let start = self.out.text().len();
        self.out.text().put((self.trail.path(), [b' ', b'<', b'=', b'>', b' ', byte, b'\n']));
        self.keep_from(start);
    }

    /// Removes the line that begins at `start`, if it does not match.
    fn keep_from(&mut self, start: usize) {
        let text = self.out.text();
        if !self.found && !self.wanted.is_in(&text.bytes()[start..]) {
            text.truncate(start);
        }
        self.out.relieve();
    }
}

impl Prints for Matching<'_> {
    fn printed(&mut self) -> &mut Text {
        self.out.text()
    }
}

impl Visitor for Matching<'_> {
    fn document(&mut self) -> Interest {
        self.trail.document();
        self.levels.clear();
        self.step(true);
        Interest::Visit
    }

    #[inline(always)]
    fn key(&mut self, raw: Raw<'_>) -> Interest {
        self.trail.key(raw);
        let may_hold = !self.wanted.only_inside || self.wanted.may_be_in(raw);
        self.step(may_hold);
        Interest::Visit
    }

    #[inline(always)]
    fn element(&mut self) -> Interest {
        self.trail.element();
        self.step(self.wanted.may_be_a_number);
        Interest::Visit
    }

    #[inline(always)]
    fn open(&mut self, kind: Kind) -> Interest {
        self.bracket(kind.opening());
        self.trail.open(kind);
        self.levels.push((self.found, self.trail.path().len()));
        Interest::Visit
    }

    #[inline(always)]
    fn close(&mut self, kind: Kind) {
        self.trail.close();
        self.found = self.levels.pop().is_some_and(|(found, _)| found);
        self.bracket(kind.closing());
    }

    #[inline(always)]
    fn scalar(&mut self, raw: Raw<'_>) {
        if !self.found && self.wanted.only_inside && !(self.wanted.may_be_in(raw) && self.wanted.is_in(&raw))
        {
            return;
        }
        let text = self.out.text();
        let start = text.len();
        text.put((self.trail.path(), *b": ", raw, *b"\n"));
        self.keep_from(start);
    }

    fn piece(&mut self, raw: &[u8], place: StringPosition) {
        let text = self.out.text();
        if place == StringPosition::First {
            text.put((self.trail.path(), *b": "));
        }
        text.extend(raw);
        if place == StringPosition::Last {
            text.push(b'\n');
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

/// The text to search for, and where it can occur.
struct Wanted {
    finder: Finder<'static>,
    /// Its rarest byte.
    rare: u8,
    /// Whether it cannot span a path and a value, nor two names of a path.
    only_inside: bool,
    /// Whether it may occur in an array index.
    may_be_a_number: bool,
}

/// Separators of names and values.
const BETWEEN: &[u8] = b"@.: <=>{}[]\n";
/// Bytes of names and texts, the most common first. All others are rare.
const COMMON: &[u8] = b"\" eatoinsrlhdcumpfgybw_v/-.,0123456789kxjqz:";

impl Wanted {
    fn new(text: &[u8]) -> Self {
        let rarity = |byte: &u8| COMMON.iter().position(|common| common == byte).unwrap_or(COMMON.len());
        let only_inside = !text.is_empty() && !text.iter().any(|byte| BETWEEN.contains(byte));
        Wanted {
            finder: Finder::new(text).into_owned(),
            rare: text.iter().copied().max_by_key(rarity).unwrap_or_default(),
            only_inside,
            may_be_a_number: !only_inside || text.iter().all(u8::is_ascii_digit),
        }
    }

    fn is_in(&self, text: &[u8]) -> bool {
        self.finder.find(text).is_some()
    }

    /// Whether `raw` or the padding after it contains the rarest byte. Most names are short: whole vectors
    /// are compared.
    #[inline(always)]
    fn may_be_in(&self, raw: Raw<'_>) -> bool {
        let (chunks, _) = raw.padded().as_chunks::<PADDING>();
        let holds =
            |chunk: &[u8; PADDING]| chunk.iter().fold(0, |any, byte| any | u8::from(*byte == self.rare)) != 0;
        chunks[..raw.len().div_ceil(PADDING)].iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Lines;
    use crate::{Pieces, Rules};

    fn printed<V: Visitor + Prints>(mut visitor: V, document: &[u8], size: usize) -> Vec<u8> {
        let mut pieces = Pieces::new(Rules::default(), 64);
        for piece in document.chunks(size) {
            pieces.push(piece, &mut visitor).expect("JSON");
        }
        pieces.end(&mut visitor).expect("JSON");
        visitor.printed().bytes().to_vec()
    }

    const DOCUMENTS: &[&str] = &[
        r#"{"menu": {"id": "file", "popup": {"menuitem": [{"value": "New"}, {"value": "a menu: x"}]}}}"#,
        r#"[1, [22, 122, {"1": 3, "a.0": "@.\"a\""}], "<=> {", {}, [], true] "0" {"": {"": ""}} 12e3 null"#,
        r#"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,{"e":[0,[1.5,-1,"é]"]],"ee":"{[","nul":null,"n":"\n"}]"#,
    ];

    /// Tries every substring of every line, and some texts that do not occur.
    #[test]
    fn the_lines_with_a_text_are_those_of_lines_that_have_it() {
        for document in DOCUMENTS {
            let all = printed(Lines::new(Out::kept()), document.as_bytes(), 1000);
            let lines: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
            let mut texts = vec![b"nosuch".to_vec(), b"zz".to_vec(), b"123456789".to_vec()];
            for line in &lines {
                let line = line.trim_ascii_end();
                for length in (0..=line.len()).filter(|length| *length < 6 || length % 7 == 0) {
                    texts.extend(line.windows(length.max(1)).map(<[u8]>::to_vec));
                }
            }
            texts.push(Vec::new());
            texts.sort();
            texts.dedup();
            for text in texts {
                let finder = Finder::new(&text);
                let expected: Vec<u8> = lines
                    .iter()
                    .filter(|line| finder.find(line).is_some())
                    .copied()
                    .collect::<Vec<_>>()
                    .concat();
                for size in [1000, 7] {
                    let matching = printed(Matching::new(&text, Out::kept()), document.as_bytes(), size);
                    assert_eq!(
                        String::from_utf8_lossy(&matching),
                        String::from_utf8_lossy(&expected),
                        "{:?} in {document}",
                        String::from_utf8_lossy(&text)
                    );
                }
            }
        }
    }

    #[test]
    fn of_a_string_that_is_too_long_the_line_is_printed() {
        let document = format!(r#"{{"a": "{}", "b": "x"}}"#, "long ".repeat(100));
        let lines = printed(Matching::new(b"x", Out::kept()), document.as_bytes(), 30);
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 2);
        assert!(lines.ends_with(b"@.\"b\": \"x\"\n"));
    }
}
