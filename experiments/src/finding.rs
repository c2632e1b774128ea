//! The findings of an experiment: figures beside the published ones, judged shapes, pictures, missing
//! programs.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Experiment;
use super::shape::{Bound, Shape};
use pelton_bench::contest::Samples;
use pelton_bench::stats;
use workbench::Outcome;

/// Collects findings while an experiment runs.
#[derive(Default)]
pub struct Finding {
    rows: Vec<Json>,
    judged: Vec<(&'static str, Json)>,
    plots: Vec<Json>,
    shown: Vec<Json>,
    missing: Vec<String>,
    notes: Vec<String>,
    raw: Vec<Json>,
}

impl Finding {
    /// Adds a table row: the published figure, the shell's (or the original language's) here, and pelton's. A
    /// cell may be empty.
    pub fn row(&mut self, what: &str, published: &str, shell: &str, pelton: &str) {
        self.rows.push(json!({"what": what, "published": published, "shell": shell, "pelton": pelton}));
    }

    /// Judges figures of several rounds by their median.
    pub fn judge(&mut self, shape: &Shape, rounds: &[f64], reason: impl FnOnce() -> String) {
        let (median, least) = (stats::median(rounds), stats::min(rounds));
        let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.push(shape, shape.bound.holds(median, 0.0), json!([median, least, most, rounds.len()]), reason);
    }

    /// Judges one figure.
    pub fn figure(&mut self, shape: &Shape, figure: f64, reason: impl FnOnce() -> String) {
        self.push(shape, shape.bound.holds(figure, 0.0), json!([figure, figure, figure, 1]), reason);
    }

    /// Judges how many of several were right.
    pub fn count(&mut self, shape: &Shape, hits: usize, of: usize, reason: impl FnOnce() -> String) {
        let (hits, of) = (hits as f64, of as f64);
        self.push(shape, shape.bound.holds(hits, of), json!([hits, of]), reason);
    }

    /// Judges a yes or no.
    pub fn is(&mut self, shape: &Shape, yes: bool, reason: impl FnOnce() -> String) {
        self.count(shape, usize::from(yes), 1, reason);
    }

    /// Records a shape that cannot be judged on this machine, and why.
    pub fn cannot(&mut self, shape: &Shape, why: &str) {
        self.add(shape, json!({"held": null, "figure": null, "reason": why}));
    }

    fn push(&mut self, shape: &Shape, held: bool, figure: Json, reason: impl FnOnce() -> String) {
        let reason = if held { Json::Null } else { Json::String(with_load(shape, reason())) };
        self.add(shape, json!({"held": held, "figure": figure, "reason": reason}));
    }

    fn add(&mut self, shape: &Shape, mut judged: Json) {
        judged["claim"] = shape.claim.into();
        judged["expected"] = shape.bound.words().into();
        judged["exact"] = shape.exact.into();
        judged["counted"] = matches!(shape.bound, Bound::All).into();
        self.judged.push((shape.claim, judged));
    }

    /// Adds a picture ([`super::report::plots`]).
    pub fn plot(&mut self, plot: Json) {
        self.plots.push(plot);
    }

    /// Adds the output of pelton (or a shell), with the command.
    pub fn show(&mut self, command: &str, text: &str) {
        self.shown.push(json!({"command": command, "text": text.trim_end()}));
    }

    /// Records a program that is not installed, so that its figures are missing.
    pub fn lacks(&mut self, program: &str) {
        self.missing.push(program.to_owned());
    }

    /// Adds a remark for the reader.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Keeps raw samples for checking a figure.
    pub fn samples(&mut self, samples: &[Samples]) {
        self.raw.extend(samples.iter().map(Samples::json));
    }

    /// Keeps any other raw data.
    pub fn raw(&mut self, data: Json) {
        self.raw.push(data);
    }

    /// Fails unless every promised shape is judged or its lack explained: none is forgotten silently.
    pub fn complete(&self, promised: &[&Shape]) -> Outcome {
        let judged = |claim| self.judged.iter().any(|(known, _)| *known == claim);
        match promised.iter().find(|shape| !judged(shape.claim)) {
            Some(shape) => Err(format!("nobody judged: {}", shape.claim).into()),
            None => Ok(()),
        }
    }

    /// Returns all findings in their stored form.
    pub fn record(self, of: &Experiment, quick: bool, machine: &Json, took: Duration) -> Json {
        json!({
            "record": 1, "id": of.id, "title": of.title, "form": if quick { "quick" } else { "full" },
            "published": of.published, "lesson": of.lesson, "machine": machine,
            "load_after": std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
            "took_s": (took.as_secs_f64() * 10.0).round() / 10.0,
            "rows": self.rows, "shapes": self.judged.into_iter().map(|(_, judged)| judged).collect::<Vec<_>>(),
            "plots": self.plots, "shown": self.shown, "missing": self.missing, "notes": self.notes, "raw": self.raw,
        })
    }
}

/// Adds the machine's load: an unexpected time cannot be explained without it.
fn with_load(shape: &Shape, reason: String) -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    match (shape.exact, reason.as_str()) {
        (true, _) => reason,
        (false, "") => format!("load average {load}"),
        (false, _) => format!("{reason} (load average {load})"),
    }
}

/// Formats medians: `0.537 s real, 2.07 s CPU`.
pub fn cost(samples: &Samples) -> String {
    let (real, cpu) = (stats::median(&samples.real), stats::median(&samples.cpu));
    format!("{} real, {} CPU", seconds(real), seconds(cpu))
}

/// Formats a time with three digits, whatever its size.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 0.1 => format!("{s:.3} s"),
        s if s >= 0.01 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.2} ms", s * 1e3),
    }
}

/// Formats a size: `4.7 MB`.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b} B"),
    }
}

/// Returns each round's `a / b` of wall time.
pub fn real_ratios(a: &Samples, b: &Samples) -> Vec<f64> {
    a.real.iter().zip(&b.real).map(|(a, b)| a / b).collect()
}

/// Returns each round's `a / b` of user+sys.
pub fn cpu_ratios(a: &Samples, b: &Samples) -> Vec<f64> {
    a.cpu.iter().zip(&b.cpu).map(|(a, b)| a / b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_not_forgotten() {
        const SHAPE: Shape = Shape::exact("two are two", Bound::All);
        let mut finding = Finding::default();
        assert!(finding.complete(&[&SHAPE]).is_err());
        finding.count(&SHAPE, 2, 2, String::new);
        assert!(finding.complete(&[&SHAPE]).is_ok());
        assert_eq!(finding.judged[0].1["held"], true);
    }

    #[test]
    fn what_did_not_hold_has_a_reason() {
        const SHAPE: Shape = Shape::timing("half the time", Bound::AtMost(0.5));
        let mut finding = Finding::default();
        finding.judge(&SHAPE, &[0.4, 0.8, 0.7], || "one core".to_owned());
        let judged = &finding.judged[0].1;
        assert_eq!(judged["held"], false);
        assert!(
            judged["reason"].as_str().is_some_and(|reason| reason.starts_with("one core (load average "))
        );
        assert_eq!(judged["figure"], json!([0.7, 0.4, 0.8, 3]));
    }

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(bytes(4_700_000.0), "4.7 MB");
    }
}
