//! `cargo xtask debian-scripts`: pelton put to every shell script of the machine.
//!
//! The test `debian_scripts` of the command line, with its part that starts programs of the machine, and with its counts.

use workbench::Outcome;
use workbench::steps::step;
use workbench::workspace::cargo;

/// Runs it.
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
