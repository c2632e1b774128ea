//! A locale's order as byte strings: keys that compare as `strcoll` compares the original strings.
//!
//! ```text
//!   bytes ─ sequences ─▶ elements ─ levels ─▶ weights of level 1, then of level 2 … : the key
//!                                └─ alone ──▶ can anything else be equal to this string?
//! ```
//! `strxfrm` promises such keys, but where accents are compared from the end (as in ISO 14651 for most
//! scripts) glibc's version disagrees with its `strcoll`, which sort, comm and join call. So the keys are
//! made here, from the library's own tables, and agree with `strcoll` for any bytes: tests compare the two.
//!
//! Most pairs of strings differ in the first level, the beginning of the key: one byte per letter, in codes. The whole key
//! takes about seven bytes per letter, so it is made only if the beginnings are equal.

mod codes;
mod levels;
mod sequences;
mod unique_keys;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use pelton_sys::collate::glibc_version;

use crate::locale::encodings::compare_encoded;
use crate::locale::installed::loaded;
use crate::{Accept, Declined};
use codes::Codes;
use levels::Levels;
use sequences::Sequences;
use unique_keys::{Alone, AloneInAscii};

/// The collation of a locale. Loaded once per locale and kept.
pub struct Collation {
    name: String,
    sequences: Sequences,
    levels: Levels,
    codes: Codes,
    alone_in_ascii: OnceLock<AloneInAscii>,
    alone: OnceLock<Alone>,
    plain_ranges: OnceLock<bool>,
    #[cfg(test)]
    locale: pelton_sys::collate::Locale,
}

/// Separates the keys of the pieces of a string with NULs: `strcoll` sees one piece at a time.
const PIECE_END: u8 = 0;

static LOADED: Mutex<BTreeMap<String, Option<&'static Collation>>> = Mutex::new(BTreeMap::new());

impl Collation {
    /// Returns the order of an installed locale; `None` for byte order.
    pub fn of(name: &str) -> Accept<Option<&'static Collation>> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.get(name) {
            return Ok(*known);
        }
        let collation = Collation::load(name)?.map(|collation| &*Box::leak(Box::new(collation)));
        loaded.insert(name.to_owned(), collation);
        Ok(collation)
    }

    fn load(name: &str) -> Accept<Option<Collation>> {
        let declined = |why: &str| Declined::new(format!("the order of locale {name}: {why}"));
        let locale = loaded(name).ok_or_else(|| declined("it cannot be loaded"))?;
        let tables = locale.tables().ok_or_else(|| {
            let library = glibc_version().map_or("no glibc".to_owned(), |version| format!("glibc {version}"));
            declined(&format!("{library} was not compared"))
        })?;
        if tables.levels == 0 {
            return Ok(None);
        }
        let unusual = || declined("its tables are unusual");
        let levels = Levels::new(&tables).ok_or_else(unusual)?;
        let sequences = Sequences::new(&tables).ok_or_else(unusual)?;
        let codes = Codes::new(&sequences, &levels);
        Ok(Some(Collation {
            name: name.to_owned(),
            sequences,
            levels,
            codes,
            alone_in_ascii: OnceLock::new(),
            alone: OnceLock::new(),
            plain_ranges: OnceLock::new(),
            #[cfg(test)]
            locale,
        }))
    }

    /// Whether ranges of letters or digits in expressions hold of ASCII just what lies between their ends.
    pub(crate) fn has_plain_ranges(&self) -> bool {
        let ask = || loaded(&self.name).is_some_and(|locale| locale.has_plain_ranges());
        self.is_american() || *self.plain_ranges.get_or_init(ask)
    }

    /// Whether each assigned character has a place of its own, so that no two texts of them are equal: known of en_US. In
    /// Japanese, letters outside its own character sets are all equal.
    pub(crate) fn tells_characters_apart(&self) -> bool {
        self.is_american()
    }

    fn is_american(&self) -> bool {
        matches!(self.name.as_str(), "en_US.UTF-8" | "en_US.utf8")
    }

    /// Appends the key of `text`: keys order as `strcoll` orders the original strings. The key of nothing is
    /// empty.
    pub(crate) fn append_key(&self, text: &[u8], out: &mut Vec<u8>) {
        for (index, piece) in text.split(|byte| *byte == 0).enumerate() {
            if index > 0 {
                out.push(PIECE_END);
            }
            if !piece.is_empty() {
                self.levels.append(self.sequences.of(piece), out);
            }
        }
    }

    /// Compares as `strcoll` does, for strings that are compared once.
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.compare_beginnings(a, b)
            .then_with(|| compare_encoded(a, b, |text, out| self.append_key(text, out)))
    }

    /// Compares the results of [`append_beginning`](Self::append_beginning), without making them.
    pub(crate) fn compare_beginnings(&self, a: &[u8], b: &[u8]) -> Ordering {
        let same = self.codes.common_prefix(a, b);
        let (a, b) = (&a[same..], &b[same..]);
        if let (Some(one), Some(other)) = (self.codes.at(a, 0), self.codes.at(b, 0))
            && one != other
            && one != Codes::IGNORED
            && other != Codes::IGNORED
        {
            return one.cmp(&other);
        }
        let (mut one, mut other) = (FirstWeights::of(self, a), FirstWeights::of(self, b));
        loop {
            match (one.next(), other.next()) {
                (None, None) => return Ordering::Equal,
                (a, b) if a != b => return a.cmp(&b),
                _ => {}
            }
        }
    }

    /// Whether the beginnings of ASCII are the same in upper and in lower case.
    pub(crate) fn begins_alike_in_any_case(&self) -> bool {
        self.codes.are_alike_in_any_case()
    }

    /// Appends the beginning of that key: its first level, in codes. If it is equal for two strings, the rest of their
    /// keys decides.
    pub(crate) fn append_beginning(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text;
        loop {
            rest = &rest[self.codes.append_ascii(rest, out)..];
            // A piece's end, or an element of several bytes.
            if rest.first().is_none_or(|byte| *byte == PIECE_END) {
                return;
            }
            let piece = memchr::memchr(PIECE_END, rest).map_or(rest, |end| &rest[..end]);
            let (element, len) = self.sequences.first_of(piece);
            self.codes.append(self.levels.first_weights(element), out);
            rest = &rest[len..];
        }
    }

    /// Returns the first eight bytes of that beginning, the first one in the highest bits, zeros behind its end; `None` if
    /// they depend on more than single ASCII characters.
    #[inline]
    pub(crate) fn window(&self, text: &[u8]) -> Option<u64> {
        self.codes.window(text)
    }

    /// Whether only `text` itself is equal to it. `false` if unknown.
    pub(crate) fn is_alone(&self, text: &[u8]) -> bool {
        let alone = self.alone.get_or_init(|| Alone::new(&self.sequences, &self.levels));
        text.split(|byte| *byte == 0).all(|piece| self.sequences.of(piece).all(|one| alone.has(one)))
    }

    /// Quick check whether `text` is ASCII of which each line is [`alone`](Self::is_alone).
    pub(crate) fn is_plain(&self, text: &[u8]) -> bool {
        text.is_ascii()
            && self
                .alone_in_ascii
                .get_or_init(|| AloneInAscii::new(&self.sequences, &self.levels))
                .are_all(text)
    }
}

/// Iterates over the weights of the first level up to the first NUL.
struct FirstWeights<'a> {
    collation: &'a Collation,
    text: &'a [u8],
    /// The remaining weights of the current element.
    weights: &'static [u8],
}

impl<'a> FirstWeights<'a> {
    fn of(collation: &'a Collation, text: &'a [u8]) -> Self {
        let piece = text.split(|byte| *byte == 0).next().unwrap_or_default();
        FirstWeights { collation, text: piece, weights: &[] }
    }
}

impl Iterator for FirstWeights<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some((first, others)) = self.weights.split_first() {
                self.weights = others;
                return Some(*first);
            }
            if self.text.is_empty() {
                return None;
            }
            let (element, len) = self.collation.sequences.first_of(self.text);
            self.weights = self.collation.levels.first_weights(element);
            self.text = &self.text[len..];
        }
    }
}

/// Compares by a locale's order, or by bytes if there is none.
#[inline]
pub(crate) fn compare(collation: Option<&Collation>, a: &[u8], b: &[u8]) -> Ordering {
    match collation {
        None => a.cmp(b),
        Some(collation) => collation.compare(a, b),
    }
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collation({})", self.name)
    }
}

impl PartialEq for Collation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Collation {}

#[cfg(test)]
mod tests;
