//! How a pass yields: its thread count while a competitor comes, works and leaves; and how a pass, and a real
//! command that runs as several processes, affect other programs on the machine.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::contest::{Contender, Samples, contest};
use super::load::Load;
use super::parts::HEAVY;
use super::results::{Claim, Results, Unit, table};
use super::shell_and_run::Place;
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::LINES;
use workbench::running::Running;

/// A pass with enough work for every block, and nothing to wait for.
const PASS: &str = r"sed -E 's/([0-9])[a-f]*/<\1>/g'";
/// Time between two counts of threads.
const EVERY: Duration = Duration::from_millis(10);
/// Duration of each phase: before the competitor, with it, and after it.
const PHASE: Duration = Duration::from_millis(1500);
/// Cores that others want must be given back within this time. In milliseconds.
const GIVEN_BACK_MS: f64 = 200.0;
/// How long a state must last to count: a thread that leaves and returns has not yielded. In samples.
const SETTLED: usize = 3;

/// One run: thread counts, `EVERY` apart.
struct Trace {
    counts: Vec<usize>,
    came: usize,
    left: usize,
}

/// Returns the text to watch: it runs longer than all phases.
fn text() -> String {
    format!("{PASS}{} > /dev/null", " f".repeat(20))
}

/// Runs with a competitor on every core but one, five times; then measures the effect on others.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let cores = std::thread::available_parallelism()?.get();
    let file = LINES.file(&bench.data, bench.size_mb(100))?;
    let twentieth = LINES.file(&bench.data, bench.size_mb(100).div_ceil(20))?;
    let place = Place::with(&[("f", &file), ("twentieth", &twentieth)])?;
    let traces = (0..bench.runs(5)).map(|_| trace(bench, &place.dir, cores)).collect::<Outcome<Vec<_>>>()?;
    let back: Vec<f64> =
        traces.iter().filter_map(|trace| trace.after(trace.came, |count| count < cores)).collect();
    let again: Vec<f64> =
        traces.iter().filter_map(|trace| trace.after(trace.left, |count| count >= cores)).collect();
    let all = back.len() == traces.len();
    let figure = if all { stats::median(&back) } else { f64::INFINITY };
    let mut claims =
        vec![Claim::at_most("milliseconds until a core was given back", figure, GIVEN_BACK_MS, "ms")];
    let mut body = format!(
        "Given back after {} ms; taken again after {} ms (medians of {}).\n\n```text\n",
        stats::median(&back),
        stats::median(&again),
        traces.len()
    );
    traces.iter().for_each(|trace| body.push_str(&trace.line()));
    body.push_str("```\n\n");
    let samples = others(bench, &place.dir, &mut claims)?;
    body.push_str(&table(&samples, Unit::Milliseconds));
    let counts =
        traces.iter().map(|trace| json!({"came": trace.came, "left": trace.left, "counts": trace.counts}));
    Ok(Results {
        name: "elastic",
        about: format!(
            "`pelton run '{}'` on {cores} cores, threads at work counted every {} ms, in every round one digit per 50 ms; \
             `|` marks where {} competing thread(s) came, and where they left. Below it, ten at once, and a competitor (awk, counting), \
             beside that pass and beside `{HEAVY}` as several processes.",
            text(),
            EVERY.as_millis(),
            cores - 1
        ),
        body,
        claims,
        data: json!({
            "traces": counts.collect::<Vec<_>>(),
            "others": samples.iter().map(Samples::json).collect::<Vec<_>>(),
        }),
    })
}

/// Measures ten runs at once, and a competitor, under `--jobs 1` and under `auto`.
fn others(bench: &Bench, dir: &Path, claims: &mut Vec<Claim>) -> Outcome<Vec<Samples>> {
    let mut all = Vec::new();
    for (name, command, small) in [("a pass", PASS, "f"), ("processes", HEAVY, "twentieth")] {
        let text = |input: &str| format!("{command} {input} > /dev/null");
        let cases = [("ten at once", TEN, text(small), 1.03), ("a competitor", COMPETITOR, text("f"), 1.05)];
        for (what, script, text, most) in cases {
            let of = |jobs: &str| {
                let (pelton, jobs_option) = (bench.pelton.as_os_str(), format!("--jobs={jobs}"));
                let words = [
                    "bash".as_ref(),
                    "-c".as_ref(),
                    script.as_ref(),
                    pelton,
                    jobs_option.as_ref(),
                    text.as_ref(),
                ];
                Contender::new(&format!("{what}, {name}, --jobs {jobs}"), words)
            };
            let samples = contest(&[of("1"), of("auto")], dir, bench.runs(5), 1)?;
            let what = format!("{what}, {name}: its time with auto, of with --jobs 1");
            claims.push(Claim::at_most(
                &what,
                stats::median_ratio(&samples[1].real, &samples[0].real),
                most,
                "",
            ));
            all.extend(samples);
        }
    }
    Ok(all)
}

/// Ten times `$0 run $1 -- $2` at once.
const TEN: &str = r#"for i in 1 2 3 4 5 6 7 8 9 10; do "$0" run "$1" -- "$2" & done; wait"#;
/// A program that uses one core for some seconds, and starts while the others work.
const COMPETITOR: &str = r#"set -m; while :; do "$0" run "$1" -- "$2"; done & sleep 0.5
    awk 'BEGIN { for (i = 0; i < 30000000; i++) x += i }'; kill -9 -- -$!; wait 2> /dev/null; true"#;

impl Trace {
    /// Returns the milliseconds from this sample until the condition first held and lasted.
    fn after(&self, sample: usize, so: impl Fn(usize) -> bool) -> Option<f64> {
        let settled =
            |at: usize| (at..at + SETTLED).all(|at| self.counts.get(at).is_some_and(|count| so(*count)));
        let at = (sample..self.counts.len()).find(|at| settled(*at))?;
        Some(((at - sample) * EVERY.as_millis() as usize) as f64)
    }

    fn line(&self) -> String {
        let per_digit = 5;
        let mut line = String::new();
        for (at, counts) in self.counts.chunks(per_digit).enumerate() {
            let marked = [self.came, self.left].iter().any(|mark| mark / per_digit == at);
            line.push_str(if marked { "|" } else { "" });
            let most = counts.iter().max().copied().unwrap_or(0);
            line.push_str(&most.to_string());
        }
        line + "\n"
    }
}

fn trace(bench: &Bench, dir: &Path, cores: usize) -> Outcome<Trace> {
    let mut command = Command::new(&bench.pelton);
    command
        .args(["run", "--jobs=auto", "--", &text()])
        .current_dir(dir)
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let mut pass = Running::start(&mut command)?;
    let mut counts = Vec::new();
    watch(&mut pass.0, PHASE, &mut counts)?;
    let came = counts.len();
    let load = Load::start(cores - 1);
    watch(&mut pass.0, PHASE, &mut counts)?;
    let left = counts.len();
    drop(load);
    watch(&mut pass.0, PHASE, &mut counts)?;
    Ok(Trace { counts, came, left })
}

fn watch(pass: &mut Child, how_long: Duration, counts: &mut Vec<usize>) -> Outcome {
    let start = Instant::now();
    let mut next = start;
    while start.elapsed() < how_long {
        if pass.try_wait()?.is_some() {
            return Err("the pass ended before it was watched: `--size` must be larger".into());
        }
        counts.push(threads_at_work(pass.id()));
        next += EVERY;
        sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Returns the threads of the process or of its child, whichever has more: the supervising process has one.
fn threads_at_work(pid: u32) -> usize {
    let tasks = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let of_children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(tasks).max();
    of_children.unwrap_or(0).max(tasks(pid))
}
