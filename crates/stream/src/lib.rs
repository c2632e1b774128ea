//! Blocks of bytes, line boundaries, and the [`Kernel`] trait: a command's inner loop over whole blocks.
//!
//! Data moves in blocks that stay in L2 ([`BLOCK_BYTES`]). A kernel does its work over a whole block and appends
//! what it prints to a buffer, which is the next kernel's block while it is still in cache. No kernel opens, writes,
//! prints or exits by itself, and none reads but what its driver hands it ([`PlainFile`]).

use std::sync::atomic::{AtomicUsize, Ordering};

mod chain;
mod joined;
mod kernel;
pub mod memory;
mod memory_share;
mod meter;
pub mod ordered;
mod resources;
pub mod team;

pub use chain::{Chain, Fed, Interruption, Sink};
pub use joined::Joined;
pub use kernel::{
    Complaint, Flow, Framing, HandOver, InputKind, JoinKernel, Kernel, Outcome, Peer, Sharing, known,
};
pub use memory_share::Holding;
pub use meter::{Call, Metered, Tell};
pub use resources::{Files, PlainFile, Programs, Resources, Started, Storage, Stored};

/// The size of a block, in bytes, unless a single line is longer. 64–256 KiB measured best on the machines at hand.
pub const BLOCK_BYTES: usize = 128 * 1024;

/// What drivers of this process read at once, in bytes: [`BLOCK_BYTES`], unless [`set_block_bytes`] said otherwise.
pub fn block_bytes() -> usize {
    SIZE.load(Ordering::Relaxed)
}

/// For tests only: tiny blocks show whether a kernel keeps its state from one block to the next. At least 1.
pub fn set_block_bytes(bytes: usize) {
    SIZE.store(bytes.max(1), Ordering::Relaxed);
}

static SIZE: AtomicUsize = AtomicUsize::new(BLOCK_BYTES);
