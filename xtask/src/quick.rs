//! `cargo xtask quick`: what to run while working. Seconds once the workspace is built.

use crate::{Outcome, law};
use workbench::steps::{all, step, timed};
use workbench::workspace::cargo;

/// Formatting, the law, clippy, unit tests: all of them, whatever fails.
pub fn run() -> Outcome {
    let unit_tests = ["test", "--quiet", "--workspace", "--no-fail-fast", "--lib", "--bins"];
    let tidy = tidy();
    all([tidy, step("unit tests", &mut cargo(unit_tests))])
}

/// What needs no test to run.
pub fn tidy() -> Outcome {
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    all([
        step("formatting", &mut cargo(["fmt", "--all", "--check"])),
        timed("who may import whom", law::run),
        step("clippy", &mut cargo(clippy)),
    ])
}
