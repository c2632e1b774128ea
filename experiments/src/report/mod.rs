//! The report: the published figures, those measured here, and whether the shape held. Made from the records
//! alone.

mod escape;
mod html;
mod markdown;
pub mod plots;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::Experiment;
use workbench::Outcome;

/// An experiment, and its record if it was run.
pub type Entry = (&'static Experiment, Option<Json>);

/// Writes the report in both forms.
pub fn write(dir: &Path, entries: &[Entry]) -> Outcome<Vec<PathBuf>> {
    let files = [("report.md", markdown::page(entries)), ("report.html", html::page(entries))];
    let mut written = Vec::new();
    for (name, text) in files {
        fs::write(dir.join(name), text)?;
        written.push(dir.join(name));
    }
    Ok(written)
}

/// Returns the group of an id.
fn group(id: &str) -> &'static str {
    match id.as_bytes()[0] {
        b'P' => "Pipelines of commands",
        b'F' => "Walking a tree in parallel",
        b'B' => "Pipe buffers",
        b'T' => "Threads and processes",
        _ => "Copying and system calls",
    }
}

/// Returns how many of a record's shapes held, how many there are, and how many could not be judged.
fn score(record: &Json) -> (usize, usize, usize) {
    let shapes = record["shapes"].as_array().map_or(&[][..], Vec::as_slice);
    let count = |held: Json| shapes.iter().filter(|shape| shape["held"] == held).count();
    (count(true.into()), shapes.len(), count(Json::Null))
}

/// Formats the score: `4 of 5 held`.
fn score_words(record: &Option<Json>) -> String {
    match record.as_ref().map(score) {
        None => "not run".to_owned(),
        Some((held, of, 0)) => format!("{held} of {of} held"),
        Some((held, of, open)) => format!("{held} of {of} held, {open} not judged"),
    }
}

/// Formats a shape's figure with its spread.
fn figure_words(shape: &Json) -> String {
    let figure: Vec<f64> = shape["figure"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|figure| figure.as_f64().unwrap_or(f64::NAN))
        .collect();
    match figure[..] {
        [hits, of] => format!("{hits} of {of}"),
        [figure, _, _, rounds] if rounds <= 1.0 => short(figure),
        [median, least, most, rounds] => {
            format!("{} ({}–{}, {rounds} rounds)", short(median), short(least), short(most))
        }
        _ => "no figure".to_owned(),
    }
}

fn short(figure: f64) -> String {
    if figure.fract() == 0.0 { format!("{figure}") } else { format!("{figure:.2}") }
}

/// Returns the verdict on a shape.
fn verdict(shape: &Json) -> &'static str {
    match shape["held"].as_bool() {
        Some(true) => "held",
        Some(false) => "did not hold",
        None => "not judged",
    }
}

fn text<'a>(json: &'a Json, key: &str) -> &'a str {
    json[key].as_str().unwrap_or_default()
}

fn items<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json[key].as_array().map_or(&[], Vec::as_slice)
}

/// Formats the facts about a record's machine in a line.
fn machine(record: &Json) -> String {
    let machine = &record["machine"];
    format!(
        "{}, {} cores, Linux {}, {}, commit {}, load {}",
        text(machine, "cpu"),
        machine["cores"],
        text(machine, "kernel"),
        text(machine, "date"),
        text(machine, "commit"),
        text(record, "load_after").split(' ').next().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_come_with_their_spread() {
        assert_eq!(figure_words(&json!({"figure": [0.684, 0.67, 0.7, 5]})), "0.68 (0.67–0.70, 5 rounds)");
        assert_eq!(figure_words(&json!({"figure": [65536.0, 65536.0, 65536.0, 1]})), "65536");
        assert_eq!(figure_words(&json!({"figure": [3.0, 3.0]})), "3 of 3");
        assert_eq!(figure_words(&json!({"figure": null})), "no figure");
    }

    #[test]
    fn an_experiment_that_was_not_run_is_in_the_report_all_the_same() {
        let entries: Vec<Entry> = super::super::all().map(|one| (one, None)).collect();
        for page in [markdown::page(&entries), html::page(&entries)] {
            for (experiment, _) in &entries {
                assert!(
                    page.contains(&format!("{}: {}", experiment.id, experiment.title)),
                    "{}",
                    experiment.id
                );
            }
            assert!(page.contains("not run"));
        }
    }
}
