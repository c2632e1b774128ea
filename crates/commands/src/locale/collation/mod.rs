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
//! Most pairs of strings differ in the first level, whose weights are few bytes: the beginning of the key.
//! The whole key takes about seven bytes per letter, so it is made only if the beginnings are equal.

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
use levels::Levels;
use sequences::Sequences;
use unique_keys::{Alone, AloneInAscii};

/// The collation of a locale. Loaded once per locale and kept.
pub struct Collation {
    name: String,
    sequences: Sequences,
    levels: Levels,
    short: Box<[Short; 128]>,
    alone_in_ascii: OnceLock<AloneInAscii>,
    alone: OnceLock<Alone>,
    plain_ranges: OnceLock<bool>,
    #[cfg(test)]
    locale: pelton_sys::collate::Locale,
}

/// Separates the keys of the pieces of a string with NULs: `strcoll` sees one piece at a time.
const PIECE_END: u8 = 0;

/// The first-level weights of an ASCII character, if short.
#[derive(Clone, Copy, Debug, Default)]
struct Short {
    weights: [u8; SHORT_BYTES],
    len: u8,
    /// Valid only before ASCII or the end.
    before_ascii: bool,
    /// Never valid.
    unknown: bool,
}

const SHORT_BYTES: usize = 4;

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
        let short = Box::new(std::array::from_fn(|byte| Short::of(byte as u8, &sequences, &levels)));
        Ok(Some(Collation {
            name: name.to_owned(),
            sequences,
            levels,
            short,
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
        let same = self.same_beginning(a, b);
        let (a, b) = (&a[same..], &b[same..]);
        if let (Some(one), Some(other)) = (self.short_at(a, 0), self.short_at(b, 0)) {
            let len = usize::from(one.len.min(other.len));
            match one.weights[..len].cmp(&other.weights[..len]) {
                // One may begin with the other.
                Ordering::Equal => {}
                different => return different,
            }
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

    /// Returns the length of the common prefix of single ASCII elements.
    fn same_beginning(&self, a: &[u8], b: &[u8]) -> usize {
        let pairs = a.iter().zip(b).enumerate();
        let goes_on = |at: usize, byte: u8| {
            self.short(byte).is_some_and(|short| {
                let ends = |text: &[u8]| text.get(at + 1).is_none_or(u8::is_ascii);
                !short.before_ascii || ends(a) && ends(b)
            })
        };
        pairs.take_while(|(at, (one, other))| one == other && **one != 0 && goes_on(*at, **one)).count()
    }

    /// Returns the first-level weights of the character at this offset, if it is ASCII and an element by itself
    /// here.
    #[inline]
    fn short_at(&self, text: &[u8], at: usize) -> Option<&Short> {
        let next_is_ascii = || text.get(at + 1).is_none_or(u8::is_ascii);
        self.short(*text.get(at)?).filter(|short| !short.before_ascii || next_is_ascii())
    }

    #[inline]
    fn short(&self, byte: u8) -> Option<&Short> {
        self.short.get(usize::from(byte)).filter(|short| !short.unknown)
    }

    /// Appends the beginning of that key: its first level. If it is equal for two strings, the rest of their
    /// keys decides.
    pub(crate) fn append_beginning(&self, text: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + SHORT_BYTES * (text.len() + 1), 0);
        let room = &mut out[start..];
        let (mut at, mut end) = (0, 0);
        while let Some(&byte) = text.get(at) {
            match self.short_at(text, at) {
                Some(_) if byte == 0 => break,
                Some(short) => {
                    room[end..end + SHORT_BYTES].copy_from_slice(&short.weights);
                    end += usize::from(short.len);
                    at += 1;
                }
                None => {
                    out.truncate(start + end);
                    return self.append_beginning_slowly(&text[at..], out);
                }
            }
        }
        out.truncate(start + end);
    }

    fn append_beginning_slowly(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text.split(|byte| *byte == 0).next().unwrap_or_default();
        while !rest.is_empty() {
            let (element, len) = self.sequences.first_of(rest);
            out.extend_from_slice(self.levels.first_weights(element));
            rest = &rest[len..];
            // Returns to the fast path at a run of ASCII.
            if rest.len() >= 8 && rest[..8].is_ascii() {
                return self.append_beginning(rest, out);
            }
        }
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

impl Short {
    fn of(byte: u8, sequences: &Sequences, levels: &Levels) -> Short {
        if byte == 0 {
            return Short::default();
        }
        let (element, _) = sequences.first_of(&[byte]);
        let weights = levels.first_weights(element);
        let mut short = Short { len: weights.len() as u8, ..Short::default() };
        short.before_ascii = sequences.may_go_on(byte);
        short.unknown = weights.len() > SHORT_BYTES || sequences.may_go_on_in_ascii(byte);
        if !short.unknown {
            short.weights[..weights.len()].copy_from_slice(weights);
        }
        short
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
