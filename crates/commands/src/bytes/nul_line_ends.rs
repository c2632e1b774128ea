//! Input in which a NUL ends a line, as a newline does: busybox reads lines so in most of its applets.

use std::borrow::Cow;

use pelton_stream::{Framing, Kernel, Notice, Outcome, Parallel, Peer, known};

use crate::{Accept, Command, Facts, Input, Special};

/// A command whose kernel is another one's, over input in which a NUL ends a line.
#[derive(Debug)]
pub(crate) struct NulEndsLines {
    /// The command that reads newlines.
    inner: Box<dyn Command>,
}

impl NulEndsLines {
    /// Makes one of a command that reads its inputs one after another, in lines that end in newlines.
    pub(crate) fn of(inner: Box<dyn Command>) -> Box<dyn Command> {
        Box::new(NulEndsLines { inner })
    }
}

impl Command for NulEndsLines {
    fn facts(&self) -> Facts {
        let mut facts = self.inner.facts();
        facts.input.nul_ends_lines = true;
        facts
    }

    fn inputs(&self) -> &[Input] {
        self.inner.inputs()
    }

    fn kernel(&self) -> Accept<Box<dyn Kernel>> {
        self.inner.kernel().map(with_nul_line_ends)
    }

    fn kernel_for(&self, case: Special<'_>) -> Option<Accept<Box<dyn Kernel>>> {
        self.inner.kernel_for(case).map(|kernel| kernel.map(with_nul_line_ends))
    }

    fn resume_args(&self) -> Option<Vec<Vec<u8>>> {
        self.inner.resume_args()
    }
}

/// Returns a kernel that takes each NUL for a newline, and does what this one does.
pub fn with_nul_line_ends(inner: Box<dyn Kernel>) -> Box<dyn Kernel> {
    Box::new(NulLineEnds { inner })
}

struct NulLineEnds {
    inner: Box<dyn Kernel>,
}

/// Returns the block with newlines in place of NULs.
fn mapped(block: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(0, block) else { return Cow::Borrowed(block) };
    let mut block = block.to_vec();
    block[first..].iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'\n');
    Cow::Owned(block)
}

impl Kernel for NulLineEnds {
    fn framing(&self) -> Framing {
        self.inner.framing()
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.inner.notice(match notice {
            Notice::PrecedingByte(0) => Notice::PrecedingByte(b'\n'),
            notice => notice,
        });
    }

    fn begin_input(&mut self, name: Option<&[u8]>, out: &mut Vec<u8>) {
        self.inner.begin_input(name, out);
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        self.inner.push(&mapped(block), out)
    }

    fn end_input(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.inner.end_input(out)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.inner.finish(out)
    }

    fn messages(&mut self) -> Vec<u8> {
        self.inner.messages()
    }

    fn status(&self) -> i32 {
        self.inner.status()
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        self.inner.parallel().is_some().then_some(self as &mut dyn Parallel)
    }
}

impl Parallel for NulLineEnds {
    fn fork(&mut self) -> Option<Peer> {
        let peer = self.inner.parallel()?.fork()?;
        Some(Peer { kernel: with_nul_line_ends(peer.kernel), ..peer })
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        if let (Some(own), Some(peer)) = (self.inner.parallel(), known::<NulLineEnds>(peer)) {
            own.merge(peer.inner);
        }
    }

    fn take_printed_bytes(&mut self) -> u64 {
        self.inner.parallel().map_or(0, |own| own.take_printed_bytes())
    }

    fn pass(&mut self, read: u64, printed: u64, out: &mut Vec<u8>) {
        if let Some(own) = self.inner.parallel() {
            own.pass(read, printed, out);
        }
    }

    fn keeps_records_whole(&mut self, end: u8) -> bool {
        self.inner.parallel().is_some_and(|inner| inner.keeps_records_whole(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nuls_become_newlines() {
        assert!(matches!(mapped(b"a b\n"), Cow::Borrowed(_)));
        assert_eq!(&*mapped(b"a\0b\n\0"), b"a\nb\n\n");
    }
}
