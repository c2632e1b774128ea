//! Prometheus' text format, for the textfile collector of node_exporter: `--format prometheus --output FILE.prom`, in a
//! pipeline that runs regularly. FILE appears whole or not at all, as the collector needs it.
//!
//! Every sample is labelled with the run's text, since several files may have the same metrics; those of stages have their
//! pipeline, number and command. An unknown figure has no sample. Times are seconds, as Prometheus asks for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pelton_record::{Cost, Run};

use super::{Style, Subject};
use crate::{lines, probe_figures, text};

/// A figure of a cost, if it is known.
type Figure = fn(&Cost) -> Option<String>;

/// The name, the description and the source of each metric.
const METRICS: [(&str, &str, Figure); 8] = [
    ("wall_seconds", "Wall time", |cost| Some(seconds(cost.wall_ns))),
    ("user_seconds", "CPU time in user mode", |cost| Some(seconds(cost.user_ns))),
    ("sys_seconds", "CPU time in the kernel", |cost| Some(seconds(cost.sys_ns))),
    // Zero: the kernel did not report it, or several rows share a process.
    ("peak_rss_bytes", "Largest resident set", |cost| {
        (cost.peak_rss_bytes > 0).then(|| cost.peak_rss_bytes.to_string())
    }),
    ("read_bytes", "Bytes read", |cost| cost.read_bytes.map(|n| n.to_string())),
    ("written_bytes", "Bytes written", |cost| cost.written_bytes.map(|n| n.to_string())),
    ("read_calls", "Calls of the read family", |cost| cost.read_calls.map(|n| n.to_string())),
    ("write_calls", "Calls of the write family", |cost| cost.write_calls.map(|n| n.to_string())),
];

/// Renders a record as metrics of each stage and of the whole run.
pub fn render(subject: &Subject<'_>, _style: &Style) -> String {
    let run = subject.run;
    let whole = format!("text={}", quoted(&run.text));
    let mut costs = vec![("run", whole.clone(), run.total.clone())];
    let mut statuses = vec![("run", whole.clone(), run.exit_status)];
    for line in lines::lines(run) {
        let Some((_, stage)) = line.row else { continue };
        let place = format!("pipeline=\"{}\",stage=\"{}\"", line.pipeline + 1, line.numbers.start());
        let labels = format!("{whole},{place},command={}", quoted(&stage.text));
        costs.push(("stage", labels.clone(), line.cost));
        statuses.push(("stage", labels, stage.end.status()));
    }
    let mut metrics = Metrics::default();
    for (what, labels, cost) in &costs {
        for (name, about, figure) in METRICS {
            metrics.add(what, name, about, labels, figure(cost));
        }
        for name in probe_figures::names(run) {
            let figure = cost.figures.get(name).copied().flatten();
            metrics.add(what, name, &probe_figures::title(name), labels, figure.map(|n| n.to_string()));
        }
    }
    for (what, labels, status) in &statuses {
        metrics.add(
            what,
            "exit_status",
            "Exit status as the shell reports it",
            labels,
            Some(status.to_string()),
        );
    }
    metrics.add("run", "started_seconds", "Start since the epoch", &whole, Some(started(run)));
    metrics.text()
}

/// The samples of each metric: the format wants them in one group.
#[derive(Default)]
struct Metrics(BTreeMap<String, (String, String)>);

impl Metrics {
    fn add(&mut self, what: &str, name: &str, about: &str, labels: &str, figure: Option<String>) {
        let Some(figure) = figure else { return };
        let name = format!("pelton_{what}_{name}");
        let (said, samples) = self.0.entry(name.clone()).or_default();
        *said = format!("{about} of the {what}.");
        _ = writeln!(samples, "{name}{{{labels}}} {figure}");
    }

    fn text(&self) -> String {
        let group = |(name, (about, samples)): (&String, &(String, String))| {
            format!("# HELP {name} {about}\n# TYPE {name} gauge\n{samples}")
        };
        self.0.iter().map(group).collect()
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn started(run: &Run) -> String {
    format!("{}.{:03}", run.started_unix_ms / 1000, run.started_unix_ms % 1000)
}

/// Quotes a label's value. It is printable: it has no line ends.
fn quoted(value: &str) -> String {
    format!("\"{}\"", text::printable(value, true).replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn shown(run: &Run) -> String {
        render(&samples::subject(run), &Style::default())
    }

    #[test]
    fn stages_and_the_run_have_their_metrics() {
        let text = shown(&samples::simple());
        let whole = "text=\"cat words.txt | tr A-Z a-z | wc -l\"";
        for sample in [
            "# TYPE pelton_stage_wall_seconds gauge".to_owned(),
            format!("pelton_run_wall_seconds{{{whole}}} 4.774300000"),
            format!(
                "pelton_stage_user_seconds{{{whole},pipeline=\"1\",stage=\"2\",command=\"tr A-Z a-z\"}} 4.601000000"
            ),
            format!("pelton_run_exit_status{{{whole}}} 0"),
        ] {
            assert!(text.lines().any(|line| line == sample), "{sample}\n{text}");
        }
    }

    #[test]
    fn what_is_unknown_has_no_sample() {
        let text = shown(&samples::unknown());
        assert!(
            text.contains("pelton_stage_wall_seconds{") && !text.contains("pelton_stage_read_bytes"),
            "{text}"
        );
    }

    /// Every line is a comment or `name{labels} number`, and each metric is one group behind its type.
    #[test]
    fn every_record_keeps_to_the_format() {
        for (sample, mut run) in samples::all() {
            run.total.figures = [("peak_test_bytes".to_owned(), Some(7))].into();
            let text = shown(&run);
            assert!(text.contains("pelton_run_peak_test_bytes{"), "{sample}");
            let mut metric = String::new();
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    metric = rest.split_once(' ').expect("a type").0.to_owned();
                } else if !line.starts_with("# HELP ") {
                    let (name, rest) =
                        line.split_once("{text=\"").unwrap_or_else(|| panic!("{sample}: {line}"));
                    assert_eq!(name, metric, "{sample}");
                    let figure = rest.rsplit_once("\"} ").unwrap_or_else(|| panic!("{sample}: {line}")).1;
                    assert!(figure.parse::<f64>().is_ok_and(f64::is_finite), "{sample}: {line}");
                }
            }
        }
    }

    #[test]
    fn values_of_labels_are_quoted() {
        assert_eq!(quoted("a \"b\" \\n\nc"), r#""a \"b\" \\n c""#);
    }
}
