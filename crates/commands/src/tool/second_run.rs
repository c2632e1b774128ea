//! A second run of the real command, which reads its inputs from the beginning: where a kernel meets what it does not do
//! exactly, and no other process can continue it.
//!
//! What was printed already is dropped from the output of the second run.

use std::fmt;
use std::sync::Arc;

use pelton_stream::{BLOCK_BYTES, Programs, Started};
use pelton_sys::wait::Ended;

use crate::bytes::scan;

/// The real command, while it runs again.
pub(crate) struct SecondRun {
    started: Box<dyn Started>,
    /// How much of its output was printed already: bytes, or lines where only their ends are printed.
    known: u64,
    ends_only: bool,
    block: Vec<u8>,
}

impl fmt::Debug for SecondRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecondRun").field("known", &self.known).finish_non_exhaustive()
    }
}

impl SecondRun {
    /// Starts it. With `back`, standard input is a regular file of which this many bytes are read again. `None` if it cannot be
    /// started.
    pub(crate) fn start(
        itself: Option<&Arc<dyn Programs>>,
        args: Vec<Vec<u8>>,
        back: Option<u64>,
        known: u64,
    ) -> Option<SecondRun> {
        let started = itself?.start_again(args, back).ok()?;
        Some(SecondRun { started, known, ends_only: false, block: vec![0; BLOCK_BYTES] })
    }

    /// Returns it for output of which only the ends of lines are printed, if `ends_only`.
    pub(crate) fn with_ends_only(self, ends_only: bool) -> SecondRun {
        SecondRun { ends_only, ..self }
    }

    /// Prints more of its output, without the part already printed. Returns `false` at its end.
    pub(crate) fn read_on(&mut self, out: &mut Vec<u8>) -> bool {
        // A read error counts as its end.
        let Ok(read @ 1..) = self.started.read(&mut self.block) else { return false };
        let new = &self.block[..read];
        let printed = if self.ends_only { scan::count(new, b'\n') } else { read };
        let skipped = self.known.min(printed as u64) as usize;
        self.known -= skipped as u64;
        match self.ends_only {
            true => out.resize(out.len() + printed - skipped, b'\n'),
            false => out.extend_from_slice(&new[skipped..]),
        }
        true
    }

    /// Whether it has not printed yet all that was printed already.
    pub(crate) fn is_short(&self) -> bool {
        self.known > 0
    }

    /// Waits for its end. Returns its message, and its status if that can be determined.
    pub(crate) fn end(mut self) -> (Vec<u8>, Option<i32>) {
        let said = self.started.said();
        (said, self.started.end().ok().map(Ended::status))
    }
}
