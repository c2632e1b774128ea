//! P5: the same two stages under three awks: the bottleneck differs each time.

use serde_json::Value as Json;

use super::{JsonStages, awks, bottleneck, share_words, total_cpu};
use crate::finding::{Finding, seconds};
use crate::lab::{Lab, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P5",
    title: "It depends on the machine",
    published: "The same two-stage JSON parser is bound by its parser under nawk (tokenizer 63%, parser 100%), by its tokenizer under mawk (100% / 61%) \
                and gawk (100% / 48%). mawk took 2.4 s where nawk took 4.8 and gawk 6.4.",
    shapes: &[&NAWK, &MAWK, &GAWK, &FASTEST, &NAMED, &COSTLIEST],
    lesson: "Which stage sets the pace depends on the implementation and the machine: measure here and now, never assume. The choice of the \
             implementation is a lever of its own, and `pelton explain --measure` says which awk is fastest for a program.",
    run,
};

const NAWK: Shape = Shape::timing("nawk: the tokenizer's CPU%, of the parser's", Bound::AtMost(0.9));
const MAWK: Shape = Shape::timing("mawk: the parser's CPU%, of the tokenizer's", Bound::AtMost(0.9));
const GAWK: Shape = Shape::timing("gawk: the parser's CPU%, of the tokenizer's", Bound::AtMost(0.9));
const FASTEST: Shape = Shape::timing("mawk's real, of the faster of the others'", Bound::AtMost(1.0));
const NAMED: Shape = Shape::exact("one of the two stages is named, in each awk", Bound::All);
const COSTLIEST: Shape =
    Shape::timing("the stage named is the one that used more CPU, in each awk", Bound::All);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let stages = JsonStages::prepare(lab, 8)?;
    let (mut runs, mut named, mut costliest) = (0, 0, 0);
    let (mut mawk, mut others) = (f64::NAN, f64::INFINITY);
    for awk in awks(finding) {
        let text = stages.whole(awk);
        let record = lab.record(&["--timeline"], &[&text])?;
        let cpu = |stage: usize| {
            let ns = |key: &str| number(&record, &format!("/pipelines/0/stages/{stage}/cost/{key}"));
            ns("user_ns") + ns("sys_ns")
        };
        let (bottleneck, _) = bottleneck(&record);
        runs += 1;
        named += usize::from(bottleneck.is_some_and(|stage| stage < 2));
        costliest += usize::from(bottleneck == Some(u64::from(cpu(1) > cpu(0))));
        let real = number(&record, "/total/wall_ns") / 1e9;
        let (shape, published, ratio) = match awk {
            "mawk" => (&MAWK, "tokenizer 100%, parser 61%; 2.4 s", cpu(1) / cpu(0)),
            "gawk" => (&GAWK, "tokenizer 100%, parser 48%; 6.4 s", cpu(1) / cpu(0)),
            _ => (&NAWK, "tokenizer 63%, parser 100%; 4.8 s", cpu(0) / cpu(1)),
        };
        finding.figure(shape, ratio, || {
            "another release of this awk, another balance between its regular expressions and its arrays"
                .to_owned()
        });
        finding.row(awk, published, &format!("{} real", seconds(real)), &words(&record));
        finding.plot(plots::stages(&format!("{awk}: what the two stages did when"), &record["pipelines"][0]));
        if awk == "mawk" { mawk = real } else { others = others.min(real) }
    }
    finding.figure(&FASTEST, mawk / others, || "another awk has become faster".to_owned());
    finding.count(&NAMED, named, runs, || "the verdict names no stage".to_owned());
    finding.count(&COSTLIEST, costliest, runs, || {
        "where both stages cost about the same, the verdict goes by who waited".to_owned()
    });
    shown(
        lab,
        finding,
        &["explain", "--measure", "awk '{ gsub(/\"[^\"]*\"/, \"S\"); print }' menu | wc -c"],
    )?;
    Ok(())
}

fn words(record: &Json) -> String {
    let (_, headline) = bottleneck(record);
    format!(
        "{}; {} CPU; {headline}",
        share_words(record, &["tokenizer", "parser"]),
        seconds(total_cpu(record))
    )
}
