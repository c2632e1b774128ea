//! Makes the output of the whole from those of the parts.

use crate::counted;
use crate::job::{Job, PartResult};
use crate::work::{Merge, PartStatus};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What ends a writer whose reader has left.
const SIGPIPE: i32 = 13;

/// How the whole ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Merges the outputs, and runs the stages behind them, whose output is this process's own; without any, writes to `out`.
/// `started` is told the process of these stages.
///
/// # Errors
/// If an output cannot be read, or the result not be written.
pub fn finish(
    job: &Job,
    work: &Path,
    results: &[PartResult],
    pelton: &Path,
    out: &mut dyn Write,
    started: &mut dyn FnMut(u32),
) -> io::Result<Ended> {
    let files: Vec<PathBuf> = results.iter().map(|result| work.join(&result.output)).collect();
    let (text, sum) = match &job.merge {
        Merge::Concatenated => (job.end.clone(), None),
        Merge::Added => (job.end.clone(), Some(sum(&files)?)),
        Merge::ReadBy(command) => (Some(joined(command.clone(), job.end.as_ref())), None),
        Merge::MergedBy(command) => {
            let names: Vec<String> = files.iter().map(|file| quoted(file)).collect();
            let text = joined(format!("{command} -- {}", names.join(" ")), job.end.as_ref());
            return run(job, pelton, &text, &mut |_| Ok(()), started);
        }
        Merge::Counted(command) => {
            let mut merged = counted::Merged::start(job, work, &files, command, pelton)?;
            let mut feed = |to: &mut dyn Write| merged.write(to);
            let ended = match &job.end {
                Some(text) => run(job, pelton, text, &mut feed, started)?,
                None => written(feed(out), out, 0)?,
            };
            return Ok(ended);
        }
    };
    let mut feed = |to: &mut dyn Write| match &sum {
        Some(sum) => to.write_all(sum.as_bytes()),
        None => files.iter().try_for_each(|file| io::copy(&mut File::open(file)?, to).map(|_| ())),
    };
    match text {
        Some(text) => match run(job, pelton, &text, &mut feed, started)? {
            Ended::Status(0) if job.ends_on_parts => Ok(Ended::Status(status(job, results))),
            other => Ok(other),
        },
        None => written(feed(out), out, status(job, results)),
    }
}

/// Returns how the last stage would have ended that wrote this output, with this status if all was taken.
fn written(fed: io::Result<()>, out: &mut dyn Write, status: i32) -> io::Result<Ended> {
    match fed.and_then(|()| out.flush()) {
        Ok(()) => Ok(Ended::Status(status)),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ended::Signal(SIGPIPE)),
        Err(error) => Err(error),
    }
}

/// Returns the status of the last stage, which ran on the parts.
fn status(job: &Job, results: &[PartResult]) -> i32 {
    match job.status {
        PartStatus::Success => 0,
        PartStatus::Found => i32::from(results.iter().all(|result| result.status != 0)),
    }
}

fn joined(command: String, end: Option<&String>) -> String {
    end.map_or_else(|| command.clone(), |end| format!("{command} | {end}"))
}

fn quoted(file: &Path) -> String {
    format!("'{}'", file.to_string_lossy().replace('\'', "'\\''"))
}

/// Adds the numbers in these files.
fn sum(files: &[PathBuf]) -> io::Result<String> {
    let mut sum: u128 = 0;
    for file in files {
        let text = std::fs::read_to_string(file)?;
        let number: u128 =
            text.trim().parse().map_err(|_| io::Error::other(format!("{} is no number", file.display())))?;
        sum += number;
    }
    Ok(format!("{sum}\n"))
}

/// Runs a text whose standard input is fed, and returns how it ended.
fn run(
    job: &Job,
    pelton: &Path,
    text: &str,
    feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    started: &mut dyn FnMut(u32),
) -> io::Result<Ended> {
    let mut command = Command::new(pelton);
    command.args(["run", "--shell", &job.shell, "--", text]).stdin(Stdio::piped());
    let mut child = command.spawn()?;
    started(child.id());
    let fed = child.stdin.take().map_or(Ok(()), |mut stdin| feed(&mut stdin));
    let status = child.wait()?;
    match fed {
        // It needed no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        fed => fed?,
    }
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Status(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    })
}
