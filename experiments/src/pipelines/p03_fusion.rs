//! P3: small neighbouring stages in one process, with and without a slow stage behind them.

use serde_json::json;

use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::{Lab, list};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use pelton_bench::contest::Samples;
use workbench::Outcome;
use workbench::inputs::LINES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P3",
    title: "Fusion",
    published: "Four small seds behind a cat took 0.537 s real and 2.07 s CPU on four cores, one sed with the four commands 1.36 s and 1.41 s. \
                With a slow stage behind them (sed 's/[0-9]//g') it was 4.08 s and 6.65 s against 3.79 s and 5.41 s.",
    shapes: &[&CPU, &REAL, &SLOW_CPU, &SLOW_REAL, &OURS, &SAME, &PASS],
    lesson: "Small neighbouring stages that are not the bottleneck belong in one process: each process more costs CPU, and buys time only \
             where a core would be idle. Joining seds still leaves a loop over lines with an expression matcher in it; pelton makes one \
             pass over whole blocks of all of them.",
    run,
};

const CPU: Shape = Shape::timing("user+sys of one sed, of four seds'", Bound::AtMost(0.95));
const REAL: Shape =
    Shape::timing("real of one sed, of four seds' (idle cores made the four faster)", Bound::AtLeast(1.0));
const SLOW_CPU: Shape =
    Shape::timing("with a slow stage: user+sys of fused, of unfused", Bound::AtMost(0.95));
const SLOW_REAL: Shape = Shape::timing("with a slow stage: real of fused, of unfused", Bound::AtMost(1.0));
const OURS: Shape =
    Shape::timing("with a slow stage: user+sys of pelton run, of the fusion by hand", Bound::AtMost(0.5));
const SAME: Shape = Shape::exact("pelton run prints what the shell prints", Bound::All);
const PASS: Shape = Shape::exact("pelton explain: cat and all seds are one native pass", Bound::All);

const SMALL: &str = "cat lines | sed s/a/1/ | sed s/b/2/ | sed s/c/3/ | sed s/d/4/";
const SMALL_FUSED: &str = "sed -e s/a/1/ -e s/b/2/ -e s/c/3/ -e s/d/4/ lines";
const SLOW: &str = "sed 's/[0-9]//g'";

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&LINES, 25)?;
    let (slow, slow_fused) = (format!("{SMALL} | {SLOW}"), format!("{SMALL_FUSED} | {SLOW}"));
    let texts =
        [("unfused", SMALL), ("fused", SMALL_FUSED), ("unfused, slow", &slow), ("fused, slow", &slow_fused)];
    let mut contenders: Vec<_> =
        texts.iter().map(|(name, text)| lab.shell(name, &format!("{text} > out"))).collect();
    for (name, text) in [("pelton run, unfused", SMALL), ("pelton run, unfused, slow", &slow)] {
        contenders.push(lab.pelton(name, ["run", &format!("{text} > out")]));
    }
    let samples = lab.contest(&contenders)?;
    table(finding, &samples);
    judge(finding, &samples);
    let texts = [SMALL, slow.as_str()];
    let same = texts.map(|text| lab.same(text, ["run", text])).into_iter().collect::<Outcome<Vec<_>>>()?;
    finding
        .count(&SAME, same.iter().filter(|same| **same).count(), same.len(), || "the output differs".into());
    let plan = lab.json(["explain", "--json", &slow])?;
    let segments = list(&plan, "/pipelines/0/plan/segments");
    finding.is(&PASS, segments.len() == 1 && segments[0]["native"] == true, || {
        format!("segments: {segments:?}")
    });
    shown(lab, finding, &["time", &slow])?;
    shown(lab, finding, &["explain", &slow])?;
    finding.plot(plots::costs("Four small seds, then the same with a slow one behind them", &samples));
    finding.samples(&samples);
    finding.raw(json!({"input": lab.size("25 MB of lines that look like base64", "1 MB of lines that look like base64")}));
    Ok(())
}

fn table(finding: &mut Finding, samples: &[Samples]) {
    let [unfused, fused, slow, slow_fused, ours, ours_slow] = samples else { return };
    finding.row("cat and four seds", "0.537 s real, 2.07 s CPU", &cost(unfused), &cost(ours));
    finding.row("one sed, four commands", "1.36 s real, 1.41 s CPU", &cost(fused), "");
    finding.row("the four, and a slow one", "4.08 s real, 6.65 s CPU", &cost(slow), &cost(ours_slow));
    finding.row("one for the four, and a slow one", "3.79 s real, 5.41 s CPU", &cost(slow_fused), "");
}

fn judge(finding: &mut Finding, samples: &[Samples]) {
    let [unfused, fused, slow, slow_fused, _, ours_slow] = samples else { return };
    let cores = || format!("unfused used {:.1} cores", mean_cores(unfused));
    finding.judge(&CPU, &cpu_ratios(fused, unfused), cores);
    finding.judge(&REAL, &real_ratios(fused, unfused), || {
        format!("{} where the original had four: little is left to win by more processes", cores())
    });
    finding.judge(&SLOW_CPU, &cpu_ratios(slow_fused, slow), cores);
    finding.judge(&SLOW_REAL, &real_ratios(slow_fused, slow), || {
        "both wait for the slow sed, which is the same in both".to_owned()
    });
    finding.judge(&OURS, &cpu_ratios(ours_slow, slow_fused), String::new);
}

fn mean_cores(samples: &Samples) -> f64 {
    samples.cpu.iter().sum::<f64>() / samples.real.iter().sum::<f64>()
}
