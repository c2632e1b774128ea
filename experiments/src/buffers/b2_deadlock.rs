//! B2: a parent that waits for its child's exit without reading its output is diagnosed while it hangs, and
//! told apart from a parent that only reads slowly.

use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::parents;
use crate::Experiment;
use crate::finding::{Finding, seconds};
use crate::lab::{Lab, list, number, text};
use crate::shape::{Bound, Shape};
use workbench::Outcome;
use workbench::running::Running;

pub const EXPERIMENT: Experiment = Experiment {
    id: "B2",
    title: "The deadlock",
    published: "A parent that waits for its child's exit without reading its output deadlocks with it, once the child has filled the pipe's \
                65,536 bytes.",
    shapes: &[&DEAD, &NAMED, &FULL, &SLOW],
    lesson: "Whoever starts a child with a pipe must read the pipe before waiting for the child: neither of the two can go on otherwise, and no \
             tool that looks at one process alone can tell. pelton doctor follows who waits for whom, names both and the pipe, and says \
             'slow', not 'dead', of a reader that merely takes its time.",
    run,
};

const DEAD: Shape =
    Shape::exact("pelton doctor calls the parent that does not read dead, with status 1", Bound::All);
const NAMED: Shape = Shape::exact("it names parent and child, and the parent's descriptor", Bound::All);
const FULL: Shape = Shape::exact("it knows the pipe to be full: bytes in it", Bound::AtLeast(65_536.0));
const SLOW: Shape = Shape::exact("it calls the parent that reads slowly slow, with status 0", Bound::All);

/// A child that prints more than a pipe holds.
const CHILD: [&str; 4] = ["head", "-c", "200000", "/dev/zero"];
/// How long to wait for a verdict on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let parents = parents(lab, finding)?;
    let (mut dead, mut named, mut slow, mut least) = (0, 0, 0, f64::INFINITY);
    for (language, words) in &parents {
        let parent = start(lab, words, "wait")?;
        let diagnosis = ask(lab, &parent, "dead")?;
        dead += usize::from(diagnosis["health"] == "dead" && diagnosis["status"] == 1);
        named += usize::from(names_both(&diagnosis));
        let fill = number(waits_for_room(&diagnosis), "/fill_bytes");
        least = least.min(fill);
        let headline = format!("dead, said in {}", seconds(number(&diagnosis, "/wall_ns") / 1e9));
        finding.row(
            &format!("{language} does not read"),
            "hangs for ever",
            &format!("hangs, {fill} bytes in the pipe"),
            &headline,
        );
        if dead == 1 && *language == "Python" {
            finding.show("pelton doctor PID", &lab.capture(["doctor", &parent.pid()])?.text());
        }
        let parent = start(lab, words, "slow")?;
        let diagnosis = ask(lab, &parent, "slow")?;
        slow += usize::from(diagnosis["health"] == "slow" && diagnosis["status"] == 0);
        finding.row(&format!("{language} reads slowly"), "", "goes on", text(&diagnosis, "/health"));
    }
    let verdicts = || "another verdict".to_owned();
    finding.count(&DEAD, dead, parents.len(), verdicts);
    finding.count(&NAMED, named, parents.len(), verdicts);
    finding.figure(&FULL, least, verdicts);
    finding.count(&SLOW, slow, parents.len(), verdicts);
    Ok(())
}

fn start(lab: &Lab, words: &[String], how: &str) -> Outcome<Running> {
    let rest = words[1..].iter().map(String::as_str).chain([how]).chain(CHILD);
    lab.start(&mut lab.other(&words[0], rest))
}

/// Returns the diagnosis, with doctor's exit status: the first expected one, or the last one if none is.
fn ask(lab: &Lab, parent: &Running, expected: &str) -> Outcome<Json> {
    let begin = Instant::now();
    loop {
        let out = lab.capture(["doctor", "--json", &parent.pid()])?;
        let mut diagnosis: Json = serde_json::from_slice(&out.stdout).map_err(|_| out.stderr)?;
        diagnosis["status"] = out.status.code().into();
        if diagnosis["health"] == expected || begin.elapsed() > PATIENCE {
            return Ok(diagnosis);
        }
    }
}

/// Returns the wait of the process that is blocked on write.
fn waits_for_room(diagnosis: &Json) -> &Json {
    let waits = list(diagnosis, "/findings/0/waits");
    waits.iter().find(|wait| wait["what"] == "room").unwrap_or(&Json::Null)
}

fn names_both(diagnosis: &Json) -> bool {
    let room = waits_for_room(diagnosis);
    let by = &room["by"][0];
    let root_cause = list(diagnosis, "/findings/0/root_cause");
    root_cause.len() == 2
        && root_cause.contains(&room["pid"])
        && root_cause.contains(&by["pid"])
        && by["fd"].is_u64()
}
