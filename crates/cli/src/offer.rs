//! Offers, below a report of `pelton time`, to run the same text as `pelton run` would.

use crate::failure::Failure;
use crate::output::OutputTarget;
use crate::shared_options::ReportArgs;
use crate::source::Source;
use crate::terminal::{self, SingleKeys, When};
use crate::time;
use pelton_run::{Environment, Options, Switches};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time for an answer.
const PATIENCE: Duration = Duration::from_secs(8);
const QUESTION: &str = "  r runs it so, any other key ends ";

/// Asks on a terminal whether to run the text again, natively, and does so for an `r`. Without an answer it ends. Nothing
/// is asked where a second run could do more than print, or where something was typed already.
///
/// # Errors
/// Those of the run.
pub fn run_natively(
    source: &Source,
    environment: &Environment,
    report: &ReportArgs,
    color: When,
) -> Result<(), Failure> {
    let Source::Text(request, plan) = source else { return Ok(()) };
    let hazards = pelton_run::rerun_hazards(plan, request, environment);
    if !hazards.writes.is_empty() || !hazards.unknown.is_empty() || !is_accepted() {
        return Ok(());
    }
    let native = Some(Switches::default());
    let measured = time::measure(source, environment, Options { native, ..Options::FAITHFULLY })?;
    time::show(OutputTarget::Stderr, report, color, &measured.run)
}

fn is_accepted() -> bool {
    let Some(_keys) = is_attended().then(SingleKeys::take).flatten() else { return false };
    if pelton_sys::pipe::is_readable_within(std::io::stdin().as_fd(), Duration::ZERO) {
        return false;
    }
    say(QUESTION);
    let answer = SingleKeys::pressed(PATIENCE);
    // The question does not stay on the screen.
    say("\r\x1b[K");
    answer.is_some_and(|keys| keys.first().is_some_and(|key| key.eq_ignore_ascii_case(&b'r')))
}

/// Whether somebody sees the question and may answer it: a process in the background would be stopped.
fn is_attended() -> bool {
    let stdin = std::io::stdin();
    let in_foreground = || rustix::termios::tcgetpgrp(&stdin).ok() == Some(rustix::process::getpgrp());
    let can_erase = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    can_erase && stdin.is_terminal() && terminal::stderr_is_terminal() && in_foreground()
}

/// Ignores errors: without a terminal no answer comes either.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
