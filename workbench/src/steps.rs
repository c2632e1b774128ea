//! Progress: prints a line when a step starts, and its time when it ends.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Runs a program, showing its output. If it fails, the error is its command line.
pub fn step(what: &str, command: &mut Command) -> Outcome {
    timed(what, || {
        let status = command.status().map_err(|error| format!("{}: {error}", line(command)))?;
        if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", line(command)).into()) }
    })
}

/// Runs `work` under a heading.
pub fn timed<T>(what: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    eprintln!("==> {what}");
    let start = Instant::now();
    let result = work().map_err(|error| format!("{what}: {error}").into());
    let outcome = if result.is_ok() { "done" } else { "FAILED" };
    eprintln!("    {outcome}: {what} ({})", seconds(start.elapsed()));
    result
}

/// Runs all steps, even after a failure, and returns every failure.
pub fn all(steps: impl IntoIterator<Item = Outcome>) -> Outcome {
    let failures: Vec<String> =
        steps.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Formats a duration: `0.4 s`, `83 s`.
pub fn seconds(elapsed: Duration) -> String {
    let s = elapsed.as_secs_f64();
    if s < 10.0 { format!("{s:.1} s") } else { format!("{s:.0} s") }
}

fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
