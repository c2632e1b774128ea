//! The only unsafe code and the only libc of pelton: spawning behind a gate, waiting, signals, pipes, /proc.
//!
//! Everything here is small and mechanical; what it means is decided elsewhere. `unsafe` blocks hold one operation
//! each and say why they are sound.

pub mod bits;
mod borrow;
pub mod clock;
pub mod collate;
pub mod compact;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod pipe;
pub mod procfs;
pub mod read;
pub mod sched;
pub mod shared;
pub mod signals;
pub mod spawn;
pub mod startup;
pub mod stdio;
pub mod wait;
pub mod wide;
