//! Experiments with walking a tree in parallel.

mod f1_five_ways;
mod f2_slots;
mod f3_first_match_ends;
mod f4_statistics;

use serde_json::Value as Json;

use super::Experiment;
use super::lab::{Lab, capture, list, number};
use super::report::plots::Span;
use pelton_bench::find::tree;
use workbench::Outcome;

/// All experiments of this group, in order.
pub const ALL: &[&Experiment] = &[
    &f1_five_ways::EXPERIMENT,
    &f2_slots::EXPERIMENT,
    &f3_first_match_ends::EXPERIMENT,
    &f4_statistics::EXPERIMENT,
];

/// The five ways, as `pelton find --walk` and walks.hs call them.
const WAYS: [&str; 5] = ["sequential", "per-directory", "semaphore", "atomic", "stealing"];

/// Makes `tree` in memory: 66,000 entries, 35,000 of them directories; 600 in the quick form. Returns the
/// number of directories without the root.
fn plant(lab: &Lab) -> Outcome<usize> {
    let (directories, files) = lab.size((35_000, 31_000), (300, 300));
    tree(&lab.path("tree"), directories, files)?;
    Ok(directories)
}

/// Returns the statistics of a search for `name` with these options. A shell starts it: a program inherits
/// its starter's peak memory, and this process is not small.
fn statistics(lab: &Lab, options: &[&str], name: &str) -> Outcome<Json> {
    let find = ["find", "--json", "--output", "find.json", "--unordered"];
    let pelton = lab.pelton.to_string_lossy();
    let shell = ["-c", "\"$0\" \"$@\"; exit $?", &pelton];
    let words = [&shell[..], &find[..], options, &["tree", "-name", name]].concat();
    let out = capture(&mut lab.other("bash", words))?;
    let text = std::fs::read(lab.path("find.json"))
        .map_err(|error| format!("no statistics ({error}): {}", out.stderr))?;
    Ok(serde_json::from_slice(&text)?)
}

/// The number of stretches of time in a lane: a pixel or two each.
const STRETCHES: usize = 450;

/// Returns what a worker did in each stretch of time: whether it made tasks, or else whether it ran at its
/// beginning or at any time in it.
fn spans(worker: &Json, wall: f64) -> Vec<Span> {
    let length = wall / STRETCHES as f64;
    let mut states = vec!["idle"; STRETCHES];
    let (mut running, mut next) = (false, 0);
    for event in list(worker, "/events") {
        let at = ((number(event, "/0") / 1e9 / length) as usize).min(STRETCHES - 1);
        if running {
            fill(&mut states[next..=at], "running");
        }
        running = matches!(event[1].as_str(), Some("runs" | "makes"));
        next = at;
        match event[1].as_str() {
            Some("makes") => states[at] = "makes",
            Some("runs") => fill(&mut states[at..=at], "running"),
            _ => {}
        }
    }
    let mut spans: Vec<Span> = Vec::new();
    for (index, state) in states.into_iter().enumerate() {
        let (from, to) = (index as f64 * length, (index + 1) as f64 * length);
        match spans.last_mut() {
            Some(last) if last.state == state => last.to = to,
            _ => spans.push(Span { from, to, state }),
        }
    }
    spans
}

/// Marks states. A worker that makes tasks is running as well.
fn fill(states: &mut [&'static str], with: &'static str) {
    states.iter_mut().filter(|state| **state != "makes").for_each(|state| *state = with);
}

/// Returns user+sys of a search, in seconds.
fn cpu(statistics: &Json) -> f64 {
    (number(statistics, "/user_ns") + number(statistics, "/sys_ns")) / 1e9
}
