//! `pelton compare a.json b.json`: two records that were written earlier; nothing is run.

use super::baseline::read;
use super::{end, few_runs, page};
use crate::args::CompareArgs;
use crate::ending::Ending;
use crate::failure::Failure;
use crate::terminal::When;
use pelton_record::{Machine, Outputs, Run};
use pelton_run::{Compared, Environment};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether both are the names of files that hold records.
///
/// # Errors
/// If one is, and the other is no file at all: then it is hardly a shell text.
pub fn are_records(before: &OsStr, after: Option<&OsStr>) -> Result<bool, Failure> {
    let Some(after) = after else { return Ok(false) };
    let [one, other] = [before, after].map(|text| is_record(Path::new(text)));
    if one == other {
        return Ok(one);
    }
    let stray = if one { after } else { before };
    let is_word = !stray.to_string_lossy().contains(char::is_whitespace);
    let runs = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if is_word && !runs(Path::new(stray)) && !is_program(stray) {
        let record = if one { before } else { after };
        let (stray, record) = (stray.display(), record.display());
        let failure = Failure::new(format!("`{stray}` is no record of `pelton time`, as `{record}` is"));
        return Err(failure.with_help("two records, or two shell texts"));
    }
    Ok(false)
}

/// Whether the shell would find a program of this name.
fn is_program(name: &OsStr) -> bool {
    pelton_run::find_program(name.as_bytes(), &Environment::inherit()).is_some()
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
    text.starts_with('{') && text.contains("\"record_version\"")
        || text.starts_with("<!doctype html>") && text.contains("<title>pelton:")
}

/// Compares the records.
pub fn run(args: &CompareArgs, files: [&OsStr; 2], color: When) -> Result<Ending, Failure> {
    let [before, after] = [read(Path::new(files[0]))?, read(Path::new(files[1]))?];
    if let Some(page) = args.html.as_deref().filter(|page| files.iter().any(|file| Path::new(file) == *page))
    {
        return Err(Failure::new(format!("--html {} would replace a record", page.display()))
            .with_help("another name for the page"));
    }
    let [mut earlier, mut later] = [&before, &after].map(pelton_run::each_run);
    let pairs = earlier.len().min(later.len());
    if pairs == 1 {
        // A single run is compared with the medians of several.
        [earlier, later] = [&before, &after].map(|record| vec![Run { repeats: None, ..record.clone() }]);
    }
    earlier.truncate(pairs);
    later.truncate(pairs);
    let mut notes = notes(&before, &after, pairs);
    let is_drawn =
        |run: &Run| run.pipelines.iter().flat_map(|one| &one.stages).any(|stage| stage.timeline.is_some());
    if args.html.is_some() && !(is_drawn(&before) && is_drawn(&after)) {
        notes.push("a record without --timeline has no course to draw: pelton time --timeline --json -o a.json 'a | b'".into());
    }
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
        assert!(
            !is_beginning("{ echo hi; }")
                && !is_beginning("#!/bin/sh\nsort f")
                && !is_beginning("<!doctype html><title>x</title>")
        );
    }
}
