//! The workspace's test programs: built by cargo, and run several at a time.
//!
//! cargo test runs one after another. Many of ours wait most of the time, for processes or for time to pass, and left
//! the cores idle for a third of the run.

use std::collections::VecDeque;
use std::io::{BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use workbench::cargo_workspace::{cargo, root};

/// Programs that take longest. They begin first, so that none of them keeps a core waiting for another at the end.
const LONGEST: [&str; 9] =
    ["differential", "quick", "cases", "add_examples", "install", "doctor", "interrupts", "docs", "scripts"];

/// A program that holds tests.
pub(crate) struct TestProgram {
    /// The name of its file or crate, without suffix.
    name: String,
    /// Its source file, from the root of the checkout.
    source: PathBuf,
    executable: PathBuf,
    /// The directory of its package, in which it runs.
    directory: PathBuf,
}

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

/// Builds the test programs of the workspace with these options of cargo.
pub(crate) fn build(options: &[String]) -> Outcome<Vec<TestProgram>> {
    let mut build = cargo(["test", "--workspace", "--locked", "--all-targets", "--no-run", "--quiet"]);
    build.args(["--message-format", "json-render-diagnostics"]).args(options);
    let mut child = build.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let messages = child.stdout.take().ok_or("no pipe from cargo")?;
    let mut programs = Vec::new();
    for message in serde_json::Deserializer::from_reader(BufReader::new(messages)).into_iter::<Value>() {
        programs.extend(program(&message?));
    }
    if !child.wait()?.success() {
        return Err("the tests cannot be built".into());
    }
    programs.sort_by_key(|program| {
        LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
    });
    Ok(programs)
}

/// Returns the test program that a message of cargo's reports.
fn program(message: &Value) -> Option<TestProgram> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let executable = text(&message["executable"]).filter(|_| message["profile"]["test"] == true)?;
    let mut directory = PathBuf::from(text(&message["manifest_path"])?);
    directory.pop();
    let source = PathBuf::from(text(&message["target"]["src_path"])?);
    Some(TestProgram {
        name: text(&message["target"]["name"])?,
        source: source.strip_prefix(root()).unwrap_or(&source).to_owned(),
        executable: executable.into(),
        directory,
    })
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
