//! A trace in the Trace Event Format (chrome://tracing, Perfetto): a row per stage with its states over time,
//! and counters for rates and pipe fill levels.
//!
//! Times are microseconds, as the format requires. A stretch is named after its longest state, and its
//! arguments have all shares. Without a timeline, a stage is one stretch.

use pelton_record::{Pipeline, Run, Slice, Stage};
use serde_json::{Value, json};

use super::{Style, Subject};

/// Renders a record as a trace.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    rendered(subject.shown)
}

fn rendered(run: &Run) -> String {
    let mut events =
        vec![json!({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "pelton time"}})];
    for (p, pipeline) in run.pipelines.iter().enumerate() {
        let process = p + 1;
        events.push(
            json!({"ph": "M", "pid": process, "name": "process_name", "args": {"name": pipeline.text}}),
        );
        for (i, stage) in pipeline.stages.iter().enumerate() {
            let name = format!("{} {}", i + 1, stage.text);
            events.push(json!({"ph": "M", "pid": process, "tid": i + 1, "name": "thread_name", "args": {"name": name}}));
            events.extend(stretches(stage, process, i + 1));
            events.extend(rates(stage, process, i + 1));
        }
        events.extend(fills(pipeline, process));
    }
    let other =
        json!({"text": run.text, "verdict": run.verdict.headline, "record_version": run.record_version});
    let trace = json!({"displayTimeUnit": "ms", "otherData": other, "traceEvents": events});
    super::json::compact(&trace)
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Merges neighbouring slices of the same state.
fn stretches(stage: &Stage, process: usize, thread: usize) -> Vec<Value> {
    let whole = Slice { start_ns: stage.start_ns, length_ns: stage.cost.wall_ns, ..Slice::default() };
    let slices = stage.timeline.as_deref().filter(|slices| !slices.is_empty());
    let mut found: Vec<(&str, Slice)> = Vec::new();
    for slice in slices.unwrap_or(&[whole]) {
        let state = if slices.is_some() { state(slice) } else { "ran" };
        match found.last_mut() {
            Some((last, sum)) if *last == state && slices.is_some() => add(sum, slice),
            _ => found.push((state, *slice)),
        }
    }
    let event = |(state, slice): (&str, Slice)| {
        let percent = |ns: u64| (ns as f64 * 1000.0 / slice.length_ns.max(1) as f64).round() / 10.0;
        json!({
            "ph": "X", "pid": process, "tid": thread, "name": state, "cat": "state",
            "ts": us(slice.start_ns), "dur": us(slice.length_ns),
            "args": {
                "running %": percent(slice.running_ns), "runnable %": percent(slice.cpu_wait_ns),
                "blocked on read %": percent(slice.starved_ns), "blocked on write %": percent(slice.backpressured_ns),
                "other %": percent(slice.other_ns),
            },
        })
    };
    found.into_iter().map(event).collect()
}

/// Returns the longest state.
fn state(slice: &Slice) -> &'static str {
    let parts = [
        (slice.running_ns, "running"),
        (slice.cpu_wait_ns, "runnable"),
        (slice.starved_ns, "blocked on read"),
        (slice.backpressured_ns, "blocked on write"),
        (slice.other_ns, "other"),
    ];
    parts.into_iter().max_by_key(|(ns, _)| *ns).map_or("other", |(_, name)| name)
}

fn add(sum: &mut Slice, next: &Slice) {
    sum.length_ns = (next.start_ns + next.length_ns).saturating_sub(sum.start_ns);
    sum.running_ns += next.running_ns;
    sum.cpu_wait_ns += next.cpu_wait_ns;
    sum.starved_ns += next.starved_ns;
    sum.backpressured_ns += next.backpressured_ns;
    sum.other_ns += next.other_ns;
}

fn rates(stage: &Stage, process: usize, thread: usize) -> Vec<Value> {
    let rate =
        |bytes: Option<u64>, slice: &Slice| bytes.map(|n| n as f64 * 1e3 / slice.length_ns.max(1) as f64);
    let slices = stage.timeline.iter().flatten();
    slices
        .map(|slice| {
            json!({
                "ph": "C", "pid": process, "name": format!("{thread} {} MB/s", stage.name), "ts": us(slice.start_ns),
                "args": {"read": rate(slice.read_bytes, slice), "written": rate(slice.written_bytes, slice)},
            })
        })
        .collect()
}

fn fills(pipeline: &Pipeline, process: usize) -> Vec<Value> {
    let mut events = Vec::new();
    for pipe in &pipeline.pipes {
        let name = format!("pipe {} to {}, bytes", pipe.writer + 1, pipe.reader + 1);
        for fill in &pipe.over_time {
            let at = us(fill.start_ns);
            events.push(
                json!({"ph": "C", "pid": process, "name": name, "ts": at, "args": {"bytes": fill.bytes}}),
            );
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_trace_has_every_stage_and_every_moment() {
        let mut run = samples::simple();
        let slice = |start_ms: u64, running: u64, starved: u64| Slice {
            start_ns: start_ms * 1_000_000,
            length_ns: 20_000_000,
            running_ns: running * 200_000,
            starved_ns: starved * 200_000,
            read_bytes: Some(2_000_000),
            written_bytes: None,
            ..Slice::default()
        };
        run.pipelines[0].stages[1].timeline =
            Some(vec![slice(0, 90, 10), slice(20, 80, 20), slice(40, 10, 90)]);
        let trace: Value = serde_json::from_str(&rendered(&run)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |kind: &str, thread: u64| {
            events.iter().filter(|e| e["ph"] == kind && e["tid"] == thread).cloned().collect::<Vec<_>>()
        };
        let names: Vec<_> = of("X", 2).iter().map(|e| (e["name"].clone(), e["dur"].clone())).collect();
        assert_eq!(names, [(json!("running"), json!(40_000.0)), (json!("blocked on read"), json!(20_000.0))]);
        assert_eq!(of("X", 2)[0]["args"]["running %"], json!(85.0));
        assert_eq!((of("X", 1).len(), of("X", 1)[0]["name"].clone()), (1, json!("ran")));
        let rate = events.iter().find(|e| e["name"] == "2 tr MB/s").unwrap();
        assert_eq!(rate["args"], json!({"read": 100.0, "written": null}));
        assert!(events.iter().any(|e| e["name"] == "pipe 1 to 2, bytes" && e["args"]["bytes"] == 65_536));
    }
}
