//! Which first kernels of a chain can share their work, and their peers.

use super::file_range::{BatchSize, FileRange};
use crate::chain::Link;
use crate::{Chain, Fed, Flow, Notice, Sharing, Sink};
use std::time::Instant;

/// How far a chain's work can be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The number of kernels at the front that process any block alone.
    pub(super) front: usize,
    /// Whether the kernel after them folds blocks, in any order.
    pub(super) fold: bool,
    /// Whether a block refused by a fold makes all input be given again: the input must be repeatable.
    pub redo: bool,
    /// Whether the kernel after them gets what its peers leave of blocks, in order.
    pub(super) sieve: bool,
    /// The byte that blocks must end with.
    pub cut: Option<u8>,
    /// The byte that only the first kernel may see.
    pub never: Option<u8>,
    /// How many bytes after a block must have passed the front before its output is certain.
    pub(super) lookahead_bytes: u64,
}

impl Shared {
    /// Returns the sharing without the fold, if a front remains.
    pub fn without_fold(self) -> Option<Shared> {
        (self.front > 0).then_some(Shared { fold: false, redo: false, ..self })
    }

    /// Returns how many kernels have peers that a block passes before it is queued in order.
    pub(super) fn peers_at_front(&self) -> usize {
        self.front + usize::from(self.sieve)
    }
}

impl Chain {
    /// Returns how far the work can be shared, if at all. Called between two blocks.
    pub fn shared(&mut self) -> Option<Shared> {
        let mut shared = Shared {
            front: 0,
            fold: false,
            redo: false,
            sieve: false,
            cut: None,
            never: None,
            lookahead_bytes: 0,
        };
        for at in 0..self.links.len() {
            let (before, rest) = self.links.split_at_mut(at);
            let Some(peer) = rest[0].parallel().and_then(|own| own.fork()) else { break };
            let cut = shared.cut.or(peer.whole);
            let mut whole = |end: u8| {
                let mut earlier = before.iter_mut().map(Link::parallel);
                earlier.all(|own| own.is_some_and(|own| own.keeps_records_whole(end)))
            };
            let other_records = peer.whole.is_some_and(|end| cut != Some(end));
            if other_records || cut.is_some_and(|end| !whole(end)) || !rest[0].reads_on() {
                break;
            }
            // Only the intake knows the byte before a block.
            if at > 0 && (peer.share == Sharing::After || peer.never.is_some() || peer.lookahead_bytes > 0) {
                break;
            }
            // What the first kernel has passed cannot be taken back.
            if shared.lookahead_bytes > 0 && peer.share == Sharing::Sums {
                break;
            }
            shared.lookahead_bytes = shared.lookahead_bytes.max(peer.lookahead_bytes);
            shared.cut = cut;
            shared.never = shared.never.or(peer.never);
            shared.fold = matches!(peer.share, Sharing::Fold | Sharing::Sums);
            shared.redo = peer.share == Sharing::Sums;
            shared.sieve = peer.share == Sharing::Sieve;
            if shared.fold || shared.sieve {
                break;
            }
            shared.front = at + 1;
        }
        (shared.peers_at_front() > 0 || shared.fold).then_some(shared)
    }

    fn peers(&mut self, links: std::ops::Range<usize>) -> Option<Chain> {
        let kernels = self.links[links].iter_mut().map(|link| Some(link.parallel()?.fork()?.kernel));
        Some(Chain::new(kernels.collect::<Option<_>>()?))
    }

    fn merge(&mut self, first: usize, peers: Chain) {
        for (link, peer) in self.links[first..].iter_mut().zip(peers.links) {
            if let Some(own) = link.parallel() {
                own.merge(peer.kernel);
            }
        }
    }
}

/// The peers of one worker.
pub(super) struct Lane {
    pub id: usize,
    front: Chain,
    /// The kernel that folds, or none.
    fold: Chain,
    /// The buffer for reading ranges.
    block: Vec<u8>,
    grain: BatchSize,
}

/// The result of processing a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Well,
    /// The first kernels must process it.
    Odd,
}

impl Lane {
    /// Forks peers of the kernels of `chain`.
    pub fn of(chain: &mut Chain, shared: Shared, id: usize) -> Option<Self> {
        let fold = chain.peers(shared.front..shared.front + usize::from(shared.fold))?;
        let front = chain.peers(0..shared.peers_at_front())?;
        Some(Lane { id, front, fold, block: Vec::new(), grain: BatchSize::one() })
    }

    /// Returns how many blocks the next range should have.
    pub fn blocks(&self) -> usize {
        self.grain.blocks()
    }

    /// Returns how many bytes the first peer has printed for a block or range.
    pub fn take_printed_bytes(&mut self) -> u64 {
        let first = self.front.links.first_mut().and_then(Link::parallel);
        first.map_or(0, |own| own.take_printed_bytes())
    }

    /// Reads and processes a range that follows the byte `last`, unless it is the first. If it is unsupported
    /// or cannot be read, it must be read again.
    pub fn work_part(
        &mut self,
        part: &FileRange,
        cut: Option<u8>,
        mut last: Option<u8>,
        out: &mut Vec<u8>,
    ) -> Judged {
        out.clear();
        if self.front.is_empty() {
            return if part.read(out) { Judged::Well } else { Judged::Odd };
        }
        let begun = Instant::now();
        let mut block = std::mem::take(&mut self.block);
        let well = part.each(cut, &mut block, |block| {
            let judged = self.push(block, last, out);
            last = block.last().copied();
            judged == Judged::Well
        });
        self.block = block;
        self.grain.measure(begun.elapsed());
        if well { Judged::Well } else { Judged::Odd }
    }

    /// Processes a block that follows the byte `last`, unless it is the first.
    pub fn work(&mut self, block: &mut Vec<u8>, last: Option<u8>, out: &mut Vec<u8>) -> Judged {
        out.clear();
        if self.front.is_empty() {
            std::mem::swap(block, out);
            return Judged::Well;
        }
        self.push(block, last, out)
    }

    fn push(&mut self, block: &[u8], last: Option<u8>, out: &mut Vec<u8>) -> Judged {
        if let (Some(last), Some(first)) = (last, self.front.links.first_mut()) {
            first.kernel.notice(Notice::PrecedingByte(last));
        }
        let mut sink = Quiet { out, complained: false };
        match self.front.push(block, &mut sink) {
            Ok(Flow::More) if !sink.complained => Judged::Well,
            _ => Judged::Odd,
        }
    }

    /// Folds the front's output for a block.
    pub fn fold(&mut self, block: &[u8]) -> Fed {
        let begun = Instant::now();
        let fed = self.fold.push(block, &mut Vec::new());
        if self.front.is_empty() {
            // The fold was all the work on this range.
            self.grain.measure(begun.elapsed());
        }
        fed
    }

    /// Merges its state into `chain`.
    pub fn leave(self, chain: &mut Chain, shared: Shared) {
        chain.merge(0, self.front);
        chain.merge(shared.front, self.fold);
    }
}

struct Quiet<'a> {
    out: &'a mut Vec<u8>,
    complained: bool,
}

impl Sink for Quiet<'_> {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        self.out.extend_from_slice(bytes);
        Flow::More
    }

    fn complain(&mut self, _text: &[u8]) {
        self.complained = true;
    }

    fn room(&mut self) -> Option<&mut Vec<u8>> {
        Some(self.out)
    }
}
