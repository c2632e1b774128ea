//! One source of measurements per file.

pub mod accounting;
pub mod syscalls;
pub mod threads;
pub mod waits;
