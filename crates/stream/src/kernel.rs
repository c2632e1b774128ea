//! The contract between a command's inner loop and its driver.

use crate::{PlainFile, Resources};
use std::any::Any;
use std::ops::Range;

/// How the driver must cut a kernel's input into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Anywhere.
    Bytes,
    /// After this terminator (`\n`, or NUL for `-z`): every block ends with it, except that the last block of
    /// an input may lack it. A record longer than a block arrives as one larger block.
    Records(u8),
}

/// What a kernel requests after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More input.
    More,
    /// No more input: nothing that follows can change the output or the status (`head`, `grep -q`). The
    /// driver then treats the stage as ended: its upstream gets the broken pipe it would get from the real
    /// command.
    Done,
    /// No more of this input (`head a b` has all of `a` that it prints). The driver calls
    /// [`Kernel::end_input`] and continues with the next input, or finishes.
    NextInput,
}

/// A fallback: the kernel does not support this input, and the real command must continue from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// Bytes of the block that are processed: their output is appended. Lies on a record boundary. The real
    /// command gets the rest of this block, and everything after it, on its standard input.
    pub consumed: usize,
    /// The reason in words: 'invalid UTF-8 in the input'.
    pub reason: &'static str,
}

/// `Ok(flow)`, or a request to fall back to the real command.
pub type Outcome = Result<Flow, HandOver>;

/// What `stat` says about an input before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A regular file of this size.
    Regular {
        /// The size that `stat` reports.
        bytes: u64,
    },
    /// A regular file that a `cat` would send through a pipe: the kernel must see a pipe.
    Copied,
    /// A pipe, a device, a terminal.
    Other,
}

/// How a peer kernel may share the work of the first kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The output for a block depends on that block alone. The outputs of all kernels, in block order, equal
    /// the output of one kernel.
    Blocks,
    /// As `Blocks`, if the peer is told the byte before its block (see [`Kernel::set_preceding_byte`]).
    After,
    /// Prints nothing before the end, and its state then does not depend on block order. The first kernel
    /// merges the state of its peers ([`Kernel::merge`]).
    Fold,
    /// As `Fold`, unless a peer falls back: from an unsupported block on, order matters (sums that are no
    /// longer exact). Peers may already have taken later blocks. The first kernel then gets all their input
    /// again, and the state of its peers is dropped.
    Sums,
    /// A peer may drop records of its block, judging by earlier blocks. The first kernel gets the remaining
    /// records in block order, and prints what it would print for all records.
    Sieve,
}

/// A kernel for other blocks of an input that has begun, made by [`Kernel::fork`].
pub struct Peer {
    /// A kernel that has seen no block. The driver only calls `push` on it: its input neither begins nor
    /// ends.
    pub kernel: Box<dyn Kernel>,
    /// What the driver may give it.
    pub share: Sharing,
    /// The byte that blocks must end with, whatever the framing says.
    pub whole: Option<u8>,
    /// A byte that peers must not see. A read that contains it goes to the first kernel as it arrived.
    pub never: Option<u8>,
}

impl Peer {
    /// Makes a [`Sharing::Blocks`] peer whose blocks are cut as its framing says.
    pub fn of_blocks(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Blocks)
    }

    /// Makes a [`Sharing::Sieve`] peer whose blocks are cut as its framing says.
    pub fn of_sieve(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Sieve)
    }

    /// Makes a [`Sharing::Fold`] peer whose blocks are cut as its framing says.
    pub fn of_fold(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Fold)
    }

    /// Makes a [`Sharing::Sums`] peer whose blocks are cut as its framing says.
    pub fn of_sums(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Sums)
    }

    fn cut_as_framed(kernel: Box<dyn Kernel>, share: Sharing) -> Self {
        let whole = match kernel.framing() {
            Framing::Bytes => None,
            Framing::Records(end) => Some(end),
        };
        Peer { kernel, share, whole, never: None }
    }
}

/// Downcasts a peer to the kernel type that made it.
pub fn known<K: Kernel>(peer: Box<dyn Kernel>) -> Option<Box<K>> {
    let any: Box<dyn Any> = peer;
    any.downcast().ok()
}

/// A command's inner loop.
///
/// The driver calls [`set_inputs`](Kernel::set_inputs) once. For each input in order (a stage that reads a
/// pipe has one) it calls [`begin_input`](Kernel::begin_input), then [`push`](Kernel::push) for each block
/// (never an empty one), then [`end_input`](Kernel::end_input). At the end it calls
/// [`finish`](Kernel::finish) until the kernel is done, unless a push returned [`Flow::Done`] or an error. A
/// kernel is made for one run and driven by one thread at a time.
pub trait Kernel: Any + Send {
    /// Returns how the driver must cut the input.
    fn framing(&self) -> Framing;

    /// Announces the kind of each input, in order. Few kernels use it (`wc` aligns its columns by the sizes).
    /// Without this call a kernel assumes pipes.
    fn set_inputs(&mut self, _kinds: &[InputKind]) {}

    /// Announces the kind of the next input, where it was not known at the beginning.
    fn set_input(&mut self, _kind: InputKind) {}

    /// Starts a new input. `name` is the file operand as written, `None` for standard input.
    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {}

    /// Whether the kernel takes the current input from its end. The driver asks only if the input can be read
    /// that way. [`push`](Kernel::push) then gets the last block first; each block is an unreversed piece of
    /// the input. For kernels with [`Framing::Bytes`].
    fn reads_backwards(&mut self) -> bool {
        false
    }

    /// Announces the bytes of one read before [`push`](Kernel::push) gives them cut as
    /// [`framing`](Kernel::framing) says. For grep, which prints nothing of a read that has a NUL in it.
    /// Called for kernels that read records.
    fn arrives(&mut self, _bytes: &[u8]) {}

    /// Grants threads, memory and other resources. Called before anything else, and again when another driver
    /// takes over.
    fn attach(&mut self, _means: &Resources) {}

    /// Ends all threads that the kernel keeps between calls, and withdraws its resources: the process is
    /// about to fork, and the child has one thread.
    fn detach(&mut self) {}

    /// Processes `block` and appends its output to `out`, which need not be empty.
    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome;

    /// Processes a block whose output contains one piece of it unchanged: appends to `out` the output before
    /// the piece, and returns the range of the piece. The driver passes the piece on without a copy, and the
    /// kernel takes more input. `None`: nothing was done, and the driver calls `push`. For kernels with
    /// [`Framing::Bytes`].
    fn pass_on(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        None
    }

    /// Whether a record can be expensive (a program with loops). The driver then limits a batch to a few
    /// milliseconds of work, so that a downstream `head` does not wait for a whole block.
    fn is_slow_per_record(&self) -> bool {
        false
    }

    /// Whether output is still pending for the input already pushed, more than fits well in a block (`xargs
    /// cat`). The driver then writes `out` and calls [`resume`](Kernel::resume) until it is `false`. For
    /// kernels with [`Framing::Bytes`].
    fn has_pending_output(&self) -> bool {
        false
    }

    /// Produces more of the pending output. On fallback, [`unconsumed`](Kernel::unconsumed) returns all input not yet
    /// processed.
    fn resume(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// Whether the kernel prefers to read a regular file of this length in bytes itself, with its helpers,
    /// rather than get blocks.
    fn prefers_reading_itself(&self, _bytes: u64) -> bool {
        false
    }

    /// Processes a prefix of this range of the current input, as if it had been given by
    /// [`push`](Kernel::push). The range starts at a record start, and the prefix ends at a record end.
    /// Returns the length of the prefix in bytes: 0 requests blocks instead. The driver, not the kernel,
    /// reports read errors.
    fn read_range(&mut self, _file: &dyn PlainFile, _range: Range<u64>) -> (u64, Flow) {
        (0, Flow::More)
    }

    /// Ends the current input.
    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// Ends all inputs: prints what was held back. [`Flow::More`] if more remains than fits well in a block:
    /// the driver writes `out` and calls again.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::Done)
    }

    /// After a fallback, returns the input that was taken in but not processed. The real command gets it
    /// before the rest. A kernel that prints nothing before the end of its input can so fall back at any
    /// time, even from `finish`.
    fn unconsumed(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Announces that standard output is `/dev/null`: `grep` then stops at the first line that it would
    /// print.
    fn output_is_discarded(&mut self) {}

    /// Whether the command would keep reading after EPIPE, because its output is still in its buffer. It may
    /// still print a diagnostic at the end. Asked after each call; its output meanwhile is dropped.
    fn ignores_epipe(&mut self) -> bool {
        false
    }

    /// Whether the output must be written before the next call, because a program that the kernel starts then
    /// may print too. Asked after each call.
    fn requires_flush(&self) -> bool {
        false
    }

    /// Returns the diagnostics since the last call, each with the command's name. The driver writes them to
    /// standard error after the output so far.
    fn messages(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns the exit status, once the run is over (by `finish` or by [`Flow::Done`]).
    fn status(&self) -> i32 {
        0
    }

    /// Returns the exit status after a fallback, given that of the real command.
    fn status_after(&self, real: i32) -> i32 {
        real
    }

    /// Forks a kernel for other blocks of the current input, if the work can be shared. A peer may fall back,
    /// complain or stop where it cannot process a block alone. This kernel then gets that block and all later
    /// ones.
    fn fork(&self) -> Option<Peer> {
        None
    }

    /// Merges the state of a peer (a match flag, counts). For [`Sharing::Blocks`] the merge must be
    /// idempotent: a block may be given to a peer and then to the first kernel.
    fn merge(&mut self, _peer: Box<dyn Kernel>) {}

    /// Sets the byte that precedes the next block. Called for peers with [`Sharing::After`].
    fn set_preceding_byte(&mut self, _last: u8) {}

    /// Whether the output for blocks that end with `end` is empty or ends with `end`.
    fn keeps_records_whole(&self, end: u8) -> bool {
        self.framing() == Framing::Records(end)
    }
}

/// A diagnostic that a command prints on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The length of the output buffer at that time: the output before it was printed first.
    pub at: usize,
    /// The text, with its newline.
    pub text: Vec<u8>,
}

/// A command's inner loop over several parallel inputs (`paste`, `comm`, `join`).
///
/// The driver asks [`wants`](JoinKernel::wants) which input to feed and gives it one block with
/// [`push`](JoinKernel::push), or calls [`end_input`](JoinKernel::end_input) at its end. It repeats this
/// until the answer is `None`. Output may appear at any call. Two inputs that are both the standard input
/// share it: a block read for one of them goes to that one only. A kernel where that would show must be
/// declined at plan time.
pub trait JoinKernel: Send {
    /// Returns how the driver must cut the inputs.
    fn framing(&self) -> Framing;

    /// Returns the index of the input to feed next, or `None` once nothing more can change the output or the
    /// status.
    fn wants(&self) -> Option<usize>;

    /// Processes the next block of this input (never empty).
    fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>);

    /// Ends this input.
    fn end_input(&mut self, input: usize, out: &mut Vec<u8>);

    /// Returns the diagnostics since the last call. The driver writes each at its position in the output.
    fn messages(&mut self) -> Vec<Complaint> {
        Vec::new()
    }

    /// Returns the exit status, once `wants` is `None`.
    fn status(&self) -> i32 {
        0
    }
}
