//! The kernel of gzip: members of files, one after another.

use std::sync::Arc;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use pelton_stream::{BLOCK_BYTES, Flow, Framing, Kernel, Notice, Outcome, Programs};

use crate::tool::second_run::SecondRun;

use super::header::Header;

/// Output bytes per call.
const ENOUGH_BYTES: usize = 2 * BLOCK_BYTES;

/// The most bytes of a header: names are much shorter.
const HEADER_BYTES_MAX: usize = 1 << 17;

/// The real gzip prints this many bytes at a time. At damage it drops those that it has not printed.
const WINDOW_BYTES: usize = 1 << 15;

/// Bytes that are decompressed before an earlier window is printed: the real gzip looks a little further ahead in its
/// input, and stops earlier where that ends too soon.
const AHEAD_BYTES: usize = 1 << 15;

/// The bytes behind a member's data: its checksum and its length.
const TRAILER_BYTES: usize = 8;

/// What a file holds next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// A header, of which these bytes were read; nothing at the end of a file, unless it is the first.
    Header { read: Vec<u8>, is_first: bool },
    /// Compressed data.
    Data,
    /// A trailer, of which these bytes were read.
    Trailer(Vec<u8>),
    /// Zeros up to its end.
    Zeros,
}

impl Next {
    const FIRST: Next = Next::Header { read: Vec::new(), is_first: true };
    const ANOTHER: Next = Next::Header { read: Vec::new(), is_first: false };
}

/// What only the real gzip judges.
struct Odd;

pub(super) struct GzipKernel {
    args: Vec<Vec<u8>>,
    reads_stdin: bool,
    next: Next,
    inflate: Decompress,
    crc: Crc,
    /// What was decompressed and is not printed, from the start of a window on.
    held: Vec<u8>,
    /// Input that did not fit into the output of a call.
    left: Vec<u8>,
    /// The output of earlier calls, in bytes.
    printed: u64,
    itself: Option<Arc<dyn Programs>>,
    /// Whether the real command, which reads all files again, takes the place of the kernel.
    is_left: bool,
    /// That command, until it has ended.
    real: Option<SecondRun>,
    messages: Vec<u8>,
    status: i32,
}

impl GzipKernel {
    pub(super) fn new(args: Vec<Vec<u8>>, reads_stdin: bool) -> Self {
        GzipKernel {
            args,
            reads_stdin,
            next: Next::FIRST,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            held: Vec::new(),
            left: Vec::new(),
            printed: 0,
            itself: None,
            is_left: false,
            real: None,
            messages: Vec::new(),
            status: 0,
        }
    }

    /// Prints what `input` holds, until that is enough for a call. Returns how much of it is left.
    fn advance(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> Result<usize, Odd> {
        let before = out.len();
        while !input.is_empty() && out.len() - before < ENOUGH_BYTES {
            let taken = match &mut self.next {
                Next::Header { .. } => self.header(input)?,
                Next::Data => self.data(input, out)?,
                Next::Trailer(_) => self.trailer(input, out)?,
                Next::Zeros if input.iter().any(|byte| *byte != 0) => return Err(Odd),
                Next::Zeros => input.len(),
            };
            input = &input[taken..];
        }
        Ok(input.len())
    }

    fn header(&mut self, input: &[u8]) -> Result<usize, Odd> {
        let Next::Header { read, is_first } = &mut self.next else { return Ok(0) };
        if !*is_first && read.is_empty() && input[0] == 0 {
            self.next = Next::Zeros;
            return Ok(0);
        }
        let before = read.len();
        read.extend_from_slice(input);
        match Header::parse(read) {
            Header::Odd => Err(Odd),
            Header::Incomplete if read.len() > HEADER_BYTES_MAX => Err(Odd),
            Header::Incomplete => Ok(input.len()),
            Header::Complete(length) => {
                self.next = Next::Data;
                self.inflate.reset(false);
                self.crc.reset();
                Ok(length - before)
            }
        }
    }

    fn data(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Odd> {
        let (start, total) = (self.held.len(), self.inflate.total_in());
        self.held.reserve(BLOCK_BYTES);
        let status = self.inflate.decompress_vec(input, &mut self.held, FlushDecompress::None);
        let status = status.map_err(|_| Odd)?;
        self.crc.update(&self.held[start..]);
        let taken = (self.inflate.total_in() - total) as usize;
        if status == Status::StreamEnd {
            self.next = Next::Trailer(Vec::new());
        } else if taken == 0 && self.held.len() == start {
            return Err(Odd);
        }
        let windows = self.held.len().saturating_sub(AHEAD_BYTES) / WINDOW_BYTES * WINDOW_BYTES;
        out.extend(self.held.drain(..windows));
        Ok(taken)
    }

    fn trailer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Odd> {
        let Next::Trailer(read) = &mut self.next else { return Ok(0) };
        let taken = input.len().min(TRAILER_BYTES - read.len());
        read.extend_from_slice(&input[..taken]);
        if read.len() == TRAILER_BYTES {
            let expected = [self.crc.sum().to_le_bytes(), self.crc.amount().to_le_bytes()].concat();
            if *read != expected {
                return Err(Odd);
            }
            out.append(&mut self.held);
            self.next = Next::ANOTHER;
        }
        Ok(taken)
    }

    /// Starts the real command, which knows what was printed before.
    fn start_real(&mut self, printed: u64) {
        // All that was read of it: a standard input that was read before is declined.
        let back = self.reads_stdin.then_some(u64::MAX);
        self.real = SecondRun::start(self.itself.as_ref(), self.args.clone(), back, printed);
        if self.real.is_none() {
            self.messages.extend_from_slice(b"\ngzip: damaged data, for which no gzip can be started\n");
            self.status = 1;
        }
        self.left.clear();
        self.is_left = true;
    }

    /// Prints more of what the real command prints. Returns `false` at its end.
    fn read_real(&mut self, out: &mut Vec<u8>) -> bool {
        if self.real.as_mut().is_some_and(|real| real.read_on(out)) {
            return true;
        }
        if let Some(real) = self.real.take() {
            let (said, status) = real.end();
            self.messages.extend(said);
            self.status = status.unwrap_or(1);
        }
        false
    }
}

impl Kernel for GzipKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if let Notice::Resources(resources) = notice {
            self.itself.clone_from(&resources.itself);
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.is_left {
            return Ok(if self.read_real(out) { Flow::Pending } else { Flow::Done });
        }
        let start = out.len();
        let left = std::mem::take(&mut self.left);
        let input = if left.is_empty() { block } else { &left };
        let printed = |out: &[u8]| (out.len() - start) as u64;
        match self.advance(input, out) {
            Ok(0) => {
                self.printed += printed(out);
                Ok(Flow::More)
            }
            Ok(rest) => {
                self.printed += printed(out);
                self.left = input[input.len() - rest..].to_vec();
                Ok(Flow::Pending)
            }
            Err(Odd) => {
                self.start_real(self.printed + printed(out));
                Ok(Flow::Pending)
            }
        }
    }

    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        let next = std::mem::replace(&mut self.next, Next::FIRST);
        if !self.is_left && next != Next::ANOTHER && next != Next::Zeros {
            self.start_real(self.printed);
        }
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        Ok(if self.read_real(out) { Flow::More } else { Flow::Done })
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.messages)
    }

    fn status(&self) -> i32 {
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "abc", stored, with its checksum.
    const MEMBER: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x03\0\xfc\xffabc\xc2\x41\x24\x35\x03\0\0\0";

    /// Feeds a file in pieces of so many bytes. Returns what was printed, and whether the real command was needed.
    fn run(file: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut kernel = GzipKernel::new(Vec::new(), false);
        let mut out = Vec::new();
        for block in file.chunks(piece) {
            let mut flow = kernel.push(block, &mut out);
            while flow == Ok(Flow::Pending) {
                flow = kernel.push(&[], &mut out);
            }
        }
        assert_eq!(kernel.end_input(&mut out), Ok(Flow::More));
        (out, kernel.is_left)
    }

    #[test]
    fn members_and_zeros_follow_each_other() {
        let two = [MEMBER, MEMBER].concat();
        for piece in [1, 5, 1000] {
            assert_eq!(run(&two, piece), (b"abcabc".to_vec(), false));
            assert_eq!(run(&[MEMBER, &[0; 9]].concat(), piece), (b"abc".to_vec(), false));
        }
    }

    #[test]
    fn what_is_not_sound_is_left_to_the_real_one() {
        for end in 0..MEMBER.len() {
            assert_eq!(run(&MEMBER[..end], 4), (Vec::new(), true), "{end} bytes");
        }
        for at in [0, 2, 11, 12, 15, 18, 25] {
            let mut damaged = MEMBER.to_vec();
            damaged[at] ^= 1 << 6;
            assert_eq!(run(&damaged, 4), (Vec::new(), true), "byte {at}");
        }
        assert_eq!(run(&[MEMBER, b"text"].concat(), 4), (b"abc".to_vec(), true));
        assert_eq!(run(&[MEMBER, b"\0x"].concat(), 4), (b"abc".to_vec(), true));
        assert_eq!(run(b"", 4), (Vec::new(), true));
    }
}
