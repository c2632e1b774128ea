//! One source of measurements per file.

pub mod accounting;
pub mod pipes;
pub mod syscalls;
pub mod threads;
pub mod timeline;
pub mod track;
pub mod waits;
