//! How the work of one kernel is shared among several.

use crate::{Framing, Kernel};
use std::any::Any;

/// A [`Kernel`] whose work several threads can share.
pub trait Parallel: Kernel {
    /// Forks a kernel for other blocks of the current input, if the work can be shared now. A peer may fall
    /// back, complain or stop where it cannot process a block alone. This kernel then gets that block and all
    /// later ones.
    fn fork(&mut self) -> Option<Peer>;

    /// Merges the state of a peer (a match flag, counts). For [`Sharing::Blocks`] the merge must be
    /// idempotent: a block may be given to a peer and then to the first kernel.
    fn merge(&mut self, _peer: Box<dyn Kernel>) {}

    /// Returns how many bytes this peer has printed since the last call, for [`pass`](Parallel::pass).
    fn take_printed_bytes(&mut self) -> u64 {
        0
    }

    /// Moves on by `read` bytes of the input, for which peers have printed `printed` bytes that are certain now (see
    /// [`Peer::lookahead_bytes`]). Appends what this kernel has kept back, which comes before them.
    fn pass(&mut self, _read: u64, _printed: u64, _out: &mut Vec<u8>) {}

    /// Whether the output for blocks that end with `end` is empty or ends with `end`.
    fn keeps_records_whole(&mut self, end: u8) -> bool {
        self.framing() == Framing::Records(end)
    }
}

/// How a peer kernel may share the work of the first kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The output for a block depends on that block alone. The outputs of all kernels, in block order, equal
    /// the output of one kernel.
    Blocks,
    /// As `Blocks`, if the peer is told the byte before its block (see [`Notice::PrecedingByte`](crate::Notice::PrecedingByte)).
    After,
    /// Prints nothing before the end, and its state then does not depend on block order. The first kernel
    /// merges the state of its peers ([`Parallel::merge`]).
    Fold,
    /// As `Fold`, unless a peer falls back: from an unsupported block on, order matters (sums that are no
    /// longer exact). Peers may already have taken later blocks. The first kernel then gets all their input
    /// again, and the state of its peers is dropped.
    Sums,
    /// A peer may drop records of its block, judging by earlier blocks. The first kernel gets the remaining
    /// records in block order, and prints what it would print for all records.
    Sieve,
}

/// A kernel for other blocks of an input that has begun, made by [`Parallel::fork`].
pub struct Peer {
    /// A kernel that has seen no block. The driver only calls `push` on it: its input neither begins nor
    /// ends.
    pub kernel: Box<dyn Kernel>,
    /// What the driver may give it.
    pub share: Sharing,
    /// The byte that blocks must end with, whatever the framing says.
    pub whole: Option<u8>,
    /// A byte that peers must not see. A read that contains it goes to the first kernel as it arrived.
    pub never: Option<u8>,
    /// How many bytes after a block peers must have processed before the output for the block is certain. Where a peer falls
    /// back, the first kernel continues with the first block whose output is not.
    pub lookahead_bytes: u64,
}

impl Peer {
    /// Makes a peer that shares as [`Sharing::Blocks`]. Its blocks end at record ends if the kernel is framed in
    /// records, otherwise anywhere.
    pub fn of_blocks(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Blocks)
    }

    /// Makes a peer that shares as [`Sharing::Sieve`]. Its blocks end at record ends if the kernel is framed in
    /// records, otherwise anywhere.
    pub fn of_sieve(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Sieve)
    }

    /// Makes a peer that shares as [`Sharing::Fold`]. Its blocks end at record ends if the kernel is framed in
    /// records, otherwise anywhere.
    pub fn of_fold(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Fold)
    }

    /// Makes a peer that shares as [`Sharing::Sums`]. Its blocks end at record ends if the kernel is framed in
    /// records, otherwise anywhere.
    pub fn of_sums(kernel: impl Kernel) -> Self {
        Peer::cut_as_framed(Box::new(kernel), Sharing::Sums)
    }

    fn cut_as_framed(kernel: Box<dyn Kernel>, share: Sharing) -> Self {
        let whole = match kernel.framing() {
            Framing::Bytes => None,
            Framing::Records(end) => Some(end),
        };
        Peer { kernel, share, whole, never: None, lookahead_bytes: 0 }
    }

    /// Makes the output for a block certain only once this many bytes after it have been processed.
    pub fn with_lookahead(self, lookahead_bytes: u64) -> Self {
        Peer { lookahead_bytes, ..self }
    }
}

/// Downcasts a peer to the kernel type that made it.
pub fn known<K: Kernel>(peer: Box<dyn Kernel>) -> Option<Box<K>> {
    let any: Box<dyn Any> = peer;
    any.downcast().ok()
}
