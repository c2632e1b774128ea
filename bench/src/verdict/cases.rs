//! The pipelines, and why their bottleneck is known.

use std::fs;

use super::{COMPUTES, Case, EITHER, SLEEPS};
use crate::Bench;
use crate::contest::{Contender, run_once};
use workbench::Outcome;
use workbench::cargo_workspace::root;
use workbench::inputs::{JSON_MENU, LINES, WORDS};

/// Two stages count as equal if one costs less than this many times the other.
const BALANCED: f64 = 1.25;

/// Returns all cases, and makes their data.
pub fn cases(bench: &Bench) -> Outcome<Vec<Case>> {
    let mb = bench.size_mb(20);
    let name = |path: std::path::PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines = name(LINES.file(&bench.data, mb)?);
    let big = name(LINES.file(&bench.data, 5 * mb)?);
    let words = name(WORDS.file(&bench.data, mb)?);
    let mut cases = computing(&lines, &big, &words);
    cases.extend(threaded(&lines, &big));
    cases.extend(waiting(&lines));
    cases.extend(awks(bench)?);
    Ok(cases)
}

fn case(name: &'static str, right: &[usize], pipeline: String, why: &str) -> Case {
    Case { name, pipeline, right: right.to_vec(), kinds: COMPUTES, why: why.into() }
}

/// Returns cases with stages whose threads compute while the first thread waits.
fn threaded(lines: &str, big: &str) -> Vec<Case> {
    let why = "its threads compute, and the first of them waits for them";
    vec![
        case("threads of xz", &[1], format!("cat {lines} | xz -T2 -1 | wc -c"), why),
        case("threads of zstd", &[1], format!("cat {big} | zstd -T2 -12 | wc -c"), why),
        case("threads of sort", &[1], format!("cat {big} | sort --parallel=2 -k2 | wc -c"), why),
    ]
}

/// Returns cases with stages that compute.
fn computing(lines: &str, big: &str, words: &str) -> Vec<Case> {
    let slow = "awk '{ n = 0; for (i = 0; i < 50; i++) n += i * i % 7; print n, $0 }'";
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
            format!("cat {big} | sort | tail -n 1"),
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
        case("checksum", &[2], format!("cat {big} {big} {big} | cat | sha512sum"), "hashing against copying"),
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

/// Returns cases with stages that wait for something outside the pipeline, or start programs.
fn waiting(lines: &str) -> Vec<Case> {
    let sleeps =
        |name, right, pipeline: String, why| Case { kinds: SLEEPS, ..case(name, right, pipeline, why) };
    let starts = |name, pipeline: &str, why| Case { kinds: EITHER, ..case(name, &[1], pipeline.into(), why) };
    vec![
        sleeps(
            "sleeping producer",
            &[0],
            "sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done' | cat | wc -l".into(),
            "the first stage sleeps between lines",
        ),
        sleeps(
            "sleeping consumer",
            &[1],
            format!("head -c 600000 {lines} | sh -c 'while head -c 30000 | grep -q .; do sleep 0.05; done'"),
            "the last stage sleeps between blocks",
        ),
        sleeps(
            "sleeping middle",
            &[1],
            format!(
                "head -c 600000 {lines} | {{ while head -c 30000 | grep .; do sleep 0.05; done; }} | wc -c"
            ),
            "a compound stage sleeps between blocks",
        ),
        starts(
            "a program per line",
            "seq 600 | while read -r x; do expr $x + 1; done | wc -l",
            "a fork and an exec per line",
        ),
        starts("xargs -n 1", "seq 1200 | xargs -n 1 echo | wc -l", "a fork and an exec per item"),
    ]
}

/// Returns the two-stage JSON parser under each awk. The slower stage depends on the awk: it is the one that
/// costs more alone, without a pipe in between.
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
    // Leaves no file, whether the run worked or not.
    let _ = fs::remove_file(bench.data.join(&tokens));
    let parse = parse?;
    let right = match tokenize / parse {
        ratio if ratio > BALANCED => vec![0],
        ratio if ratio < 1.0 / BALANCED => vec![1],
        _ => vec![0, 1],
    };
    let why = format!("alone, the tokenizer takes {tokenize:.2} s of CPU and the parser {parse:.2} s");
    let pipeline = format!("{awk} -f tokenize.awk {menu} | {awk} -f parse.awk");
    Ok(Case { name, pipeline, right, kinds: COMPUTES, why })
}
