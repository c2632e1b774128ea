//! The report as Markdown: tables, and pelton's output.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Entry, figure_words, group, items, machine, score_words, text, verdict};

/// Returns the whole page.
pub fn page(entries: &[Entry]) -> String {
    let mut out = String::from(
        "# Experiments\n\nEvery figure of the requirements, made again by `cargo xtask experiments`: what was published, what the shell (or the \
         original's language) gives on this machine, and what pelton gives. Seconds are the machine's; what is compared are ratios, \
         medians of runs that took turns, with the least and the most of them.\n\n\
         The same with pictures: [report.html](report.html). Raw samples: `results/ID.json`.\n\n\
         | | | shapes |\n| --- | --- | --- |\n",
    );
    for (experiment, record) in entries {
        let _ = writeln!(out, "| {} | {} | {} |", experiment.id, experiment.title, score_words(record));
    }
    let mut last = "";
    for (experiment, record) in entries {
        if group(experiment.id) != last {
            last = group(experiment.id);
            let _ = write!(out, "\n## {last}\n");
        }
        let _ = write!(out, "\n### {}: {}\n\n", experiment.id, experiment.title);
        match record {
            Some(record) => section(record, &mut out),
            None => out.push_str("Published: not run here.\n"),
        }
    }
    out
}

fn section(record: &Json, out: &mut String) {
    let _ = write!(out, "**Published.** {}\n\n", text(record, "published"));
    rows(record, out);
    shapes(record, out);
    for note in items(record, "notes") {
        let _ = write!(out, "{}\n\n", note.as_str().unwrap_or_default());
    }
    if !items(record, "missing").is_empty() {
        let names: Vec<&str> = items(record, "missing").iter().filter_map(Json::as_str).collect();
        let _ = write!(out, "Not installed: {}.\n\n", names.join(", "));
    }
    for shown in items(record, "shown") {
        let _ = write!(out, "```text\n$ {}\n{}\n```\n\n", text(shown, "command"), text(shown, "text"));
    }
    let _ = write!(out, "**Lesson.** {}\n\n", text(record, "lesson"));
    let _ = writeln!(out, "{} form, {} s, {}.", text(record, "form"), record["took_s"], machine(record));
}

fn rows(record: &Json, out: &mut String) {
    if items(record, "rows").is_empty() {
        return;
    }
    out.push_str("| | published | the shell here | pelton here |\n| --- | --- | --- | --- |\n");
    for row in items(record, "rows") {
        let cells = ["what", "published", "shell", "pelton"].map(|key| cell(text(row, key)));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn shapes(record: &Json, out: &mut String) {
    out.push_str("| expected shape | expected | here | |\n| --- | --- | --- | --- |\n");
    for shape in items(record, "shapes") {
        let mark = if shape["held"] == true { "held".to_owned() } else { format!("**{}**", verdict(shape)) };
        let reason =
            shape["reason"].as_str().filter(|reason| !reason.is_empty()).map(|reason| format!(": {reason}"));
        let cells = [
            text(shape, "claim"),
            text(shape, "expected"),
            &figure_words(shape),
            &(mark + &reason.unwrap_or_default()),
        ]
        .map(cell);
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
