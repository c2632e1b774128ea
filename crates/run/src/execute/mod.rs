//! Executes a plan: starts stages, waits for them, and keeps a shell's state.

mod execution;
mod hold_others;
mod lists;
mod options;
mod recording;
mod replacement;
mod runner;
mod spawning;
mod supervision;

pub use execution::Execution;
pub use hold_others::HoldOthers;
pub use options::{Observing, Options, Profiled, ShowLive};
pub use replacement::{replacement, shell_call};

use lists::ShellState;
use replacement::whole;
use runner::Runner;

use crate::c_string::c_string;
use crate::environ::Environment;
use crate::lookup;
use crate::plan::{ListItem, Plan, Request};
use crate::progress;
use pelton_record::How;
use pelton_sys::spawn::Exec;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Runs the plan. `say` gets what a shell would print to standard error about its children. If nothing is
/// observed, this process may become the last program of the text, as the shell would.
///
/// # Errors
/// If pelton itself lacks descriptors, processes or memory.
pub fn execute(
    plan: &Plan,
    request: &Request,
    environment: &Environment,
    options: &Options,
    say: &mut dyn FnMut(&str),
) -> io::Result<Execution> {
    let mut runner = Runner::new(options.observing)?;
    runner.show_live = options.live;
    runner.lines = options.lines;
    runner.profile(options.profiled);
    runner.hold_others = options.hold_others.filter(|_| options.observing.measures());
    runner.show = options.progress.filter(|_| options.observing == Observing::No);
    if runner.show.is_some() {
        progress::prepare();
    }
    match plan {
        Plan::Steps(steps) => {
            let switches = options.native.as_ref();
            let in_place = options.in_place && runner.show.is_none() && !options.observing.measures();
            let mut shell =
                ShellState { request, environment, say, errexit: false, pipefail: false, switches, in_place };
            runner.only_one = matches!(steps.as_slice(), [ListItem::List(list)] if list.len() == 1);
            shell.run(steps, &mut runner)?;
        }
        Plan::Whole { reason } => {
            let exec = whole(request, environment).ok_or_else(nul)?;
            let text = request.text.to_string_lossy().into_owned();
            let how = How::Shell { reason: reason.clone() };
            runner.run_one(exec, &text, request.shell.name.to_string_lossy().into_owned(), how, None)?;
        }
    }
    runner.finish()
}

/// Resolves a command given as words to its program, without a shell.
///
/// # Errors
/// With `NotFound` if there is no such program.
pub fn command(words: &[OsString], environment: &Environment) -> io::Result<Exec> {
    let name = words.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let path =
        lookup::find(name.as_bytes(), environment).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut argv: Vec<_> =
        words.iter().map(|word| c_string(word.as_bytes())).collect::<Option<_>>().ok_or_else(nul)?;
    let mut path = c_string(&path).ok_or_else(nul)?;
    if !lookup::kernel_can_start(path.as_bytes()) {
        // As execvp(3) does with a file that the kernel does not recognise: it is a script for sh.
        argv.splice(..1, [c"sh".to_owned(), path]);
        path = c"/bin/sh".to_owned();
    }
    Ok(Exec { path, argv, envp: environment.as_inherited() })
}

/// Runs a command given as words, without a shell.
///
/// # Errors
/// As [`command`] and [`execute()`].
pub fn execute_command(
    words: &[OsString],
    environment: &Environment,
    options: &Options,
) -> io::Result<Execution> {
    let exec = command(words, environment)?;
    let program = exec.path.to_string_lossy().into_owned();
    let text = pelton_record::typed(&words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>());
    let name = words[0].to_string_lossy();
    let name = name.rsplit('/').next().unwrap_or(&name).to_string();
    let mut runner = Runner::new(options.observing)?;
    runner.show_live = options.live;
    runner.lines = options.lines;
    runner.profile(options.profiled);
    runner.run_one(exec, &text, name, How::Process, Some(program))?;
    runner.finish()
}

fn nul() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in the text")
}
