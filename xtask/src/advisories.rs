//! `cargo xtask advisories`: known security holes in what we depend on.
//!
//! On its own because it downloads the advisory database, which tests must not need.

use crate::Outcome;
use crate::steps::step;
use crate::workspace::cargo;

/// Asks cargo-deny.
pub fn run() -> Outcome {
    crate::setup::run()?;
    step("check for known security holes", &mut cargo(["deny", "check", "advisories"]))
}
