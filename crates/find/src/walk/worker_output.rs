//! A worker's output buffer.

use super::run::Run;
use super::sequence::SequenceSlot;
use super::tally::{Event, Tally};
use pelton_sys::clock;

/// Bytes that trigger a write.
const FULL: usize = 32 << 10;
/// Maximum time that output is held, in nanoseconds.
const PATIENCE_NS: u64 = 20_000_000;

#[derive(Default)]
pub(super) struct WorkerOutput {
    pub text: Vec<u8>,
    pub errors: Vec<u8>,
    /// The place of the output in the sequence, if order matters.
    pub part: Option<SequenceSlot>,
    flushed_ns: u64,
}

impl WorkerOutput {
    /// Writes the output if it is due.
    pub fn settle(&mut self, run: &Run<'_>, tally: &mut Tally) {
        if self.text.is_empty() && self.errors.is_empty() {
            return;
        }
        let due = run.settings.promptly
            || !self.errors.is_empty()
            || self.text.len() >= FULL
            || clock::now_ns() > self.flushed_ns + PATIENCE_NS;
        if due {
            self.flush(run, tally);
            self.flushed_ns = clock::now_ns();
        }
    }

    pub fn flush(&mut self, run: &Run<'_>, tally: &mut Tally) {
        if self.text.is_empty() && self.errors.is_empty() {
            return;
        }
        let failed = !self.errors.is_empty();
        let written = match (&self.part, &run.sequence) {
            (Some(part), Some(sequence)) => {
                let began = clock::now_ns();
                // Where tasks queue, the head's task may still be queued: if all workers waited for it, it
                // would never run.
                let wait = run.bound.makes_none().then_some(&run.stop);
                let written = sequence.put(part, &mut self.text, &mut self.errors, wait);
                if clock::now_ns() > began + 1_000_000 {
                    tally.note(run.settings.timeline, run.started_ns, Event::Blocked);
                }
                written
            }
            _ => {
                if failed {
                    run.sink.error(&self.errors);
                    self.errors.clear();
                }
                let written = if self.text.is_empty() { Ok(()) } else { run.sink.text(&self.text) };
                self.text.clear();
                written
            }
        };
        if let Err(error) = written {
            run.lose(&error);
        }
        if failed && run.sequence.is_none() {
            run.fail();
        }
    }
}
