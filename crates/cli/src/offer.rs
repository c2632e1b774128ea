//! Offers, below a report of `pelton time`, to run the same text as `pelton run` would.

use crate::ending::Ending;
use crate::failure::Failure;
use crate::output::OutputTarget;
use crate::shared_options::ReportArgs;
use crate::source::Source;
use crate::terminal::{self, SingleKeys, When};
use crate::time;
use pelton_run::{Environment, Options, RerunHazards, Switches};
use pelton_sys::signals::Requests;
use pelton_sys::wait;
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time for an answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Asks on a terminal whether to run the text again, natively, and does so for an `r`. Without an answer it ends. Nothing
/// is asked where a second run could do more than print on that terminal, or where something was typed already. Returns
/// how pelton ends, if the answer was a signal.
///
/// # Errors
/// Those of the run.
pub fn run_natively(
    source: &Source,
    environment: &Environment,
    report: &ReportArgs,
    color: When,
) -> Result<Option<Ending>, Failure> {
    let Source::Text(request, plan) = source else { return Ok(None) };
    let hazards = pelton_run::rerun_hazards(plan, request, environment);
    if hazards != RerunHazards::default() || !is_attended() {
        return Ok(None);
    }
    match answer()? {
        Answer::Yes => {}
        Answer::No => return Ok(None),
        Answer::Signal(signal) => return Ok(Some(Ending::Signal(signal))),
    }
    let native = Some(Switches::default());
    let measured = time::measure(source, environment, Options { native, ..Options::FAITHFULLY })?;
    time::show(OutputTarget::Stderr, report, color, &measured.run)?;
    Ok(None)
}

enum Answer {
    Yes,
    No,
    /// Sent, or typed: the terminal sends none while single keys are read.
    Signal(i32),
}

fn answer() -> Result<Answer, Failure> {
    let cannot = |error: std::io::Error| Failure::io("cannot wait for signals", &error);
    let requests = Requests::watch().map_err(cannot)?;
    let Some(_keys) = SingleKeys::take() else { return Ok(Answer::No) };
    let stdin = std::io::stdin();
    if pelton_sys::pipe::is_readable_within(stdin.as_fd(), Duration::ZERO) {
        return Ok(Answer::No);
    }
    say(&format!("  r runs it so, q does not ({} s) ", PATIENCE.as_secs()));
    wait::wait_any(&[requests.as_fd(), stdin.as_fd()], Some(PATIENCE));
    let keys = SingleKeys::pressed(Duration::ZERO);
    // The question does not stay on the screen.
    terminal::clear_line();
    if let Some(signal) = requests.taken().first() {
        return Ok(Answer::Signal(*signal));
    }
    Ok(match keys.as_deref() {
        Some(b"r" | b"R") => Answer::Yes,
        Some([CONTROL_C]) => Answer::Signal(SIGINT),
        None | Some(b"q" | b"Q" | b"n" | b"N" | [ESCAPE]) => Answer::No,
        Some(typed) => {
            // The next command. Where the terminal takes it back, the shell reads it; else its rest would be another one.
            if pelton_sys::stdio::give_back(stdin.as_fd(), typed).is_err() {
                let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
            }
            Answer::No
        }
    })
}

const CONTROL_C: u8 = 3;
const ESCAPE: u8 = 27;
const SIGINT: i32 = 2;

/// Whether somebody sees the question and may answer it: a process in the background would be stopped.
fn is_attended() -> bool {
    let stdin = std::io::stdin();
    let in_foreground = || rustix::termios::tcgetpgrp(&stdin).ok() == Some(rustix::process::getpgrp());
    let can_erase = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    // What goes elsewhere would go there twice.
    let on_screen = stdin.is_terminal() && std::io::stdout().is_terminal() && terminal::stderr_is_terminal();
    can_erase && on_screen && in_foreground()
}

/// Ignores errors: without a terminal no answer comes either.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
