//! `pelton compare a.json b.json`: two records that were written earlier; nothing is run.

use super::baseline::read;
use super::{end, few_runs, page};
use crate::args::CompareArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::When;
use pelton_record::{Machine, Outputs, Run};
use pelton_run::Compared;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

/// Whether both are the names of files that hold records: no shell text is a file that begins so.
pub fn are_records(before: &OsStr, after: Option<&OsStr>) -> bool {
    after.is_some_and(|after| is_record(Path::new(before)) && is_record(Path::new(after)))
}

fn is_record(path: &Path) -> bool {
    let read = || {
        let mut first = Vec::new();
        std::fs::File::open(path).ok()?.take(FIRST_BYTES).read_to_end(&mut first).ok()?;
        Some(first)
    };
    path.is_file() && read().is_some_and(|first| is_beginning(&String::from_utf8_lossy(&first)))
}

/// So many bytes tell a record or a page from other files.
const FIRST_BYTES: u64 = 512;

fn is_beginning(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{') || text.starts_with("<!doctype html>") && text.contains("<title>pelton:")
}

/// Compares the records.
pub fn run(args: &CompareArgs, files: [&OsStr; 2], color: When) -> Result<Ending, Failure> {
    let [before, after] = [read(Path::new(files[0]))?, read(Path::new(files[1]))?];
    let [mut earlier, mut later] = [runs(&before), runs(&after)];
    let pairs = earlier.len().min(later.len());
    earlier.truncate(pairs);
    later.truncate(pairs);
    let notes = notes(&before, &after, pairs);
    let threshold = args.threshold.unwrap_or(super::baseline::THRESHOLD) / 100.0;
    let compared = Compared {
        before: earlier,
        after: later,
        warmup: 0,
        outputs: Outputs::NotCompared,
        notes,
        threshold,
    };
    let comparison = pelton_run::compare(compared).ok_or_else(|| Failure::new("a record holds no run"))?;
    if let Some(file) = &args.html {
        page(file, &comparison, &before, &after)?;
    }
    end(&comparison, args, color)
}

/// Returns the runs of a record.
fn runs(record: &Run) -> Vec<Run> {
    match record.repeats {
        Some(_) => pelton_run::each_run(record),
        None => vec![record.clone()],
    }
}

fn notes(before: &Run, after: &Run, pairs: usize) -> Vec<String> {
    // Of one run, the judgement says it.
    let mut notes: Vec<String> = few_runs(pairs).filter(|_| pairs > 1).into_iter().collect();
    let what = |machine: &Machine| (machine.host.clone(), machine.cpu.clone(), machine.cores);
    if what(&before.machine) != what(&after.machine) {
        notes.push("they were made on different machines: the times say little of the texts".into());
    }
    if before.exit_status != after.exit_status {
        let [before, after] = [before.exit_status, after.exit_status];
        notes.push(format!("BEFORE ended with status {before}, and AFTER with {after}"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_pages_are_no_shell_texts() {
        assert!(is_beginning("{\n  \"record_version\": 1"));
        assert!(is_beginning("<!doctype html>\n<html><title>pelton: a | b</title>"));
        assert!(!is_beginning("#!/bin/sh\nsort f") && !is_beginning("<!doctype html><title>x</title>"));
    }
}
