//! find's inner loop: names as they are found, and the output of its command for files when their turn comes.

use pelton_find::{IncrementalWalk, NextEntry, Query};
use pelton_stream::{Flow, Framing, IoControl, Kernel, Notice, Outcome};

use super::exec::Exec;

pub(super) struct FindKernel {
    query: Option<Query>,
    /// Started in the process that runs it.
    walk: Option<IncrementalWalk>,
    errors: Vec<u8>,
    exec: Option<Exec>,
}

impl FindKernel {
    pub(super) fn new(query: Query, exec: Option<Exec>) -> Self {
        FindKernel { query: Some(query), walk: None, errors: Vec::new(), exec }
    }
}

impl Kernel for FindKernel {
    fn framing(&self) -> Framing {
        Framing::Bytes
    }

    fn notice(&mut self, notice: Notice<'_>) {
        let Some(exec) = &mut self.exec else { return };
        match notice {
            Notice::Resources(resources) => exec.attach(resources),
            Notice::DiscardedOutput => exec.output_is_discarded(),
            _ => {}
        }
    }

    fn push(&mut self, _block: &[u8], _out: &mut Vec<u8>) -> Outcome {
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        if let Some(query) = self.query.take() {
            self.walk = Some(IncrementalWalk::new(query));
        }
        let Some(walk) = &mut self.walk else { return Ok(Flow::Done) };
        if let Some(exec) = self.exec.as_mut().filter(|exec| exec.is_busy()) {
            exec.resume(walk, out, &mut self.errors);
            return Ok(Flow::More);
        }
        Ok(match (walk.go_on(out, &mut self.errors), &mut self.exec) {
            (NextEntry::Done, _) => Flow::Done,
            (NextEntry::Command(paths), Some(exec)) => {
                exec.begin(paths);
                Flow::More
            }
            _ => Flow::More,
        })
    }

    fn messages(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.errors)
    }

    fn status(&self) -> i32 {
        let failed = self.exec.as_ref().is_some_and(Exec::failed);
        self.walk.as_ref().map_or(0, IncrementalWalk::status).max(i32::from(failed))
    }

    fn io_control(&mut self) -> Option<&mut dyn IoControl> {
        Some(self)
    }
}

impl IoControl for FindKernel {
    fn ignores_epipe(&mut self) -> bool {
        self.exec.as_mut().is_some_and(Exec::leaves_all_to_real_ones)
    }

    fn requires_flush(&mut self) -> bool {
        self.exec.as_ref().is_some_and(Exec::requires_flush)
    }
}
