//! One of several parallel inputs: steps through its lines in the blocks that have arrived.

use std::cmp::Ordering;

use crate::locale::collation::{Collation, compare};
use crate::sort::window;

/// An input of a join kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    bytes: Vec<u8>,
    /// The previous line, kept for comparing neighbours.
    previous: (usize, usize),
    /// The current line, without its terminator.
    line: (usize, usize),
    /// The start of the next line.
    next: usize,
    /// Whether there is a current line.
    current: bool,
    /// The number of lines that have been current.
    pub(crate) count: u64,
    ended: bool,
    end: u8,
}

impl Side {
    pub(crate) fn new(end: u8) -> Self {
        Side { end, ..Side::default() }
    }

    pub(crate) fn push(&mut self, block: &[u8]) {
        let keep = self.previous.0.min(self.line.0);
        self.bytes.drain(..keep);
        for place in [&mut self.previous.0, &mut self.previous.1, &mut self.line.0, &mut self.line.1] {
            *place -= keep;
        }
        self.next -= keep;
        self.bytes.extend_from_slice(block);
    }

    pub(crate) fn end_input(&mut self) {
        self.ended = true;
    }

    /// Whether [`advance`](Side::advance) can decide without more input.
    pub(crate) fn knows_next(&self) -> bool {
        self.ended || self.next < self.bytes.len()
    }

    /// Steps to the next line. Returns false at the end.
    pub(crate) fn advance(&mut self) -> bool {
        self.current = self.next < self.bytes.len();
        if self.current {
            let rest = &self.bytes[self.next..];
            let length = memchr::memchr(self.end, rest).unwrap_or(rest.len());
            self.previous = self.line;
            self.line = (self.next, self.next + length);
            self.next = (self.next + length + 1).min(self.bytes.len());
            self.count += 1;
        }
        self.current
    }

    /// Returns the current line, unless the end was reached.
    pub(crate) fn line(&self) -> Option<&[u8]> {
        self.current.then(|| &self.bytes[self.line.0..self.line.1])
    }

    /// Returns the line before the current one; empty if there was none.
    pub(crate) fn previous(&self) -> &[u8] {
        &self.bytes[self.previous.0..self.previous.1]
    }
}

impl Side {
    /// Returns a walk over the complete lines, from the current one; `None` if there is none.
    pub(crate) fn walk(&self) -> Option<Walk<'_>> {
        let (start, end) = self.line;
        let here = Line { start, end, key: (start, end), shown: 0 };
        self.current.then_some(Walk {
            bytes: &self.bytes,
            here,
            steps: 0,
            previous: self.previous,
            next: self.next,
        })
    }

    /// Moves to the position of a walk.
    pub(crate) fn go(&mut self, place: Cursor) {
        (self.previous, self.line, self.next) = (place.previous, place.line, place.next);
        self.count += place.steps;
    }
}

/// A line and its key, with the key's first bytes as [`window`] encodes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) key: (usize, usize),
    shown: u64,
}

/// A cheap walk over the lines of a [`Side`]. The caller inspects the next line before stepping on it, and
/// leaves the hard cases to `advance`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) here: Line,
    previous: (usize, usize),
    next: usize,
    steps: u64,
}

/// The position of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    previous: (usize, usize),
    line: (usize, usize),
    next: usize,
    pub(crate) steps: u64,
}

impl<'a> Walk<'a> {
    /// Sets the key of the current line.
    pub(crate) fn by_key(self, key: (usize, usize)) -> Self {
        Walk { here: Line { key, ..self.here }.shown_in(self.bytes), ..self }
    }

    /// Returns the next line, if it is complete. `cut` returns its length and the range of its key.
    #[inline]
    pub(crate) fn ahead(&self, cut: impl Fn(&[u8]) -> Option<(usize, (usize, usize))>) -> Option<Line> {
        let start = self.next;
        let (len, (from, to)) = cut(self.bytes.get(start..)?)?;
        Some(Line { start, end: start + len, key: (start + from, start + to), shown: 0 }.shown_in(self.bytes))
    }

    /// Steps to the line that [`ahead`](Walk::ahead) returned.
    #[inline]
    pub(crate) fn step(&mut self, line: Line) {
        self.previous = (self.here.start, self.here.end);
        self.here = line;
        self.next = line.end + 1;
        self.steps += 1;
    }

    /// Compares a line of this walk with one of another walk.
    #[inline]
    pub(crate) fn compare(
        &self,
        line: &Line,
        (other, theirs): (&Walk<'_>, &Line),
        collation: Option<&Collation>,
    ) -> Ordering {
        if collation.is_none() && line.shown != theirs.shown {
            return line.shown.cmp(&theirs.shown);
        }
        compare(collation, &self.bytes[line.key.0..line.key.1], &other.bytes[theirs.key.0..theirs.key.1])
    }

    pub(crate) fn line(&self) -> &'a [u8] {
        &self.bytes[self.here.start..self.here.end]
    }

    pub(crate) fn key(&self) -> &'a [u8] {
        &self.bytes[self.here.key.0..self.here.key.1]
    }

    pub(crate) fn place(&self) -> Cursor {
        let Walk { here, previous, next, steps, .. } = *self;
        Cursor { previous, line: (here.start, here.end), next, steps }
    }
}

impl Line {
    #[inline]
    fn shown_in(self, bytes: &[u8]) -> Self {
        let (from, to) = self.key;
        Line { shown: window(bytes, from, to - from), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_across_blocks() {
        let mut side = Side::new(b'\n');
        assert!(!side.knows_next());
        side.push(b"a\nbc\n");
        assert!(side.advance() && side.line() == Some(b"a"));
        assert!(side.advance() && side.line() == Some(b"bc") && side.previous() == b"a");
        assert!(!side.knows_next());
        side.push(b"d");
        assert!(side.knows_next() && side.advance());
        assert_eq!((side.line(), side.previous()), (Some(&b"d"[..]), &b"bc"[..]));
        side.end_input();
        assert!(side.knows_next() && !side.advance() && side.line().is_none());
    }

    #[test]
    fn a_walk_goes_as_far_as_lines_are_whole() {
        let mut side = Side::new(b'\n');
        side.push(b"a\nbc\nd");
        assert!(side.walk().is_none() && side.advance());
        let whole = |bytes: &[u8]| memchr::memchr(b'\n', bytes).map(|end| (end, (0, end)));
        let mut walk = side.walk().expect("a line").by_key((0, 1));
        assert_eq!((walk.line(), walk.key()), (&b"a"[..], &b"a"[..]));
        let next = walk.ahead(whole).expect("another");
        assert!(walk.compare(&walk.here, (&walk, &next), None).is_lt());
        walk.step(next);
        assert!(walk.key() == b"bc" && walk.ahead(whole).is_none());
        let place = walk.place();
        side.go(place);
        assert_eq!((side.line(), side.previous(), side.count), (Some(&b"bc"[..]), &b"a"[..], 2));
        side.end_input();
        assert!(side.advance() && side.line() == Some(b"d"));
    }
}
