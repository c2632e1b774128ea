//! Points joined by lines, one colour per series.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::elements::{WIDTH, legend, open, step, tick};
use crate::report::escape::escaped;
use crate::report::{items, text};

const LEFT: f64 = 60.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 40.0;
const HEIGHT: f64 = 260.0;

/// Returns the data of a line chart; both axes begin at zero.
pub fn dots(title: &str, axes: (&str, &str), series: &[(String, Vec<(f64, f64)>)]) -> Json {
    let series: Vec<Json> =
        series.iter().map(|(name, points)| json!({"name": name, "points": points})).collect();
    json!({"kind": "dots", "title": title, "x": axes.0, "y": axes.1, "series": series})
}

pub fn svg(plot: &Json) -> String {
    let series = items(plot, "series");
    let points = |one: &Json| -> Vec<(f64, f64)> {
        let pair = |point: &Json| Some((point[0].as_f64()?, point[1].as_f64()?));
        items(one, "points").iter().filter_map(pair).collect()
    };
    let most = |axis: fn(&(f64, f64)) -> f64| {
        series.iter().flat_map(points).map(|point| axis(&point)).fold(f64::MIN_POSITIVE, f64::max)
    };
    let (most_x, most_y) = (most(|point| point.0), most(|point| point.1));
    let x = |value: f64| LEFT + value / most_x * (WIDTH - LEFT - 30.0);
    let y = |value: f64| HEIGHT - BOTTOM - value / most_y * (HEIGHT - TOP - BOTTOM);
    let mut out = open(plot, HEIGHT);
    let names: Vec<(String, &str)> =
        series.iter().enumerate().map(|(i, one)| (format!("c{i}"), text(one, "name"))).collect();
    out.push_str(&legend(&names, LEFT, 12.0));
    for at in ticks(most_y) {
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/><text class=\"soft\" x=\"{2}\" y=\"{3:.1}\" \
             text-anchor=\"end\">{4}</text>",
            WIDTH - 30.0,
            y(at),
            LEFT - 6.0,
            y(at) + 4.0,
            tick(at)
        );
    }
    for at in ticks(most_x) {
        let _ = writeln!(
            out,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(at),
            HEIGHT - BOTTOM + 16.0,
            tick(at)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text class=\"soft\" x=\"{}\" y=\"12\" text-anchor=\"end\">{}</text>",
        WIDTH - 30.0,
        HEIGHT - 6.0,
        escaped(text(plot, "x")),
        WIDTH - 30.0,
        escaped(text(plot, "y"))
    );
    for (i, one) in series.iter().enumerate() {
        let points = points(one);
        let line: Vec<String> = points.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let _ = writeln!(
            out,
            "<polyline class=\"s{i}\" fill=\"none\" stroke-width=\"1.5\" points=\"{}\"/>",
            line.join(" ")
        );
        for &(a, b) in &points {
            let _ = writeln!(
                out,
                "<circle class=\"c{i}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}: {}, {}</title></circle>",
                x(a),
                y(b),
                escaped(text(one, "name")),
                tick(a),
                tick(b)
            );
        }
    }
    out + "</svg>\n"
}

fn ticks(most: f64) -> Vec<f64> {
    let step = step(most);
    (0..).map(|i| f64::from(i) * step).take_while(|at| *at <= most * 1.0001).collect()
}
