//! One of several inputs read side by side: lines one at a time, from whatever blocks came so far.

/// An input of a join kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    bytes: Vec<u8>,
    /// The previous line, kept for comparing neighbours.
    previous: (usize, usize),
    /// The current line, without its terminator.
    line: (usize, usize),
    /// Where the next line starts.
    next: usize,
    /// There is a current line.
    current: bool,
    /// How many lines were current so far.
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

    /// Can [`advance`](Side::advance) tell what comes next?
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

    /// The current line, unless the end was reached.
    pub(crate) fn line(&self) -> Option<&[u8]> {
        self.current.then(|| &self.bytes[self.line.0..self.line.1])
    }

    /// The line before the current one; empty if there was none.
    pub(crate) fn previous(&self) -> &[u8] {
        &self.bytes[self.previous.0..self.previous.1]
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
}
