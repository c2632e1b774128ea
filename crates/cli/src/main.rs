//! The `pelton` command: the only place that prints or exits.

mod args;
mod check;
mod diagnose;
mod explain;
mod failure;
mod output;
mod run;
mod source;
mod strict;
mod terminal;
mod time;

use args::{Cli, Verb};
use clap::Parser;
use std::process::ExitCode;

/// How the process ends.
pub enum Ending {
    /// With this status.
    Status(i32),
    /// By this signal, as the shell in its place would.
    Signal(i32),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ending = match cli.verb {
        Verb::Run(args) => run::run(&args, cli.color),
        Verb::Time(args) => time::time(&args, cli.color),
        Verb::Explain(args) => explain::explain(&args, cli.color),
    };
    match ending {
        Ok(Ending::Status(status)) => ExitCode::from(status as u8),
        Ok(Ending::Signal(signal)) => pelton_sys::signals::die_by(signal),
        Err(failure) => {
            terminal::say(&failure.render(terminal::Look::of_stderr(cli.color)));
            ExitCode::from(failure.status)
        }
    }
}
