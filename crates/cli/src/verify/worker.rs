//! The process that compares one tool: a kernel that crashes ends only its own comparison.

use super::Installed;
use super::progress::Progress;
use super::report::Verdict;
use crate::ending::Ending;
use crate::failure::Failure;
use pelton_commands::detect::{
    Certificate, Certificates, Detector, Exclusion, ProgramInspector, Stamp, SystemProbe, Verified,
};
use pelton_commands::lookup;
use pelton_parallel::lock;
use pelton_sys::signals::{self, Requests};
use pelton_sys::wait;
use pelton_verify::{Outcome, Tally, Verification};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often a worker tells how far it is.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// One tool to compare.
pub(super) struct Job<'a> {
    pub installed: &'a Installed,
    pub seconds: f64,
    pub seed: u64,
    pub locales: &'a [String],
    /// Earlier results.
    pub before: &'a Certificates,
}

/// The workers that run.
#[derive(Default)]
pub(super) struct Workers(Mutex<Vec<u32>>);

impl Workers {
    /// Asks all of them to end. None of them has been waited for: their ids are theirs.
    pub(super) fn end(&self) {
        lock(&self.0).iter().for_each(|pid| signals::send(*pid, signals::TERM));
    }

    fn add(&self, child: &Child) {
        lock(&self.0).push(child.id());
    }

    /// Waits for one, once it has no more to say.
    fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        // Until it has ended, it may still be asked to.
        wait::until_ended(child.id());
        lock(&self.0).retain(|pid| *pid != child.id());
        child.wait()
    }
}

/// What a worker is asked, on its standard input.
#[derive(Serialize, Deserialize)]
struct Task {
    tool: String,
    path: PathBuf,
    seconds: f64,
    seed: u64,
    locales: Vec<String>,
    /// Calls that were found to differ before.
    excluded: Vec<String>,
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
    let claimed = Detector::new(&SystemProbe, None).identify(&task.path);
    let before = identity(&task.path);
    let excluded: Vec<Exclusion> = task.excluded.iter().filter_map(|text| Exclusion::decode(text)).collect();
    let parent = std::os::unix::process::parent_id();
    let stop = || requests.has_any() || std::os::unix::process::parent_id() != parent;
    let verification = Verification {
        tool,
        path: &task.path,
        claimed: &claimed,
        excluded: &excluded,
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
    let outcome = verification.run(&stop, &mut progress).map_err(cannot)?;
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

type Identity = (Stamp, String);

fn identity(path: &Path) -> Option<Identity> {
    Some((SystemProbe.stamp(path)?, SystemProbe.sha256(path)?))
}

fn result(outcome: Outcome, identity: Option<Identity>, path: PathBuf) -> Told {
    let enough = outcome.is_enough();
    let Outcome { mut verified, tally, reports, .. } = outcome;
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
pub(super) fn verdict(job: &Job<'_>, workers: &Workers, progress: &Progress) -> Verdict {
    Verdict::new(job.installed, told(job, workers, progress))
}

fn told(job: &Job<'_>, workers: &Workers, progress: &Progress) -> Result<Told, String> {
    let mut child = start(job).map_err(|error| format!("cannot start a worker: {error}"))?;
    workers.add(&child);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut told = None;
    for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()).map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Line::Progress { comparisons, exclusions }) => {
                progress.tell(job.installed.tool.name, comparisons, exclusions);
            }
            Ok(Line::Result(result)) => told = Some(*result),
            Err(_) => {}
        }
    }
    // It prints no more than an error.
    let mut message = String::new();
    let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut message));
    let status = workers.wait(child).map_err(|error| error.to_string())?;
    match (told, status.signal()) {
        (Some(told), _) => Ok(told),
        (None, Some(signal)) if CRASHES.contains(&signal) => Ok(crashed(job, signal)),
        (None, _) => {
            let first = message.lines().next().unwrap_or_default().trim_start_matches("pelton: ");
            Err(if first.is_empty() { status.to_string() } else { first.to_owned() })
        }
    }
}

/// Signals by which a kernel ends that has a bug: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
const CRASHES: [i32; 5] = [4, 6, 7, 8, 11];

/// Makes the result of a worker that crashed: no call is served.
fn crashed(job: &Job<'_>, signal: i32) -> Told {
    let Installed { tool, path, claimed } = job.installed;
    let verified = Verified {
        family: tool.family,
        like: tool.nearest_version("").to_owned(),
        shown: claimed.describe(),
        date: String::new(),
        comparisons: 0,
        locales: vec!["C".to_owned()],
        exclusions: vec![Exclusion::of_every_call()],
    };
    let outcome = Outcome { verified, tally: Tally::default(), reports: Vec::new(), is_new: true };
    let mut told = result(outcome, identity(path), path.clone());
    told.reports.push(format!(
        "# the kernel crashed by {}: `pelton verify --seed {} {}` shows it again\n",
        signals::name(signal),
        job.seed,
        tool.name
    ));
    told
}

fn start(job: &Job<'_>) -> io::Result<Child> {
    let path = job.installed.path.clone();
    let known = SystemProbe.stamp(&path).and_then(|stamp| {
        let before = job.before.of(&path, stamp, || SystemProbe.sha256(&path))?;
        // Where all calls differed, there is nothing to add to: it is tried again.
        (!before.verified.differs_always()).then(|| before.verified.exclusions.clone())
    });
    let task = Task {
        tool: job.installed.tool.name.to_owned(),
        path,
        seconds: job.seconds,
        seed: job.seed,
        locales: job.locales.to_vec(),
        excluded: known.unwrap_or_default().iter().map(Exclusion::encode).collect(),
    };
    let text = serde_json::to_vec(&task)?;
    let mut child = Command::new("/proc/self/exe")
        .args(["verify", "--worker"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // A few hundred bytes fit in any pipe. Without them, the worker reports an error.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(&text));
    Ok(child)
}
