//! C1: system calls by name, count, time and errors, beside strace if installed.

use serde_json::Value as Json;

use super::{BUFFER, big, copiers};
use crate::finding::{Finding, seconds};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;

pub const EXPERIMENT: Experiment = Experiment {
    id: "C1",
    title: "System calls",
    published: "A 100 MB file: 3,200 reads and 3,200 writes for a character loop, 28 calls in all for a mapped copy; by name, number, time and errors.",
    shapes: &[&READS, &WRITES, &MAPPED, &STRACE, &ERRORS],
    lesson: "What a copy costs is how often it enters the kernel and how often it touches each byte. Count the calls before guessing: a loop over \
             characters makes few of them, if its library buffers.",
    run,
};

const READS: Shape = Shape::exact(
    "character loop: reads beyond one per 32 KiB (the end of the file, the program's start)",
    Bound::Within(1.0, 8.0),
);
const WRITES: Shape = Shape::exact("character loop: writes, of one per 32 KiB", Bound::Within(1.0, 1.0));
const MAPPED: Shape = Shape::exact("mapped copy: calls in all", Bound::AtMost(60.0));
const STRACE: Shape = Shape::exact("reads and writes as strace counts them", Bound::All);
const ERRORS: Shape =
    Shape::exact("errors are counted: an open of a file that is not there", Bound::AtLeast(1.0));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let size = big(lab)?;
    let blocks = (size / BUFFER) as f64;
    let Some([characters, mapped]) = copiers(lab, finding)? else {
        for shape in EXPERIMENT.shapes {
            finding.cannot(shape, "there is no C compiler");
        }
        return Ok(());
    };
    let (characters, mapped) = (characters.to_string_lossy(), mapped.to_string_lossy());
    let mut groups = Vec::new();
    let mut all = Vec::new();
    let ways: [(&str, &str, Vec<&str>); 4] = [
        ("character loop", "3,200 reads, 3,200 writes", vec![&characters, "big", "copy"]),
        ("mapped, bytewise", "28 calls in all", vec![&mapped, "bytes", "big", "copy"]),
        ("mapped, memcpy", "28 calls in all", vec![&mapped, "memcpy", "big", "copy"]),
        ("cp", "", vec!["cp", "big", "copy"]),
    ];
    for (name, published, words) in &ways {
        let _ = std::fs::remove_file(lab.path("copy"));
        let record = lab.record(&["--syscalls"], words)?;
        let calls = record["pipelines"][0]["stages"][0]["syscalls"].clone();
        let strace = if on_path("strace") { by_strace(lab, words)? } else { Vec::new() };
        finding.row(name, published, &strace_words(&strace), &words_of(&calls));
        groups.push(((*name).to_owned(), vec![total(&calls)]));
        all.push((calls, strace));
    }
    finding.figure(&READS, times(&all[0].0, "read") - blocks, || words_of(&all[0].0));
    finding.figure(&WRITES, times(&all[0].0, "write") / blocks, || words_of(&all[0].0));
    finding.figure(&MAPPED, total(&all[2].0), || words_of(&all[2].0));
    compare(finding, &all);
    let missing = lab.record(&["--syscalls"], &["cat", "nosuch"])?;
    let rows = list(&missing, "/pipelines/0/stages/0/syscalls/rows");
    finding.figure(
        &ERRORS,
        rows.iter().filter(|row| row["name"] == "openat").map(|row| number(row, "/errors")).sum(),
        || format!("{rows:?}"),
    );
    finding.plot(plots::bars("System calls in all", "", &["calls"], &groups));
    shown(lab, finding, &["time", "--syscalls", "cp", "big", "copy"])
}

/// Compares both counts of reads and writes, for each way.
fn compare(finding: &mut Finding, all: &[(Json, Vec<(String, f64)>)]) {
    if !on_path("strace") {
        finding.lacks("strace");
        finding.cannot(&STRACE, "strace is not installed");
        return;
    }
    let count = |strace: &[(String, f64)], name: &str| {
        strace.iter().find(|(known, _)| known == name).map_or(0.0, |(_, count)| *count)
    };
    let pairs = all
        .iter()
        .flat_map(|(calls, strace)| ["read", "write"].map(|name| (times(calls, name), count(strace, name))));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let same = pairs.iter().filter(|(ours, theirs)| ours == theirs).count();
    finding.count(&STRACE, same, pairs.len(), || format!("pelton and strace: {pairs:?}"));
}

fn by_strace(lab: &Lab, words: &[&str]) -> Outcome<Vec<(String, f64)>> {
    let _ = std::fs::remove_file(lab.path("copy"));
    let options = ["-f", "-c", "-U", "calls,name", "-o", "calls"];
    crate::lab::capture(&mut lab.other("strace", [&options[..], words].concat()))?;
    let table = std::fs::read_to_string(lab.path("calls"))?;
    let row = |line: &str| {
        let (count, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), count.parse().ok()?))
    };
    Ok(table.lines().filter_map(row).filter(|(name, _)| name != "total").collect())
}

fn strace_words(calls: &[(String, f64)]) -> String {
    let of = |name: &str| calls.iter().find(|(known, _)| known == name).map_or(0.0, |(_, count)| *count);
    if calls.is_empty() {
        return String::new();
    }
    format!(
        "strace: {} reads, {} writes, {} calls",
        of("read"),
        of("write"),
        calls.iter().map(|(_, count)| count).sum::<f64>()
    )
}

fn words_of(calls: &Json) -> String {
    let spent: f64 =
        list(calls, "/rows").iter().map(|row| number(row, "/time_ns")).filter(|ns| ns.is_finite()).sum();
    format!(
        "{} reads, {} writes, {} calls, {} in them",
        times(calls, "read"),
        times(calls, "write"),
        total(calls),
        seconds(spent / 1e9)
    )
}

fn times(calls: &Json, name: &str) -> f64 {
    list(calls, "/rows")
        .iter()
        .filter(|row| row["name"] == name)
        .fold(0.0, |sum, row| sum + number(row, "/calls"))
}

fn total(calls: &Json) -> f64 {
    list(calls, "/rows").iter().fold(0.0, |sum, row| sum + number(row, "/calls"))
}
