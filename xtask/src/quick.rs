//! `cargo xtask quick`: quick checks while working. Takes seconds once the workspace is built.

use std::process::Command;

use crate::{Outcome, law, registries};
use workbench::cargo_workspace::{cargo, on_path, root};
use workbench::steps::{all, step, timed};

/// Runs formatting, the law, clippy and unit tests: all of them, even after a failure.
pub fn run() -> Outcome {
    let unit_tests = ["test", "--quiet", "--workspace", "--no-fail-fast", "--lib", "--bins"];
    let tidy = tidy();
    all([tidy, step("unit tests", &mut cargo(unit_tests))])
}

/// Runs the checks that need no test.
pub fn tidy() -> Outcome {
    let clippy = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
    all([
        registries::format(true),
        timed("who may import whom", law::run),
        spelling(),
        step("clippy", &mut cargo(clippy)),
    ])
}

/// Checks spelling, with the exceptions of `_typos.toml`.
fn spelling() -> Outcome {
    if !on_path("typos") {
        eprintln!("    spelling: not checked, `cargo xtask setup` installs typos");
        return Ok(());
    }
    step("spelling", Command::new("typos").current_dir(root()))
}
