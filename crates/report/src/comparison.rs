//! Renders comparisons of two texts, and how costs grow with the input.
//!
//! ```text
//!                      real  user+sys
//! BEFORE             1.204s    2.310s
//!   1 sort words     1.198s    2.100s
//!   2 uniq           1.204s    0.210s
//! AFTER              0.802s    1.460s
//!   1 sort -u words  0.802s    1.460s
//! after / before       0.67      0.63
//! 98% sure       0.64…0.69 0.62…0.65
//!
//! ▶ helped: real and user+sys fell
//!   Medians of 10 runs of each. Both print the same 1.2 MB and the same messages, and end alike.
//! ```

use pelton_record::{Change, Comparison, Direction, Growth, JudgementKind, Outputs, Run};

use crate::Style;
use crate::formats::html;
use crate::paint::{Pieces, Role};
use crate::prose::Paragraph;
use crate::{text, units};

/// The width of a figure's column.
const FIGURE: usize = 13;
/// The minimum width of a command.
const COMMAND_MIN: usize = 12;

/// Renders a comparison. The text ends with a newline.
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    let mut lines = table(comparison, style);
    lines.push(Pieces::default());
    let label = if style.unicode { "▶ " } else { "> " };
    lines.extend(paragraph(label, Role::Strong, &headline(comparison)).lines(style));
    lines.extend(paragraph("  ", Role::Plain, &outputs(comparison)).lines(style));
    let notes = comparison.notes.iter().flat_map(|note| paragraph("  ", Role::Dim, note).lines(style));
    lines.extend(notes);
    lines.iter().map(|line| line.line(style.color)).collect()
}

/// Renders a comparison as a page for a browser: a run of BEFORE above a run of AFTER, with the same time axis.
pub fn comparison_page(compared: &Comparison, before: &Run, after: &Run) -> String {
    html::beside(&headline(compared), &comparison(compared, &html::TABLE), before, after)
}

fn paragraph(label: &'static str, role: Role, text: &str) -> Paragraph {
    Paragraph { label_role: Role::Mark, label, role, text: text.to_owned() }
}

fn table(comparison: &Comparison, style: &Style) -> Vec<Pieces> {
    let sides = [("BEFORE", &comparison.before), ("AFTER", &comparison.after)];
    let longest = sides.iter().flat_map(|(_, run)| commands(run)).map(|name| text::width(&name) + 4).max();
    let most = style.width.map_or(usize::MAX, |width| width.saturating_sub(2 * FIGURE)).max(COMMAND_MIN);
    let room = longest.unwrap_or(0).max(COMMAND_MIN + 4).min(most);
    let mut lines = vec![row(Role::Dim, "", ["real".into(), "user+sys".into()], room, style)];
    for (name, run) in sides {
        let times = [run.wall_ns, run.total.user_ns + run.total.sys_ns].map(units::seconds);
        lines.push(row(Role::Strong, name, times, room, style));
        let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages).enumerate();
        lines.extend(stages.map(|(at, stage)| {
            let name = format!("  {} {}", at + 1, text::printable(&stage.text, style.unicode));
            let times = [stage.cost.wall_ns, stage.cost.user_ns + stage.cost.sys_ns].map(units::seconds);
            row(Role::Plain, &name, times, room, style)
        }));
    }
    let changes = [&comparison.real, &comparison.cpu];
    lines.push(row(Role::Strong, "after / before", changes.map(|it| digits(it.ratio)), room, style));
    let dots = if style.unicode { "…" } else { ".." };
    let interval = |it: &Change| format!("{}{dots}{}", digits(it.low), digits(it.high));
    let sure = format!("{} confidence", units::percent(comparison.real.confidence));
    // Of one run there is no interval.
    if comparison.real.confidence > 0.0 {
        lines.push(row(Role::Dim, &sure, changes.map(interval), room, style));
    }
    lines
}

fn commands(run: &Run) -> impl Iterator<Item = String> + '_ {
    let stages = run.pipelines.iter().flat_map(|pipeline| &pipeline.stages);
    stages.map(|stage| text::printable(&stage.text, true))
}

fn row(role: Role, name: &str, figures: [String; 2], room: usize, style: &Style) -> Pieces {
    let name = text::shorten(name, room, style.unicode);
    let fill = room.saturating_sub(text::width(&name));
    let mut line = Pieces::one(role, name);
    line.blanks(fill);
    for figure in figures {
        line.blanks(FIGURE.saturating_sub(text::width(&figure)));
        line.push(role, figure);
    }
    line
}

/// Formats a ratio: two decimals near 1, fewer for large ratios, more for small ones.
fn digits(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 100.0 => format!("{ratio:.0}"),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ if ratio >= 0.095 => format!("{ratio:.2}"),
        _ => format!("{ratio:.3}"),
    }
}

fn headline(comparison: &Comparison) -> String {
    let judgement = &comparison.judgement;
    if judgement.kind == JudgementKind::NotTheSame {
        return judgement.headline.clone();
    }
    let told = [("real", &comparison.real), ("user+sys", &comparison.cpu)];
    let changes: Vec<String> = told
        .iter()
        .filter(|(_, change)| change.direction != Direction::Same)
        .map(|(name, change)| format!("{name} {}", times(change)))
        .collect();
    match changes.as_slice() {
        [] if comparison.real.confidence == 0.0 => {
            let changes: Vec<String> =
                told.iter().map(|(name, change)| format!("{name} {}", times(change))).collect();
            format!("of one run each: {}; several runs would tell a change from chance", changes.join(", "))
        }
        [] => judgement.headline.clone(),
        _ => format!("{} ({})", judgement.headline, changes.join(", ")),
    }
}

/// Says how much less or more.
fn times(change: &Change) -> String {
    match change.ratio {
        ratio if ratio <= 0.5 => format!("{} times less", digits(1.0 / ratio.max(1e-9))),
        ratio if ratio < 1.0 => format!("{:.0}% less", (1.0 - ratio) * 100.0),
        ratio if ratio < 2.0 => format!("{:.0}% more", (ratio - 1.0) * 100.0),
        ratio => format!("{} times more", digits(ratio)),
    }
}

fn outputs(comparison: &Comparison) -> String {
    let runs = match &comparison.after.repeats {
        Some(repeats) if repeats.runs > 1 => format!("Medians of {} runs of each. ", repeats.runs),
        _ => String::new(),
    };
    runs + &match &comparison.outputs {
        Outputs::Same { bytes, files, unsteady_files } => {
            let printed = match bytes {
                0 => "nothing on standard output".to_owned(),
                bytes => format!("the same {}", units::bytes(*bytes)),
            };
            format!(
                "Both print {printed} and the same messages, and end alike{}.",
                left(*files, unsteady_files)
            )
        }
        Outputs::Different { .. } => "Their times are shown all the same.".to_owned(),
        Outputs::Unsteady => {
            "BEFORE does not print the same twice, so the outputs cannot be compared.".to_owned()
        }
        Outputs::NotCompared => "Their outputs were not compared.".to_owned(),
    }
}

/// Says how the files that both wrote compare.
fn left(files: Option<u64>, unsteady: &[String]) -> String {
    let files = match files {
        None => return ". The files that they write were not compared: there are too many here".to_owned(),
        Some(0) if unsteady.is_empty() => {
            return ", and write no files in this folder (hidden files are not compared)".to_owned();
        }
        Some(0) => String::new(),
        Some(1) => ", and write one file in this folder, with the same bytes".to_owned(),
        Some(files) => format!(", and write {files} files in this folder, with the same bytes"),
    };
    match unsteady {
        [] => files,
        [name] => {
            format!("{files}; `{name}` was not compared: it is not the same after each run of one text")
        }
        [name, more @ ..] => {
            let more = more.len();
            format!(
                "{files}; `{name}` and {more} more were not compared: they are not the same after each run of one text"
            )
        }
    }
}

/// Renders how costs grow. The text ends with a newline.
pub fn growths(growths: &[Growth], style: &Style) -> String {
    let mut lines = vec![];
    for (at, growth) in growths.iter().enumerate() {
        if at > 0 {
            lines.push(Pieces::default());
        }
        let room = style.width.unwrap_or(usize::MAX);
        let command = text::shorten(&text::printable(&growth.command, style.unicode), room, style.unicode);
        lines.push(Pieces::one(Role::Strong, command));
        lines.push(row(Role::Dim, "       input", ["real".into(), "user+sys".into()], COMMAND_MIN, style));
        lines.extend(growth.points.iter().map(|point| {
            let name = format!("{:>12}", units::bytes(point.bytes));
            let times = [point.real_ns, point.cpu_ns].map(units::short_time);
            row(Role::Plain, &name, times, COMMAND_MIN, style)
        }));
        let label = if style.unicode { "▶ " } else { "> " };
        lines.extend(paragraph(label, Role::Strong, &growth.headline).lines(style));
    }
    lines.iter().map(|line| line.line(style.color)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use pelton_record::{GrowthPoint, Judgement, RECORD_VERSION};

    fn change(before_ms: u64, after_ms: u64, direction: Direction) -> Change {
        let ratio = after_ms as f64 / before_ms as f64;
        Change {
            before_ns: before_ms * 1_000_000,
            after_ns: after_ms * 1_000_000,
            ratio,
            low: ratio * 0.97,
            high: ratio * 1.04,
            confidence: 0.978,
            direction,
        }
    }

    fn sample(kind: JudgementKind, outputs: Outputs) -> Comparison {
        Comparison {
            record_version: RECORD_VERSION,
            results: vec![],
            judgement: Judgement { kind, headline: "helped: real and user+sys fell".into() },
            real: change(4774, 1200, Direction::Fell),
            cpu: change(5016, 4200, Direction::Fell),
            outputs,
            before: samples::simple(),
            after: samples::long(),
            notes: vec!["standard input was a pipe".into()],
        }
    }

    #[test]
    fn looks_like_this() {
        let shown = sample(
            JudgementKind::Helped,
            Outputs::Same { bytes: 1_234_567, files: Some(3), unsteady_files: vec!["log".into()] },
        );
        let styles = [samples::wide(60), samples::wide(100), Style { unicode: false, ..samples::wide(80) }];
        let sheets: String = styles.iter().map(|style| format!("{}\n", comparison(&shown, style))).collect();
        samples::check("comparison", &sheets);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let shown = sample(JudgementKind::Helped, Outputs::Unsteady);
        for width in [40, 60, 80] {
            let text = comparison(&shown, &samples::wide(width));
            assert!(text.lines().all(|line| text::width(line) <= width), "{text}");
        }
    }

    #[test]
    fn growth_looks_like_this() {
        let points =
            [0, 1 << 20, 1 << 23].map(|bytes| GrowthPoint { bytes, real_ns: 5 * bytes + 9, cpu_ns: bytes });
        let headline = "user+sys grow as the input does (size to the power of 1.02)".to_owned();
        let growth =
            Growth { command: "sort | uniq".into(), points: points.to_vec(), exponent: Some(1.02), headline };
        samples::check("growth", &growths(&[growth.clone(), growth], &samples::wide(80)));
    }
}
