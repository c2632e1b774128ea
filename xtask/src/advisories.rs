//! `cargo xtask advisories`: known security holes in what we depend on.
//!
//! On its own because it downloads the advisory database, which tests must not need.

use workbench::Outcome;
use workbench::steps::step;
use workbench::workspace::cargo;

/// Asks cargo-deny.
pub fn run() -> Outcome {
    workbench::setup::run()?;
    step("check for known security holes", &mut cargo(["deny", "check", "advisories"]))
}
