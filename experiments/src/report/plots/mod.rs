//! Pictures, as data in a record and as SVG on the page. One file per kind.

mod bars;
mod dots;
mod elements;
mod timeline;

pub use bars::{bars, costs};
pub use dots::dots;
pub use timeline::{Span, stages, timeline};

use serde_json::Value as Json;

/// Draws a picture of the kind that its data names.
pub fn svg(plot: &Json) -> String {
    match plot["kind"].as_str() {
        Some("bars") => bars::svg(plot),
        Some("dots") => dots::svg(plot),
        Some("timeline") => timeline::svg(plot),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
