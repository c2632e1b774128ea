//! C2: the resources that a run used, beside those that getrusage(2) reports to a C program.

use serde_json::Value as Json;

use super::{big, copiers};
use crate::finding::{Finding, bytes};
use crate::lab::{Lab, capture, number};
use crate::shape::{Bound, Shape};
use crate::{Experiment, programs, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "C2",
    title: "What a run used",
    published: "Real, user, sys, peak memory, page reclaims, page faults, block input and output operations, voluntary and involuntary context switches, and \
                the rest of what getrusage(2) gives.",
    shapes: &[&FIELDS, &FAULTS, &MORE, &PEAK],
    lesson: "Time alone does not tell two copies apart: one takes memory and page faults where the other takes system calls. The kernel counts all of it \
             for every process anyway; it only has to be asked.",
    run,
};

const FIELDS: Shape =
    Shape::exact("all that getrusage gives is in the record, none of it unknown", Bound::All);
const FAULTS: Shape = Shape::exact(
    "mapped copy: page reclaims as pelton tells them, of what getrusage tells",
    Bound::Within(0.9, 1.1),
);
const MORE: Shape = Shape::exact("mapped copy: page reclaims, of the character loop's", Bound::AtLeast(2.0));
const PEAK: Shape = Shape::exact("mapped copy: peak memory, of the file's size", Bound::Within(1.5, 4.0));

const KEYS: [&str; 9] = [
    "user_ns",
    "sys_ns",
    "peak_rss_bytes",
    "minor_faults",
    "major_faults",
    "block_inputs",
    "block_outputs",
    "voluntary_switches",
    "involuntary_switches",
];
/// Fields that Linux has in the structure but does not maintain.
const UNMAINTAINED: usize = 7;

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let size = big(lab)? as f64;
    let usage = programs::c(lab, "experiments/copying/usage.c")?;
    let Some(([characters, mapped], usage)) = copiers(lab, finding)?.zip(usage) else {
        for shape in EXPERIMENT.shapes {
            finding.cannot(shape, "there is no C compiler");
        }
        return Ok(());
    };
    let (characters, mapped) = (characters.to_string_lossy(), mapped.to_string_lossy());
    let mapped_words = [&*mapped, "memcpy", "big", "copy"];
    let ours = cost(lab, &mapped_words)?;
    let told = capture(&mut lab.other(&usage, mapped_words))?.text();
    let theirs = |key: &str| {
        told.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<f64>().ok()).unwrap_or(f64::NAN)
    };
    for key in KEYS {
        finding.row(
            key,
            "",
            &format!("getrusage: {}", theirs(key)),
            &number(&ours, &format!("/{key}")).to_string(),
        );
    }
    let known = KEYS.iter().filter(|key| ours[**key].is_number()).count();
    let rest = ours["unmaintained"]
        .as_object()
        .map_or(0, |rest| rest.values().filter(|value| value.is_number()).count());
    finding.count(&FIELDS, known + rest, KEYS.len() + UNMAINTAINED, || ours.to_string());
    let faults = number(&ours, "/minor_faults");
    finding.figure(&FAULTS, faults / theirs("minor_faults"), || told.clone());
    let plain = cost(lab, &[&characters, "big", "copy"])?;
    finding.figure(&MORE, faults / number(&plain, "/minor_faults"), || plain.to_string());
    let peak = number(&ours, "/peak_rss_bytes");
    finding.figure(&PEAK, peak / size, || bytes(peak));
    finding.row(
        "character loop: page reclaims, peak memory",
        "",
        "",
        &format!("{}, {}", plain["minor_faults"], bytes(number(&plain, "/peak_rss_bytes"))),
    );
    shown(lab, finding, &["time", "--all", "cp", "big", "copy"])
}

fn cost(lab: &Lab, words: &[&str]) -> Outcome<Json> {
    Ok(lab.record(&["--outside"], words)?["pipelines"][0]["stages"][0]["cost"].clone())
}
