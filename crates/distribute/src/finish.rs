//! Makes the output of the whole from those of the parts.

use crate::counted;
use crate::job::{Job, PartResult};
use crate::numbered;
use crate::work::{Merge, PartStatus};
use crate::worker::fold;
use pelton_run::script::quoted;
use pelton_sys::processes::end_with_descendants;
use pelton_sys::signals::PIPE;
use pelton_sys::wait::Ended;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Refuses an output that is not as long as it was when its part was done.
fn check_size(work: &Path, result: &PartResult) -> io::Result<()> {
    let path = work.join(&result.output);
    let found = std::fs::metadata(&path);
    let bytes = found.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?.len();
    match bytes == result.bytes {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} has {bytes} bytes, and had {} when its part was done",
            path.display(),
            result.bytes
        ))),
    }
}

/// Refuses outputs that have been cut while they were read. (Those that are gone by now could still be read, or that failed.)
fn check_uncut(work: &Path, results: &[PartResult]) -> io::Result<()> {
    let mut there = results.iter().filter(|result| work.join(&result.output).exists());
    there.try_for_each(|result| check_size(work, result))
}

/// Writes what the outputs of the parts become.
type Feed<'a> = Box<dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a>;

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
    results.iter().try_for_each(|result| check_size(work, result))?;
    let files: Vec<PathBuf> = results.iter().map(|result| work.join(&result.output)).collect();
    let mut feed: Feed<'_> = match &job.division.merge {
        Merge::Added => {
            let sum = sum(&files)?;
            Box::new(move |to| to.write_all(sum.as_bytes()))
        }
        Merge::Counted(command) => {
            let mut merged = counted::Merged::start(job, work, &files, command, pelton)?;
            Box::new(move |to| merged.write(to))
        }
        Merge::Numbered(width) => Box::new(|to| numbered::write(&files, results, *width, to)),
        // The command names the files itself.
        Merge::MergedBy(_) => Box::new(|_| Ok(())),
        Merge::Concatenated | Merge::ReadBy(_) | Merge::Folded(_) => {
            Box::new(|to| files.iter().try_for_each(|file| io::copy(&mut File::open(file)?, to).map(|_| ())))
        }
    };
    let reader = match &job.division.merge {
        Merge::ReadBy(command) => Some(command.clone()),
        Merge::Folded(command) => Some(fold(job, pelton, "--add-folds", command)),
        Merge::MergedBy(command) => Some(merging(command, &files)),
        _ => None,
    };
    let texts: Vec<String> = reader.into_iter().chain(job.division.end.clone()).collect();
    let mut feed = |to: &mut dyn Write| feed(to).and_then(|()| check_uncut(work, results));
    if texts.is_empty() {
        return written(feed(out), out, status(job, results));
    }
    let ended = run(job, pelton, &texts.join(" | "), &mut feed, started)?;
    check_uncut(work, results)?;
    match ended {
        // The last stage ran on the parts.
        Ended::Exited(0) if job.division.ends_on_parts => Ok(Ended::Exited(status(job, results))),
        other => Ok(other),
    }
}

/// Returns how the last stage would have ended that wrote this output, with this status if all was taken.
fn written(fed: io::Result<()>, out: &mut dyn Write, status: i32) -> io::Result<Ended> {
    match fed.and_then(|()| out.flush()) {
        Ok(()) => Ok(Ended::Exited(status)),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ended::Signalled(PIPE, false)),
        Err(error) => Err(error),
    }
}

/// Returns the status of the last stage, which ran on the parts.
fn status(job: &Job, results: &[PartResult]) -> i32 {
    match job.division.status {
        PartStatus::Success => 0,
        PartStatus::Found => i32::from(results.iter().all(|result| result.status != 0)),
    }
}

/// Returns the text by which a command merges files.
pub(crate) fn merging(command: &str, files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| quoted(&file.to_string_lossy())).collect();
    format!("{command} -- {}", names.join(" "))
}

/// Returns the command by which pelton runs a text here.
pub(crate) fn running(job: &Job, pelton: &Path, text: &str) -> Command {
    let mut command = Command::new(pelton);
    command.args(["run", "--shell", &job.shell, "--", text]);
    command
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
    let mut child = running(job, pelton, text).stdin(Stdio::piped()).spawn()?;
    started(child.id());
    let mut stdin = child.stdin.take();
    let fed = stdin.as_mut().map_or(Ok(()), |stdin| feed(stdin));
    // Without one it needed no more.
    let failure = fed.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    if failure.is_some() {
        // The end of its input would tell it that this was all.
        end_with_descendants(child.id());
    }
    drop(stdin);
    let status = child.wait()?;
    match failure {
        Some(error) => Err(error),
        None => Ok(status.into()),
    }
}
