//! Collecting many small pieces of a block into the output.
//!
//! Appending to a vector costs a call per piece. Here the room is made once, and a short piece is copied as 16 bytes
//! of which the surplus is overwritten by the next.

/// How many bytes a short copy moves.
const SHORT: usize = 16;

/// Writes behind what `out` holds; [`Gather::finish`] cuts it to what was written.
pub(crate) struct Gather<'a> {
    out: &'a mut Vec<u8>,
    end: usize,
}

impl<'a> Gather<'a> {
    /// With room for at most `room` bytes.
    pub(crate) fn new(out: &'a mut Vec<u8>, room: usize) -> Self {
        let end = out.len();
        out.resize(end + room + SHORT, 0);
        Gather { out, end }
    }

    /// Appends `block[start..end]`.
    #[inline(always)]
    pub(crate) fn slice(&mut self, block: &[u8], start: usize, end: usize) {
        let length = end - start;
        if length <= SHORT && start + SHORT <= block.len() {
            self.out[self.end..self.end + SHORT].copy_from_slice(&block[start..start + SHORT]);
        } else {
            self.out[self.end..self.end + length].copy_from_slice(&block[start..end]);
        }
        self.end += length;
    }

    /// Appends these.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Appends one.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.out[self.end] = byte;
        self.end += 1;
    }

    /// Leaves in `out` what was written.
    pub(crate) fn finish(self) {
        self.out.truncate(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_all_lengths_arrive() {
        let block: Vec<u8> = (0..100).collect();
        let mut out = b"x".to_vec();
        let mut expected = out.clone();
        let mut gather = Gather::new(&mut out, 100_000);
        for (start, end) in
            (0..100).flat_map(|start| (start..100.min(start + 20)).map(move |end| (start, end)))
        {
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
