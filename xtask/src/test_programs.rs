//! The workspace's test programs: built by cargo, and run several at a time.
//!
//! cargo test runs one after another. Many of ours wait most of the time, for processes or for time to pass, and left
//! the cores idle for a third of the run.

use std::collections::VecDeque;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use workbench::cargo_workspace::{TestProgram, build_tests};

/// Programs that take longest. They begin first, so that none of them keeps a core waiting for another at the end.
const LONGEST: [&str; 10] = [
    "differential",
    "quick",
    "cases",
    "add_examples",
    "install",
    "guard",
    "doctor",
    "interrupts",
    "docs",
    "scripts",
];

/// What a program printed, and how it ended.
pub(crate) struct Ended {
    /// Its source file, from the root of the checkout.
    pub(crate) source: PathBuf,
    /// Its standard output.
    pub(crate) output: Vec<u8>,
    /// How long it ran.
    pub(crate) took: Duration,
    pub(crate) success: bool,
}

/// Builds the test programs of the workspace with these options of cargo; those that take longest come first.
pub(crate) fn build(options: &[String]) -> Outcome<Vec<TestProgram>> {
    let all = ["--workspace", "--locked", "--all-targets"];
    let mut programs = build_tests(all.into_iter().chain(options.iter().map(String::as_str)))?;
    programs.sort_by_key(|program| {
        LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
    });
    Ok(programs)
}

/// Runs programs, as many at a time as there are cores, and calls `ended` for each as it ends.
pub(crate) fn run(
    programs: Vec<TestProgram>,
    environment: &[(&str, &str)],
    mut ended: impl FnMut(Ended),
) -> Outcome {
    let waiting = Mutex::new(VecDeque::from(programs));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (report, reports) = mpsc::channel();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            let (report, next) = (report.clone(), &next);
            scope.spawn(move || {
                while let Some(program) = next() {
                    // Fails only if nobody reads the reports any more.
                    let _ = report.send(run_one(program, environment));
                }
            });
        }
        drop(report);
        for report in reports {
            ended(report?);
        }
        Ok(())
    })
}

fn run_one(program: TestProgram, environment: &[(&str, &str)]) -> Result<Ended, String> {
    let TestProgram { source, executable, directory, .. } = program;
    let start = Instant::now();
    let cannot = |error: std::io::Error| format!("cannot run {}: {error}", executable.display());
    let mut command = Command::new(&executable);
    command.current_dir(&directory).env("CARGO_MANIFEST_DIR", &directory).envs(environment.iter().copied());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(cannot)?;
    let mut output = Vec::new();
    if let Some(mut from) = child.stdout.take() {
        from.read_to_end(&mut output).map_err(cannot)?;
    }
    let success = child.wait().map_err(cannot)?.success();
    Ok(Ended { source, output, took: start.elapsed(), success })
}
