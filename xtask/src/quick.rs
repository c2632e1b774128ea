//! `cargo xtask quick`: what to run while working. Seconds once the workspace is built.

use crate::steps::{step, timed};
use crate::workspace::cargo;
use crate::{Outcome, law};

/// Formatting, clippy, the law, unit tests.
pub fn run() -> Outcome {
    tidy()?;
    step("unit tests", &mut cargo(["test", "--quiet", "--workspace", "--lib", "--bins"]))
}

/// What needs no test to run.
pub fn tidy() -> Outcome {
    step("formatting", &mut cargo(["fmt", "--all", "--check"]))?;
    timed("who may import whom", law::run)?;
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    step("clippy", &mut cargo(clippy))
}
