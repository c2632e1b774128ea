//! Measures a kernel from outside: the time of its calls, its input and its output.
//!
//! Two readings of the monotonic clock per call, and a call is a block: far below one percent of a block's
//! cost. A chain without meters has no such cost.

use crate::{
    Complaint, Flow, Framing, IoControl, JoinKernel, Kernel, Notice, Outcome, Parallel, Peer, PlainFile,
    known,
};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// One measured call of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The duration, in nanoseconds.
    pub ns: u64,
    /// Bytes that the kernel took.
    pub given: usize,
    /// Bytes that it printed.
    pub printed: usize,
    /// Whether it fell back.
    pub handed_over: bool,
}

/// A kernel that reports each of its calls.
pub struct Metered {
    kernel: Box<dyn Kernel>,
    tell: Tell,
}

/// The callback for measured calls, shared by all peers.
pub type Tell = Arc<dyn Fn(Call) + Send + Sync>;

impl Metered {
    /// Wraps `kernel` and reports each call to `tell`.
    pub fn new(kernel: Box<dyn Kernel>, tell: Tell) -> Self {
        Metered { kernel, tell }
    }

    fn measure(
        &mut self,
        given: usize,
        out: &mut Vec<u8>,
        call: impl FnOnce(&mut dyn Kernel, &mut Vec<u8>) -> Outcome,
    ) -> Outcome {
        let before = out.len();
        let start = Instant::now();
        let outcome = call(self.kernel.as_mut(), out);
        let ns = start.elapsed().as_nanos() as u64;
        let printed = out.len().saturating_sub(before);
        // After a fallback, the input that the kernel did not consume goes to the real command.
        let given = outcome.as_ref().map_or_else(|hand_over| hand_over.consumed, |_| given);
        (self.tell)(Call { ns, given, printed, handed_over: outcome.is_err() });
        outcome
    }
}

impl Kernel for Metered {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.kernel.notice(notice);
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        // It cannot fail.
        let _ = self.measure(0, out, |kernel, out| {
            kernel.begin_input(name, out);
            Ok(Flow::More)
        });
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.measure(block.len(), out, |kernel, out| kernel.push(block, out))
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.measure(0, out, |kernel, out| kernel.end_input(out))
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.measure(0, out, |kernel, out| kernel.finish(out))
    }

    fn messages(&mut self) -> Vec<u8> {
        self.kernel.messages()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        if self.kernel.io_control().is_some() { Some(self) } else { None }
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        if self.kernel.parallel().is_some() { Some(self) } else { None }
    }
}

/// A measured kernel gets whole blocks, even if it is slow per record.
impl IoControl for Metered {
    fn pass_on(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Range<usize>> {
        let before = out.len();
        let start = Instant::now();
        let piece = self.kernel.io_control()?.pass_on(block, out)?;
        let ns = start.elapsed().as_nanos() as u64;
        let printed = out.len().saturating_sub(before) + piece.len();
        (self.tell)(Call { ns, given: block.len(), printed, handed_over: false });
        Some(piece)
    }

    fn reads_backwards(&mut self) -> bool {
        self.kernel.io_control().is_some_and(|io| io.reads_backwards())
    }

    fn prefers_reading_itself(&mut self, bytes: u64) -> bool {
        self.kernel.io_control().is_some_and(|io| io.prefers_reading_itself(bytes))
    }

    fn read_range(&mut self, file: &dyn PlainFile, range: Range<u64>) -> (u64, Flow) {
        let Some(io) = self.kernel.io_control() else { return (0, Flow::More) };
        let start = Instant::now();
        let (taken, flow) = io.read_range(file, range);
        let ns = start.elapsed().as_nanos() as u64;
        (self.tell)(Call { ns, given: taken as usize, printed: 0, handed_over: false });
        (taken, flow)
    }

    fn requires_flush(&mut self) -> bool {
        self.kernel.io_control().is_some_and(|io| io.requires_flush())
    }

    fn ignores_epipe(&mut self) -> bool {
        self.kernel.io_control().is_some_and(|io| io.ignores_epipe())
    }
}

impl Parallel for Metered {
    fn fork(&mut self) -> Option<Peer> {
        let peer = self.kernel.parallel()?.fork()?;
        let kernel = Box::new(Metered::new(peer.kernel, Arc::clone(&self.tell)));
        Some(Peer { kernel, ..peer })
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        if let (Some(peer), Some(own)) = (known::<Metered>(peer), self.kernel.parallel()) {
            own.merge(peer.kernel);
        }
    }

    fn take_printed_bytes(&mut self) -> u64 {
        self.kernel.parallel().map_or(0, |own| own.take_printed_bytes())
    }

    fn pass(&mut self, read: u64, printed: u64, out: &mut Vec<u8>) {
        if let Some(own) = self.kernel.parallel() {
            own.pass(read, printed, out);
        }
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        self.kernel.parallel().is_some_and(|own| own.keeps_records_whole(end))
    }
}

/// As [`Metered`], for a kernel over several inputs.
pub(crate) struct MeteredJoin {
    kernel: Box<dyn JoinKernel>,
    tell: Tell,
}

impl MeteredJoin {
    pub(crate) fn new(kernel: Box<dyn JoinKernel>, tell: Tell) -> Self {
        MeteredJoin { kernel, tell }
    }

    fn measure(
        &mut self,
        given: usize,
        out: &mut Vec<u8>,
        call: impl FnOnce(&mut dyn JoinKernel, &mut Vec<u8>),
    ) {
        let before = out.len();
        let start = Instant::now();
        call(self.kernel.as_mut(), out);
        let ns = start.elapsed().as_nanos() as u64;
        (self.tell)(Call { ns, given, printed: out.len().saturating_sub(before), handed_over: false });
    }
}

impl JoinKernel for MeteredJoin {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn wants(&self) -> Option<usize> {
        self.kernel.wants()
    }

    fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>) {
        self.measure(block.len(), out, |kernel, out| kernel.push(input, block, out));
    }

    fn end_input(&mut self, input: usize, out: &mut Vec<u8>) {
        self.measure(0, out, |kernel, out| kernel.end_input(input, out));
    }

    fn messages(&mut self) -> Vec<Complaint> {
        self.kernel.messages()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HandOver;
    use std::sync::Mutex;

    /// Prints each byte twice; falls back at a `!`.
    struct Twice;

    impl Kernel for Twice {
        fn framing(&self) -> Framing {
            Framing::Bytes
        }

        fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
            let end = block.iter().position(|byte| *byte == b'!');
            out.extend(block[..end.unwrap_or(block.len())].iter().flat_map(|byte| [*byte, *byte]));
            end.map_or(Ok(Flow::More), |consumed| Err(HandOver::at(consumed, "a mark")))
        }

        fn status(&self) -> i32 {
            4
        }
    }

    #[test]
    fn tells_what_goes_in_and_comes_out_and_changes_nothing() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&calls);
        let tell = move |call: Call| {
            into.lock().expect("not poisoned").push((call.given, call.printed, call.handed_over))
        };
        let mut kernel = Metered::new(Box::new(Twice), Arc::new(tell));
        let mut out = b"before".to_vec();
        assert_eq!(kernel.push(b"abc", &mut out), Ok(Flow::More));
        assert_eq!(kernel.push(b"d!e", &mut out), Err(HandOver::at(1, "a mark")));
        assert_eq!((out.as_slice(), kernel.status()), (&b"beforeaabbccdd"[..], 4));
        assert_eq!(*calls.lock().expect("not poisoned"), [(3, 6, false), (1, 2, true)]);
    }
}
