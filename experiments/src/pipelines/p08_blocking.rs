//! P8: stages that gather their input, and stages that stream: compares when lines are generated and when
//! they arrive.

use serde_json::Value as Json;

use crate::finding::{Finding, seconds};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P8",
    title: "Stages that block",
    published: "Five lines a second apart: without sort each arrives in its own second; with sort all arrive in the last. xargs gathers too; xargs -n 1 \
                streams, but starts a process per item.",
    shapes: &[&STREAMS, &BLOCKS, &GATHERS, &ONE_BY_ONE, &TOLD],
    lesson: "A stage that must see all of its input (sort, tac, xargs) ends the overlap: what follows it cannot begin before all that precedes it has \
             ended. Put such a stage as late as it may stand, behind whatever makes its input smaller.",
    run,
};

const STREAMS: Shape =
    Shape::exact("without sort: lines that arrived before the last was generated", Bound::AtLeast(4.0));
const BLOCKS: Shape =
    Shape::exact("with sort: lines that arrived before the last was generated", Bound::AtMost(0.0));
const GATHERS: Shape = Shape::exact("xargs: commands started for ten items", Bound::Within(1.0, 1.0));
const ONE_BY_ONE: Shape =
    Shape::exact("xargs -n 1: commands started for ten items", Bound::Within(10.0, 10.0));
const TOLD: Shape =
    Shape::exact("pelton explain says that sort waits for the end, and cat does not", Bound::All);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let gap = lab.size("1", "0.3");
    let lines = format!("for i in 5 4 3 2 1; do echo $i; sleep {gap}; done");
    let mut series = Vec::new();
    for (shape, stage) in [(&STREAMS, "cat"), (&BLOCKS, "sort")] {
        let text = format!("{lines} | {stage} | cat");
        let record = lab.record(&["--arrivals"], &[&text])?;
        let (made, came) = (times(&record, "generated"), times(&record, "arrived"));
        let last = made.last().copied().unwrap_or(f64::NAN);
        let early = came.iter().filter(|at| **at < last).count();
        finding.figure(shape, early as f64, || format!("generated at {made:?}, arrived at {came:?}"));
        let delays: Vec<String> =
            made.iter().zip(&came).map(|(made, came)| seconds((came - made).max(0.0))).collect();
        let published =
            if stage == "sort" { "all arrive in the last second" } else { "each arrives in its own second" };
        finding.row(
            &format!("through {stage}"),
            published,
            "not told",
            &format!("each line's delay: {}", delays.join(", ")),
        );
        series.push((format!("through {stage}"), made.into_iter().zip(came).collect()));
    }
    finding.plot(plots::dots(
        "Each line: generated at, arrived at",
        ("generated at (s)", "arrived at (s)"),
        &series,
    ));
    xargs(lab, finding)?;
    let plan = lab.json(["explain", "--json", "cat lines | sort | cat"])?;
    let blocks: Vec<bool> = list(&plan, "/pipelines/0/plan/stages")
        .iter()
        .map(|stage| stage["blocks_until_eof"] == true)
        .collect();
    finding.is(&TOLD, blocks == [false, true, false], || format!("{blocks:?}"));
    shown(lab, finding, &["time", "--arrivals", &format!("{lines} | sort | cat")])
}

/// Returns when each line came, in seconds since the start.
fn times(record: &Json, which: &str) -> Vec<f64> {
    let batch = |batch: &Json| {
        let lines = batch["lines"].as_u64().unwrap_or(0) as usize;
        std::iter::repeat_n(number(batch, "/at_ns") / 1e9, lines)
    };
    list(record, &format!("/arrivals/{which}")).iter().flat_map(batch).collect()
}

/// Counts the commands that xargs starts, from inside.
fn xargs(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.write("items", "a b c d e f g h i j\n")?;
    for (shape, option) in [(&GATHERS, ""), (&ONE_BY_ONE, "-n 1 ")] {
        lab.write("items.sh", format!("xargs {option}/bin/echo < items\n"))?;
        let record = lab.record(&[], &["sh", "items.sh"])?;
        let commands = list(&record, "/pipelines/0/stages/0/inside/commands");
        let echo = commands.iter().find(|command| command["name"] == "echo");
        let times = echo.map_or(f64::NAN, |echo| number(echo, "/times"));
        finding.figure(shape, times, || format!("{commands:?}"));
        finding.row(
            &format!("xargs {option}for ten items"),
            "",
            "not told",
            &format!("echo started {times}×, {} in all", seconds(number(&record, "/total/wall_ns") / 1e9)),
        );
    }
    Ok(())
}
