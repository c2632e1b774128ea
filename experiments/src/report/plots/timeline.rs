//! Lanes: what each stage, thread or worker did when.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::elements::{WIDTH, legend, open, step, tick};
use crate::report::escape::escaped;
use crate::report::{items, text};

const LEFT: f64 = 170.0;
const LANE: f64 = 22.0;
const HEAD: f64 = 24.0;
/// The visible states, and their labels.
const STATES: [(&str, &str); 7] = [
    ("running", "running"),
    ("no-cpu", "runnable"),
    ("input", "blocked on read"),
    ("room", "blocked on write"),
    ("other", "other"),
    ("makes", "makes tasks"),
    ("idle", "waits for tasks"),
];

/// A stretch of a lane, in seconds from the start.
pub struct Span {
    pub from: f64,
    pub to: f64,
    /// One of [`STATES`].
    pub state: &'static str,
}

/// Returns the data of a timeline.
pub fn timeline(title: &str, lanes: &[(String, Vec<Span>)]) -> Json {
    let span = |span: &Span| json!([thousandth(span.from), thousandth(span.to), span.state]);
    let lane = |(name, spans): &(String, Vec<Span>)| json!({"name": name, "spans": spans.iter().map(span).collect::<Vec<_>>()});
    json!({"kind": "timeline", "title": title, "lanes": lanes.iter().map(lane).collect::<Vec<_>>()})
}

/// Returns a lane for each stage of a record taken with `--timeline`: in each stretch, the states by their
/// shares.
pub fn stages(title: &str, pipeline: &Json) -> Json {
    let lane = |stage: &Json| (text(stage, "name").to_owned(), spans(stage));
    timeline(title, &items(pipeline, "stages").iter().map(lane).collect::<Vec<_>>())
}

fn spans(stage: &Json) -> Vec<Span> {
    let keys = ["running_ns", "cpu_wait_ns", "starved_ns", "backpressured_ns", "other_ns"];
    let mut spans: Vec<Span> = Vec::new();
    for stretch in items(stage, "timeline") {
        let ns = |key: &str| stretch[key].as_f64().unwrap_or(0.0);
        let mut at = ns("start_ns");
        let sum: f64 = keys.iter().map(|key| ns(key)).sum::<f64>().max(1.0);
        for (key, (state, _)) in keys.iter().zip(STATES) {
            let next = at + ns(key) / sum * ns("length_ns");
            if next > at {
                join(&mut spans, Span { from: at / 1e9, to: next / 1e9, state });
            }
            at = next;
        }
    }
    spans
}

/// Joins neighbours in the same state.
fn join(spans: &mut Vec<Span>, next: Span) {
    match spans.last_mut() {
        Some(last) if last.state == next.state && next.from - last.to < 1e-4 => last.to = next.to,
        _ => spans.push(next),
    }
}

fn thousandth(seconds: f64) -> f64 {
    (seconds * 1e5).round() / 1e5
}

pub fn svg(plot: &Json) -> String {
    let lanes = items(plot, "lanes");
    let end = |span: &Json| span[1].as_f64().unwrap_or(0.0);
    let most = lanes.iter().flat_map(|lane| items(lane, "spans")).map(end).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - 20.0) / most;
    let height = HEAD + lanes.len() as f64 * LANE + 24.0;
    let mut out = open(plot, height);
    let seen = |state: &str| lanes.iter().flat_map(|lane| items(lane, "spans")).any(|span| span[2] == state);
    let names: Vec<(String, &str)> = STATES
        .iter()
        .filter(|(class, _)| seen(class))
        .map(|(class, word)| ((*class).to_owned(), *word))
        .collect();
    out.push_str(&legend(&names, LEFT, 12.0));
    for (row, lane) in lanes.iter().enumerate() {
        let y = HEAD + row as f64 * LANE;
        let name = escaped(text(lane, "name"));
        let _ =
            writeln!(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0, y + 14.0);
        for span in items(lane, "spans") {
            let (from, to) = (span[0].as_f64().unwrap_or(0.0), end(span));
            let state = span[2].as_str().unwrap_or("other");
            let word = STATES.iter().find(|(class, _)| *class == state).map_or(state, |(_, word)| word);
            let _ = writeln!(
                out,
                "<rect class=\"{state}\" x=\"{:.1}\" y=\"{}\" width=\"{:.2}\" height=\"{}\"><title>{name}: {word}, {from:.3}–{to:.3} s</title></rect>",
                LEFT + from * scale,
                y + 2.0,
                ((to - from) * scale).max(0.3),
                LANE - 6.0
            );
        }
    }
    let step = step(most);
    for i in 0..=(most / step) as u32 {
        let at = f64::from(i) * step;
        let _ = writeln!(
            out,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{} s</text>",
            LEFT + at * scale,
            height - 4.0,
            tick(at)
        );
    }
    out + "</svg>\n"
}
