//! Framing in front of a join kernel: takes blocks cut anywhere and cuts each input as the kernel requires.

use crate::meter::{MeteredJoin, Tell};
use crate::{Complaint, Framing, JoinKernel};
use memchr::{memchr, memrchr};

/// A kernel over several parallel inputs, with the incomplete record of each input.
pub struct Joined {
    kernel: Box<dyn JoinKernel>,
    pending: Vec<Vec<u8>>,
}

impl Joined {
    /// Wraps `kernel` for this number of inputs.
    pub fn new(kernel: Box<dyn JoinKernel>, inputs: usize) -> Self {
        Joined { kernel, pending: vec![Vec::new(); inputs] }
    }

    /// Reports each call of the kernel to `tell`.
    pub fn measured(self, tell: Tell) -> Self {
        Joined { kernel: Box::new(MeteredJoin::new(self.kernel, tell)), ..self }
    }

    /// Returns the input to feed next, or `None` once the kernel needs no more.
    pub fn wants(&self) -> Option<usize> {
        self.kernel.wants()
    }

    /// Pushes the next bytes of this input, cut anywhere. `block` is never empty.
    pub fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>) {
        let Framing::Records(end) = self.kernel.framing() else {
            return self.kernel.push(input, block, out);
        };
        let pending = &mut self.pending[input];
        let Some(last) = memrchr(end, block) else { return pending.extend_from_slice(block) };
        let (mut whole, tail) = block.split_at(last + 1);
        if !pending.is_empty() {
            let first = memchr(end, whole).map_or(whole.len(), |at| at + 1);
            pending.extend_from_slice(&whole[..first]);
            whole = &whole[first..];
            self.kernel.push(input, pending, out);
            pending.clear();
        }
        if !whole.is_empty() {
            self.kernel.push(input, whole, out);
        }
        pending.extend_from_slice(tail);
    }

    /// Ends this input: pushes an incomplete last record first.
    pub fn end_input(&mut self, input: usize, out: &mut Vec<u8>) {
        let record = std::mem::take(&mut self.pending[input]);
        if !record.is_empty() {
            self.kernel.push(input, &record, out);
        }
        self.kernel.end_input(input, out);
    }

    /// See [`JoinKernel::messages`].
    pub fn messages(&mut self) -> Vec<Complaint> {
        self.kernel.messages()
    }

    /// See [`JoinKernel::status`].
    pub fn status(&self) -> i32 {
        self.kernel.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints which input each block came from, and requests each input in turn until both have ended.
    #[derive(Default)]
    struct Log {
        calls: usize,
        ended: [bool; 2],
    }

    impl JoinKernel for Log {
        fn framing(&self) -> Framing {
            Framing::Records(b'\n')
        }

        fn wants(&self) -> Option<usize> {
            self.ended.iter().position(|ended| !ended)
        }

        fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>) {
            self.calls += 1;
            out.extend_from_slice(format!("{input}[").as_bytes());
            out.extend_from_slice(block);
            out.push(b']');
        }

        fn end_input(&mut self, input: usize, out: &mut Vec<u8>) {
            self.ended[input] = true;
            out.extend_from_slice(format!("{input}.").as_bytes());
        }

        fn status(&self) -> i32 {
            self.calls as i32
        }
    }

    #[test]
    fn each_input_is_cut_into_whole_records() {
        let mut joined = Joined::new(Box::new(Log::default()), 2);
        let mut out = Vec::new();
        joined.push(0, b"a", &mut out);
        joined.push(1, b"x\ny", &mut out);
        joined.push(0, b"b\nc\nd", &mut out);
        joined.push(0, b"e", &mut out);
        assert_eq!(joined.wants(), Some(0));
        joined.end_input(0, &mut out);
        assert_eq!(joined.wants(), Some(1));
        joined.end_input(1, &mut out);
        assert_eq!(out, b"1[x\n]0[ab\n]0[c\n]0[de]0.1[y]1.");
        assert_eq!((joined.wants(), joined.status()), (None, 5));
    }
}
