//! The process that compares one tool: a kernel that crashes ends only its own comparison.

use super::Installed;
use super::progress::Progress;
use super::report::Verdict;
use crate::ending::Ending;
use crate::failure::Failure;
use pelton_commands::detect::{Certificate, Certificates, ProgramInspector, SystemProbe};
use pelton_commands::lookup;
use pelton_sys::signals::{self, Requests};
use pelton_verify::{Outcome, Tally, Verification};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a worker tells how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// One tool to compare.
pub(super) struct Job<'a> {
    pub installed: &'a Installed,
    pub seconds: f64,
    pub seed: u64,
    pub locales: &'a [String],
}

/// What a worker is asked, on its standard input.
#[derive(Serialize, Deserialize)]
struct Task {
    tool: String,
    path: PathBuf,
    seconds: f64,
    seed: u64,
    locales: Vec<String>,
}

/// What a worker answers, a line each: how far it is, and at last the result.
#[derive(Serialize, Deserialize)]
enum Line {
    Progress { comparisons: u64, exclusions: usize },
    Result(Box<Told>),
}

/// The result of a worker.
#[derive(Serialize, Deserialize)]
pub(super) struct Told {
    pub comparisons: u64,
    pub answers: u64,
    pub declined: u64,
    /// Whether enough was compared.
    pub enough: bool,
    /// The calls that differ, in words.
    pub differences: Vec<String>,
    /// Whether every call does.
    pub always: bool,
    pub locales: Vec<String>,
    /// What happened, and a case for pelton's tests.
    pub reports: Vec<String>,
    /// The file of certificates with only this one.
    pub certificate: String,
}

/// Compares one tool, as standard input asks.
pub(super) fn work() -> Result<Ending, Failure> {
    let cannot = |error: io::Error| Failure::io("cannot compare", &error);
    let requests = Requests::watch().map_err(cannot)?;
    let task: Task =
        serde_json::from_reader(io::stdin().lock()).map_err(|error| Failure::new(error.to_string()))?;
    let tool = lookup(task.tool.as_bytes()).ok_or_else(|| Failure::new("no such tool"))?;
    let claimed = pelton_commands::detect::Detector::new(&SystemProbe, None).identify(&task.path);
    let before = identity(&task.path);
    let verification = Verification {
        tool,
        path: &task.path,
        claimed: &claimed,
        locales: &task.locales,
        seed: task.seed,
        until: Instant::now() + Duration::from_secs_f64(task.seconds),
    };
    let mut told = Instant::now();
    let mut progress = |tally: &Tally, exclusions: usize| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            say(&Line::Progress { comparisons: tally.comparisons, exclusions });
        }
    };
    let outcome = verification.run(&|| requests.has_any(), &mut progress).map_err(cannot)?;
    if let Some(signal) = requests.taken().last() {
        return Ok(Ending::Signal(*signal));
    }
    // A program that was replaced meanwhile is not the one that was compared.
    if before.is_none() || before != identity(&task.path) {
        return Err(Failure::new(format!("{} was replaced while it was compared", task.path.display())));
    }
    say(&Line::Result(Box::new(result(outcome, before, task.path))));
    Ok(Ending::Status(0))
}

type Identity = (pelton_commands::detect::Stamp, String);

fn identity(path: &std::path::Path) -> Option<Identity> {
    Some((SystemProbe.stamp(path)?, SystemProbe.sha256(path)?))
}

fn result(outcome: Outcome, identity: Option<Identity>, path: PathBuf) -> Told {
    let enough = outcome.is_enough();
    let Outcome { mut verified, tally, reports } = outcome;
    verified.date = pelton_sys::clock::today();
    let differences = verified.exclusions.iter().map(|one| one.describe()).collect();
    let (always, locales) = (verified.differs_always(), verified.locales.clone());
    let mut certificates = Certificates::default();
    if let Some((stamp, sha256)) = identity {
        certificates.insert(Certificate { path, stamp, sha256, verified });
    }
    Told {
        comparisons: tally.comparisons,
        answers: tally.answers,
        declined: tally.declined,
        enough,
        differences,
        always,
        locales,
        reports: reports.into_iter().map(|report| report.toml).collect(),
        certificate: certificates.encode(),
    }
}

/// Prints a line. If nobody reads it any more, the comparison goes on until its time is over.
fn say(line: &Line) {
    let text = serde_json::to_string(line).unwrap_or_default();
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(format!("{text}\n").as_bytes()).and_then(|()| stdout.flush());
}

/// Runs a job in a worker.
pub(super) fn verdict(job: &Job<'_>, requests: &Requests, progress: &Progress) -> Verdict {
    match told(job, requests, progress) {
        Ok(told) => Verdict::of(job.installed, told),
        Err(reason) => Verdict::failed(job.installed, reason),
    }
}

fn told(job: &Job<'_>, requests: &Requests, progress: &Progress) -> Result<Told, String> {
    let mut child = start(job).map_err(|error| format!("cannot start a worker: {error}"))?;
    let mut told = None;
    let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines());
    for line in lines.into_iter().flatten().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Line::Progress { comparisons, exclusions }) => {
                progress.tell(job.installed.tool.name, comparisons, exclusions);
            }
            Ok(Line::Result(result)) => told = Some(*result),
            Err(_) => {}
        }
        if requests.has_any() {
            signals::send(child.id(), signals::TERM);
        }
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match told {
        Some(told) => Ok(told),
        None => {
            let message = String::from_utf8_lossy(&output.stderr);
            let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(if message.is_empty() { output.status.to_string() } else { message })
        }
    }
}

fn start(job: &Job<'_>) -> io::Result<Child> {
    let task = Task {
        tool: job.installed.tool.name.to_owned(),
        path: job.installed.path.clone(),
        seconds: job.seconds,
        seed: job.seed,
        locales: job.locales.to_vec(),
    };
    let mut child = Command::new("/proc/self/exe")
        .args(["verify", "--worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A few hundred bytes fit in any pipe.
    let text = serde_json::to_vec(&task)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&text)?;
    }
    Ok(child)
}
