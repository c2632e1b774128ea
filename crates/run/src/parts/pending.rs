//! Input that was read and is not queued yet.

use memchr::{memchr, memrchr};

/// Bytes in their original order.
#[derive(Default)]
pub struct Pending {
    /// The buffer to read into.
    pub bytes: Vec<u8>,
}

impl Pending {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the end of the whole lines that fit into `room`, at least one line; `None` if no line ends.
    pub fn lines(&self, room: usize) -> Option<usize> {
        let room = room.min(self.bytes.len());
        memrchr(b'\n', &self.bytes[..room])
            .or_else(|| memchr(b'\n', &self.bytes[room..]).map(|at| room + at))
            .map(|at| at + 1)
    }

    /// Takes the first `n` bytes.
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
