//! What was read and is given to nobody yet.

use memchr::{memchr, memrchr};

/// Bytes in the order in which they came.
#[derive(Default)]
pub struct Pending {
    /// To be read into.
    pub bytes: Vec<u8>,
}

impl Pending {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The end of the whole lines that fit into `room`, of one line at least; `None` if there is no end of a line.
    pub fn lines(&self, room: usize) -> Option<usize> {
        let room = room.min(self.bytes.len());
        memrchr(b'\n', &self.bytes[..room])
            .or_else(|| memchr(b'\n', &self.bytes[room..]).map(|at| room + at))
            .map(|at| at + 1)
    }

    /// Takes the first `n` of them, in order.
    pub fn take(&mut self, n: usize) -> std::vec::Drain<'_, u8> {
        self.bytes.drain(..n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_and_one_at_least() {
        let pending = Pending { bytes: b"ab\ncd\nef".to_vec() };
        let ends = [0, 1, 3, 4, 6, 7, 100].map(|room| pending.lines(room));
        assert_eq!(ends, [3, 3, 3, 3, 6, 6, 6].map(Some));
        assert_eq!(Pending { bytes: b"ab".to_vec() }.lines(5), None);
    }
}
