//! B3: an elastic buffer lets a producer keep its pace, and a child cannot deadlock.

use serde_json::Value as Json;

use super::{parents, speakers};
use crate::Experiment;
use crate::finding::{Finding, bytes, seconds};
use crate::lab::{Lab, capture, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use pelton_bench::shell_and_run::digest;
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "B3",
    title: "The cure",
    published: "Wanted: an elastic buffer (memory, then disk) that keeps a producer going at its own pace, and a way to run a child that cannot deadlock.",
    shapes: &[&PACE, &HELD, &DISK, &NO_LOSS, &ALIVE],
    lesson: "What a slow reader has not taken must lie somewhere, and a pipe is too small: a buffer as a stage between lets the writer finish. A child \
             behind such a buffer ends however late its parent reads.",
    run,
};

const PACE: Shape =
    Shape::timing("with pelton buffer between: the writer's real time, of alone", Bound::AtMost(1.25));
const HELD: Shape = Shape::exact("bytes held at most: more than a pipe's", Bound::AtLeast(65_537.0));
const DISK: Shape =
    Shape::exact("with 64 kB of memory allowed: bytes held on disk at most", Bound::AtLeast(1.0));
const NO_LOSS: Shape =
    Shape::exact("what comes out is what went in, through memory and through disk", Bound::All);
const ALIVE: Shape =
    Shape::exact("parents that wait before they read: end, with all 200,000 bytes", Bound::All);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    pace(lab, finding)?;
    spill(lab, finding)?;
    alive(lab, finding)
}

/// Runs B1's stall with a buffer in the middle.
fn pace(lab: &Lab, finding: &mut Finding) -> Outcome {
    let (lines, gap, reader_gap) = lab.size(("25", "0.1", "0.5"), ("20", "0.02", "0.15"));
    let pelton = lab.pelton.display();
    let mut ratios = Vec::new();
    let mut least = f64::INFINITY;
    for (language, speaker) in speakers(lab, finding)? {
        let talk = format!("{speaker} talk 40000 {lines} {gap}");
        let alone = lab.record(&[], &[&format!("{talk} | cat > out")])?;
        let through = format!("{talk} | {pelton} buffer --json -o held.json | {speaker} listen {reader_gap}");
        let through = lab.record(&["--timeline"], &[&through])?;
        let time = |record: &Json| number(record, "/pipelines/0/stages/0/cost/wall_ns") / 1e9;
        ratios.push(time(&through) / time(&alone));
        let held: Json = serde_json::from_slice(&std::fs::read(lab.path("held.json"))?)?;
        let peak = number(&held, "/streams/0/held_peak_bytes");
        least = least.min(peak);
        finding.row(
            &format!("{language}, 40,000-byte lines"),
            "at its own pace",
            &format!("alone {}", seconds(time(&alone))),
            &format!("{}, {} held at most", seconds(time(&through)), bytes(peak)),
        );
        if language == "Python" {
            finding.plot(plots::stages(
                "Python, with pelton buffer in the middle: the writer ends, the reader goes on",
                &through["pipelines"][0],
            ));
        }
    }
    finding.judge(&PACE, &ratios, || "a busy machine makes sleeps longer".to_owned());
    finding.figure(&HELD, least, || "the reader kept up".to_owned());
    Ok(())
}

/// Buffers in memory, and in an unnamed file.
fn spill(lab: &Lab, finding: &mut Finding) -> Outcome {
    let mut whole = 0;
    for (memory, name) in [("64M", "memory.json"), ("64K", "disk.json")] {
        let text = format!(
            "seq 500000 | tee in | \"$0\" buffer --memory {memory} --json -o {name} | {{ sleep 0.5; cat > out; }}"
        );
        capture(&mut lab.other("bash", ["-c".as_ref(), text.as_ref(), lab.pelton.as_os_str()]))?;
        whole += usize::from(digest(&lab.path("in"))? == digest(&lab.path("out"))?);
    }
    finding.count(&NO_LOSS, whole, 2, || "bytes differ".to_owned());
    let held: Json = serde_json::from_slice(&std::fs::read(lab.path("disk.json"))?)?;
    let disk = number(&held, "/disk_peak_bytes");
    finding.figure(&DISK, disk, || held.to_string());
    finding.row(
        "64 kB of memory, then disk",
        "memory, then disk",
        "",
        &format!("{} on disk at most", bytes(disk)),
    );
    Ok(())
}

/// Runs B2's parents with a buffer after the child.
fn alive(lab: &Lab, finding: &mut Finding) -> Outcome {
    let parents = parents(lab, finding)?;
    let pelton = lab.pelton.to_string_lossy();
    let mut ended = 0;
    for (language, words) in &parents {
        let child = ["wait", &pelton, "buffer", "--detach", "--", "head", "-c", "200000", "/dev/zero"];
        let rest = words[1..].iter().map(String::as_str).chain(child);
        // A deadlock must not hang the test.
        let limited = ["60", &words[0]].into_iter().chain(rest);
        let out = capture(&mut lab.other("timeout", limited))?;
        ended += usize::from(out.text().starts_with("200000 bytes after the end, status 0"));
        finding.row(
            &format!("{language} waits, then reads"),
            "cannot deadlock",
            "hangs for ever (B2)",
            out.text().trim(),
        );
    }
    finding.count(&ALIVE, ended, parents.len(), || "one did not end".to_owned());
    Ok(())
}
