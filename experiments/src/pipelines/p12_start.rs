//! P12: the cost of starting: a fork, a program, an awk, a pipeline in a loop.

use std::fmt::Write as _;

use crate::finding::{Finding, cost, cpu_ratios, real_ratios, seconds};
use crate::lab::{Lab, list, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use pelton_bench::stats;
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P12",
    title: "Start-up costs",
    published: "A fork is about 0.5 ms, a fork and exec 1 ms, an awk 3 ms; a pipeline in a loop pays it each time.",
    shapes: &[&EXEC, &AWK, &OURS, &LOOP, &COUNTED, &SAME],
    lesson: "A process is cheap once and dear a thousand times: a pipeline in a loop pays for its processes each time round. Move the loop into \
             the pipeline, or let pelton run the script: its pipelines then start next to nothing.",
    run,
};

const EXEC: Shape = Shape::timing("real of a fork and exec, of a fork alone", Bound::AtLeast(1.2));
const AWK: Shape = Shape::timing("real of starting gawk, of a fork and exec", Bound::AtLeast(1.2));
const OURS: Shape = Shape::timing("real of `pelton run true`, of `bash -c true`", Bound::AtMost(1.5));
const LOOP: Shape =
    Shape::timing("user+sys of a script with a pipeline in a loop: pelton run, of bash", Bound::AtMost(0.8));
const COUNTED: Shape = Shape::exact(
    "pelton time counts what the script starts: tr, as often as the loop goes round",
    Bound::All,
);
const SAME: Shape = Shape::exact("pelton run prints what bash prints", Bound::All);

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let times = lab.size(300, 20);
    let pelton = lab.pelton.display();
    let starts = [
        ("a fork", "0.5 ms", "(:)".to_owned()),
        ("a fork and exec", "1 ms", "/bin/true".to_owned()),
        ("mawk", "3 ms", "mawk 'BEGIN {}'".to_owned()),
        ("gawk", "", "gawk 'BEGIN {}'".to_owned()),
        ("bash -c true", "", "bash -c true".to_owned()),
        ("pelton run true", "", format!("{pelton} run true")),
    ];
    let contenders: Vec<_> = starts
        .iter()
        .map(|(name, _, text)| lab.shell(name, &format!("for ((i = 0; i < {times}; i++)); do {text}; done")))
        .collect();
    let samples = lab.contest(&contenders)?;
    let mut groups = Vec::new();
    for ((name, published, _), sample) in starts.iter().zip(&samples) {
        let each = [&sample.real, &sample.cpu].map(|figures| stats::median(figures) / f64::from(times));
        let words = format!("{} real, {} CPU", seconds(each[0]), seconds(each[1]));
        let (shell, ours) =
            if name.starts_with("pelton") { (String::new(), words) } else { (words, String::new()) };
        finding.row(name, published, &shell, &ours);
        groups.push(((*name).to_owned(), each.map(|figure| figure * 1e3).to_vec()));
    }
    finding.plot(plots::bars("Starting once", "ms", &["real", "user+sys"], &groups));
    let reason = || "this kernel starts programs faster than the original's".to_owned();
    finding.judge(&EXEC, &real_ratios(&samples[1], &samples[0]), reason);
    finding.judge(&AWK, &real_ratios(&samples[3], &samples[1]), reason);
    finding.judge(&OURS, &real_ratios(&samples[5], &samples[4]), || {
        "pelton asks what its programs are before it trusts them".to_owned()
    });
    finding.samples(&samples);
    in_a_loop(lab, finding)
}

fn in_a_loop(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.program("experiments/pipelines/loop.sh")?;
    let rounds = lab.size("300", "20");
    let samples = lab.contest(&[
        lab.shell("a loop, bash", &format!("bash loop.sh {rounds}")),
        lab.pelton("a loop, pelton run", ["run", "-f", "loop.sh", rounds]),
    ])?;
    finding.judge(&LOOP, &cpu_ratios(&samples[1], &samples[0]), || {
        "each time round, one process remains to be started".to_owned()
    });
    finding.row(
        &format!("a pipeline of three in a loop, {rounds} times"),
        "pays it each time",
        &cost(&samples[0]),
        &cost(&samples[1]),
    );
    finding.is(&SAME, lab.same(&format!("bash loop.sh {rounds}"), ["run", "-f", "loop.sh", rounds])?, || {
        "the output differs".to_owned()
    });
    let record = lab.record(&[], &["bash", "loop.sh", rounds])?;
    let commands = list(&record, "/pipelines/0/stages/0/inside/commands");
    let tr =
        commands.iter().find(|command| command["name"] == "tr").map_or(0, |tr| number(tr, "/times") as usize);
    let told = commands.iter().fold(String::new(), |mut told, command| {
        let _ = write!(told, "{} × {}; ", command["times"], command["name"]);
        told
    });
    finding.count(&COUNTED, tr, rounds.parse()?, || told);
    shown(lab, finding, &["time", "bash", "loop.sh", rounds])?;
    finding.samples(&samples);
    Ok(())
}
