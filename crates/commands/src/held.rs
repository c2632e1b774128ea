//! Bytes held back: the last so many lines or bytes of what came so far.

use crate::scan;

/// A queue of bytes that forgets from the front.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    start: usize,
    /// Records that are complete.
    ends: u64,
    unit: Unit,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Records that end with this byte; a last one may lack it.
    Records(u8),
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Where the last `count` units of a block begin, if it holds more than that: an incomplete last record comes on top of
    /// them. `None` also if it is dear to tell.
    pub(crate) fn last(self, count: u64, block: &[u8]) -> Option<usize> {
        let count = usize::try_from(count).ok()?;
        match self {
            Unit::Bytes => block.len().checked_sub(count),
            Unit::Records(end) => {
                let most = block.len() / 2;
                let before = (count <= most).then(|| memchr::memrchr_iter(end, block).nth(count))??;
                Some(before + 1)
            }
        }
    }
}

impl Held {
    pub(crate) fn new(unit: Unit) -> Self {
        Held { bytes: Vec::new(), start: 0, ends: 0, unit }
    }

    pub(crate) fn append(&mut self, block: &[u8]) {
        self.bytes.extend_from_slice(block);
        if let Unit::Records(end) = self.unit {
            self.ends += scan::count(block, end) as u64;
        }
    }

    pub(crate) fn all(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn clear(&mut self) {
        (self.start, self.ends) = (0, 0);
        self.bytes.clear();
    }

    /// How long the front is that lies before the last `keep` units. While more may come (`open`), an incomplete last
    /// record does not count.
    pub(crate) fn surplus(&self, keep: u64, open: bool) -> usize {
        let held = self.all();
        let Unit::Records(end) = self.unit else {
            return usize::try_from(keep).map_or(0, |keep| held.len().saturating_sub(keep));
        };
        let incomplete = !open && held.last().is_some_and(|&last| last != end);
        let too_many = (self.ends + u64::from(incomplete)).saturating_sub(keep);
        match too_many {
            0 => 0,
            // All of them, with the incomplete one.
            _ if too_many > self.ends => held.len(),
            _ => scan::end_of_nth(held, end, too_many).unwrap_or(held.len()),
        }
    }

    /// Forgets the first `length` bytes, which must end with a unit.
    pub(crate) fn forget(&mut self, length: usize) {
        if let Unit::Records(end) = self.unit {
            self.ends -= scan::count(&self.all()[..length], end) as u64;
        }
        self.start += length;
        // Moved down only now and then, so that each byte moves about once.
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_stay() {
        let mut held = Held::new(Unit::Records(b'\n'));
        held.append(b"a\nb\nc\nd");
        assert_eq!(held.surplus(2, true), 2);
        assert_eq!(held.surplus(2, false), 4);
        assert_eq!(held.surplus(0, false), 7);
        held.forget(4);
        assert_eq!(held.all(), b"c\nd");
        assert_eq!(held.surplus(9, false), 0);
    }
}
