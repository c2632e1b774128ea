//! A kernel that sees its inputs as one pipe.

use std::ops::Range;

use pelton_stream::{Flow, Framing, InputKind, IoControl, Kernel, Notice, Outcome, Parallel, Peer};

/// Hides files from a kernel: no names, no sizes, no boundaries between them.
pub(crate) struct Piped {
    kernel: Box<dyn Kernel>,
    /// Inputs that have not ended.
    left: usize,
    started: bool,
    /// Whether the kernel needs no more of its apparently only input.
    satisfied: bool,
}

impl Piped {
    /// Wraps `kernel` for this number of inputs.
    pub(crate) fn new(kernel: Box<dyn Kernel>, inputs: usize) -> Self {
        Piped { kernel, left: inputs, started: false, satisfied: false }
    }
}

impl Kernel for Piped {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Inputs(kinds) => {
                let are_files = kinds.iter().all(|kind| matches!(kind, InputKind::Regular { .. }));
                let kind = if are_files { InputKind::FullPipe } else { InputKind::Other };
                self.kernel.notice(Notice::Inputs(&[kind]));
            }
            Notice::NextInput(_) => {}
            other => self.kernel.notice(other),
        }
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            self.kernel.begin_input(None, out);
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.satisfied {
            return Ok(Flow::NextInput);
        }
        let flow = self.kernel.push(block, out)?;
        self.satisfied = flow == Flow::NextInput;
        Ok(flow)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 { Ok(Flow::More) } else { self.kernel.end_input(out) }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.kernel.finish(out)
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

/// A kernel reads no file itself, as it sees a pipe.
impl IoControl for Piped {
    fn pass_on(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Range<usize>> {
        if self.satisfied { None } else { self.kernel.io_control()?.pass_on(block, out) }
    }

    fn requires_flush(&mut self) -> bool {
        self.kernel.io_control().is_some_and(|io| io.requires_flush())
    }

    fn ignores_epipe(&mut self) -> bool {
        self.kernel.io_control().is_some_and(|io| io.ignores_epipe())
    }
}

impl Parallel for Piped {
    fn fork(&mut self) -> Option<Peer> {
        if self.satisfied { None } else { self.kernel.parallel()?.fork() }
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        if let Some(kernel) = self.kernel.parallel() {
            kernel.merge(peer);
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
        self.kernel.parallel().is_some_and(|kernel| kernel.keeps_records_whole(end))
    }
}
