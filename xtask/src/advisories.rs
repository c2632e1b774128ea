//! `cargo xtask advisories`: checks the dependencies for known vulnerabilities.
//!
//! A separate command because it downloads the advisory database, which tests must not need.

use workbench::Outcome;
use workbench::cargo_workspace::cargo;
use workbench::steps::step;

/// Runs cargo-deny.
pub fn run() -> Outcome {
    workbench::setup::run()?;
    step("check for known security holes", &mut cargo(["deny", "check", "advisories"]))
}
