//! Whether pelton names the right bottleneck: pipelines whose bottleneck is known by construction, on a quiet
//! machine, on one with all cores busy, and on one where many programs compete for each core.

mod cases;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Bench;
use super::load::Load;
use super::results::{Claim, Results};
use workbench::steps::timed;
use workbench::{Failure, Outcome};

/// A pipeline, and its right answers.
struct Case {
    name: &'static str,
    pipeline: String,
    right: Vec<usize>,
    kinds: &'static [&'static str],
    why: String,
}

/// The stage needs only CPU.
const COMPUTES: &[&str] = &["cpu", "waits_for_cpu"];
/// The stage waits for a timer.
const SLEEPS: &[&str] = &["waits_elsewhere"];
/// The stage starts a program per line and waits for it: all kinds are partly true.
const EITHER: &[&str] = &["cpu", "waits_for_cpu", "waits_elsewhere"];

/// Pelton's answer for one run.
struct Answer {
    said: Value,
    stage_right: bool,
    kind_right: bool,
}

/// The machine's name, and the number of CPU-burning threads per core.
const MACHINES: [(&str, usize); 3] = [("quiet", 0), ("loaded", 1), ("crowded", 4)];

/// Runs every case `--runs` times (once by default) on each machine.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cases = cases::cases(bench)?;
    let mut body = HEAD.to_owned();
    let (mut data, mut claims) = (Vec::new(), Vec::new());
    for (machine, burners) in MACHINES {
        let _load = Load::start(burners * cores);
        let mut answers = Vec::new();
        for case in cases.iter().flat_map(|case| std::iter::repeat_n(case, runs)) {
            let answer = timed(&format!("{} ({machine})", case.name), || ask(bench, case))?;
            let _ = writeln!(body, "{}", row(case, machine, &answer));
            data.push(json(case, machine, &answer));
            answers.push(answer);
        }
        claims.push(claim(machine, "the right stage", &answers, |answer| answer.stage_right));
        claims.push(claim(machine, "the right stage and kind", &answers, |a| a.stage_right && a.kind_right));
    }
    body.push_str("\nStages count from 1. The cases:\n\n");
    for case in &cases {
        let _ = writeln!(body, "- **{}**: `{}`; {}", case.name, case.pipeline, case.why);
    }
    Ok(Results {
        name: "verdict",
        about: format!(
            "`verdict.bottleneck` of `pelton time --format json` on pipelines whose bottleneck is known by \
             construction. 'Loaded' means {cores} threads that burn CPU all the while, 'crowded' {}.",
            4 * cores
        ),
        body,
        data: data.into(),
        claims,
    })
}

fn claim(machine: &str, what: &str, answers: &[Answer], right: fn(&Answer) -> bool) -> Claim {
    let (count, of) = (answers.iter().filter(|answer| right(answer)).count(), answers.len());
    Claim { text: format!("{machine} machine: {what} in {count} of {of}"), held: count == of }
}

const HEAD: &str = "\
| case | machine | right | said | kind | share | |
| --- | --- | --- | --- | --- | ---: | --- |
";

fn row(case: &Case, machine: &str, answer: &Answer) -> String {
    let right: Vec<String> = case.right.iter().map(|stage| (stage + 1).to_string()).collect();
    let said = &answer.said;
    let stage = said["stage"].as_u64().map_or_else(|| "nobody".into(), |stage| (stage + 1).to_string());
    let kind = said["kind"].as_str().unwrap_or("");
    let share = said["share"].as_f64().map_or_else(String::new, |share| format!("{:.0} %", share * 100.0));
    let mark = match (answer.stage_right, answer.kind_right) {
        (false, _) => "**wrong**",
        (true, false) => "right, **wrong kind**",
        (true, true) => "right",
    };
    format!("| {} | {machine} | {} | {stage} | {kind} | {share} | {mark} |", case.name, right.join(" or "))
}

fn json(case: &Case, machine: &str, answer: &Answer) -> Value {
    json!({
        "case": case.name, "pipeline": case.pipeline, "why": case.why, "machine": machine, "right": case.right,
        "kinds": case.kinds, "said": answer.said, "stage_right": answer.stage_right, "kind_right": answer.kind_right,
    })
}

/// Runs once, and judges the answer.
fn ask(bench: &Bench, case: &Case) -> Outcome<Answer> {
    let path = bench.data.join(format!("verdict-{}.json", std::process::id()));
    let record = record(&bench.pelton, &case.pipeline, &bench.data, &path);
    // Leaves no file, whether the run worked or not.
    let _ = fs::remove_file(&path);
    let said = record?["verdict"]["bottleneck"].clone();
    let stage_right = said["stage"].as_u64().is_some_and(|stage| case.right.contains(&(stage as usize)));
    let kind_right = said["kind"].as_str().is_some_and(|kind| case.kinds.contains(&kind));
    Ok(Answer { said, stage_right, kind_right })
}

/// Returns pelton's record of one run, and leaves it in `path`.
pub fn record(pelton: &Path, pipeline: &str, dir: &Path, path: &Path) -> Outcome<Value> {
    let mut time = Command::new(pelton);
    time.args(["time", "--format", "json", "--output"]).arg(path).arg("--").arg(pipeline);
    time.current_dir(dir)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let out = time.output()?;
    let text = fs::read_to_string(path).map_err(|error| -> Failure {
        format!("pelton time left no record ({error}): {}", String::from_utf8_lossy(&out.stderr)).into()
    })?;
    Ok(serde_json::from_str(&text)?)
}
