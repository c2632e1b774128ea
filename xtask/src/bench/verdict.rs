//! Does pelton name the right bottleneck? Pipelines whose bottleneck is known by construction, on a quiet machine
//! and on one whose cores are all taken.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Bench;
use super::contest::{Contender, run_once};
use super::load::Load;
use super::results::{Claim, Results};
use crate::inputs::{JSON_MENU, LINES, WORDS};
use crate::steps::timed;
use crate::workspace::root;
use crate::{Failure, Outcome};

/// A pipeline and the stages that are right answers.
struct Case {
    name: &'static str,
    pipeline: String,
    right: Vec<usize>,
    why: String,
}

/// Cores that the load takes: all of a small machine.
const BURNERS: usize = 2;
/// Two stages are as good as equal if one costs less than this many times the other.
const BALANCED: f64 = 1.25;

/// Every case `--runs` times (once by default) on the machine as it is, then as often under load.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(1);
    let cases = cases(bench)?;
    let mut body = String::from(
        "| case | machine | right | said | kind | share | |\n| --- | --- | --- | --- | --- | ---: | --- |\n",
    );
    let (mut data, mut claims) = (Vec::new(), Vec::new());
    for machine in ["quiet", "loaded"] {
        let _load = (machine == "loaded").then(|| Load::start(BURNERS));
        let mut correct = 0;
        for case in &cases {
            for _ in 0..runs {
                let said = timed(&format!("{} ({machine})", case.name), || ask(bench, &case.pipeline))?;
                let ok = said["stage"].as_u64().is_some_and(|stage| case.right.contains(&(stage as usize)));
                correct += usize::from(ok);
                let _ = writeln!(body, "{}", row(case, machine, &said, ok));
                data.push(
                    json!({"case": case.name, "pipeline": case.pipeline, "why": case.why, "machine": machine,
                                 "right": case.right, "said": said, "ok": ok}),
                );
            }
        }
        let of = cases.len() * runs;
        claims.push(Claim {
            text: format!("{machine} machine: {correct} of {of} verdicts right"),
            held: correct == of,
        });
    }
    body.push_str("\nStages count from 1. The cases:\n\n");
    for case in &cases {
        let _ = writeln!(body, "- **{}**: `{}`; {}", case.name, case.pipeline, case.why);
    }
    Ok(Results {
        name: "verdict",
        about: format!(
            "`verdict.bottleneck` of `pelton time --format json` on pipelines whose bottleneck is known by \
             construction. 'Loaded' means {BURNERS} threads that burn CPU all the while."
        ),
        body,
        data: data.into(),
        claims,
    })
}

fn row(case: &Case, machine: &str, said: &Value, ok: bool) -> String {
    let right: Vec<String> = case.right.iter().map(|stage| (stage + 1).to_string()).collect();
    let stage = said["stage"].as_u64().map_or_else(|| "nobody".into(), |stage| (stage + 1).to_string());
    let kind = said["kind"].as_str().unwrap_or("");
    let share = said["share"].as_f64().map_or_else(String::new, |share| format!("{:.0} %", share * 100.0));
    let mark = if ok { "right" } else { "**wrong**" };
    format!("| {} | {machine} | {} | {stage} | {kind} | {share} | {mark} |", case.name, right.join(" or "))
}

/// pelton's `verdict.bottleneck` for one run.
fn ask(bench: &Bench, pipeline: &str) -> Outcome<Value> {
    let path = bench.data.join(format!("verdict-{}.json", std::process::id()));
    let record = record(&bench.pelton, pipeline, &bench.data, &path);
    // Whether it worked or not, nothing is left behind.
    let _ = fs::remove_file(&path);
    Ok(record?["verdict"]["bottleneck"].clone())
}

/// pelton's record of one run, written to `path` by the way.
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

fn cases(bench: &Bench) -> Outcome<Vec<Case>> {
    let mb = bench.size_mb(20);
    let name = |path: std::path::PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines = name(LINES.file(&bench.data, mb)?);
    let words = name(WORDS.file(&bench.data, mb)?);
    let mut cases = computing(&lines, &words);
    cases.extend(waiting(&lines));
    cases.extend(awks(bench)?);
    Ok(cases)
}

fn case(name: &'static str, right: &[usize], pipeline: String, why: &str) -> Case {
    Case { name, pipeline, right: right.to_vec(), why: why.into() }
}

/// Stages that compute.
fn computing(lines: &str, words: &str) -> Vec<Case> {
    let slow = "awk '{ n = 0; for (i = 0; i < 50; i++) n += i * i % 7; print n, $0 }'";
    let times = |count: usize| vec![lines; count].join(" ");
    vec![
        case(
            "slow first",
            &[0],
            format!("{slow} {lines} | cat | wc -c"),
            "50 rounds of a loop per line, against copying",
        ),
        case("slow middle", &[1], format!("cat {lines} | {slow} | wc -c"), "the same loop in the middle"),
        case("slow last", &[2], format!("cat {lines} | tr a-z A-Z | {slow}"), "the same loop at the end"),
        case(
            "gzip",
            &[1],
            format!("cat {lines} | gzip -9 | wc -c"),
            "compressing costs far more than copying",
        ),
        case(
            "sort",
            &[1],
            format!("cat {} | sort | tail -n 1", times(6)),
            "tail has to wait for the last line, cat for room",
        ),
        case(
            "group",
            &[1],
            format!("cat {words} {words} | sort | uniq -c | sort -rn | head"),
            "the first sort has all lines to compare, the second only distinct ones",
        ),
        case(
            "back-references",
            &[1],
            format!("head -n 12000 {lines} | grep -E '(.)(.).*\\2.\\1.*\\1\\2' | wc -l"),
            "a pattern that needs backtracking",
        ),
        case("checksum", &[2], format!("cat {} | cat | sha512sum", times(20)), "hashing against copying"),
        case(
            "kernel as source",
            &[0],
            "head -c 300000000 /dev/urandom | cat | tail -c 1".into(),
            "random bytes cost the kernel far more than copying: the first stage's time is all system time",
        ),
        case(
            "early exit",
            &[1],
            "yes abcdefghij | awk '{ for (i = 0; i < 200; i++) n += i % 7 } NR == 60000 { print n; exit }'"
                .into(),
            "an endless source that a slow reader ends",
        ),
        case(
            "shell loop",
            &[0],
            "sh -c 'i=0; while [ $i -lt 600000 ]; do i=$((i+1)); echo $i; done' | cat | tail -n 1".into(),
            "a loop in the shell, one write per line",
        ),
        case(
            "two alike",
            &[0, 1],
            format!("{slow} {lines} | {slow} | wc -c"),
            "two stages of about equal cost: either is right, the light third is not",
        ),
    ]
}

/// Stages that wait for something outside the pipeline, or start programs.
fn waiting(lines: &str) -> Vec<Case> {
    vec![
        case(
            "sleeping producer",
            &[0],
            "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done' | cat | wc -l".into(),
            "the first stage sleeps between lines",
        ),
        case(
            "sleeping consumer",
            &[1],
            format!("head -c 600000 {lines} | sh -c 'while head -c 30000 | grep -q .; do sleep 0.05; done'"),
            "the last stage sleeps between blocks",
        ),
        case(
            "sleeping middle",
            &[1],
            format!(
                "head -c 600000 {lines} | {{ while head -c 30000 | grep .; do sleep 0.05; done; }} | wc -c"
            ),
            "a compound stage sleeps between blocks",
        ),
        case(
            "a program per line",
            &[1],
            "seq 600 | while read -r x; do expr $x + 1; done | wc -l".into(),
            "a fork and an exec per line",
        ),
        case("xargs -n 1", &[1], "seq 1200 | xargs -n 1 echo | wc -l".into(), "a fork and an exec per item"),
    ]
}

/// The two-stage JSON parser under each awk. Which stage is slower depends on the awk: what each costs alone, with
/// no pipe between them, says which.
fn awks(bench: &Bench) -> Outcome<Vec<Case>> {
    for script in ["tokenize.awk", "parse.awk"] {
        fs::copy(root().join("bench/awk").join(script), bench.data.join(script))?;
    }
    let menu = JSON_MENU.file(&bench.data, bench.size_mb(20).div_ceil(4))?;
    let menu = menu.file_name().unwrap_or_default().to_string_lossy();
    let awks = [("JSON in mawk", "mawk"), ("JSON in gawk", "gawk"), ("JSON in nawk", "original-awk")];
    awks.map(|(name, awk)| json_in_awk(bench, name, awk, &menu)).into_iter().collect()
}

fn json_in_awk(bench: &Bench, name: &'static str, awk: &str, menu: &str) -> Outcome<Case> {
    let tokens = format!("tokens-{}.txt", std::process::id());
    let alone = |command: &str| -> Outcome<f64> {
        Ok(run_once(&Contender::new(command, ["sh", "-c", command]), &bench.data)?.cpu[0])
    };
    let tokenize = alone(&format!("{awk} -f tokenize.awk {menu} > {tokens}"))?;
    let parse = alone(&format!("{awk} -f parse.awk {tokens} > /dev/null"));
    // Whether it worked or not, nothing is left behind.
    let _ = fs::remove_file(bench.data.join(&tokens));
    let parse = parse?;
    let right = match tokenize / parse {
        ratio if ratio > BALANCED => vec![0],
        ratio if ratio < 1.0 / BALANCED => vec![1],
        _ => vec![0, 1],
    };
    let why = format!("alone, the tokenizer takes {tokenize:.2} s of CPU and the parser {parse:.2} s");
    Ok(Case { name, pipeline: format!("{awk} -f tokenize.awk {menu} | {awk} -f parse.awk"), right, why })
}
