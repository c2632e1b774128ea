//! Bars: a group for each contender, a bar for each figure.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::elements::{WIDTH, legend, open, step, tick};
use crate::report::escape::escaped;
use crate::report::{items, text};
use pelton_bench::contest::Samples;
use pelton_bench::stats;

const LEFT: f64 = 230.0;
const RIGHT: f64 = 70.0;
const BAR: f64 = 12.0;
const GAP: f64 = 10.0;
const HEAD: f64 = 24.0;

/// Returns the data of a bar chart: groups with a value for each series.
pub fn bars(title: &str, unit: &str, series: &[&str], groups: &[(String, Vec<f64>)]) -> Json {
    let groups: Vec<Json> =
        groups.iter().map(|(name, values)| json!({"name": name, "values": values})).collect();
    json!({"kind": "bars", "title": title, "unit": unit, "series": series, "groups": groups})
}

/// Returns a chart of the medians of real time and user+sys.
pub fn costs(title: &str, samples: &[Samples]) -> Json {
    let group = |one: &Samples| (one.name.clone(), vec![stats::median(&one.real), stats::median(&one.cpu)]);
    bars(title, "s", &["real", "user+sys"], &samples.iter().map(group).collect::<Vec<_>>())
}

pub fn svg(plot: &Json) -> String {
    let series: Vec<&str> = items(plot, "series").iter().filter_map(Json::as_str).collect();
    let groups = items(plot, "groups");
    let each = series.len() as f64 * BAR + GAP;
    let height = HEAD + groups.len() as f64 * each + 24.0;
    let values = |group: &Json| -> Vec<f64> {
        items(group, "values").iter().map(|v| v.as_f64().unwrap_or(0.0)).collect()
    };
    let most = groups.iter().flat_map(values).fold(f64::MIN_POSITIVE, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / most;
    let mut out = open(plot, height);
    let names: Vec<(String, &str)> =
        series.iter().enumerate().map(|(i, name)| (format!("c{i}"), *name)).collect();
    out.push_str(&legend(&names, LEFT, 12.0));
    axis(&mut out, most, scale, height, text(plot, "unit"));
    for (row, group) in groups.iter().enumerate() {
        let y = HEAD + row as f64 * each;
        let middle = y + series.len() as f64 * BAR / 2.0 + 4.0;
        let name = escaped(text(group, "name"));
        let _ = writeln!(out, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0);
        for (i, value) in values(group).into_iter().enumerate() {
            let (top, width) = (y + i as f64 * BAR, value * scale);
            let _ = writeln!(
                out,
                "<rect class=\"c{i}\" x=\"{LEFT}\" y=\"{top}\" width=\"{width:.1}\" height=\"{}\"><title>{name}: {}</title></rect>\
                 <text class=\"soft\" x=\"{:.1}\" y=\"{}\">{}</text>",
                BAR - 2.0,
                digits(value),
                LEFT + width + 4.0,
                top + 9.0,
                digits(value)
            );
        }
    }
    out + "</svg>\n"
}

fn axis(out: &mut String, most: f64, scale: f64, height: f64, unit: &str) {
    let step = step(most);
    let mut at = 0.0;
    while at <= most {
        let x = LEFT + at * scale;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{}\"/><text class=\"soft\" x=\"{x:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{} {unit}</text>",
            height - 18.0,
            height - 4.0,
            tick(at)
        );
        at += step;
    }
}

/// Formats a value with three digits.
fn digits(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}
