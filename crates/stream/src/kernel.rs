//! The contract between a command's inner loop and whoever drives it.

use crate::{PlainFile, Resources};
use std::any::Any;
use std::ops::Range;

/// How the bytes a kernel is given must be cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Anywhere.
    Bytes,
    /// After this terminator (`\n`, or NUL for `-z`): every block ends with it, except that the last block of an
    /// input may lack it. A record longer than a block comes as one larger block.
    Records(u8),
}

/// What a kernel wants after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More input.
    More,
    /// No more: nothing that follows can change the output or the status (`head`, `grep -q`). The driver then
    /// treats the stage as ended: what feeds it gets the broken pipe it would get from the real command.
    Done,
    /// No more of this input (`head a b` has all of `a` that it prints): the driver calls
    /// [`Kernel::end_input`] and goes on with the next input, or finishes.
    NextInput,
}

/// The kernel will not judge what it was given; the real command must go on from here (design: the way back).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// Bytes of the block that are done: their output has been appended. Lies on a record boundary. The real
    /// command gets the rest of this block, and everything after it, on its standard input.
    pub consumed: usize,
    /// Why, in words: 'invalid UTF-8 in the input'.
    pub reason: &'static str,
}

/// `Ok(flow)`, or the request to hand over to the real command.
pub type Outcome = Result<Flow, HandOver>;

/// What the system says an input is, before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A regular file of this size.
    Regular {
        /// As `stat` gives it.
        bytes: u64,
    },
    /// A pipe, a device, a terminal.
    Other,
}

/// How a second kernel may share the work of a first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// What it prints of one block depends on that block alone: what both print, in the order of the blocks, is what
    /// one of them would print.
    Blocks,
    /// The same, if it is told the byte that stands before the block (see [`Kernel::set_preceding_byte`]).
    After,
    /// It prints nothing before the end, and what it knows then does not depend on the order of the blocks: the first
    /// one takes over what the others know ([`Kernel::absorb`]).
    Fold,
    /// The same, as long as no peer hands over: from a block on that one does not judge, order matters (to sums that are no longer exact). Others
    /// may have taken in blocks behind that one, so the first kernel is then given all that its peers were given, and is told nothing of what
    /// they know.
    Sums,
    /// It prints records of its blocks, which it may choose by what it has seen of blocks before them: if the first kernel is given
    /// those, in the order of the blocks, it prints what it would have printed of all records.
    Sieve,
}

/// A kernel for other blocks of an input that has begun, made by [`Kernel::another`].
pub struct Peer {
    /// Knows of no block yet. It is only ever pushed to; its input neither begins nor ends.
    pub kernel: Box<dyn Kernel>,
    /// What it may be given.
    pub share: Sharing,
    /// The blocks must end with this byte, if there is one, whatever the framing says.
    pub whole: Option<u8>,
    /// What was read with this byte in it, if there is one, must be given to the first kernel, as it arrived.
    pub never: Option<u8>,
}

impl Peer {
    /// Works on blocks, cut as its framing says.
    pub fn of_blocks(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Blocks)
    }

    /// Sieves blocks, cut as its framing says.
    pub fn of_sieve(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Sieve)
    }

    /// Folds blocks, cut as its framing says.
    pub fn of_fold(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Fold)
    }

    /// Adds up blocks, cut as its framing says.
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

/// A peer as the kind of kernel that made it.
pub fn known<K: Kernel>(peer: Box<dyn Kernel>) -> Option<Box<K>> {
    let any: Box<dyn Any> = peer;
    any.downcast().ok()
}

/// A command's inner loop.
///
/// The driver calls [`set_inputs`](Kernel::set_inputs) once; then, for each input in order (a stage that reads a pipe has one): [`begin_input`](Kernel::begin_input),
/// then [`push`](Kernel::push) for each block (never an empty one), then [`end_input`](Kernel::end_input); and
/// [`finish`](Kernel::finish) at the end, until it wants no more, unless a push returned [`Flow::Done`] or an error.
/// A kernel is made for one run and driven by one thread at a time.
pub trait Kernel: Any + Send {
    /// How its input must be cut.
    fn framing(&self) -> Framing;

    /// What the inputs are, in order. Few kernels care (`wc` aligns its columns by the sizes); one that is not told
    /// takes them for pipes.
    fn set_inputs(&mut self, _kinds: &[InputKind]) {}

    /// What the next input is, where that was not known at the beginning.
    fn set_input(&mut self, _kind: InputKind) {}

    /// A new input starts. `name` is the file operand as written, `None` for standard input.
    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {}

    /// The input that was begun can be read from its end. If `true`, [`push`](Kernel::push) gets its blocks in that
    /// order, the last one first; each is a piece of the input as it stands there. For kernels that take
    /// [`Framing::Bytes`].
    fn reads_backwards(&mut self) -> bool {
        false
    }

    /// This came at once, and will be given by [`push`](Kernel::push), cut as [`framing`](Kernel::framing) says: for
    /// grep, which prints nothing of a read that has a NUL in it. Told to kernels that read records.
    fn arrives(&mut self, _bytes: &[u8]) {}

    /// From now on it may use this of the machine. Told before anything else, and again where another driver goes on.
    fn attach(&mut self, _means: &Resources) {}

    /// This process is about to be copied, and copies have one thread: those that it keeps between two calls must have
    /// ended when this returns. What was lent is taken back.
    fn detach(&mut self) {}

    /// Does the command's work on `block`, appending to `out` what it prints. Must not assume `out` is empty.
    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome;

    /// Does the work of [`push`](Kernel::push) for a block of which it prints one piece as it stands: appends to `out` what
    /// comes before the piece, and returns where the piece lies. The driver passes it on from there, so that nothing is
    /// copied, and the kernel wants more. `None`: nothing was done, and `push` is called. For kernels that take
    /// [`Framing::Bytes`].
    fn pass_on(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        None
    }

    /// It may take long over few records (a program with loops): it is given no more of them at once than it does in some
    /// milliseconds, as a reader that wants no more (`head`) should not have to wait for the end of a block.
    fn is_slow_per_record(&self) -> bool {
        false
    }

    /// It has more to do for what it was given than fits well in a block (`xargs cat`): the driver writes `out` and calls
    /// [`go_on`](Kernel::go_on) until it has not. For kernels that take [`Framing::Bytes`].
    fn has_pending_output(&self) -> bool {
        false
    }

    /// Goes on with what it owes. One that hands over now leaves all that it was given to [`held`](Kernel::held).
    fn go_on(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// Of a plain file so long as this, it would rather read parts itself, with those it was lent, than be given blocks.
    fn prefers_reading_itself(&self, _bytes: u64) -> bool {
        false
    }

    /// Takes some of what stands in this range of the current input, from its start on, where a record begins, to the end of a
    /// record: so many bytes, as if they had been given by [`push`](Kernel::push). None, if it had better be given blocks:
    /// what cannot be read, say, is not for it to report.
    fn read_range(&mut self, _file: &dyn PlainFile, _range: Range<u64>) -> (u64, Flow) {
        (0, Flow::More)
    }

    /// The current input ended.
    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// All inputs ended: print what was held back. [`Flow::More`] if there is more of it than fits well in a block:
    /// the driver writes `out` and calls again.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::Done)
    }

    /// After an error: what was taken in and neither printed nor left. The real command gets it before the rest. A
    /// kernel that prints nothing before the end of its input can so hand over at any time, even from `finish`.
    fn held(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Standard output is `/dev/null`: `grep` then needs no more than the first line that it would print.
    fn output_is_discarded(&mut self) {}

    /// Its reader has left, but the command could not know that yet: what it printed is still in its buffer, and it reads
    /// on, with something to say at the end perhaps. Asked after each call; what it prints meanwhile is dropped.
    fn ignores_epipe(&mut self) -> bool {
        false
    }

    /// What it printed must be written before it is called again, because a program that it starts then may print as well. Asked
    /// after each call.
    fn requires_flush(&self) -> bool {
        false
    }

    /// What the command would have said on standard error since the last call, with its name in front; the driver
    /// writes it after what was printed so far.
    fn complaints(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// The exit status, once the run is over (by `finish` or by [`Flow::Done`]).
    fn status(&self) -> i32 {
        0
    }

    /// The exit status of the whole after a hand-over, given that of the real command that went on.
    fn status_after(&self, real: i32) -> i32 {
        real
    }

    /// A kernel that shares the work on the current input, if it can be shared. A peer may hand over, complain or want
    /// no more where it cannot judge a block alone: that block, and all that come after it, are then this kernel's.
    fn another(&self) -> Option<Peer> {
        None
    }

    /// What a peer knows (that something matched, counts) is this kernel's from now on. For one that shares by blocks,
    /// knowing it twice must be as good as knowing it once: a block may be given to a peer, and then to the first one.
    fn absorb(&mut self, _peer: Box<dyn Kernel>) {}

    /// The next block comes after this byte. Told to peers that share as [`Sharing::After`].
    fn set_preceding_byte(&mut self, _last: u8) {}

    /// Of blocks that end with `end` it prints nothing, or something that ends with `end`.
    fn keeps_records_whole(&self, end: u8) -> bool {
        self.framing() == Framing::Records(end)
    }
}

/// Something that a command says on standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// How long the output buffer was when it was said: what stands before that was printed first.
    pub at: usize,
    /// The words, with their newline.
    pub text: Vec<u8>,
}

/// A command's inner loop over several inputs side by side (`paste`, `comm`, `join`).
///
/// The driver asks [`wants`](JoinKernel::wants) which input to feed, gives it one block of that input with
/// [`push`](JoinKernel::push), or [`end_input`](JoinKernel::end_input) if there is no more of it, and asks again until
/// the answer is `None`. Output may appear at any call. Two inputs that are both the standard input share it: the
/// driver feeds what one of them reads to that one only, block by block; a kernel for which that would show must
/// be declined at plan time.
pub trait JoinKernel: Send {
    /// How its inputs must be cut.
    fn framing(&self) -> Framing;

    /// The index of the input to feed next, or `None` once nothing more can change the output or the status.
    fn wants(&self) -> Option<usize>;

    /// The next block of that input (never empty).
    fn push(&mut self, input: usize, block: &[u8], out: &mut Vec<u8>);

    /// That input ended.
    fn end_input(&mut self, input: usize, out: &mut Vec<u8>);

    /// What the command would have said on standard error since this was last asked; the driver writes it, each in its
    /// place in the output.
    fn complaints(&mut self) -> Vec<Complaint> {
        Vec::new()
    }

    /// The exit status, once nothing more is wanted.
    fn status(&self) -> i32 {
        0
    }
}
