//! `pelton compare --baseline`: the runs of an earlier record, and as many of today.

use super::hidden_output::with_hidden_output;
use super::{end, few_runs, interrupted, resolve};
use crate::args::CompareArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::{self, When};
use crate::time::{Input, measure};
use pelton_record::{Machine, Outputs, RECORD_VERSION, Run};
use pelton_run::{Compared, Environment, Options};
use std::ffi::OsStr;
use std::path::Path;

/// Per cent below which a change is none: machines of different days differ by some.
pub const THRESHOLD: f64 = 10.0;

/// Measures the text of the record, or another one, and compares.
///
/// # Errors
/// A file that is no such record; those of measuring.
pub fn run(
    args: &CompareArgs,
    file: &Path,
    environment: &Environment,
    color: When,
) -> Result<Ending, Failure> {
    let record = read(file)?;
    if record.repeats.is_none() {
        let name = file.display();
        return Err(Failure::new(format!("`{name}` holds a single run, which tells no change from chance"))
            .with_help(advice(file)));
    }
    let before = pelton_run::each_run(&record);
    let text = args.before.as_deref().unwrap_or(OsStr::new(&record.text));
    let source = resolve(text, args, environment, color)?;
    let input = Input::hold()?;
    let mut after: Vec<Run> = Vec::new();
    let bar = terminal::progress(before.len() as u64 + 1, "run");
    // The first run warms caches.
    for at in 0..=before.len() {
        input.rewind()?;
        let measured = with_hidden_output(|| measure(&source, environment, Options::FAITHFULLY))?;
        if measured.interrupted {
            return Ok(interrupted());
        }
        bar.inc(1);
        after.extend((at > 0).then_some(measured.run));
    }
    bar.finish_and_clear();
    let notes = notes(file, &record, &after, input.note());
    let threshold = args.threshold.unwrap_or(THRESHOLD) / 100.0;
    let compared = Compared { before, after, warmup: 1, outputs: Outputs::NotCompared, notes, threshold };
    let comparison = pelton_run::compare(compared)
        .ok_or_else(|| Failure::new(format!("`{}` holds no run", file.display())))?;
    end(&comparison, args, color)
}

/// Reads a record.
pub fn read(file: &Path) -> Result<Run, Failure> {
    let name = file.display();
    let advice = advice(file);
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::io(format!("cannot read the record `{name}`"), &error).with_help(&advice)
    })?;
    if bytes.starts_with(b"<!doctype html>") {
        return Err(Failure::new(format!("`{name}` is a page, which holds only what it draws")).with_help(
            "the records of the runs: pelton time --timeline --json -o a.json 'sort FILE | uniq -c'",
        ));
    }
    let record: Run = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(format!("`{name}` is no record of `pelton time`: {error}")).with_help(&advice)
    })?;
    if record.record_version != RECORD_VERSION {
        return Err(Failure::new(format!(
            "`{name}` was written by pelton {}, in a form that this one does not read",
            record.pelton_version
        ))
        .with_help(advice));
    }
    Ok(record)
}

/// Returns how to write a record.
fn advice(file: &Path) -> String {
    format!("pelton time --runs 10 --json -o {} 'sort FILE | uniq -c'", file.display())
}

fn notes(file: &Path, record: &Run, after: &[Run], of_input: Option<String>) -> Vec<String> {
    let mut notes: Vec<String> = of_input.into_iter().collect();
    notes.push(format!("BEFORE is the record {}, of {} runs", file.display(), after.len()));
    if let Some(today) = after.first() {
        let what = |machine: &Machine| (machine.cpu.clone(), machine.cores, machine.arch.clone());
        if what(&record.machine) != what(&today.machine) {
            notes.push("it was made on another kind of machine: the times say little of the text".into());
        }
        if record.text != today.text {
            notes.push("its text is another one".into());
        }
    }
    notes.extend(few_runs(after.len()));
    let failed = after.iter().find(|run| run.exit_status != record.exit_status);
    notes.extend(failed.map(|run| {
        format!("it ended with status {} then, and with {} now", record.exit_status, run.exit_status)
    }));
    notes
}
