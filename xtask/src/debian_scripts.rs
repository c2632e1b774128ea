//! `cargo xtask debian-scripts`: tries pelton on every shell script of the machine.
//!
//! Runs the command line's test `debian_scripts`, with the part that starts the machine's programs, and shows
//! its counts.

use workbench::Outcome;
use workbench::cargo_workspace::cargo;
use workbench::steps::step;

/// Runs the test.
pub fn run() -> Outcome {
    let words = [
        "test",
        "--locked",
        "-p",
        "pelton",
        "--test",
        "debian_scripts",
        "--",
        "--include-ignored",
        "--nocapture",
    ];
    step("every shell script of this machine", &mut cargo(words))
}
