//! Elements of pictures: the opening tag, the legend, the steps of an axis.

use serde_json::Value as Json;

use crate::report::escape::escaped;
use crate::report::text;

/// The width of every picture.
pub const WIDTH: f64 = 900.0;

/// Returns the opening tag, with a text for people who cannot see the picture.
pub fn open(plot: &Json, height: f64) -> String {
    let title = escaped(text(plot, "title"));
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{title}\">\n")
}

/// Draws a coloured square and a word for each entry.
pub fn legend(entries: &[(String, &str)], x: f64, y: f64) -> String {
    let mut at = x;
    let mut out = String::new();
    for (class, word) in entries {
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{at}\" y=\"{}\" width=\"10\" height=\"10\"/><text class=\"soft\" x=\"{}\" y=\"{y}\">{}</text>\n",
            y - 9.0, at + 14.0, escaped(word)
        ));
        at += 34.0 + 6.6 * word.chars().count() as f64;
    }
    out
}

/// Returns a round step such that about five steps make up `most`.
pub fn step(most: f64) -> f64 {
    let rough = (most / 5.0).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// Formats a number on an axis.
pub fn tick(value: f64) -> String {
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
}
