//! F2: a bound on tasks at which no task waits.

use crate::Experiment;
use crate::finding::{Finding, bytes};
use crate::lab::{Lab, capture, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;

use super::{plant, statistics};

pub const EXPERIMENT: Experiment = Experiment {
    id: "F2",
    title: "A bound that does not block",
    published: "A free slot: a new task; none: carry on in this task. By default no slots on one core, else four per core.",
    shapes: &[&NONE, &DEFAULT, &ONE_CORE, &EVERY, &FEWER],
    lesson: "To bound the number of tasks, do not wait for a slot: do the work yourself. Nobody then blocks, memory stays small, and as many tasks are \
             made as there are hands for them.",
    run,
};

const NONE: Shape = Shape::exact("no slots and one thread: tasks made", Bound::AtMost(0.0));
const DEFAULT: Shape = Shape::exact("slots by default, per core", Bound::Within(4.0, 4.0));
const ONE_CORE: Shape = Shape::exact("slots by default on one core", Bound::AtMost(0.0));
const EVERY: Shape = Shape::exact("every bound: the directories read are those of the tree", Bound::All);
const FEWER: Shape =
    Shape::exact("semaphore: tasks made, of those of a task per directory", Bound::AtMost(0.9));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let directories = plant(lab)?;
    let mut all = 0;
    let mut groups = Vec::new();
    let every = statistics(lab, &["--jobs", "2", "--walk", "per-directory"], "absent")?;
    let slots = ["0", "1", "2", "4", "8", "16", "64"];
    for count in slots {
        let found = statistics(lab, &["--jobs", "2", "--walk", "semaphore", "--slots", count], "absent")?;
        all += usize::from(number(&found, "/directories") as usize == directories + 1);
        let (made, real) = (number(&found, "/tasks_made"), number(&found, "/wall_ns") / 1e6);
        finding.row(
            &format!("{count} slots"),
            "",
            "",
            &format!("{made} tasks made, {real:.1} ms, {}", bytes(number(&found, "/peak_rss_bytes"))),
        );
        groups.push((format!("{count} slots"), vec![real]));
    }
    finding.row(
        "a task per directory",
        "",
        "",
        &format!(
            "{} tasks made, {:.1} ms, {}",
            number(&every, "/tasks_made"),
            number(&every, "/wall_ns") / 1e6,
            bytes(number(&every, "/peak_rss_bytes"))
        ),
    );
    groups.push(("a task per directory".to_owned(), vec![number(&every, "/wall_ns") / 1e6]));
    finding.plot(plots::bars("Real time by the number of slots, two threads", "ms", &["real"], &groups));
    finding.count(&EVERY, all, slots.len(), || "another number of directories".to_owned());
    let alone = statistics(lab, &["--jobs", "1", "--walk", "semaphore", "--slots", "0"], "absent")?;
    finding.figure(&NONE, number(&alone, "/tasks_made"), || "tasks were made without a slot".to_owned());
    let default = statistics(lab, &["--jobs", "2", "--walk", "semaphore"], "absent")?;
    finding.figure(&FEWER, number(&default, "/tasks_made") / number(&every, "/tasks_made"), || {
        "slots were free nearly always".to_owned()
    });
    defaults(lab, finding, number(&default, "/slots"))
}

/// Runs on all cores, and on one.
fn defaults(lab: &Lab, finding: &mut Finding, slots: f64) -> Outcome {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 1 {
        finding.figure(&DEFAULT, slots / cores as f64, || format!("{cores} cores"));
    } else {
        finding.cannot(&DEFAULT, "there is one core");
    }
    if !on_path("taskset") {
        finding.lacks("taskset");
        finding.cannot(&ONE_CORE, "taskset is not installed");
        return Ok(());
    }
    // Picks the first core that this process may use.
    let first = "taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')";
    let command = format!("{first} \"$0\" find --json --output one.json --walk semaphore tree -name absent");
    let pelton = lab.pelton.as_os_str();
    capture(&mut lab.other("bash", ["-c".as_ref(), command.as_ref(), pelton]))?;
    let one: serde_json::Value = serde_json::from_slice(&std::fs::read(lab.path("one.json"))?)?;
    finding.figure(&ONE_CORE, number(&one, "/slots"), || "slots on one core".to_owned());
    finding.row(
        "default",
        "4 per core; none on one core",
        "",
        &format!("{slots} on {cores} cores; {} on one", number(&one, "/slots")),
    );
    Ok(())
}
