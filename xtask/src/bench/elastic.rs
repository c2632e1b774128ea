//! How the threads of a native pass give way: how many there are while a competitor comes, works and leaves.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::load::Load;
use super::ratios::Place;
use super::results::{Claim, Results};
use super::{Bench, stats};
use crate::Outcome;
use crate::inputs::LINES;

/// A pass with enough to do for every block, and nothing to wait for.
const TEXT: &str = "sed -E 's/([0-9])[a-f]*/<\\1>/g' f f f f f f f f f f f f f f f f f f f f > /dev/null";
/// How often threads are counted.
const EVERY: Duration = Duration::from_millis(10);
/// How long the pass runs before the competitor comes, how long that stays, and how long it is watched afterwards.
const PHASE: Duration = Duration::from_millis(1500);
/// Within this, cores that others want are given back. In milliseconds.
const GIVEN_BACK_MS: f64 = 200.0;
/// How long one state must last before it counts: a thread that comes and goes again has not given way. In samples.
const SETTLED: usize = 3;

/// One run: thread counts, `EVERY` apart.
struct Trace {
    counts: Vec<usize>,
    came: usize,
    left: usize,
}

/// A competitor on every core but one, five times.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let cores = std::thread::available_parallelism()?.get();
    let file = LINES.file(&bench.data, bench.size_mb(100))?;
    let place = Place::with(&[("f", &file)])?;
    let traces = (0..bench.runs(5)).map(|_| trace(bench, &place.dir, cores)).collect::<Outcome<Vec<_>>>()?;
    let back: Vec<f64> =
        traces.iter().filter_map(|trace| trace.after(trace.came, |count| count < cores)).collect();
    let again: Vec<f64> =
        traces.iter().filter_map(|trace| trace.after(trace.left, |count| count >= cores)).collect();
    let all = back.len() == traces.len();
    let figure = if all { stats::median(&back) } else { f64::INFINITY };
    let mut body = format!(
        "Given back after {} ms; taken again after {} ms (medians of {}).\n\n```text\n",
        stats::median(&back),
        stats::median(&again),
        traces.len()
    );
    traces.iter().for_each(|trace| body.push_str(&trace.line()));
    body.push_str("```\n");
    Ok(Results {
        name: "elastic",
        about: format!(
            "`pelton run '{TEXT}'` on {cores} cores, threads at work counted every {} ms, in every round one digit per 50 ms; \
             `|` marks where {} competing thread(s) came, and where they left.",
            EVERY.as_millis(),
            cores - 1
        ),
        body,
        claims: vec![Claim::at_most("milliseconds until a core was given back", figure, GIVEN_BACK_MS, "ms")],
        data: json!(
            traces
                .iter()
                .map(|trace| json!({"came": trace.came, "left": trace.left, "counts": trace.counts}))
                .collect::<Vec<_>>()
        ),
    })
}

impl Trace {
    /// How many milliseconds after this sample it was so for the first time, and stayed.
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
    let mut pass = Command::new(&bench.pelton)
        .args(["run", "--jobs=auto", "--", TEXT])
        .current_dir(dir)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    let mut counts = Vec::new();
    watch(&mut pass, PHASE, &mut counts)?;
    let came = counts.len();
    let load = Load::start(cores - 1);
    watch(&mut pass, PHASE, &mut counts)?;
    let left = counts.len();
    drop(load);
    watch(&mut pass, PHASE, &mut counts)?;
    // Its workers as well.
    nix::sys::signal::killpg(nix::unistd::Pid::from_raw(i32::try_from(pass.id())?), Signal::SIGKILL)?;
    pass.wait()?;
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

/// Threads of the process, or of its child, whichever has more: the one that supervises has one.
fn threads_at_work(pid: u32) -> usize {
    let tasks = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let of_children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).map(tasks).max();
    of_children.unwrap_or(0).max(tasks(pid))
}
