//! The `pelton` command: the only place that prints or exits.

mod args;
mod arguments;
mod arrivals;
mod attached_values;
mod buffer;
mod check;
mod compare;
mod copy;
mod csv;
mod diagnose;
mod doctor;
mod duration;
mod ending;
mod explain;
mod failure;
mod files_left;
mod find;
mod gain;
mod guard;
mod history;
mod init;
mod inside;
mod json;
mod last;
mod lines;
mod manual;
mod misunderstood;
mod offer;
mod output;
mod pipe;
mod progress;
mod report;
mod run;
mod scripts;
mod shared_options;
mod size;
mod source;
mod stateless;
mod strict;
mod syscalls;
mod terminal;
mod time;
mod verify;
mod watch;
mod what_if;
mod workers;
mod xtrace;

use args::{Cli, Verb};
use clap::CommandFactory;
use ending::Ending;
use std::process::ExitCode;

/// Starts large allocations where the kernel reads into them quickly.
#[global_allocator]
static ALLOCATOR: pelton_sys::allocator::Allocator = pelton_sys::allocator::Allocator;

fn main() -> ExitCode {
    pelton_sys::stack::with_room(work)
}

fn work() -> ExitCode {
    if let Some(args) = pipe::written_call(std::env::args_os().skip(1)) {
        return end(pipe::pipe(&args), terminal::When::Auto);
    }
    let cli = match arguments::read() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    let ending = match cli.verb {
        Verb::Run(args) => run::run(&args, cli.color.when),
        Verb::Time(args) => time::time(&args, cli.color.when),
        Verb::Doctor(args) => doctor::doctor(&args, cli.color.when),
        Verb::Guard(args) => guard::guard(&args, cli.color.when),
        Verb::Watch(args) => watch::watch(&args, cli.color.when),
        Verb::Last(args) => last::last(&args, cli.color.when),
        Verb::Stamp(args) => arrivals::stamp(&args),
        Verb::Compare(args) => compare::compare(&args, cli.color.when),
        Verb::Pipe(args) => pipe::pipe(&args),
        Verb::Sh(args) => run::shell(args, cli.color.when),
        Verb::Explain(args) => explain::explain(&args, cli.color.when),
        Verb::Json(args) => json::json(&args),
        Verb::Plan(args) => workers::plan(&args),
        Verb::Worker(args) => workers::worker(&args),
        Verb::Csv(args) => csv::csv(&args),
        Verb::Copy(args) => copy::copy(&args),
        Verb::Find(args) => find::find(&args, cli.color.when),
        Verb::Buffer(args) => buffer::buffer(&args),
        Verb::Report(args) => report::report(&args),
        Verb::Verify(args) => verify::verify(&args, cli.color.when),
        Verb::Man(args) => manual::man(&args, Cli::command()),
        Verb::Completions(args) => manual::completions(&args, &Cli::command()),
        Verb::Init(args) => init::init(&args, &Cli::command()),
        Verb::Line(args) => init::line(&args),
    };
    end(ending, cli.color.when)
}

fn end(ending: Result<Ending, failure::Failure>, color: terminal::When) -> ExitCode {
    match ending {
        Ok(Ending::Status(status)) => ExitCode::from(status as u8),
        Ok(Ending::Signal(signal)) => pelton_sys::signals::die_by(signal),
        Err(failure) => {
            terminal::say(&failure.render(terminal::Look::of_stderr(color)));
            ExitCode::from(failure.status)
        }
    }
}
