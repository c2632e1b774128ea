//! Blocks of bytes, line boundaries, and the [`Kernel`] trait: a command's inner loop over whole blocks.
//!
//! Data moves in blocks that stay in L2 ([`BLOCK_BYTES`]). A kernel does its work over a whole block and appends
//! what it prints to a buffer, which is the next kernel's block while it is still in cache. No kernel reads, writes,
//! prints or exits by itself: whoever drives it does.

mod chain;
mod joined;
mod kernel;
pub mod memory;

pub use chain::{Chain, Fed, Interruption, Sink};
pub use joined::Joined;
pub use kernel::{Complaint, Flow, Framing, HandOver, InputKind, JoinKernel, Kernel, Outcome};

/// The size of a block, in bytes, unless a single line is longer. 64–256 KiB measured best on the machines at hand.
pub const BLOCK_BYTES: usize = 128 * 1024;
