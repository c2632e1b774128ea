//! The contract between a command's inner loop and its driver.

use crate::{HandOver, IoControl, Parallel, Resources};
use std::any::Any;

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
    /// A call without input: output is still pending for the input already pushed, more than fits well in a
    /// block (`xargs cat`). The driver writes `out` and pushes an empty block, until the answer is another.
    /// For kernels with [`Framing::Bytes`], from [`Kernel::push`] only.
    Pending,
    /// No more input: nothing that follows can change the output or the status (`head`, `grep -q`). The
    /// driver then treats the stage as ended: its upstream gets the broken pipe it would get from the real
    /// command.
    Done,
    /// No more of this input (`head a b` has all of `a` that it prints). The driver calls
    /// [`Kernel::end_input`] and continues with the next input, or finishes.
    NextInput,
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
    /// A pipe that its writer fills faster than it is read, or a regular file that a `cat` would send through
    /// one.
    FullPipe,
    /// Another pipe, a device, a terminal.
    Other,
}

/// What a driver tells a kernel about its surroundings.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// The threads, memory and other resources that the kernel may use. Sent before anything else, and again
    /// when another driver takes over.
    Resources(&'a Resources),
    /// The kind of each input, in order, sent once before the first begins. `wc` aligns its columns by the
    /// sizes. Without this notice a kernel assumes pipes.
    Inputs(&'a [InputKind]),
    /// The kind of the next input, where it was not known at the beginning.
    NextInput(InputKind),
    /// The current input could not be read to its end, which follows.
    UnreadableInput,
    /// The bytes of one read, before [`Kernel::push`] gets them cut as [`Kernel::framing`] says. For grep,
    /// which prints nothing of a read that has a NUL in it. Sent to kernels that read records.
    Arrival(&'a [u8]),
    /// No input holds a NUL: another kernel prints it, and none of those.
    InputWithoutNul,
    /// The byte that precedes the next block. Sent to peers with [`Sharing::After`](crate::Sharing::After),
    /// and to the first kernel once it continues alone.
    PrecedingByte(u8),
    /// Device and inode of the files that this pass reads and prints to: a kernel that writes files leaves these alone. Sent
    /// before the first input begins, if a kernel writes files.
    FilesInUse(&'a [(u64, u64)]),
    /// Standard output is `/dev/null`: `grep` then stops at the first line that it would print.
    DiscardedOutput,
    /// The process is about to fork, and the child has one thread: the kernel ends all threads that it keeps
    /// between calls, and uses its resources no longer.
    ProcessFork,
}

/// A command's inner loop.
///
/// The driver sends [`Notice::Inputs`] once. For each input in order (a stage that reads a pipe has one) it
/// calls [`begin_input`](Kernel::begin_input), then [`push`](Kernel::push) for each block, then
/// [`end_input`](Kernel::end_input). At the end it calls [`finish`](Kernel::finish) until the kernel is done,
/// unless a push returned [`Flow::Done`] or an error. A kernel is made for one run and driven by one thread
/// at a time.
///
/// Most kernels need no more than this trait. [`IoControl`] is for those that influence how their input is
/// read and their output written, [`Parallel`] for those whose work several threads can share.
pub trait Kernel: Any + Send {
    /// Returns how the driver must cut the input.
    fn framing(&self) -> Framing;

    /// Receives what the driver knows. A kernel reacts to the notices that matter to it, and ignores all
    /// others.
    fn notice(&mut self, _notice: Notice<'_>) {}

    /// Starts a new input. `name` is the file operand as written, `None` for standard input.
    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {}

    /// Processes `block` and appends its output to `out`, which need not be empty. The block is empty only
    /// after [`Flow::Pending`].
    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome;

    /// Ends the current input.
    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// Ends all inputs: prints what was held back. [`Flow::More`] if more remains than fits well in a block:
    /// the driver writes `out` and calls again.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::Done)
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

    /// Returns how the kernel controls its input and output, if it does. Whether it does never changes.
    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        None
    }

    /// Returns how the kernel shares its work, if it can.
    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        None
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
