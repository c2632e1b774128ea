//! F3: the first match ends all tasks at once, and so does an error.

use crate::Experiment;
use crate::finding::{Finding, cost, real_ratios};
use crate::lab::{Lab, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use workbench::Outcome;

use super::{WAYS, plant, statistics};

pub const EXPERIMENT: Experiment = Experiment {
    id: "F3",
    title: "The first match ends it",
    published: "The first match ends every task at once; so does an error, which is reported; nothing is left running. The work-stealing original lacked this.",
    shapes: &[&EARLY, &ONE, &ERROR, &SOON],
    lesson: "A search that runs in many tasks must end in all of them as soon as one has found it, or failed. Whatever goes on behind the answer is waste, \
             and may outlive the program that asked.",
    run,
};

const EARLY: Shape = Shape::exact(
    "directories read before a match near the start ended it, of all: the most of the five ways",
    Bound::AtMost(0.5),
);
const ONE: Shape = Shape::exact("each way prints one match, with status 0", Bound::All);
const ERROR: Shape = Shape::exact(
    "--stop-on-error: each way says what is wrong, with status 1, and reads none of the tree",
    Bound::All,
);
const SOON: Shape =
    Shape::timing("real of a first match near the start, of the whole walk", Bound::AtMost(0.3));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let directories = plant(lab)?;
    let (mut most, mut one, mut stopped) = (0.0_f64, 0, 0);
    for way in WAYS {
        let options = ["--jobs", "2", "--walk", way];
        let found = statistics(lab, &[&options[..], &["--first"]].concat(), "dir1")?;
        let read = number(&found, "/directories");
        most = most.max(read / (directories + 1) as f64);
        let words = [&["find", "--first"], &options[..], &["tree", "-name", "dir1"]].concat();
        let out = lab.capture(words)?;
        one += usize::from(out.text().lines().count() == 1 && out.status.code() == Some(0));
        let words = [
            &["find", "--stop-on-error", "--json", "--output", "find.json"],
            &options[..],
            &["missing", "tree", "-name", "absent"],
        ]
        .concat();
        let out = lab.capture(words)?;
        let after: serde_json::Value = serde_json::from_slice(&std::fs::read(lab.path("find.json"))?)?;
        let quiet = number(&after, "/directories") == 0.0;
        stopped += usize::from(out.status.code() == Some(1) && out.stderr.contains("missing") && quiet);
        finding.row(
            way,
            "ends every task at once",
            "",
            &format!("{read} of {} directories read", directories + 1),
        );
        if way == "stealing" {
            finding
                .show("pelton find --stop-on-error --walk stealing missing tree -name absent", &out.stderr);
        }
    }
    finding.figure(&EARLY, most, || "the match lay too deep".to_owned());
    finding.count(&ONE, one, WAYS.len(), || "another number of matches".to_owned());
    finding.count(&ERROR, stopped, WAYS.len(), || "it went on".to_owned());
    let samples = lab.contest(&[
        lab.shell("GNU find, all", "find tree -name absent"),
        lab.shell("GNU find -quit", "find tree -name dir1 -print -quit"),
        lab.pelton("pelton find, all", ["find", "tree", "-name", "absent"]),
        lab.pelton("pelton find --first", ["find", "--first", "tree", "-name", "dir1"]),
    ])?;
    finding.judge(&SOON, &real_ratios(&samples[3], &samples[2]), || "the tree is small".to_owned());
    finding.row("the whole tree", "", &cost(&samples[0]), &cost(&samples[2]));
    finding.row("the first match", "", &cost(&samples[1]), &cost(&samples[3]));
    finding.plot(plots::costs("The whole tree, and the first match", &samples));
    finding.samples(&samples);
    Ok(())
}
