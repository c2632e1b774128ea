//! P4: the tokenizer split in two, where it is the bottleneck and where it is not.

use super::{JsonStages, awks};
use crate::Experiment;
use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::Lab;
use crate::report::plots;
use crate::shape::{Bound, Shape};
use pelton_bench::contest::Samples;
use workbench::Outcome;
use workbench::inputs::JSON_MENU;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P4",
    title: "Splitting the bottleneck",
    published: "Where the tokenizer is the bottleneck, splitting it shortens real and raises user+sys: mawk 2.38 → 1.69 s real, 3.82 → 4.29 s CPU; \
                gawk 6.41 → 5.16 s, 9.48 → 10.55 s. Where it is not, splitting only costs: nawk 4.79 → 4.85 s, 7.79 → 9.76 s.",
    shapes: &[&MAWK, &GAWK, &NAWK, &PAID, &OURS, &SAME],
    lesson: "Splitting the stage that sets the pace buys real time with CPU time, if a core is idle; splitting any other only costs. Splitting \
             the data instead keeps the stages whole: pelton does that by itself while cores are idle.",
    run,
};

const MAWK: Shape =
    Shape::timing("mawk (bound by the tokenizer): real of split, of whole", Bound::AtMost(0.95));
const GAWK: Shape =
    Shape::timing("gawk (bound by the tokenizer): real of split, of whole", Bound::AtMost(0.95));
const NAWK: Shape =
    Shape::timing("nawk (bound by the parser): real of split, of whole", Bound::AtLeast(0.98));
const PAID: Shape = Shape::timing("all awks: user+sys of split, of whole", Bound::AtLeast(1.0));
const OURS: Shape = Shape::timing("pelton json: user+sys, of mawk's two stages", Bound::AtMost(0.1));
const SAME: Shape =
    Shape::exact("split and whole print the same, in every awk, and so does pelton json", Bound::All);

const PUBLISHED: [(&str, &str, &str); 3] = [
    ("original-awk", "4.79 s real, 7.79 s CPU", "4.85 s real, 9.76 s CPU"),
    ("mawk", "2.38 s real, 3.82 s CPU", "1.69 s real, 4.29 s CPU"),
    ("gawk", "6.41 s real, 9.48 s CPU", "5.16 s real, 10.55 s CPU"),
];

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let stages = JsonStages::prepare(lab, 4)?;
    let awks = awks(finding);
    let mut contenders: Vec<_> = awks
        .iter()
        .flat_map(|awk| {
            [(format!("{awk}, whole"), stages.whole(awk)), (format!("{awk}, split"), stages.split(awk))]
        })
        .map(|(name, text)| lab.shell(&name, &format!("{text} > out")))
        .collect();
    contenders.push(lab.pelton("pelton json", ["json", JSON_MENU.name]));
    let samples = lab.contest(&contenders)?;
    let ours = samples.last().ok_or("no samples")?;
    let mut paid = Vec::new();
    for (awk, pair) in awks.iter().zip(samples.chunks(2)) {
        let [whole, split] = pair else { continue };
        paid.extend(cpu_ratios(split, whole));
        one(finding, awk, whole, split, ours);
    }
    finding.judge(&PAID, &paid, || {
        "the halves search with simpler expressions, which saves about what the pipe between them costs"
            .to_owned()
    });
    same(lab, finding, &stages, &awks)?;
    finding.plot(plots::costs("The tokenizer whole, and split in two", &samples));
    finding.samples(&samples);
    Ok(())
}

/// Judges the pair of one awk.
fn one(finding: &mut Finding, awk: &str, whole: &Samples, split: &Samples, ours: &Samples) {
    let (_, before, after) = PUBLISHED.into_iter().find(|(name, ..)| *name == awk).unwrap_or_default();
    finding.row(
        &format!("{awk}, two stages"),
        before,
        &cost(whole),
        if awk == "mawk" { cost(ours) } else { String::new() }.as_str(),
    );
    finding.row(&format!("{awk}, tokenizer split"), after, &cost(split), "");
    let used = whole.cpu.iter().sum::<f64>() / whole.real.iter().sum::<f64>();
    let reason = || {
        format!(
            "the two stages used {used:.1} of {} cores already",
            std::thread::available_parallelism().map_or(0, usize::from)
        )
    };
    match awk {
        "mawk" => {
            finding.judge(&MAWK, &real_ratios(split, whole), reason);
            finding.judge(&OURS, &cpu_ratios(ours, whole), String::new);
        }
        "gawk" => finding.judge(&GAWK, &real_ratios(split, whole), reason),
        _ => finding.judge(&NAWK, &real_ratios(split, whole), reason),
    }
}

fn same(lab: &Lab, finding: &mut Finding, stages: &JsonStages, awks: &[&str]) -> Outcome {
    let ours = lab.capture(["json", JSON_MENU.name])?.stdout;
    let mut same = Vec::new();
    for awk in awks {
        for text in [stages.whole(awk), stages.split(awk)] {
            same.push(lab.bash(&text)?.stdout == ours);
        }
    }
    finding.count(&SAME, same.iter().filter(|same| **same).count(), same.len(), || {
        "the output differs".to_owned()
    });
    Ok(())
}
