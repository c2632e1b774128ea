//! What a pipeline would take with one faster stage.
//!
//! ```text
//!   what if … predicted for the whole, which took 1.29s, if this stage alone changed:
//!     stage             free          2x faster  split over 2  larger pipe
//!     1 cat   1.22 1.18–1.26   1.26 1.22–1.29
//! ```
//!
//! Where the width does not hold times and ranges side by side, the ranges stand below the times.

use pelton_record::{Pipeline, Prediction, Run, StageWhatIf, WhatIf};

use crate::{
    paint::{Pieces, Role},
    prose::Paragraph,
    rows,
    style::Style,
    text, units,
};

/// The longest name of a stage.
const NAME: usize = 16;

/// Renders the predictions of a run: the table and a sentence.
pub fn lines(run: &Run, found: &WhatIf, style: &Style) -> Vec<Pieces> {
    let plain = |role, text: &str| Paragraph { label_role: role, label: "  ", role, text: text.to_owned() };
    let Some(pipeline) = run.pipelines.get(found.pipeline).filter(|_| !found.stages.is_empty()) else {
        return plain(Role::Plain, &format!("what if: {}", found.headline)).lines(style);
    };
    let title = format!(
        "what if one stage alone changed: predicted for the whole, which took {}",
        time(found.measured_ns)
    );
    let mut lines = plain(Role::Plain, &title).lines(style);
    lines.extend(table(pipeline, found, style));
    lines.extend(found.native.iter().flat_map(|native| {
        let text = format!("run by `pelton run`: {} or less", time(native.total_ns));
        Paragraph { label: "    ", ..plain(Role::Plain, &text) }.lines(style)
    }));
    lines.extend(plain(Role::Strong, &found.headline).lines(style));
    lines
}

/// A column: its head, and the prediction of each stage.
type Column = (String, Vec<Option<Prediction>>);

fn columns(found: &WhatIf) -> Vec<Column> {
    let of = |part: fn(&StageWhatIf) -> Option<Prediction>| found.stages.iter().map(part).collect();
    let processes = found.stages.iter().find_map(|row| Some(row.split?.processes));
    let split = processes.map_or(String::new(), |processes| format!("split over {processes}"));
    let all: [Column; 5] = [
        ("free".into(), of(|row| Some(row.free))),
        ("2x faster".into(), of(|row| Some(row.twice_as_fast))),
        ("2x, measured".into(), of(|row| row.measured_twice_as_fast)),
        (split, of(|row| Some(row.split?.prediction))),
        ("larger pipe".into(), of(|row| row.larger_pipe)),
    ];
    all.into_iter().filter(|(_, cells)| cells.iter().any(Option::is_some)).collect()
}

fn table(pipeline: &Pipeline, found: &WhatIf, style: &Style) -> Vec<Pieces> {
    let columns = columns(found);
    let names: Vec<String> = found.stages.iter().map(|row| name(pipeline, row.stage, style)).collect();
    let wide = rows::roled(&beside(&columns, &names, style));
    let fits = |line: &Pieces| style.width.is_none_or(|width| line.width() <= width);
    if wide.iter().all(fits) { wide } else { rows::roled(&below(&columns, &names, style)) }
}

fn name(pipeline: &Pipeline, stage: usize, style: &Style) -> String {
    let name = pipeline.stages.get(stage).map_or("", |stage| stage.name.as_str());
    let numbered = format!("{} {}", pipeline.numbers(stage).start(), text::printable(name, style.unicode));
    text::shorten(&numbered, NAME, style.unicode)
}

fn heads(columns: &[Column]) -> (Role, Vec<String>) {
    let heads = columns.iter().map(|(head, _)| head.clone());
    (Role::Dim, std::iter::once("stage".to_owned()).chain(heads).collect())
}

/// Returns rows in which each time has its range beside it.
fn beside(columns: &[Column], names: &[String], style: &Style) -> Vec<(Role, Vec<String>)> {
    let cell = |prediction: &Option<Prediction>| match prediction {
        Some(known) => format!("{} ({})", time(known.total_ns), range(known, style)),
        None => String::new(),
    };
    let row = |(at, name): (usize, &String)| {
        let cells = columns.iter().map(|(_, cells)| cell(&cells[at]));
        (Role::Plain, std::iter::once(name.clone()).chain(cells).collect())
    };
    std::iter::once(heads(columns)).chain(names.iter().enumerate().map(row)).collect()
}

/// Returns two rows for each stage: the times, and below them the ranges.
fn below(columns: &[Column], names: &[String], style: &Style) -> Vec<(Role, Vec<String>)> {
    let mut rows = vec![heads(columns)];
    for (at, name) in names.iter().enumerate() {
        let cells = |text: &dyn Fn(&Prediction) -> String, first: &str| {
            let cells = columns.iter().map(|(_, cells)| cells[at].as_ref().map_or(String::new(), text));
            std::iter::once(first.to_owned()).chain(cells).collect::<Vec<_>>()
        };
        rows.push((Role::Plain, cells(&|known| time(known.total_ns), name)));
        rows.push((Role::Dim, cells(&|known| range(known, style), "")));
    }
    rows
}

fn range(prediction: &Prediction, style: &Style) -> String {
    let dash = if style.unicode { "–" } else { "-" };
    format!("{}{dash}{}", figure(prediction.low_ns), figure(prediction.high_ns))
}

/// Formats a predicted time, with fewer digits than a measured one.
fn time(ns: u64) -> String {
    if ns < MINUTE_NS { format!("{}s", figure(ns)) } else { units::seconds(ns) }
}

const MINUTE_NS: u64 = 60_000_000_000;

fn figure(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        0.0..1.0 => format!("{seconds:.3}"),
        1.0..10.0 => format!("{seconds:.2}"),
        10.0..60.0 => format!("{seconds:.1}"),
        _ => units::seconds(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::Split;

    const MS: u64 = 1_000_000;

    fn around(ms: u64) -> Prediction {
        Prediction { total_ns: ms * MS, low_ns: ms * MS / 100 * 95, high_ns: ms * MS / 100 * 105 }
    }

    fn found() -> WhatIf {
        let row = |stage: usize, free, twice, split: Option<u64>, pipe: Option<u64>| StageWhatIf {
            stage,
            free: around(free),
            twice_as_fast: around(twice),
            split: split.map(|ms| Split { processes: 2, prediction: around(ms) }),
            larger_pipe: pipe.map(around),
            measured_twice_as_fast: None,
        };
        WhatIf {
            measured_ns: 4_774 * MS,
            modelled_ns: Some(4_700 * MS),
            stages: vec![
                row(0, 4_770, 4_771, None, Some(4_774)),
                row(1, 250, 2_390, Some(2_401), Some(4_774)),
                row(2, 4_774, 4_774, None, None),
            ],
            native: Some(around(400)),
            headline: "most is gained in stage 2 (tr): if it were twice as fast, the whole would take 2.39 s instead of \
                       4.77 s; if it were free, 0.250 s"
                .into(),
            ..WhatIf::default()
        }
    }

    #[test]
    fn looks_like_this() {
        let mut refused = found();
        (refused.stages, refused.reason) = (vec![], Some(String::new()));
        refused.headline =
            "nothing can be predicted: there is only one stage: the time of the whole is its own".into();
        let styles = [
            ("60 columns", samples::wide(60)),
            ("80 columns", samples::wide(80)),
            ("120 columns", samples::wide(120)),
            ("80 columns, ASCII", Style { unicode: false, ..samples::wide(80) }),
            ("60 columns, colour", Style { color: true, ..samples::wide(60) }),
        ];
        let mut shown = String::new();
        for (name, style) in styles {
            for found in [&found(), &refused] {
                let lines = lines(&samples::simple(), found, &style);
                assert!(
                    lines.iter().all(|line| style.width.is_none_or(|width| line.width() <= width)),
                    "{name}"
                );
                let text: String = lines.iter().map(|line| line.line(style.color)).collect();
                shown += &format!("== {name}\n{text}\n");
            }
        }
        samples::check("what_if", &shown);
    }

    #[test]
    fn times_have_three_digits() {
        let shown = [251_400_000, 1_234_000_000, 12_340_000_000, 125_000_000_000].map(time);
        assert_eq!(shown, ["0.251s", "1.23s", "12.3s", "2m05.0s"]);
    }
}
