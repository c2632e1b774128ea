//! The figures of probes: their titles and units, which their names tell.

use std::collections::BTreeSet;

use pelton_record::Run;

use crate::units;

/// Writes a figure.
type Write = fn(u64) -> String;

/// How names end, and how such a figure is written.
const UNITS: [(&str, Write); 2] = [("_bytes", units::bytes), ("_ns", units::seconds)];

/// Returns the names of all figures of a run, in their order.
pub fn names(run: &Run) -> BTreeSet<&str> {
    let passes = run.pipelines.iter().flat_map(|pipeline| &pipeline.passes).map(|pass| &pass.cost);
    let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).map(|stage| &stage.cost);
    let all = passes.chain(stages).chain([&run.total]);
    all.flat_map(|cost| cost.figures.keys()).map(String::as_str).collect()
}

/// Returns its title: the name in words, without its unit.
pub fn title(name: &str) -> String {
    let words = UNITS.iter().find_map(|(unit, _)| name.strip_suffix(unit)).unwrap_or(name);
    words.replace('_', " ")
}

/// Writes a figure in the unit that its name tells.
pub fn shown(name: &str, figure: u64) -> String {
    let unit = UNITS.iter().find(|(unit, _)| name.ends_with(unit));
    unit.map_or_else(|| units::count(figure), |(_, write)| write(figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Style, render, samples};

    #[test]
    fn every_format_with_all_figures_has_those_of_probes() {
        let mut run = samples::simple();
        let figures = [("peak_test_bytes".to_owned(), Some(12_300_000)), ("test_calls".to_owned(), None)];
        run.pipelines[0].stages[1].cost.figures = figures.clone().into();
        run.total.figures = figures.into();
        let style = Style { all: true, ..samples::wide(100) };
        let shown = |format| render(&run, format, &style);
        for format in [Format::Table, Format::Markdown] {
            let text = shown(format);
            assert!(text.contains("peak test") && text.contains("12.3 MB"), "{text}");
            assert!(text.contains("test calls"), "{text}");
        }
        assert!(shown(Format::Json).contains("\"peak_test_bytes\": 12300000"));
        let csv = shown(Format::Csv);
        let lines: Vec<_> = csv.lines().collect();
        assert!(lines[0].ends_with(",handed_over,peak_test_bytes,test_calls"), "{csv}");
        assert!(lines[1].ends_with(",,,"), "{csv}");
        assert!(lines[2].ends_with(",12300000,") && lines[4].ends_with(",12300000,"), "{csv}");
    }

    #[test]
    fn units_are_told_by_names() {
        assert_eq!((title("slept_ns"), shown("slept_ns", 1_500_000_000)), ("slept".into(), "1.500s".into()));
        assert_eq!((title("page_faults"), shown("page_faults", 7)), ("page faults".into(), "7".into()));
    }
}
