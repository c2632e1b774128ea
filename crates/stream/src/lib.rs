//! Blocks of bytes, record boundaries, and the [`Kernel`] trait: a command's inner loop over whole blocks.
//!
//! Data moves in blocks that stay in L2 ([`BLOCK_BYTES`]). A kernel processes a whole block and appends its
//! output to a buffer, which is the next kernel's block while it is still in cache. No kernel opens files,
//! writes or exits by itself, and none reads except through what its driver passes it ([`PlainFile`]).

use std::sync::atomic::{AtomicUsize, Ordering};

mod chain;
mod hand_over;
mod io_control;
mod joined;
mod kernel;
pub mod memory;
mod memory_share;
mod meter;
mod resources;
mod sharing;
pub mod team;

pub use chain::{Chain, Fed, Interruption, Sink, Survival};
pub use hand_over::{HandOver, StatusAfter};
pub use io_control::IoControl;
pub use joined::Joined;
pub use kernel::{Complaint, Flow, Framing, InputKind, JoinKernel, Kernel, Notice, Outcome};
pub use memory_share::Holding;
pub use meter::{Call, Metered, Tell};
pub use resources::{Files, PlainFile, Programs, Resources, Started, Storage, Stored};
pub use sharing::{Parallel, Peer, Sharing, known};

/// The size of a block in bytes, unless a single line is longer. 64–256 KiB measured best on our machines.
pub const BLOCK_BYTES: usize = 128 * 1024;

/// Returns how many bytes the drivers of this process read at once: [`BLOCK_BYTES`], unless
/// [`set_block_bytes`] changed it.
pub fn block_bytes() -> usize {
    SIZE.load(Ordering::Relaxed)
}

/// Sets the block size, at least 1. For tests only: tiny blocks show whether a kernel keeps its state between
/// blocks.
pub fn set_block_bytes(bytes: usize) {
    SIZE.store(bytes.max(1), Ordering::Relaxed);
}

static SIZE: AtomicUsize = AtomicUsize::new(BLOCK_BYTES);
