//! Bytes to collating elements: mostly one per character, sometimes one for several (`ch` in Czech), and one
//! for all that the locale does not know, including invalid bytes.

use pelton_sys::collate::Tables;

/// The lookup value of weights: the rule in the top eight bits, the offset of the weights in the others.
pub(super) type Element = i32;

/// The sequences of a locale.
pub(super) struct Sequences {
    first: &'static [i32],
    indirect: &'static [i32],
    /// For each first byte that is not an element by itself.
    lists: Vec<Vec<Sequence>>,
}

/// The bytes after a first byte.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    rest: &'static [u8],
    resources: CollationRole,
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
        let lists =
            first.iter().map(|&what| read_list(what, tables)).collect::<Option<Vec<Vec<Sequence>>>>()?;
        Some(Sequences { first, indirect: tables.indirect, lists })
    }

    /// Returns the first element of a text that is not empty and has no NUL, and its length in bytes.
    #[inline]
    pub(super) fn first_of(&self, text: &[u8]) -> (Element, usize) {
        let byte = usize::from(text[0]);
        let what = self.first[byte];
        if what >= 0 {
            return (what, 1);
        }
        let rest = &text[1..];
        let found = self.lists[byte].iter().find_map(|sequence| {
            let len = sequence.rest.len();
            self.matched(sequence, rest.get(..len)?).map(|element| (element, 1 + len))
        });
        // Each list ends with the meaning of the first byte alone.
        found.unwrap_or((0, 1))
    }

    fn matched(&self, sequence: &Sequence, rest: &[u8]) -> Option<Element> {
        match sequence.resources {
            CollationRole::One(element) => (sequence.rest == rest).then_some(element),
            CollationRole::UpTo(high, at) => {
                let ((low, before), (last, same)) = (sequence.rest.split_last()?, rest.split_last()?);
                let inside = before == same && (*low..=high).contains(last);
                inside.then(|| self.indirect[at + usize::from(last - low)])
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
        self.lists[usize::from(byte)].iter().any(|sequence| !sequence.rest.is_empty())
    }

    /// Whether such a sequence continues with ASCII.
    pub(super) fn may_go_on_in_ascii(&self, byte: u8) -> bool {
        self.lists[usize::from(byte)].iter().any(|sequence| sequence.rest.first().is_some_and(u8::is_ascii))
    }

    /// Calls `each` with the element of every sequence, and with its byte if it is a single one.
    pub(super) fn each(&self, mut each: impl FnMut(Element, Option<u8>)) {
        for (byte, (&what, list)) in self.first.iter().zip(&self.lists).enumerate() {
            if what >= 0 && byte > 0 {
                each(what, Some(byte as u8));
            }
            for sequence in list {
                let alone = sequence.rest.is_empty().then_some(byte as u8);
                match (sequence.resources, sequence.rest.last()) {
                    (CollationRole::UpTo(high, at), Some(low)) => {
                        (0..=usize::from(high - low))
                            .for_each(|offset| each(self.indirect[at + offset], None));
                    }
                    (CollationRole::One(element), _) => each(element, alone),
                    (CollationRole::UpTo(..), None) => {}
                }
            }
        }
    }
}

/// Reads the list for a negative entry of the first table. Each item: its meaning (negative: an index into
/// `indirect`), a length, these bytes, and for a range the same number of bytes for its other end; then
/// padding to a multiple of four.
fn read_list(what: i32, tables: &Tables) -> Option<Vec<Sequence>> {
    const WORD: usize = 4;
    let mut list = Vec::new();
    if what >= 0 {
        return Some(list);
    }
    let mut at = what.unsigned_abs() as usize;
    loop {
        let word = tables.extra.get(at..at + WORD)?;
        let meaning = i32::from_ne_bytes(word.try_into().ok()?);
        let len = usize::from(*tables.extra.get(at + WORD)?);
        let bytes =
            |index: usize| tables.extra.get(at + WORD + 1 + index * len..at + WORD + 1 + (index + 1) * len);
        let rest = bytes(0).filter(|rest| !rest.contains(&0))?;
        let is_range = meaning < 0;
        let resources = match is_range {
            false => CollationRole::One(meaning),
            true => read_range(rest, bytes(1)?, meaning.unsigned_abs() as usize, tables)?,
        };
        list.push(Sequence { rest, resources });
        if len == 0 {
            return (!is_range).then_some(list);
        }
        at += (WORD + 1 + len * (1 + usize::from(is_range))).next_multiple_of(WORD);
    }
}

/// Reads a range whose ends differ only in their last bytes, so that no text can end in the middle of it.
fn read_range(low: &[u8], high: &[u8], at: usize, tables: &Tables) -> Option<CollationRole> {
    let ((low, low_before), (high, high_before)) = (low.split_last()?, high.split_last()?);
    let width = usize::from(high.checked_sub(*low)?);
    let good = low_before == high_before && at + width < tables.indirect.len();
    good.then_some(CollationRole::UpTo(*high, at))
}
