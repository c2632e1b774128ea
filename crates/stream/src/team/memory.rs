//! A team on inputs in memory, for tests, like [`crate::memory::run`].

use super::{Intake, Left, Taken, Why, drive};
use crate::memory::{Source, next_block};
use crate::{Chain, Fed, Flow, Framing, InputKind, Interruption, Kernel, Sink};
use pelton_parallel::Fixed;
use std::collections::VecDeque;

/// The result of a run.
pub struct Together {
    /// The standard output.
    pub stdout: Vec<u8>,
    /// The standard error.
    pub stderr: Vec<u8>,
    /// The chain with the kernel.
    pub chain: Chain,
    /// A fallback, with all that the real command must get.
    pub stop: Option<Interruption>,
}

/// Runs a kernel over its inputs with this many workers, in blocks of about `block_bytes`. Returns `None` if
/// it cannot share its work.
pub fn run(
    kernel: Box<dyn Kernel>,
    sources: &[Source<'_>],
    block_bytes: usize,
    workers: usize,
) -> Option<Together> {
    let mut chain = Chain::new(vec![kernel]);
    let left = VecDeque::new();
    let mut run = Run { sources, at: 0, bytes: 0, block_bytes, workers, left, together: false };
    let mut sink = WorkerOutput::default();
    let kinds: Vec<InputKind> = sources.iter().map(|source| source.kind).collect();
    let fed = chain.begin(&kinds, &mut sink).and_then(|_| run.all(&mut chain, &mut sink));
    let stop = fed.err().and_then(|mut stops| stops.pop()).map(|mut stop| {
        let rest = &mut stop.rest;
        rest.extend(run.left.into_iter().flat_map(|(_, block)| block));
        let unread = sources.iter().skip(run.at).enumerate();
        unread.for_each(|(i, source)| rest.extend(&source.bytes[if i == 0 { run.bytes } else { 0 }..]));
        stop
    });
    run.together.then_some(())?;
    Some(Together { stdout: sink.0, stderr: sink.1, chain, stop })
}

/// The standard output and the standard error.
#[derive(Default)]
pub(super) struct WorkerOutput(pub(super) Vec<u8>, pub(super) Vec<u8>);

impl Sink for WorkerOutput {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        self.0.extend_from_slice(bytes);
        Flow::More
    }

    fn complain(&mut self, text: &[u8]) {
        self.1.extend_from_slice(text);
    }
}

struct Run<'a> {
    sources: &'a [Source<'a>],
    at: usize,
    bytes: usize,
    block_bytes: usize,
    workers: usize,
    left: VecDeque<(usize, Vec<u8>)>,
    /// Whether a team ran.
    together: bool,
}

impl Run<'_> {
    fn all(&mut self, chain: &mut Chain, sink: &mut WorkerOutput) -> Fed {
        while let Some(source) = self.sources.get(self.at) {
            self.bytes = 0;
            chain.begin_input(source.name, sink)?;
            if self.source(source.bytes, chain, sink)? == Flow::Done || chain.end_input(sink)? == Flow::Done {
                self.at = self.sources.len();
            }
            self.at += 1;
        }
        chain.finish(sink)
    }

    fn source(&mut self, bytes: &[u8], chain: &mut Chain, sink: &mut WorkerOutput) -> Fed {
        while self.bytes < bytes.len() {
            let shared = chain.shared();
            let framing = || chain.links.first().map_or(Framing::Bytes, |link| link.kernel.framing());
            let whole = shared.map_or_else(framing, |it| it.cut.map_or(Framing::Bytes, Framing::Records));
            let rest = &bytes[self.bytes..];
            // The first kernel processes the first block.
            let now = &rest[..next_block(rest, whole, self.block_bytes)];
            self.bytes += now.len();
            let flow = chain.push(now, sink)?;
            if flow != Flow::More {
                return Ok(flow);
            }
            // Work that cannot be shared yet may become so after a few records.
            let Some(shared) = shared else { continue };
            self.together = true;
            let mut memory = Memory {
                bytes,
                at: self.bytes,
                size: self.block_bytes,
                cut: shared.cut,
                never: shared.never,
            };
            let begin = self.bytes;
            let Left { fed, blocks, why, redo, .. } =
                drive(chain, shared, &mut memory, sink, &Fixed(self.workers));
            self.bytes = if redo { begin } else { memory.at };
            self.left = blocks;
            if fed? != Flow::More {
                return Ok(Flow::Done);
            }
            while let Some((link, block)) = self.left.pop_front() {
                let flow = chain.push_from(link, &block, sink)?;
                if flow != Flow::More {
                    return Ok(flow);
                }
            }
            if redo || !matches!(why, Why::Odd) {
                return self.alone(bytes, chain, sink);
            }
        }
        Ok(Flow::More)
    }

    fn alone(&mut self, bytes: &[u8], chain: &mut Chain, sink: &mut WorkerOutput) -> Fed {
        let rest = std::mem::replace(&mut self.bytes, bytes.len());
        if rest < bytes.len() { chain.push(&bytes[rest..], sink) } else { Ok(Flow::More) }
    }
}

/// Gives whole blocks, until one is incomplete or not for peers.
struct Memory<'a> {
    bytes: &'a [u8],
    at: usize,
    size: usize,
    cut: Option<u8>,
    never: Option<u8>,
}

impl Intake for Memory<'_> {
    fn next(&mut self, block: &mut Vec<u8>, _blocks: usize) -> Taken {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Taken::Nothing(Why::Ended);
        }
        let next = &rest[..next_block(rest, self.cut.map_or(Framing::Bytes, Framing::Records), self.size)];
        let whole = self.cut.is_none_or(|end| next.last() == Some(&end));
        if !whole || self.never.is_some_and(|byte| next.contains(&byte)) {
            return Taken::Nothing(if whole { Why::Paused } else { Why::Ended });
        }
        block.extend_from_slice(next);
        self.at += next.len();
        Taken::Block
    }

    fn last(&self) -> Option<u8> {
        self.at.checked_sub(1).map(|at| self.bytes[at])
    }
}
