//! What each worker did, and which parts took long.

use pelton_distribute::{Job, PartResult};
use pelton_report::units;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A part that takes this many times the median is named.
const SLOW: f64 = 2.0;
/// So many of them are.
const SLOW_SHOWN_MAX: usize = 3;

/// What one worker did.
#[derive(Default)]
struct Did {
    parts: usize,
    read: u64,
    written: u64,
    seconds: f64,
}

impl Did {
    fn add(&mut self, result: &PartResult) {
        self.parts += 1;
        self.read += result.read;
        self.written += result.bytes;
        self.seconds += result.seconds;
    }
}

/// Returns a table with a row for each worker, and the slowest parts below it. `seconds`: how long all parts took together.
pub fn table(job: &Job, results: &[PartResult], seconds: f64) -> String {
    let mut workers: BTreeMap<&str, Did> = BTreeMap::new();
    let mut all = Did::default();
    for result in results {
        workers.entry(result.worker.as_str()).or_default().add(result);
        all.add(result);
    }
    let width = workers.keys().map(|name| name.chars().count()).max().unwrap_or(0).max("worker".len());
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{:width$}  {:>5}  {:>9}  {:>9}  {:>9}  {:>11}",
        "worker", "parts", "in", "out", "busy", "rate"
    );
    for (name, did) in &workers {
        let _ = writeln!(text, "{name:width$}  {}", row(did, did.seconds));
    }
    let _ = writeln!(text, "{:width$}  {}", "ALL", row(&all, seconds));
    let unused = job.parts.len().saturating_sub(results.len());
    if unused > 0 {
        let _ = writeln!(text, "{unused} of {} parts were not needed", job.parts.len());
    }
    for (part, result) in slow(results).into_iter().take(SLOW_SHOWN_MAX) {
        let _ = writeln!(text, "part {part} took {} on {}", time(result.seconds), result.worker);
    }
    text
}

fn row(did: &Did, seconds: f64) -> String {
    let rate = format!("{}/s", units::bytes((did.read as f64 / seconds.max(1e-9)) as u64));
    let (read, written) = (units::bytes(did.read), units::bytes(did.written));
    format!("{:>5}  {read:>9}  {written:>9}  {:>9}  {rate:>11}", did.parts, time(did.seconds))
}

fn time(seconds: f64) -> String {
    units::seconds((seconds * 1e9) as u64)
}

/// Returns the parts that took much longer than most, the slowest first.
fn slow(results: &[PartResult]) -> Vec<(usize, &PartResult)> {
    let mut seconds: Vec<f64> = results.iter().map(|result| result.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let median = seconds.get(seconds.len() / 2).copied().unwrap_or_default();
    let mut slow: Vec<(usize, &PartResult)> =
        results.iter().enumerate().filter(|(_, result)| result.seconds > SLOW * median).collect();
    slow.sort_by(|(_, left), (_, right)| right.seconds.total_cmp(&left.seconds));
    slow
}
