//! Progress: a line when a step starts, its time when it ends.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Runs one program, its output shown, and fails with its command line if it fails.
pub fn step(what: &str, command: &mut Command) -> Outcome {
    timed(what, || {
        let status = command.status().map_err(|error| format!("{}: {error}", line(command)))?;
        if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", line(command)).into()) }
    })
}

/// Does `work` under a heading.
pub fn timed<T>(what: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    eprintln!("==> {what}");
    let start = Instant::now();
    let result = work().map_err(|error| format!("{what}: {error}"))?;
    eprintln!("    done: {what} ({})", seconds(start.elapsed()));
    Ok(result)
}

/// `0.4 s`, `83 s`.
pub fn seconds(elapsed: Duration) -> String {
    let s = elapsed.as_secs_f64();
    if s < 10.0 { format!("{s:.1} s") } else { format!("{s:.0} s") }
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
