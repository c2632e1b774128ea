//! The usual pipelines under pelton beside the programs that people pick when those are too slow for them: same jobs,
//! same bytes.

mod install;
mod jobs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest, peak_bytes};
use super::results::{Claim, Results, earlier};
use super::shell_and_run::{Place, digest, named_input};
use super::{Bench, stats};
use install::Programs;
use jobs::{JOBS, Job};
use workbench::Outcome;
use workbench::cargo_workspace::target_dir;
use workbench::inputs::{ACCESS_LOG, PEOPLE, PROSE, PURCHASES, Recipe, WORDS};

const INPUTS: [(&str, Recipe); 5] =
    [("log", ACCESS_LOG), ("csv", PURCHASES), ("prose", PROSE), ("words", WORDS), ("people", PEOPLE)];

/// The share of the comparisons in which pelton has to be ahead.
const AHEAD: f64 = 0.9;
/// The most memory that a sort may take, as a multiple of its input.
const MEMORY: f64 = 3.0;

/// Where pelton is known to be behind, and why: the job, the other program, the reason.
const WHY: &[(&str, &str, &str)] = &[
    ("sort lines", "parsort", NOT_WAITED_FOR),
    ("sort by two keys", "parsort", NOT_WAITED_FOR),
    ("sort numbers", "parsort", NOT_WAITED_FOR),
    ("a key of JSON lines", "jaq", NO_JQ),
    ("a key of JSON lines", "duckdb", NO_JQ),
    ("a key of JSON lines", "polars", NO_JQ),
    (
        "distinct lines, in order",
        "huniq",
        "it keeps hashes of the lines and not the lines: two with one hash are one to it",
    ),
    ("rearrange by groups", "hck", "the second thread: with `--jobs 1` user+sys are about equal"),
    ("rearrange by groups", "xsv", "it looks for commas, pelton runs the expression of sed"),
];
const NOT_WAITED_FOR: &str =
    "it does not wait for the sorts that it starts, so their CPU time is not counted";
const NO_JQ: &str = "jq has no kernel; `pelton json .email`, where one may use that, takes 0.16 s";

/// What a program took for a job, as it is kept between runs. Ratios are its figure by pelton's.
struct Figures {
    job: String,
    who: String,
    /// Seconds, and those of the processors, of user and system together.
    real: f64,
    cpu: f64,
    real_ratio: f64,
    cpu_ratio: f64,
    /// Of the largest process, in bytes.
    peak: f64,
}

/// Runs all jobs, or those whose name contains `--only`. The results of other jobs are kept.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(3), bench.size_mb(100));
    let programs = Programs::install(&target_dir()?)?;
    let place = place(bench, megabytes)?;
    let mut rows = match earlier(bench, "rivals") {
        Value::Object(rows) => rows,
        _ => serde_json::Map::new(),
    };
    rows.retain(|name, _| JOBS.iter().any(|job| job.name == name));
    let asked = |job: &&Job| bench.only.as_deref().is_none_or(|only| job.name.contains(only));
    for job in JOBS.iter().filter(asked) {
        rows.insert(job.name.to_owned(), measure(bench, &programs, &place, job, runs)?);
    }
    Ok(results(&rows, megabytes, runs, &programs.missing))
}

/// Makes the inputs.
fn place(bench: &Bench, megabytes: u64) -> Outcome<Place> {
    let place = Place::with_inputs(bench, &INPUTS, megabytes)?;
    let log = File::open(place.dir.join("log"))?;
    let packed = File::create(place.dir.join("log.gz"))?;
    let status = Command::new("gzip").args(["-1", "-n"]).stdin(Stdio::from(log)).stdout(packed).status()?;
    if status.success() { Ok(place) } else { Err(format!("gzip failed ({status})").into()) }
}

/// Runs a job by all programs that are there: once for its output and peak memory, then for its times.
fn measure(bench: &Bench, programs: &Programs, place: &Place, job: &Job, runs: usize) -> Outcome<Value> {
    eprintln!("    {}", job.name);
    let pelton = [bench.pelton.as_os_str(), "run".as_ref(), "--".as_ref(), job.plain.as_ref()];
    let bash = |name: &str, text: &str| Contender::new(name, ["bash", "-c", text]);
    let mut contenders = vec![Contender::new("pelton", pelton), bash("shell", job.plain)];
    let there = |text: &str| text.split(' ').next().is_some_and(|program| programs.has(program));
    contenders.extend(job.others.iter().filter(|(_, text)| there(text)).map(|(name, text)| bash(name, text)));
    let (mut fit, mut peaks, mut refused, mut asked) = (Vec::new(), Vec::new(), Vec::new(), None);
    for contender in contenders {
        let contender = contender.with_path(programs.path());
        let why = match output(bench, place, &contender) {
            Ok((peak, output)) if *asked.get_or_insert(output) == output => {
                peaks.push(peak);
                fit.push(contender);
                continue;
            }
            Ok(_) => "writes other bytes".to_owned(),
            Err(why) => why.to_string(),
        };
        eprintln!("      {}: {why}", contender.name);
        refused.push(json!({"name": contender.name, "why": why}));
    }
    let samples = contest(&fit, &place.dir, runs, 0)?;
    let pelton = samples.iter().find(|one| one.name == "pelton").ok_or("pelton failed")?;
    let entry = |(one, peak): (&Samples, u64)| {
        json!({
            "who": one.name,
            "peak": peak,
            "real": stats::median(&one.real),
            "cpu": stats::median(&one.cpu),
            "real_ratio": stats::median_ratio(&one.real, &pelton.real),
            "cpu_ratio": stats::median_ratio(&one.cpu, &pelton.cpu),
            "samples": one.json(),
        })
    };
    let entries: Vec<Value> = samples.iter().zip(peaks).map(entry).collect();
    let input = input_of(job).ok_or("a job without input")?;
    let input = place.dir.join(input).metadata()?.len();
    Ok(json!({"entries": entries, "refused": refused, "input": input}))
}

fn input_of(job: &Job) -> Option<&'static str> {
    named_input(job.plain, INPUTS.iter().map(|(name, _)| *name))
}

/// Returns the peak memory of the largest process, and the digest of what was written.
fn output(bench: &Bench, place: &Place, contender: &Contender) -> Outcome<(u64, (u64, u64))> {
    let peak = peak_bytes(bench, contender, &place.dir)?;
    Ok((peak, digest(&place.dir.join("out"))?))
}

impl Figures {
    fn of(job: &str, entry: &Value) -> Option<Figures> {
        let number = |key: &str| entry[key].as_f64();
        Some(Figures {
            job: job.to_owned(),
            who: entry["who"].as_str()?.to_owned(),
            real: number("real")?,
            cpu: number("cpu")?,
            real_ratio: number("real_ratio")?,
            cpu_ratio: number("cpu_ratio")?,
            peak: number("peak")?,
        })
    }

    /// Whether it takes at least as long as pelton.
    fn takes_longer(&self) -> bool {
        self.real_ratio >= 1.0
    }

    /// Whether it takes at least as much CPU time as pelton.
    fn takes_more_cpu(&self) -> bool {
        self.cpu_ratio >= 1.0
    }

    fn line(&self) -> String {
        let Figures { who, real, cpu, real_ratio, cpu_ratio, peak, .. } = self;
        let megabytes = peak / 1e6;
        format!("| {who} | {real:.3} s | {cpu:.3} s | {megabytes:.0} MB | {real_ratio:.2} | {cpu_ratio:.2} |")
    }
}

fn results(
    rows: &serde_json::Map<String, Value>,
    megabytes: u64,
    runs: usize,
    missing: &[String],
) -> Results {
    let mut all = Vec::new();
    let mut tables = String::new();
    for job in JOBS {
        let Some(row) = rows.get(job.name) else { continue };
        let entries = row["entries"].as_array().into_iter().flatten();
        let figures: Vec<Figures> = entries.filter_map(|entry| Figures::of(job.name, entry)).collect();
        tables += &table(job, row, &figures);
        all.extend(figures);
    }
    let others: Vec<&Figures> = all.iter().filter(|one| one.who != "pelton" && one.who != "shell").collect();
    let about = format!(
        "Usual pipelines under `pelton run` beside other programs for the same jobs: {megabytes} MB, locale C, each as it comes, \
         with the threads that it takes, {runs} rounds, order alternating; files in memory or the page cache. All write the same \
         bytes. Ratios are the other program's figure by pelton's; memory is that of the largest process. duckdb and polars are \
         called through Python, whose start is counted (about 0.1 to 0.3 s).{}",
        if missing.is_empty() { String::new() } else { format!(" Not here: {}.", missing.join("; ")) }
    );
    let body = format!("{}\n{}\n{tables}", by_program(&others), behind(&others));
    let claims = claims(rows, &all, &others);
    Results { name: "rivals", about, body, data: Value::Object(rows.clone()), claims }
}

/// Returns a table with a row for each program.
fn by_program(others: &[&Figures]) -> String {
    let mut table = String::from(
        "| program | jobs | pelton ahead in time | in user+sys | time, geometric mean | user+sys |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut programs: BTreeMap<&str, Vec<&Figures>> = BTreeMap::new();
    others.iter().for_each(|one| programs.entry(&one.who).or_default().push(one));
    for (who, rows) in programs.into_iter().chain([("all", others.to_vec())]) {
        let mean = |of: &dyn Fn(&Figures) -> f64| stats::geometric_mean(rows.iter().map(|row| of(row)));
        let (time, cpu) = (mean(&|row| row.real_ratio), mean(&|row| row.cpu_ratio));
        let ahead = rows.iter().filter(|row| row.takes_longer()).count();
        let less = rows.iter().filter(|row| row.takes_more_cpu()).count();
        let _ = writeln!(table, "| {who} | {} | {ahead} | {less} | {time:.2} | {cpu:.2} |", rows.len());
    }
    table
}

/// Returns a list of the jobs in which pelton is behind, in time or in user+sys, with the reason where it is known.
fn behind(others: &[&Figures]) -> String {
    let mut list = String::new();
    for one in others.iter().filter(|one| !one.takes_longer() || !one.takes_more_cpu()) {
        let known = WHY.iter().find(|(job, who, _)| *job == one.job && *who == one.who);
        let why = known.map_or("not looked into", |(_, _, why)| why);
        let (job, who, time, cpu) = (&one.job, &one.who, one.real_ratio, one.cpu_ratio);
        let _ = writeln!(list, "- {job}, {who}: {time:.2} of pelton's time, {cpu:.2} of its user+sys: {why}");
    }
    match list.is_empty() {
        true => "pelton is ahead in all.\n".to_owned(),
        false => format!("Where pelton is behind, in time or in user+sys:\n\n{list}"),
    }
}

/// Returns a job's heading, its table, and the commands.
fn table(job: &Job, row: &Value, figures: &[Figures]) -> String {
    let mut text = format!(
        "## {}\n\n| program | time | user+sys | memory | time, ratio | user+sys, ratio |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
        job.name
    );
    for one in figures {
        let _ = writeln!(text, "{}", one.line());
    }
    for refused in row["refused"].as_array().into_iter().flatten() {
        let word = |key: &str| refused[key].as_str().unwrap_or_default().replace('|', "\\|");
        let _ = writeln!(text, "| {} | {} | | | | |", word("name"), word("why"));
    }
    let _ = writeln!(text, "\n```sh\n{}", job.plain);
    for (_, command) in job.others {
        let _ = writeln!(text, "{command}");
    }
    text + "```\n\n"
}

fn claims(rows: &serde_json::Map<String, Value>, all: &[Figures], others: &[&Figures]) -> Vec<Claim> {
    let share = |held: &dyn Fn(&Figures) -> bool| {
        others.iter().filter(|one| held(one)).count() as f64 / others.len().max(1) as f64
    };
    let at_least = |what: &str, figure: f64| Claim {
        text: format!("{what}: {:.0} % (at least {:.0} %)", 100.0 * figure, 100.0 * AHEAD),
        held: figure >= AHEAD,
    };
    let mut claims = vec![
        at_least("pelton ahead in time", share(&Figures::takes_longer)),
        at_least("pelton ahead in user+sys", share(&Figures::takes_more_cpu)),
    ];
    for job in JOBS.iter().filter(|job| job.sorts) {
        let input = rows.get(job.name).and_then(|row| row["input"].as_f64());
        let pelton = all.iter().find(|one| one.job == job.name && one.who == "pelton");
        if let (Some(input), Some(pelton)) = (input, pelton) {
            let what = format!("{}: memory, as a multiple of the input", job.name);
            claims.push(Claim::at_most(&what, pelton.peak / input, MEMORY, ""));
        }
    }
    let refused = rows.values().filter_map(|row| row["refused"].as_array()).map(Vec::len).sum::<usize>();
    claims.push(Claim::at_most("programs that fail or write other bytes", refused as f64, 0.0, ""));
    claims
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_writes_to_out_and_names_an_input() {
        for job in JOBS {
            let texts = std::iter::once(job.plain).chain(job.others.iter().map(|(_, text)| *text));
            for text in texts {
                assert!(text.contains("> out") || text.contains("'out'"), "{text}");
            }
            assert!(input_of(job).is_some(), "{}", job.name);
        }
    }

    #[test]
    fn every_reason_is_of_a_comparison() {
        for (job, who, _) in WHY {
            let there =
                JOBS.iter().any(|one| one.name == *job && one.others.iter().any(|(name, _)| name == who));
            assert!(there, "{job}, {who}");
        }
    }
}
