//! A kernel that sees its inputs as one pipe.

use std::ops::Range;

use pelton_stream::{Flow, Framing, InputKind, Kernel, Outcome, Peer, Resources};

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

    fn set_inputs(&mut self, kinds: &[InputKind]) {
        let are_files = kinds.iter().all(|kind| matches!(kind, InputKind::Regular { .. }));
        self.kernel.set_inputs(&[if are_files { InputKind::Copied } else { InputKind::Other }]);
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            self.kernel.begin_input(None, out);
        }
    }

    fn arrives(&mut self, bytes: &[u8]) {
        self.kernel.arrives(bytes);
    }

    fn attach(&mut self, resources: &Resources) {
        self.kernel.attach(resources);
    }

    fn detach(&mut self) {
        self.kernel.detach();
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if self.satisfied {
            return Ok(Flow::NextInput);
        }
        let flow = self.kernel.push(block, out)?;
        self.satisfied = flow == Flow::NextInput;
        Ok(flow)
    }

    fn pass_on(&mut self, block: &[u8], out: &mut Vec<u8>) -> Option<Range<usize>> {
        if self.satisfied { None } else { self.kernel.pass_on(block, out) }
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.left = self.left.saturating_sub(1);
        if self.left > 0 { Ok(Flow::More) } else { self.kernel.end_input(out) }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.kernel.finish(out)
    }

    fn unconsumed(&mut self) -> Vec<u8> {
        self.kernel.unconsumed()
    }

    fn output_is_discarded(&mut self) {
        self.kernel.output_is_discarded();
    }

    fn ignores_epipe(&mut self) -> bool {
        self.kernel.ignores_epipe()
    }

    fn requires_flush(&self) -> bool {
        self.kernel.requires_flush()
    }

    fn messages(&mut self) -> Vec<u8> {
        self.kernel.messages()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }

    fn fork(&self) -> Option<Peer> {
        self.kernel.fork().filter(|_| !self.satisfied)
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        self.kernel.merge(peer);
    }

    fn set_preceding_byte(&mut self, last: u8) {
        self.kernel.set_preceding_byte(last);
    }

    fn keeps_records_whole(&self, end: u8) -> bool {
        self.kernel.keeps_records_whole(end)
    }

    fn status_after(&self, real: i32) -> i32 {
        self.kernel.status_after(real)
    }
}
