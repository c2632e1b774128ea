//! Bytes to collating elements: mostly one per character, sometimes one for several (`ch` in Czech), and one
//! for all that the locale does not know, including invalid bytes.

use std::sync::OnceLock;

use pelton_sys::collate::Tables;

/// The lookup value of weights: the rule in the top eight bits, the offset of the weights in the others.
pub(super) type Element = i32;

/// The sequences of a locale.
pub(super) struct Sequences {
    tables: Tables,
    starts: Vec<Start>,
}

/// What a first byte may begin.
#[derive(Debug, Default)]
struct Start {
    /// Its sequences, read from the tables when one is first looked up: most texts use few first bytes.
    list: OnceLock<Vec<Sequence>>,
    /// Whether a sequence has several bytes.
    goes_on: bool,
    /// Whether one of them continues with ASCII.
    goes_on_in_ascii: bool,
}

/// A sequence of bytes behind a first byte that the table is indexed by: its rest, and the element that it is.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    rest: &'static [u8],
    role: CollationRole,
}

#[derive(Clone, Copy, Debug)]
enum CollationRole {
    /// This element.
    One(Element),
    /// The last byte is between that of the sequence and this one: elements from this index on in `indirect`.
    UpTo(u8, usize),
}

const FIRST_BYTES: usize = 256;

impl Sequences {
    /// `None` if the tables have unknown content.
    pub(super) fn new(tables: &Tables) -> Option<Self> {
        let first = tables.first.get(..FIRST_BYTES)?;
        let starts = first.iter().map(|&what| Start::of(what, tables)).collect::<Option<_>>()?;
        Some(Sequences { tables: *tables, starts })
    }

    /// Returns the sequences of a first byte that is not an element by itself.
    fn list(&self, byte: usize) -> &[Sequence] {
        self.starts[byte].list.get_or_init(|| {
            let read: Option<Vec<Sequence>> = Items::new(self.tables.first[byte], &self.tables).collect();
            // `new` has read all lists once.
            read.unwrap_or_default()
        })
    }

    /// Returns the first element of a text that is not empty and has no NUL, and its length in bytes.
    #[inline]
    pub(super) fn first_of(&self, text: &[u8]) -> (Element, usize) {
        let byte = usize::from(text[0]);
        let what = self.tables.first[byte];
        if what >= 0 {
            return (what, 1);
        }
        let rest = &text[1..];
        let found = self.list(byte).iter().find_map(|sequence| {
            let len = sequence.rest.len();
            self.matched(sequence, rest.get(..len)?).map(|element| (element, 1 + len))
        });
        // Each list ends with the meaning of the first byte alone.
        found.unwrap_or((0, 1))
    }

    fn matched(&self, sequence: &Sequence, rest: &[u8]) -> Option<Element> {
        match sequence.role {
            CollationRole::One(element) => (sequence.rest == rest).then_some(element),
            CollationRole::UpTo(high, at) => {
                let ((low, before), (last, same)) = (sequence.rest.split_last()?, rest.split_last()?);
                let inside = before == same && (*low..=high).contains(last);
                inside.then(|| self.tables.indirect[at + usize::from(last - low)])
            }
        }
    }

    /// Iterates over the elements of a text without NULs.
    pub(super) fn of<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Element> + 'a {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (element, len) = self.first_of(rest);
            rest = &rest[len..];
            Some(element)
        })
    }

    /// Whether a sequence of several bytes begins with this one.
    pub(super) fn may_go_on(&self, byte: u8) -> bool {
        self.starts[usize::from(byte)].goes_on
    }

    /// Whether such a sequence continues with ASCII.
    pub(super) fn may_go_on_in_ascii(&self, byte: u8) -> bool {
        self.starts[usize::from(byte)].goes_on_in_ascii
    }

    /// Calls `each` with the element of every sequence.
    pub(super) fn each(&self, mut each: impl FnMut(Element)) {
        for (byte, &what) in self.tables.first[..FIRST_BYTES].iter().enumerate() {
            if what >= 0 && byte > 0 {
                each(what);
            }
            // Read without being kept: texts need few of the lists. `new` has read all once.
            for sequence in Items::new(what, &self.tables).flatten() {
                match (sequence.role, sequence.rest.last()) {
                    (CollationRole::UpTo(high, at), Some(low)) => {
                        (0..=usize::from(high - low))
                            .for_each(|offset| each(self.tables.indirect[at + offset]));
                    }
                    (CollationRole::One(element), _) => each(element),
                    (CollationRole::UpTo(..), None) => {}
                }
            }
        }
    }
}

impl Start {
    /// Reads the list of a first byte without keeping it. `None` if it has unknown content.
    fn of(what: i32, tables: &Tables) -> Option<Self> {
        let mut start = Start::default();
        for sequence in Items::new(what, tables) {
            let rest = sequence?.rest;
            start.goes_on |= !rest.is_empty();
            start.goes_on_in_ascii |= rest.first().is_some_and(u8::is_ascii);
        }
        Some(start)
    }
}

/// Iterates over the list for an entry of the first table: empty unless the entry is negative. Each item: its
/// meaning (negative: an index into `indirect`), a length, these bytes, and for a range the same number of
/// bytes for its other end; then padding to a multiple of four. Yields `None` for unknown content, and ends.
struct Items<'a> {
    tables: &'a Tables,
    /// The offset of the next item; `None` at the end.
    at: Option<usize>,
}

impl<'a> Items<'a> {
    fn new(what: i32, tables: &'a Tables) -> Self {
        Items { tables, at: (what < 0).then_some(what.unsigned_abs() as usize) }
    }

    /// Reads the item at an offset, and returns it with the offset of the next one.
    #[inline]
    fn read(&self, at: usize) -> Option<(Sequence, Option<usize>)> {
        const WORD: usize = 4;
        let extra = self.tables.extra.get(at..)?;
        let meaning = i32::from_ne_bytes(*extra.first_chunk()?);
        let len = usize::from(*extra.get(WORD)?);
        let bytes = |index: usize| extra.get(WORD + 1 + index * len..WORD + 1 + (index + 1) * len);
        let rest = bytes(0)?;
        let is_range = meaning < 0;
        let role = match is_range {
            false => CollationRole::One(meaning),
            true => read_range(rest, bytes(1)?, meaning.unsigned_abs() as usize, self.tables)?,
        };
        if rest.contains(&0) || len == 0 && is_range {
            return None;
        }
        let size = (WORD + 1 + len * (1 + usize::from(is_range))).next_multiple_of(WORD);
        Some((Sequence { rest, role }, (len > 0).then_some(at + size)))
    }
}

impl Iterator for Items<'_> {
    type Item = Option<Sequence>;

    #[inline]
    fn next(&mut self) -> Option<Option<Sequence>> {
        let read = self.read(self.at?);
        self.at = read.and_then(|(_, next)| next);
        Some(read.map(|(sequence, _)| sequence))
    }
}

/// Reads a range whose ends differ only in their last bytes, so that no text can end in the middle of it.
fn read_range(low: &[u8], high: &[u8], at: usize, tables: &Tables) -> Option<CollationRole> {
    let ((low, low_before), (high, high_before)) = (low.split_last()?, high.split_last()?);
    let width = usize::from(high.checked_sub(*low)?);
    let good = low_before == high_before && at + width < tables.indirect.len();
    good.then_some(CollationRole::UpTo(*high, at))
}
