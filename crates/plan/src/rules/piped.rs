//! A kernel that takes its inputs for one pipe.

use std::ops::Range;

use pelton_stream::{Flow, Framing, InputKind, Kernel, Means, Outcome, Peer};

/// Hides from a kernel that it reads files: no names, no sizes, no borders between them.
pub(crate) struct Piped {
    kernel: Box<dyn Kernel>,
    /// Inputs that have not ended.
    left: usize,
    started: bool,
    /// The kernel wants no more of what it takes for its only input.
    satisfied: bool,
}

impl Piped {
    /// Of that many inputs.
    pub(crate) fn new(kernel: Box<dyn Kernel>, inputs: usize) -> Self {
        Piped { kernel, left: inputs, started: false, satisfied: false }
    }
}

impl Kernel for Piped {
    fn framing(&self) -> Framing {
        self.kernel.framing()
    }

    fn inputs_are(&mut self, _kinds: &[InputKind]) {
        self.kernel.inputs_are(&[InputKind::Other]);
    }

    fn begin_input(&mut self, _name: Option<&[u8]>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            self.kernel.begin_input(None, out);
        }
    }

    fn arrives(&mut self, bytes: &[u8]) {
        self.kernel.arrives(bytes);
    }

    fn lend(&mut self, means: &Means) {
        self.kernel.lend(means);
    }

    fn call_back(&mut self) {
        self.kernel.call_back();
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

    fn held(&mut self) -> Vec<u8> {
        self.kernel.held()
    }

    fn nobody_reads(&mut self) {
        self.kernel.nobody_reads();
    }

    fn insists(&mut self) -> bool {
        self.kernel.insists()
    }

    fn wants_written(&self) -> bool {
        self.kernel.wants_written()
    }

    fn complaints(&mut self) -> Vec<u8> {
        self.kernel.complaints()
    }

    fn status(&self) -> i32 {
        self.kernel.status()
    }

    fn another(&self) -> Option<Peer> {
        self.kernel.another().filter(|_| !self.satisfied)
    }

    fn absorb(&mut self, peer: Box<dyn Kernel>) {
        self.kernel.absorb(peer);
    }

    fn comes_after(&mut self, last: u8) {
        self.kernel.comes_after(last);
    }

    fn keeps_whole(&self, end: u8) -> bool {
        self.kernel.keeps_whole(end)
    }

    fn status_after(&self, real: i32) -> i32 {
        self.kernel.status_after(real)
    }
}
