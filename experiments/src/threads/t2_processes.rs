//! T2: data-parallel work in processes, from a language with a global lock.

use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::{Lab, list};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, programs, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "T2",
    title: "Processes as simply as threads",
    published: "Data-parallel work in processes from a language with a global lock, as simply as its thread API.",
    shapes: &[&SAME, &TOLD, &THREADS, &POOL, &OURS],
    lesson: "A pool of processes costs one word more than a pool of threads, and uses the cores. A program that treats each line by itself needs not \
             even that: declare it, and pelton runs several of it over one input, in order.",
    run,
};

const SAME: Shape =
    Shape::exact("a loop, threads, processes, and pelton run --stateless print the same", Bound::All);
const TOLD: Shape = Shape::exact("pelton explain says that several of it may share the lines", Bound::All);
const THREADS: Shape = Shape::timing("real of a pool of threads, of a loop", Bound::AtLeast(0.95));
const POOL: Shape = Shape::timing("real of a pool of processes, of a loop", Bound::AtMost(0.75));
const OURS: Shape = Shape::timing("real of pelton run --stateless, of a loop", Bound::AtMost(0.75));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let Some(python) = programs::python() else {
        finding.lacks("Python");
        for shape in EXPERIMENT.shapes {
            finding.cannot(shape, "Python is not installed");
        }
        return Ok(());
    };
    lab.program("experiments/threads/pool.py")?;
    // Long lines, so that the input is more than pelton thinks too little to share.
    let numbers: String = (1..=lab.size(120_000, 6_000)).map(|number| format!("{number:040}\n")).collect();
    lab.write("numbers", numbers)?;
    let command = format!("{python} pool.py lines");
    let text = |how: &str| format!("{python} pool.py {how} < numbers > out");
    let ours = ["run", "--jobs", "2", "--stateless", &command, &text("lines")];
    let mut same = 0;
    lab.bash(&text("lines"))?;
    let expected = std::fs::read(lab.path("out"))?;
    for how in ["threads", "processes"] {
        lab.bash(&text(how))?;
        same += usize::from(std::fs::read(lab.path("out"))? == expected);
    }
    lab.capture(ours)?;
    same += usize::from(std::fs::read(lab.path("out"))? == expected);
    finding.count(&SAME, same, 3, || "an output differs".to_owned());
    // Uses a pipe: for a short file pelton says that sharing does not pay.
    let told = lab.json(["explain", "--json", "--stateless", &command, &format!("cat | {command} | cat")])?;
    let split =
        list(&told, "/pipelines/0/plan/decisions").iter().find(|one| one["name"] == "split-stateless");
    let split = split.map_or(&serde_json::Value::Null, |one| &one["outcome"]);
    finding.is(&TOLD, split["fired"].is_string(), || split.to_string());
    let samples = lab.contest_of(
        &[
            lab.shell("a loop", &text("lines")),
            lab.shell("a pool of threads", &text("threads")),
            lab.shell("a pool of processes", &text("processes")),
            lab.pelton("pelton run --stateless", ours),
        ],
        3,
    )?;
    let [single, threads, pool, pelton] = &samples[..] else { return Err("no samples".into()) };
    finding.row("a loop", "", &cost(single), &cost(pelton));
    finding.row("a pool of four threads", "", &cost(threads), "");
    finding.row("a pool of four processes", "as simply as threads", &cost(pool), "");
    let reason = || "the machine had no second core to spare, or the work was too short to share".to_owned();
    finding.judge(&THREADS, &real_ratios(threads, single), || {
        "one thread reads while the others compute".to_owned()
    });
    finding.judge(&POOL, &real_ratios(pool, single), reason);
    finding.judge(&OURS, &real_ratios(pelton, single), reason);
    finding.note(format!(
        "user+sys of pelton's way, of the loop's: {:.2}.",
        pelton_bench::stats::median(&cpu_ratios(pelton, single))
    ));
    finding.plot(plots::costs("Steps to 1 for each of many numbers, in Python", &samples));
    finding.samples(&samples);
    shown(lab, finding, &["explain", "--stateless", &command, &format!("cat | {command} | cat")])
}
