//! P13: the same work in one to eight stages, in equal and in unequal parts; and pelton's advice.

use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::{Lab, list};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use pelton_bench::stats;
use workbench::Outcome;
use workbench::inputs::LINES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P13",
    title: "Advice",
    published: "At most 3 to 5 stages, as many busy stages as cores, equal work per stage; readable beats clever.",
    shapes: &[&TWO, &EIGHT, &PAID, &EQUAL, &TOLD, &SILENT],
    lesson: "As many busy stages as there are cores, with equal work in each, is the best that a pipe can do; every further stage only hands data \
             on. Beyond that, write what reads well: pelton joins the small stages anyway.",
    run,
};

const TWO: Shape =
    Shape::timing("real of the work in as many stages as cores, of it in one", Bound::AtMost(0.8));
const EIGHT: Shape =
    Shape::timing("real of the work in eight stages, of as many as cores", Bound::AtLeast(0.95));
const PAID: Shape = Shape::timing("user+sys of the work in eight stages, of it in one", Bound::AtLeast(1.0));
const EQUAL: Shape =
    Shape::timing("two stages, nine parts to one: real, of equal parts'", Bound::AtLeast(1.3));
const TOLD: Shape =
    Shape::exact("pelton explain advises against eight busy processes on fewer cores", Bound::All);
const SILENT: Shape = Shape::exact("and has nothing to say of one", Bound::All);

/// Returns a pipeline whose stages each take one of these parts of the work.
fn pipeline(parts: &[u32]) -> String {
    let stage = |part: &u32| format!("mawk '{{ for (i = 0; i < {part}; i++) n += i % 7; print }}'");
    format!("< lines {} > out", parts.iter().map(stage).collect::<Vec<_>>().join(" | "))
}

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&LINES, 4)?;
    let work = 240;
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let equal = |stages: u32| vec![work / stages; stages as usize];
    let mut texts: Vec<(String, String)> =
        [1, 2, 3, 4, 6, 8].map(|n| (format!("{n} stages"), pipeline(&equal(n)))).into();
    texts.push(("2, nine parts to one".to_owned(), pipeline(&[work * 9 / 10, work / 10])));
    let contenders: Vec<_> = texts.iter().map(|(name, text)| lab.shell(name, text)).collect();
    let samples = lab.contest_of(&contenders, 3)?;
    let at = |stages: usize| {
        samples.iter().find(|one| one.name.starts_with(&format!("{stages} "))).unwrap_or(&samples[1])
    };
    let reason = || format!("{cores} cores here, and other work on them");
    finding.judge(&TWO, &real_ratios(at(cores), &samples[0]), reason);
    finding.judge(&EIGHT, &real_ratios(at(8), at(cores)), reason);
    finding.judge(&PAID, &cpu_ratios(at(8), &samples[0]), reason);
    finding.judge(&EQUAL, &real_ratios(&samples[6], &samples[1]), reason);
    for sample in &samples {
        finding.row(&sample.name, "", &cost(sample), "");
    }
    let curve = |figure: fn(&pelton_bench::contest::Samples) -> &Vec<f64>| -> Vec<(f64, f64)> {
        [1.0, 2.0, 3.0, 4.0, 6.0, 8.0]
            .into_iter()
            .zip(&samples)
            .map(|(n, one)| (n, stats::median(figure(one))))
            .collect()
    };
    let series =
        [("real".to_owned(), curve(|one| &one.real)), ("user+sys".to_owned(), curve(|one| &one.cpu))];
    finding.plot(plots::dots("The same work in one to eight stages", ("stages", "seconds"), &series));
    finding.samples(&samples);
    // Commands without a kernel, so that they stay processes.
    let long = ["gzip -c"; 8].join(" | ");
    for (shape, text, advises) in [(&TOLD, long.as_str(), cores < 8), (&SILENT, "gzip -c lines", false)] {
        let plan = lab.json(["explain", "--json", text])?;
        let advice = list(&plan, "/pipelines/0/plan/advice");
        finding.is(shape, advice.is_empty() != advises, || format!("{advice:?}"));
    }
    shown(lab, finding, &["explain", &long])
}
