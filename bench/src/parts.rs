//! A real command as several processes: the gain from two cores, the cost beside GNU parallel, and the loss
//! of a cheap command.

use std::ffi::OsString;

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{LINES, PEOPLE, Recipe};

/// A back-reference: it has no kernel, and sed is slow.
pub(super) const HEAVY: &str = r"sed -E 's/([a-z])([0-9])(.*)\1/<\2>\3/'";
const CHEAP: &str = "grep -P 'zz9$'";
/// Documents, one per line, and a program without a kernel.
const JQ: &str = "jq -c 'del(.age)'";
const AWK: &str = r#"gawk '{ print gensub(/([a-z])([0-9])([A-Z])/, "\\3\\2\\1", "g") }'"#;

/// Runs all parts.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(3);
    let megabytes = bench.size_mb(100);
    let named = |recipe: &Recipe, megabytes| -> Outcome<String> {
        Ok(recipe.file(&bench.data, megabytes)?.display().to_string())
    };
    let (file, third, tenth) = (
        named(&LINES, megabytes)?,
        named(&LINES, megabytes.div_ceil(3))?,
        named(&LINES, megabytes.div_ceil(10))?,
    );
    let people = named(&PEOPLE, megabytes.div_ceil(5))?;
    let mut claims = Vec::new();
    let mut all = Vec::new();
    let mut judge = |contenders: Vec<Contender>, claim: &dyn Fn(&[Samples]) -> Vec<Claim>| -> Outcome {
        let samples = contest(&contenders, &bench.data, runs, 1)?;
        claims.extend(claim(&samples));
        all.extend(samples);
        Ok(())
    };
    judge(heavy(bench, &third), &claims_of_heavy)?;
    judge(beyond(bench, &tenth), &|samples| {
        let overhead = |of: usize| stats::median_difference(&samples[of].cpu, &samples[0].cpu);
        let (ours, theirs) = (overhead(1).max(0.001), overhead(2));
        let what = "user+sys beyond the command's own, of GNU parallel's";
        vec![Claim::at_most(what, ours / theirs, 1.0 / 3.0, "")]
    })?;
    judge(cheap(bench, &file), &|samples| {
        let wall = [(1, 0), (3, 2)].map(|(ours, shell)| ratio(samples, ours, shell));
        vec![
            Claim::at_most("a cheap command on a file: wall time, of the shell's", wall[0], 1.03, ""),
            Claim::at_most("a cheap command behind a pipe: wall time, of the shell's", wall[1], 1.03, ""),
        ]
    })?;
    for (name, text) in [("jq", JQ), ("awk", AWK)] {
        let input = if name == "jq" { &people } else { &tenth };
        judge(two(bench, name, &format!("{text} < {input} > out")), &|samples| {
            let what = format!("{name}: wall time of --jobs 2, of the shell's");
            vec![Claim::at_most(&what, ratio(samples, 1, 0), 1.0 / 1.6, "")]
        })?;
    }
    Ok(Results {
        name: "parts",
        about: format!(
            "`{HEAVY}`, `{CHEAP}` and `{AWK}` over random base64 lines, `{JQ}` over people, {runs} rounds, order alternating."
        ),
        body: table(&all, Unit::Milliseconds),
        claims,
        data: all.iter().map(Samples::json).collect::<Vec<_>>().into(),
    })
}

/// Returns the ratio of wall times.
fn ratio(samples: &[Samples], of: usize, by: usize) -> f64 {
    stats::median_ratio(&samples[of].real, &samples[by].real)
}

fn bash(name: &str, text: String) -> Contender {
    Contender::new(name, ["bash".to_owned(), "-c".to_owned(), text])
}

fn pelton(bench: &Bench, name: &str, jobs: &str, text: String) -> Contender {
    let pelton = bench.pelton.clone().into_os_string();
    let words = ["run", "--jobs", jobs, &text].map(OsString::from);
    Contender::new(name, std::iter::once(pelton).chain(words))
}

fn heavy(bench: &Bench, file: &str) -> Vec<Contender> {
    let text = || format!("{HEAVY} < {file} > out");
    // parallel takes the command as shell text.
    let quoted = HEAVY.replace('\'', r"'\''");
    vec![
        bash("heavy: bash", text()),
        pelton(bench, "heavy: pelton --jobs 1", "1", text()),
        pelton(bench, "heavy: pelton --jobs 2", "2", text()),
        pelton(bench, "heavy: pelton", "auto", text()),
        bash(
            "heavy: parallel --pipe -k",
            format!("parallel -j2 --pipe -k --block 4M '{quoted}' < {file} > out"),
        ),
    ]
}

/// Measures the cost of sharing besides the command, on one core: two busy cores slow each other down, which
/// is not overhead.
fn beyond(bench: &Bench, file: &str) -> Vec<Contender> {
    let text = format!("{HEAVY} < {file} > out");
    let quoted = HEAVY.replace('\'', r"'\''");
    let on_one = |mut contender: Contender| {
        let words = ["taskset", "-c", "0"].map(OsString::from);
        contender.argv.splice(0..0, words);
        contender
    };
    let parallel = format!("parallel -j2 --pipe -k --block 1M '{quoted}' < {file} > out");
    vec![
        on_one(bash("one core: bash", text.clone())),
        on_one(pelton(bench, "one core: pelton --jobs 2", "2", text)),
        on_one(bash("one core: parallel --pipe -k", parallel)),
    ]
}

fn claims_of_heavy(samples: &[Samples]) -> Vec<Claim> {
    vec![
        Claim::at_most(
            "a heavy command: wall time of --jobs 2, of --jobs 1",
            ratio(samples, 2, 1),
            1.0 / 1.8,
            "",
        ),
        Claim::at_most(
            "a heavy command: wall time of auto, of --jobs 1",
            ratio(samples, 3, 1),
            1.0 / 1.8,
            "",
        ),
    ]
}

/// Runs with two processes, and with one for each idle core.
fn two(bench: &Bench, name: &str, text: &str) -> Vec<Contender> {
    let named = |who: &str| format!("{name}: {who}");
    vec![
        bash(&named("bash"), text.to_owned()),
        pelton(bench, &named("pelton --jobs 2"), "2", text.to_owned()),
        pelton(bench, &named("pelton"), "auto", text.to_owned()),
    ]
}

fn cheap(bench: &Bench, file: &str) -> Vec<Contender> {
    let (alone, behind) = (format!("{CHEAP} {file} > out"), format!("cat {file} | {CHEAP} > out"));
    let or_true = |text: String| format!("{text} || true");
    vec![
        bash("cheap, file: bash", or_true(alone.clone())),
        pelton(bench, "cheap, file: pelton", "auto", or_true(alone)),
        bash("cheap, pipe: bash", or_true(behind.clone())),
        pelton(bench, "cheap, pipe: pelton", "auto", or_true(behind)),
    ]
}
