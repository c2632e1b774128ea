//! F4: the cost of a walk, and what each worker did when.

use crate::finding::{Finding, bytes, seconds};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;

use super::{WAYS, cpu, plant, spans, statistics};

pub const EXPERIMENT: Experiment = Experiment {
    id: "F4",
    title: "The walk's statistics",
    published: "Time, CPU, memory, tasks created, how evenly the cores were used; and a timeline per worker that shows tasks being made, running and blocked.",
    shapes: &[&SUM, &WORKERS, &FIGURES, &EVEN],
    lesson: "A parallel program that is slow is slow in a place that a total does not show: one worker works while the others wait. A line of time for \
             each worker shows at a glance whether the work was shared.",
    run,
};

const SUM: Shape = Shape::exact("each way: the directories of all workers are those of the tree", Bound::All);
const WORKERS: Shape = Shape::exact("each way: a timeline for each worker", Bound::All);
const FIGURES: Shape = Shape::exact("each way: time, CPU, memory, tasks and evenness are told", Bound::All);
const EVEN: Shape =
    Shape::timing("stealing: how evenly two workers were used, 1 at best", Bound::AtLeast(0.7));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let directories = plant(lab)?;
    let (mut sum, mut workers, mut figures) = (0, 0, 0);
    for way in WAYS {
        let found = statistics(lab, &["--jobs", "2", "--walk", way], "absent")?;
        let all = list(&found, "/workers");
        let read: f64 = all.iter().map(|worker| number(worker, "/directories")).sum();
        sum += usize::from(read as usize == directories + 1);
        workers += usize::from(!all.is_empty() && all.iter().all(|worker| list(worker, "/events").len() > 1));
        let told = ["wall_ns", "user_ns", "sys_ns", "peak_rss_bytes", "tasks_made", "evenness"];
        figures += usize::from(told.iter().all(|key| found[key].is_number()));
        let even = number(&found, "/evenness");
        let real = number(&found, "/wall_ns") / 1e9;
        finding.row(
            way,
            "",
            "not told",
            &format!(
                "{} real, {} CPU, {}, {} tasks made, {:.0}% even",
                seconds(real),
                seconds(cpu(&found)),
                bytes(number(&found, "/peak_rss_bytes")),
                number(&found, "/tasks_made"),
                even * 100.0
            ),
        );
        let lanes: Vec<_> =
            all.iter().map(|worker| (format!("worker {}", worker["worker"]), spans(worker, real))).collect();
        finding.plot(plots::timeline(&format!("{way}: what each worker did when"), &lanes));
        if way == "stealing" {
            finding.figure(&EVEN, even, || "another process had one of the cores".to_owned());
        }
    }
    finding.count(&SUM, sum, WAYS.len(), || "another number of directories".to_owned());
    finding.count(&WORKERS, workers, WAYS.len(), || "a worker without events".to_owned());
    finding.count(&FIGURES, figures, WAYS.len(), || "a figure is missing".to_owned());
    shown(lab, finding, &["find", "--stats", "--jobs", "2", "--unordered", "tree", "-name", "absent"])
}
