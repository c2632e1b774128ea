//! Runs contenders side by side: interleaved, in alternating order, measured by the kernel at each exit.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};

use super::{Bench, stats};
use workbench::Outcome;

/// A program in a comparison.
pub struct Contender {
    /// For tables.
    pub name: String,
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Its `LC_ALL`.
    pub locale: &'static str,
    /// Its `PATH`, if different from ours.
    pub path: Option<OsString>,
}

impl Contender {
    /// Creates a contender.
    pub fn new<S: Into<OsString>>(name: &str, argv: impl IntoIterator<Item = S>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Contender { name: name.into(), argv, locale: "C", path: None }
    }

    /// Returns the contender with a locale other than C.
    pub fn in_locale(self, locale: &'static str) -> Self {
        Contender { locale, ..self }
    }

    /// Copies the contender for another contest.
    pub fn again(&self) -> Self {
        let Contender { name, argv, locale, path } = self;
        Contender { name: name.clone(), argv: argv.clone(), locale, path: path.clone() }
    }

    /// Returns the contender with another `PATH`.
    pub fn with_path(self, path: OsString) -> Self {
        Contender { path: Some(path), ..self }
    }
}

/// The times of its runs in seconds; the index is the round. CPU time includes all processes it waited for.
#[derive(Default)]
pub struct Samples {
    /// For tables.
    pub name: String,
    /// Wall time.
    pub real: Vec<f64>,
    /// CPU time in user mode.
    pub user: Vec<f64>,
    /// CPU time in the kernel.
    pub sys: Vec<f64>,
    /// The sum of both, which the kernel measures more exactly than either.
    pub cpu: Vec<f64>,
}

impl Samples {
    /// Returns raw values and medians.
    pub fn json(&self) -> Value {
        let median = |values: &[f64]| round(stats::median(values));
        json!({
            "name": self.name,
            "median": {"real": median(&self.real), "user": median(&self.user), "sys": median(&self.sys), "cpu": median(&self.cpu)},
            "min": {"real": round(stats::min(&self.real)), "cpu": round(stats::min(&self.cpu))},
            "raw": {"real": rounded(&self.real), "user": rounded(&self.user), "sys": rounded(&self.sys)},
        })
    }
}

/// Runs every contender `runs` times after `warmup` uncounted rounds. Every other round runs backwards.
pub fn contest(contenders: &[Contender], dir: &Path, runs: usize, warmup: usize) -> Outcome<Vec<Samples>> {
    contest_with(contenders, dir, runs, warmup, || Ok(()))
}

/// Does the same, with unmeasured preparation before each run.
pub fn contest_with(
    contenders: &[Contender],
    dir: &Path,
    runs: usize,
    warmup: usize,
    before: impl Fn() -> Outcome,
) -> Outcome<Vec<Samples>> {
    let mut samples: Vec<Samples> =
        contenders.iter().map(|one| Samples { name: one.name.clone(), ..Samples::default() }).collect();
    for round in 0..warmup + runs {
        for place in 0..contenders.len() {
            let index = if round % 2 == 0 { place } else { contenders.len() - 1 - place };
            before()?;
            let run = run_once(&contenders[index], dir)?;
            if round >= warmup {
                samples[index].push(&run);
            }
        }
    }
    Ok(samples)
}

/// Returns the largest resident set of any of its processes, in bytes, as `pelton time` reports it.
pub fn peak_bytes(bench: &Bench, contender: &Contender, dir: &Path) -> Outcome<u64> {
    let report = dir.join("report.json");
    let mut argv =
        vec![bench.pelton.clone().into_os_string(), "time".into(), "--format=json".into(), "-o".into()];
    argv.extend([report.clone().into_os_string(), "--".into()]);
    argv.extend(contender.argv.iter().cloned());
    run_once(&Contender { argv, ..contender.again() }, dir)?;
    let run: Value = serde_json::from_slice(&std::fs::read(&report)?)?;
    let stages = run["pipelines"][0]["stages"].as_array().ok_or("a record without stages")?;
    let peaks = stages.iter().filter_map(|stage| stage["cost"]["peak_rss_bytes"].as_u64());
    peaks.max().ok_or_else(|| "a record without peak memory".into())
}

impl Samples {
    /// Appends the samples of more rounds.
    pub fn push(&mut self, run: &Samples) {
        self.real.extend(&run.real);
        self.user.extend(&run.user);
        self.sys.extend(&run.sys);
        self.cpu.extend(&run.cpu);
    }
}

/// Runs once, silently, in its locale. A failure ends the contest.
pub fn run_once(contender: &Contender, dir: &Path) -> Outcome<Samples> {
    let (samples, status) = run_to_status(contender, dir)?;
    if !status.success() {
        return Err(format!("{} failed ({status}): {:?}", contender.name, contender.argv).into());
    }
    Ok(samples)
}

/// Runs once, silently, in its locale, and also returns the exit status.
pub fn run_to_status(contender: &Contender, dir: &Path) -> Outcome<(Samples, ExitStatus)> {
    let mut command = Command::new(&contender.argv[0]);
    command.args(&contender.argv[1..]).current_dir(dir).env("LC_ALL", contender.locale);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Set by cargo. The loader would look there first, in vain, at every start of a program.
    command.env_remove("LD_LIBRARY_PATH");
    if let Some(path) = &contender.path {
        command.env("PATH", path);
    }
    // Overwriting an old output frees its pages first: a third of the CPU cost of writing them, unrelated to
    // the work.
    let _ = std::fs::remove_file(dir.join("out"));
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("{}: {error}", contender.name))?;
    let real = start.elapsed().as_secs_f64();
    let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let (user, sys) = (user(&after) - user(&before), system(&after) - system(&before));
    let samples = Samples {
        name: String::new(),
        real: vec![real],
        user: vec![user],
        sys: vec![sys],
        cpu: vec![user + sys],
    };
    Ok((samples, status))
}

fn user(usage: &Usage) -> f64 {
    usage.user_time().num_microseconds() as f64 / 1e6
}

fn system(usage: &Usage) -> f64 {
    usage.system_time().num_microseconds() as f64 / 1e6
}

/// Rounds to microseconds: more digits would be noise.
fn round(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|&value| round(value)).collect()
}
