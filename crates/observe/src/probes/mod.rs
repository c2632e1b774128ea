//! One source of measurements per file.

pub mod accounting;
pub mod exact;
mod ledger;
pub mod pipes;
pub mod syscalls;
pub mod threads;
pub mod timeline;
pub mod track;
pub mod waits;
