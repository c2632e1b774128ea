//! B1: a child that is faster than its reader, with long lines and with short ones.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::speakers;
use crate::finding::{Finding, seconds};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "B1",
    title: "The stall",
    published: "A child that prints 40,000 bytes a second into a pipe whose reader takes a line every 5 seconds runs 5 times slower than alone, once 65,536 \
                bytes are full; with 1,000-byte lines it does not.",
    shapes: &[&LONG, &SHORT, &FULL, &NEVER, &DOCTOR],
    lesson: "A pipe holds 64 KiB, whatever the lines are: within that a writer keeps its own pace, beyond it has its reader's. Who waits for whom \
             shows in the pipe: full, the reader is slower; empty, the writer is.",
    run,
};

const LONG: Shape = Shape::timing("40,000-byte lines: the writer's real time, of alone", Bound::AtLeast(3.0));
const SHORT: Shape = Shape::timing("1,000-byte lines: the writer's real time, of alone", Bound::AtMost(1.25));
const FULL: Shape = Shape::exact(
    "40,000-byte lines: the share of time in which the pipe was full (the least of all languages)",
    Bound::AtLeast(0.3),
);
const NEVER: Shape = Shape::exact("1,000-byte lines: the same (the most)", Bound::AtMost(0.0));
const DOCTOR: Shape = Shape::exact("pelton doctor, while it stalls: slow, for a full pipe", Bound::All);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let (lines, gap, reader_gap) = lab.size(("25", "0.1", "0.5"), ("12", "0.03", "0.15"));
    let (mut long, mut short) = (Vec::new(), Vec::new());
    let (mut full, mut never) = (f64::INFINITY, 0.0_f64);
    for (language, speaker) in speakers(lab, finding)? {
        let talk = |size: &str| format!("{speaker} talk {size} {lines} {gap}");
        let alone = lab.record(&[], &[&format!("{} | cat > out", talk("40000"))])?;
        let piped = |size: &str| {
            lab.record(&["--timeline"], &[&format!("{} | {speaker} listen {reader_gap}", talk(size))])
        };
        let (big, small) = (piped("40000")?, piped("1000")?);
        let time = |record: &Json| number(record, "/pipelines/0/stages/0/cost/wall_ns") / 1e9;
        long.push(time(&big) / time(&alone));
        short.push(time(&small) / time(&alone));
        let share = |record: &Json| number(record, "/pipelines/0/pipes/0/full_share");
        full = full.min(share(&big));
        never = never.max(share(&small));
        let row = |record: &Json| {
            format!("{}, {:.0}% of the time full", seconds(time(record)), share(record) * 100.0)
        };
        finding.row(&format!("{language}, alone"), "", &seconds(time(&alone)), "");
        finding.row(
            &format!("{language}, 40,000-byte lines"),
            "5 times slower than alone",
            &seconds(time(&big)),
            &row(&big),
        );
        finding.row(
            &format!("{language}, 1,000-byte lines"),
            "as fast as alone",
            &seconds(time(&small)),
            &row(&small),
        );
        if language == "Python" {
            finding
                .plot(plots::stages("Python, 40,000-byte lines: who waits for whom", &big["pipelines"][0]));
            finding.plot(fill(&big));
        }
    }
    let reason =
        || format!("{lines} lines only: two of them fit into the pipe, and the programs' starts count");
    finding.judge(&LONG, &long, reason);
    finding.judge(&SHORT, &short, || "a busy machine makes sleeps longer".to_owned());
    finding.figure(&FULL, full, reason);
    finding.figure(&NEVER, never, || "the lines do not all fit".to_owned());
    doctor(lab, finding)
}

/// Returns the bytes in the pipe over time.
fn fill(record: &Json) -> Json {
    let point = |at: &Json| (number(at, "/start_ns") / 1e9, number(at, "/bytes") / 1e3);
    let points = list(record, "/pipelines/0/pipes/0/over_time").iter().map(point).collect();
    plots::dots(
        "Bytes in the pipe",
        ("seconds", "kB in the pipe"),
        &[("40,000-byte lines".to_owned(), points)],
    )
}

/// Diagnoses the same stall from outside while it lasts, with bash on both sides.
fn doctor(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.program("experiments/buffers/pace.sh")?;
    let text = "bash pace.sh talk 40000 100 0.05 | bash pace.sh listen 1";
    let running = lab.start(&mut lab.other("bash", ["-c", text]))?;
    let begin = Instant::now();
    let slow = loop {
        let said = lab.json(["doctor", "--json", &running.pid()])?;
        let kind = &said["findings"][0]["kind"];
        if said["health"] == "slow" && kind == "slow_reader" || begin.elapsed() > Duration::from_secs(30) {
            break said["health"] == "slow";
        }
    };
    finding.is(&DOCTOR, slow, || "another verdict".to_owned());
    shown(lab, finding, &["doctor", &running.pid()])
}
