//! `cargo xtask COMMAND`: see [`xtask::HELP`].

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
