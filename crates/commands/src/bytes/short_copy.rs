//! Copies many small pieces of a block to the output.
//!
//! Appending to a vector costs a call per piece. Here the capacity is ensured once, or once per line, and a
//! short piece is copied as a few whole vectors, whose surplus the next piece overwrites.

/// Maximum length of a short copy.
const SHORT: usize = 64;

/// Appends to `out`; [`Gather::finish`] cuts it to the written length.
pub(crate) struct Gather<'a> {
    out: &'a mut Vec<u8>,
    end: usize,
}

impl<'a> Gather<'a> {
    /// Ensures capacity for `room` bytes.
    pub(crate) fn new(out: &'a mut Vec<u8>, room: usize) -> Self {
        let end = out.len();
        out.resize(end + room + SHORT, 0);
        Gather { out, end }
    }

    /// Ensures capacity for `room` more bytes.
    #[inline(always)]
    pub(crate) fn make_room(&mut self, room: usize) {
        if self.out.len() < self.end + room + SHORT {
            self.grow(room);
        }
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        let wanted = (self.end + room + SHORT).max(self.out.len() + self.out.len() / 2);
        self.out.resize(wanted, 0);
    }

    /// Appends `block[start..end]`.
    #[inline(always)]
    pub(crate) fn slice(&mut self, block: &[u8], start: usize, end: usize) {
        let length = end - start;
        if length <= SHORT && start + SHORT <= block.len() {
            if length <= 16 {
                self.short::<16>(block, start);
            } else if length <= 32 {
                self.short::<32>(block, start);
            } else {
                self.short::<SHORT>(block, start);
            }
        } else {
            self.out[self.end..self.end + length].copy_from_slice(&block[start..end]);
        }
        self.end += length;
    }

    /// Copies `N` bytes without advancing.
    #[inline(always)]
    fn short<const N: usize>(&mut self, block: &[u8], start: usize) {
        self.out[self.end..self.end + N].copy_from_slice(&block[start..start + N]);
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Appends the first `length` bytes. All `N` are written: there must be capacity for them.
    #[inline(always)]
    pub(crate) fn some_of<const N: usize>(&mut self, bytes: [u8; N], length: usize) {
        self.out[self.end..self.end + N].copy_from_slice(&bytes);
        self.end += length;
    }

    /// Appends one byte.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.out[self.end] = byte;
        self.end += 1;
    }

    /// Cuts `out` to the written length.
    pub(crate) fn finish(self) {
        self.out.truncate(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_all_lengths_arrive() {
        let block: Vec<u8> = (0..200).collect();
        let mut out = b"x".to_vec();
        let mut expected = out.clone();
        let mut gather = Gather::new(&mut out, 0);
        for (start, end) in
            (0..200).flat_map(|start| (start..200.min(start + 80)).map(move |end| (start, end)))
        {
            gather.make_room(end - start + 20);
            gather.slice(&block, start, end);
            expected.extend_from_slice(&block[start..end]);
        }
        gather.byte(7);
        gather.bytes(b"yz");
        gather.finish();
        expected.extend_from_slice(b"\x07yz");
        assert_eq!(out, expected);
    }
}
