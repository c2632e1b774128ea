//! One source of measurements per file.

pub mod accounting;
pub mod waits;
