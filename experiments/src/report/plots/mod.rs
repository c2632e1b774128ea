//! Pictures, as data in a record and as SVG on the page. One file per kind.

mod bars;
mod dots;
mod timeline;

pub use bars::{bars, costs};
pub use dots::dots;
pub use timeline::{Span, stages, timeline};

use serde_json::Value as Json;

/// The width of every picture.
const WIDTH: f64 = 900.0;

/// Draws a picture of the kind that its data names.
pub fn svg(plot: &Json) -> String {
    match plot["kind"].as_str() {
        Some("bars") => bars::svg(plot),
        Some("dots") => dots::svg(plot),
        Some("timeline") => timeline::svg(plot),
        _ => String::new(),
    }
}

/// Returns the opening tag, with a text for people who cannot see the picture.
fn open(plot: &Json, height: f64) -> String {
    let title = super::html::escaped(super::text(plot, "title"));
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{title}\">\n")
}

/// Draws a coloured square and a word for each entry.
fn legend(entries: &[(String, &str)], x: f64, y: f64) -> String {
    let mut at = x;
    let mut out = String::new();
    for (class, word) in entries {
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{at}\" y=\"{}\" width=\"10\" height=\"10\"/><text class=\"soft\" x=\"{}\" y=\"{y}\">{}</text>\n",
            y - 9.0, at + 14.0, super::html::escaped(word)
        ));
        at += 34.0 + 6.6 * word.chars().count() as f64;
    }
    out
}

/// Returns a round step such that about five steps make up `most`.
fn step(most: f64) -> f64 {
    let rough = (most / 5.0).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// Formats a number on an axis.
fn tick(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(step(4.2), 1.0);
        assert_eq!(step(0.6), 0.2);
        assert!((step(23.0) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn every_kind_draws_what_it_is_given() {
        let all = [
            bars("a <b>", "s", &["real", "CPU"], &[("x & y".to_owned(), vec![1.0, f64::NAN])]),
            dots("d", ("width", "s"), &[("one".to_owned(), vec![(1.0, 2.0), (2.0, 1.0)])]),
            timeline("t", &[("lane".to_owned(), vec![Span { from: 0.0, to: 1.0, state: "running" }])]),
        ];
        for plot in all {
            let svg = svg(&plot);
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(!svg.contains("x & y"), "{svg}");
        }
    }
}
