//! P1: the cost of each stage, where the shell reports only the sum.

use super::{JsonStages, total_cpu};
use crate::finding::{Finding, cost, cpu_ratios};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P1",
    title: "Time per stage",
    published: "For each stage and for the whole: real, user, sys and CPU% = (user+sys)/real, as in \
                `tokenize awk: real 0m4.773s user 0m2.894s sys 0m0.114s cpu 63.02%`, with ALL: below a rule.",
    shapes: &[&LINES, &SUM, &BYTES, &FREE, &AGREES],
    lesson: "real is what is gained, user+sys what is paid: either alone misleads, so both are shown, for each stage and for all. The shell's \
             `time` gives one sum, in which the stage that sets the pace cannot be seen.",
    run,
};

const LINES: Shape = Shape::exact("--shell-style prints a line per stage, a rule and ALL:", Bound::All);
const SUM: Shape = Shape::exact("user+sys of the stages, of ALL's", Bound::Within(0.98, 1.02));
const BYTES: Shape = Shape::exact("all that the tokenizer wrote, the parser read (and no less)", Bound::All);
const FREE: Shape =
    Shape::timing("user+sys of a run that is watched, of one under bash", Bound::AtMost(1.05));
const AGREES: Shape =
    Shape::timing("user+sys as pelton tells it, of what bash's `time` tells", Bound::Within(0.85, 1.15));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let text = JsonStages::prepare(lab, 4)?.whole("mawk");
    let style = lab.capture(["time", "--shell-style", &text])?.stderr;
    finding.is(&LINES, is_table(&style), || style.clone());
    let record = lab.record(&["--timeline"], &[&text])?;
    let stages = list(&record, "/pipelines/0/stages");
    let cpu = |pointer: &str| stages.iter().map(|stage| number(stage, pointer)).sum::<f64>() / 1e9;
    finding.figure(&SUM, (cpu("/cost/user_ns") + cpu("/cost/sys_ns")) / total_cpu(&record), || {
        "what was left behind is counted in ALL alone".to_owned()
    });
    let (wrote, read) = (
        number(&record, "/pipelines/0/stages/0/cost/written_bytes"),
        number(&record, "/pipelines/0/stages/1/cost/read_bytes"),
    );
    finding.is(&BYTES, read >= wrote, || format!("wrote {wrote}, read {read}"));
    let samples = lab.contest(&[lab.shell("bash", &text), lab.pelton("pelton time", ["time", &text])])?;
    finding.judge(&FREE, &cpu_ratios(&samples[1], &samples[0]), || {
        "the machine was busy with other things".to_owned()
    });
    let told = lab.bash(&format!("TIMEFORMAT='%U %S'; time {{ {text} > /dev/null; }}"))?.stderr;
    let told: f64 = told.split_whitespace().filter_map(|figure| figure.parse::<f64>().ok()).sum();
    finding.figure(&AGREES, total_cpu(&lab.record(&[], &[&text])?) / told, || {
        "two runs, a noisy machine between them".to_owned()
    });
    finding.row("the whole", "ALL: one line", &cost(&samples[0]), &cost(&samples[1]));
    for (line, name) in style.lines().zip(["tokenizer", "parser"]) {
        let published =
            if name == "tokenizer" { "real 0m4.773s user 0m2.894s sys 0m0.114s cpu 63.02%" } else { "" };
        finding.row(name, published, "not told", line.split_once(':').map_or(line, |(_, rest)| rest.trim()));
    }
    finding.show(&format!("pelton time --shell-style \"{text}\""), &style);
    shown(lab, finding, &["time", &text])?;
    finding.plot(plots::stages("What each stage did when", &record["pipelines"][0]));
    finding.samples(&samples);
    Ok(())
}

/// Whether the output has two stages, a rule, and the sum.
fn is_table(style: &str) -> bool {
    let lines: Vec<&str> = style.lines().collect();
    let told = |line: &&str| ["real ", "user ", "sys ", "cpu ", "%"].iter().all(|word| line.contains(word));
    matches!(lines[..], [one, two, rule, all]
        if [one, two, all].iter().all(told) && rule.bytes().all(|byte| byte == b'-' || !byte.is_ascii()) && all.starts_with("ALL:"))
}
