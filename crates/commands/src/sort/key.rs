//! One `-k`: which part of a line it selects, and how it compares it.

use std::borrow::Cow;

use pelton_simd::compact::{self, Run};
use pelton_simd::nth::{nth, nth_word_end};

use super::float::encode_general;
use super::month::month;
use super::number::{Signs, encode_human, encode_numeric, is_blank};
use super::version::encode_version;

use crate::locale::collation::Collation;

/// A locale's rules for text and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conventions {
    /// The collation of text, if not byte order.
    pub collation: Option<&'static Collation>,
    /// The signs in numbers.
    pub signs: Signs,
}

impl Conventions {
    /// The conventions of C, POSIX and C.UTF-8.
    pub const C: Conventions = Conventions { collation: None, signs: Signs::C };
}

/// How a key's bytes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As text: bytewise, or by the locale's collation.
    Bytes,
    /// `-n`.
    Numeric,
    /// `-g`.
    General,
    /// `-h`.
    Human,
    /// `-M`.
    Month,
    /// `-V`.
    Version,
}

/// Bytes that a key ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// All but letters, digits and blanks (`-d`).
    ButDictionary,
    /// All nonprinting ones (`-i`).
    Nonprinting,
}

impl Ignore {
    /// Returns the ignored runs of bytes.
    fn runs(self) -> &'static [Run] {
        const fn run(low: u8, high: u8) -> Run {
            Run { low, span: high - low, shift: 0 }
        }
        const BUT_DICTIONARY: [Run; 6] = [
            run(0, b'\t' - 1),
            run(b'\n' + 1, b' ' - 1),
            run(b' ' + 1, b'0' - 1),
            run(b'9' + 1, b'A' - 1),
            run(b'Z' + 1, b'a' - 1),
            run(b'z' + 1, 255),
        ];
        const NONPRINTING: [Run; 2] = [run(0, b' ' - 1), run(b'~' + 1, 255)];
        match self {
            Ignore::ButDictionary => &BUT_DICTIONARY,
            Ignore::Nonprinting => &NONPRINTING,
        }
    }

    fn ignores(self, byte: u8) -> bool {
        match self {
            Ignore::ButDictionary => !byte.is_ascii_alphanumeric() && !is_blank(byte),
            Ignore::Nonprinting => !(b' '..=b'~').contains(&byte),
        }
    }
}

/// The start of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Fields to skip.
    pub fields: usize,
    /// Bytes to skip after that.
    pub bytes: usize,
    /// Whether to skip blanks before counting bytes.
    pub skip_blanks: bool,
}

/// The end of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Whole fields before its last field.
    pub fields: usize,
    /// Bytes of its last field; 0 for all.
    pub bytes: usize,
    /// Whether to skip blanks before counting bytes.
    pub skip_blanks: bool,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its start.
    pub start: Start,
    /// Its end; `None` for the end of the line.
    pub end: Option<End>,
    /// The ignored bytes.
    pub ignore: Option<Ignore>,
    /// Whether lower case counts as upper case (`-f`).
    pub fold: bool,
    /// How it is compared.
    pub kind: Kind,
    /// Whether it is descending.
    pub reverse: bool,
}

impl Key {
    /// Returns the key of a whole line, compared byte by byte.
    pub fn line() -> Self {
        Key {
            start: Start { fields: 0, bytes: 0, skip_blanks: false },
            end: None,
            ignore: None,
            fold: false,
            kind: Kind::Bytes,
            reverse: false,
        }
    }

    /// Whether the key is a slice of the line and need not be copied.
    pub(crate) fn is_slice(&self) -> bool {
        self.kind == Kind::Bytes && self.ignore.is_none() && !self.fold
    }

    /// Returns its range in `line`: from, to.
    #[inline]
    pub(crate) fn range(&self, line: &[u8], separator: Option<u8>) -> (usize, usize) {
        // The usual `-t, -k4,4`: the last field is found from the first one on.
        if let (Some(separator), Some(End { fields, bytes: 0, .. })) = (separator, self.end)
            && let Some(more) = fields.checked_sub(self.start.fields)
        {
            let field = skip_separated(line, self.start.fields, separator);
            let rest = &line[field..];
            let end = field + nth(rest, separator, more + 1).unwrap_or(rest.len());
            let start = self.start.within(line, field);
            return (start, end.max(start));
        }
        let start = self.start.find(line, separator);
        let end = self.end.map_or(line.len(), |end| end.find(line, separator));
        (start, end.max(start))
    }

    /// Appends the encoding of `text`, the selected part of a line: byte strings in the key's order.
    pub(crate) fn encode(&self, text: &[u8], conventions: Conventions, out: &mut Vec<u8>) {
        let signs = conventions.signs;
        match (self.kind, conventions.collation) {
            (Kind::Bytes, None) => self.append_seen(text, out),
            (Kind::Bytes, Some(collation)) => collation.append_key(&self.seen(text), out),
            (Kind::Numeric, _) => encode_numeric(&self.seen(text), signs, out),
            (Kind::General, _) => encode_general(&self.seen(text), signs.point, out),
            (Kind::Human, _) => encode_human(&self.seen(text), signs, out),
            (Kind::Month, _) => out.push(month(&self.seen(text))),
            (Kind::Version, _) => encode_version(&self.seen(text), out),
        }
    }

    /// Appends the beginning of the encoding, for text in a locale's order: enough to distinguish most lines.
    pub(crate) fn encode_beginning(&self, text: &[u8], collation: &Collation, out: &mut Vec<u8>) {
        match self.only_folds() && collation.begins_alike_in_any_case() && text.is_ascii() {
            true => collation.append_beginning(text, out),
            false => collation.append_beginning(&self.seen(text), out),
        }
    }

    /// Returns the first eight bytes of that beginning for the key's part of a line, if they take less than all of it.
    #[inline]
    pub(crate) fn quick_window(
        &self,
        line: &[u8],
        separator: Option<u8>,
        collation: &Collation,
    ) -> Option<u64> {
        if !self.is_seen_whole() {
            return None;
        }
        let (from, to) = self.range(line, separator);
        collation.window(&line[from..to])
    }

    /// Whether no byte is ignored or folded.
    fn is_seen_whole(&self) -> bool {
        self.ignore.is_none() && !self.fold
    }

    /// Whether bytes are folded, but none is ignored.
    pub(crate) fn only_folds(&self) -> bool {
        self.fold && self.ignore.is_none()
    }

    /// Returns `text` without ignored bytes, and folded.
    #[inline]
    pub(crate) fn seen<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_seen_whole() {
            return Cow::Borrowed(text);
        }
        let mut seen = Vec::new();
        self.append_seen(text, &mut seen);
        Cow::Owned(seen)
    }

    fn append_seen(&self, text: &[u8], out: &mut Vec<u8>) {
        const FOLDED: [Run; 1] = [Run { low: b'a', span: b'z' - b'a', shift: b'A'.wrapping_sub(b'a') }];
        let start = out.len();
        match self.ignore {
            None => out.extend_from_slice(text),
            Some(ignore) => {
                let moved: &[Run] = if self.fold { &FOLDED } else { &[] };
                out.resize(start + text.len() + compact::ROOM, 0);
                let length = compact::move_and_drop(text, moved, ignore.runs(), &mut out[start..]);
                out.truncate(start + length.unwrap_or(0));
                if length.is_some() {
                    return;
                }
                out.extend(text.iter().filter(|byte| !ignore.ignores(**byte)));
            }
        }
        if self.fold {
            out[start..].make_ascii_uppercase();
        }
    }

    /// Terminates the string from `start` on so that more keys can follow, and complements it if descending.
    pub(crate) fn put_before_others(&self, out: &mut Vec<u8>, start: usize) {
        if self.kind == Kind::Bytes {
            end_bytes(out, start);
        }
        if self.reverse {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

/// Makes the string from `start` on prefix-free: it ends in two zeros, and a zero in it becomes a zero and a
/// one.
fn end_bytes(out: &mut Vec<u8>, start: usize) {
    if memchr::memchr(0, &out[start..]).is_some() {
        let text = out.split_off(start);
        for byte in text {
            out.push(byte);
            if byte == 0 {
                out.push(1);
            }
        }
    }
    out.extend_from_slice(&[0, 0]);
}

impl Start {
    #[inline]
    fn find(&self, line: &[u8], separator: Option<u8>) -> usize {
        self.within(line, skip_fields(line, self.fields, separator))
    }

    /// Returns where the key begins in a line whose field begins at `field`.
    #[inline]
    fn within(&self, line: &[u8], field: usize) -> usize {
        let at = if self.skip_blanks { skip_while(line, field, is_blank) } else { field };
        line.len().min(at.saturating_add(self.bytes))
    }
}

impl End {
    #[inline]
    fn find(&self, line: &[u8], separator: Option<u8>) -> usize {
        let whole = self.bytes == 0;
        let mut at = match separator {
            // The last field ends before its separator.
            Some(separator) if whole => {
                let last = skip_separated(line, self.fields, separator);
                return skip_while(line, last, |byte| byte != separator);
            }
            Some(separator) => skip_separated(line, self.fields, separator),
            None => skip_blank_separated(line, self.fields.saturating_add(usize::from(whole))),
        };
        if whole {
            return at;
        }
        if self.skip_blanks {
            at = skip_while(line, at, is_blank);
        }
        line.len().min(at.saturating_add(self.bytes))
    }
}

#[inline]
fn skip_while(line: &[u8], at: usize, skipped: impl Fn(u8) -> bool) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| skipped(**byte)).count()
}

#[inline]
fn skip_fields(line: &[u8], fields: usize, separator: Option<u8>) -> usize {
    match separator {
        Some(separator) => skip_separated(line, fields, separator),
        None => skip_blank_separated(line, fields),
    }
}

/// Returns the start of the field after `fields` fields that end with `separator`.
#[inline]
fn skip_separated(line: &[u8], fields: usize, separator: u8) -> usize {
    if fields == 0 { 0 } else { nth(line, separator, fields).map_or(line.len(), |at| at + 1) }
}

/// Returns the start for fields that begin with blanks.
#[inline]
fn skip_blank_separated(line: &[u8], fields: usize) -> usize {
    if fields == 0 { 0 } else { nth_word_end(line, fields).unwrap_or(line.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(line: &[u8], separator: Option<u8>, start: Start, end: Option<End>) -> &[u8] {
        let (from, to) = Key { start, end, ..Key::line() }.range(line, separator);
        &line[from..to]
    }

    const fn start(fields: usize, bytes: usize, skip_blanks: bool) -> Start {
        Start { fields, bytes, skip_blanks }
    }

    const fn end(fields: usize, bytes: usize, skip_blanks: bool) -> Option<End> {
        Some(End { fields, bytes, skip_blanks })
    }

    #[test]
    fn fields_own_the_blanks_before_them() {
        let line = b"a  bb c";
        assert_eq!(taken(line, None, start(1, 0, false), end(1, 0, false)), b"  bb");
        assert_eq!(taken(line, None, start(1, 0, true), end(1, 0, false)), b"bb");
        assert_eq!(taken(line, None, start(1, 1, true), end(1, 2, true)), b"b");
        assert_eq!(taken(line, None, start(1, 0, false), None), b"  bb c");
        assert_eq!(taken(line, None, start(5, 0, false), None), b"");
        assert_eq!(taken(line, None, start(2, 0, false), end(0, 1, false)), b"");
    }

    #[test]
    fn separators_stand_between_fields() {
        let line = b"a,,bb,c";
        assert_eq!(taken(line, Some(b','), start(2, 0, false), end(2, 0, false)), b"bb");
        assert_eq!(taken(line, Some(b','), start(1, 0, false), end(1, 0, false)), b"");
        assert_eq!(taken(line, Some(b','), start(1, 0, false), end(2, 1, false)), b",b");
        assert_eq!(taken(line, Some(b','), start(2, 1, false), None), b"b,c");
        assert_eq!(taken(line, Some(b','), start(2, 3, false), None), b"c");
    }

    #[test]
    fn ignored_bytes_are_left_out() {
        let text: Vec<u8> = (0..=255).cycle().step_by(37).take(1000).chain(0..=255).collect();
        for (ignore, fold) in [(Ignore::ButDictionary, false), (Ignore::Nonprinting, true)] {
            for length in [0, 1, 15, 64, 100, text.len()] {
                let key = Key { ignore: Some(ignore), fold, ..Key::line() };
                let kept = text[..length].iter().copied().filter(|byte| !ignore.ignores(*byte));
                let kept = kept.map(|byte| if fold { byte.to_ascii_uppercase() } else { byte });
                assert_eq!(*key.seen(&text[..length]), kept.collect::<Vec<u8>>());
            }
        }
    }

    #[test]
    fn zeros_inside_a_key_do_not_end_it() {
        let encode = |text: &[u8]| {
            let mut out = Vec::new();
            Key::line().encode(text, Conventions::C, &mut out);
            Key::line().put_before_others(&mut out, 0);
            out
        };
        assert!(encode(b"a") < encode(b"a\0"));
        assert!(encode(b"a\0") < encode(b"a\0b"));
        assert!(encode(b"a\0b") < encode(b"ab"));
    }
}
