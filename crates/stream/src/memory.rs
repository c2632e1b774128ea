//! Drives a kernel over inputs in memory, for tests and measurements. It shows the contract in its smallest
//! form.

use crate::{Flow, Framing, HandOver, InputKind, JoinKernel, Kernel, Notice, Storage, Stored};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// An input in memory.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The operand as written; `None` for standard input.
    pub name: Option<&'a [u8]>,
    /// The content.
    pub bytes: &'a [u8],
    /// The kind that `stat` would report.
    pub kind: InputKind,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The kernel finished.
    Whole,
    /// The kernel fell back to the real command.
    HandedOver {
        /// The index of the input.
        input: usize,
        /// The byte offset in it.
        offset: usize,
        /// What the kernel says of it.
        hand_over: HandOver,
    },
}

/// Returns the length of the next block of `rest`, for blocks of about `block_bytes`. `rest` is not empty.
pub fn next_block(rest: &[u8], framing: Framing, block_bytes: usize) -> usize {
    let size = block_bytes.clamp(1, rest.len());
    let Framing::Records(end) = framing else { return size };
    if let Some(last) = memchr::memrchr(end, &rest[..size]) {
        return last + 1;
    }
    memchr::memchr(end, &rest[size..]).map_or(rest.len(), |at| size + at + 1)
}

/// Runs a kernel over its inputs, in blocks of about `block_bytes`, appending to `out`.
pub fn run(kernel: &mut dyn Kernel, sources: &[Source<'_>], block_bytes: usize, out: &mut Vec<u8>) -> Ended {
    let kinds: Vec<InputKind> = sources.iter().map(|source| source.kind).collect();
    kernel.notice(Notice::Inputs(&kinds));
    for (input, source) in sources.iter().enumerate() {
        kernel.begin_input(source.name, out);
        let handed = |hand_over: HandOver, done: usize| Ended::HandedOver {
            input,
            offset: done + hand_over.consumed,
            hand_over,
        };
        let (mut done, mut is_pending) = (0, false);
        while is_pending || done < source.bytes.len() {
            let rest = &source.bytes[done..];
            let size = if is_pending { 0 } else { next_block(rest, kernel.framing(), block_bytes) };
            match kernel.push(&rest[..size], out) {
                Ok(flow @ (Flow::More | Flow::Pending)) => is_pending = flow == Flow::Pending,
                Ok(Flow::NextInput) => break,
                Ok(Flow::Done) => return Ended::Whole,
                Err(hand_over) => return handed(hand_over, done),
            }
            done += size;
        }
        match kernel.end_input(out) {
            Ok(Flow::Done) => return Ended::Whole,
            Ok(_) => {}
            Err(hand_over) => return handed(hand_over, source.bytes.len()),
        }
    }
    loop {
        match kernel.finish(out) {
            Ok(Flow::More) => {}
            Ok(_) => return Ended::Whole,
            Err(hand_over) => return Ended::HandedOver { input: sources.len(), offset: 0, hand_over },
        }
    }
}

/// Runs a join kernel over its inputs. Returns its diagnostics.
pub fn run_join(
    kernel: &mut dyn JoinKernel,
    sources: &[&[u8]],
    block_bytes: usize,
    out: &mut Vec<u8>,
) -> Vec<u8> {
    let mut done = vec![0; sources.len()];
    let mut complaints = Vec::new();
    while let Some(input) = kernel.wants() {
        let rest = &sources[input][done[input]..];
        if rest.is_empty() {
            kernel.end_input(input, out);
        } else {
            let size = next_block(rest, kernel.framing(), block_bytes);
            kernel.push(input, &rest[..size], out);
            done[input] += size;
        }
        complaints.extend(kernel.messages().into_iter().flat_map(|complaint| complaint.text));
    }
    complaints
}

/// A memory limit in bytes for each kernel; spilled data is kept in memory too.
pub struct Little(pub usize);

impl Storage for Little {
    fn memory_bytes(&self) -> usize {
        self.0
    }

    fn directory(&self) -> Vec<u8> {
        b"memory".to_vec()
    }

    fn create(&self, _: Option<&[u8]>) -> io::Result<Arc<dyn Stored>> {
        Ok(Arc::new(InMemory::default()))
    }
}

#[derive(Default)]
struct InMemory(Mutex<Vec<u8>>);

impl Stored for InMemory {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = at as usize + bytes.len();
        let len = stored.len().max(end);
        stored.resize(len, 0);
        stored[at as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = stored.get(at as usize..at as usize + bytes.len());
        bytes.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_a_record_unless_the_input_does_not() {
        let cut = |data: &[u8], size| next_block(data, Framing::Records(b'\n'), size);
        assert_eq!(cut(b"ab\ncd\nef", 7), 6);
        assert_eq!(cut(b"ab\ncd\nef", 1), 3);
        assert_eq!(cut(b"abcdef", 2), 6);
        assert_eq!(next_block(b"abcdef", Framing::Bytes, 2), 2);
    }
}
