//! How a kernel controls the way its input is read and its output is written.

use crate::{Flow, PlainFile};
use std::ops::Range;

/// Answers of a [`Kernel`](crate::Kernel) to its driver about reading and writing. Each default is that of a
/// kernel without such wishes.
pub trait IoControl {
    /// Processes a block whose output contains one piece of it unchanged: appends to `out` the output before
    /// the piece, and returns the range of the piece. The driver passes the piece on without a copy, and the
    /// kernel takes more input. `None`: nothing was done, and the driver calls
    /// [`push`](crate::Kernel::push). For kernels with [`Framing::Bytes`](crate::Framing::Bytes).
    fn pass_on(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Option<Range<usize>> {
        None
    }

    /// Whether the kernel takes the current input from its end. The driver asks only if the input can be read
    /// that way. [`push`](crate::Kernel::push) then gets the last block first; each block is an unreversed
    /// piece of the input. For kernels with [`Framing::Bytes`](crate::Framing::Bytes).
    fn reads_backwards(&mut self) -> bool {
        false
    }

    /// Whether the kernel prefers to read a regular file of this length in bytes itself, with its helpers,
    /// rather than get blocks.
    fn prefers_reading_itself(&mut self, _bytes: u64) -> bool {
        false
    }

    /// Processes a prefix of this range of the current input, as if it had been given by
    /// [`push`](crate::Kernel::push). The range starts at a record start, and the prefix ends at a record
    /// end. Returns the length of the prefix in bytes: 0 requests blocks instead. The driver, not the kernel,
    /// reports read errors.
    fn read_range(&mut self, _file: &dyn PlainFile, _range: Range<u64>) -> (u64, Flow) {
        (0, Flow::More)
    }

    /// Whether a record can be expensive (a program with loops). The driver then limits a batch to a few
    /// milliseconds of work, so that a downstream `head` does not wait for a whole block.
    fn is_slow_per_record(&mut self) -> bool {
        false
    }

    /// Whether the output must be written before the next call, because a program that the kernel starts then
    /// may print too. Asked after each call.
    fn requires_flush(&mut self) -> bool {
        false
    }

    /// Whether the command would keep reading after EPIPE, because its output is still in its buffer. It may
    /// still print a diagnostic at the end. Asked after each call; its output meanwhile is dropped.
    fn ignores_epipe(&mut self) -> bool {
        false
    }
}
