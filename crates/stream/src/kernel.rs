//! The contract between a command's inner loop and whoever drives it.

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

/// A command's inner loop.
///
/// The driver calls, for each input in order (a stage that reads a pipe has one): [`begin_input`](Kernel::begin_input),
/// then [`push`](Kernel::push) for each block (never an empty one), then [`end_input`](Kernel::end_input); and
/// [`finish`](Kernel::finish) once at the end, unless a push returned [`Flow::Done`] or an error.
/// A kernel is made for one run and driven by one thread at a time.
pub trait Kernel: Send {
    /// How its input must be cut.
    fn framing(&self) -> Framing;

    /// A new input starts. `name` is the file operand as written, `None` for standard input.
    fn begin_input(&mut self, _name: Option<&[u8]>, _out: &mut Vec<u8>) {}

    /// Does the command's work on `block`, appending to `out` what it prints. Must not assume `out` is empty.
    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome;

    /// The current input ended.
    fn end_input(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    /// All inputs ended: print what was held back.
    fn finish(&mut self, _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::Done)
    }

    /// The exit status, once the run is over (by `finish` or by [`Flow::Done`]).
    fn status(&self) -> i32 {
        0
    }
}
