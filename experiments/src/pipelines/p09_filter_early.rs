//! P9: moves a filter before a stage when, and only when, the output cannot change.

use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::{Lab, list, text};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;
use workbench::inputs::LINES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P9",
    title: "Filter early",
    published: "`sed 's/a/A/g' | grep 00` took 0.496 s real and 0.588 s CPU, `grep 00 | sed 's/a/A/g'` 0.089 s and 0.127 s; with sed as the filter \
                0.466 s and 0.711 s against 0.180 s and 0.243 s. The output is the same.",
    shapes: &[&REAL, &CPU, &SED, &OURS, &SAME, &FIRED, &DECLINED],
    lesson: "What is thrown away in the end should be thrown away first: all work on it is lost. It may go first only where the stages \
             before it touch nothing that it looks at; pelton reorders when it can prove that, and says why when it cannot.",
    run,
};

const REAL: Shape = Shape::timing("real of filter first, of filter last", Bound::AtMost(0.5));
const CPU: Shape = Shape::timing("user+sys of filter first, of filter last", Bound::AtMost(0.5));
const SED: Shape = Shape::timing("with sed as the filter: user+sys of first, of last", Bound::AtMost(0.6));
const OURS: Shape = Shape::timing(
    "user+sys of pelton run with the filter last, of the shell with it first",
    Bound::AtMost(1.0),
);
const SAME: Shape = Shape::exact("filter first, filter last and pelton run print the same", Bound::All);
const FIRED: Shape = Shape::exact("pelton explain: filter-before-map fires", Bound::All);
const DECLINED: Shape = Shape::exact("it is declined where the map writes what the filter reads", Bound::All);

const LAST: &str = "sed 's/a/A/g' lines | grep 00";
const FIRST: &str = "grep 00 lines | sed 's/a/A/g'";
const SED_LAST: &str = "sed 's/a/A/g' lines | sed -n /00/p";
const SED_FIRST: &str = "sed -n /00/p lines | sed 's/a/A/g'";
/// Unsafe to reorder: the map makes some of the 0s that the filter matches.
const UNSAFE: &str = "sed 's/a/0/g' lines | grep 00";

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&LINES, 20)?;
    let out = |text: &str| format!("{text} > out");
    let texts = [
        ("sed | grep", LAST),
        ("grep | sed", FIRST),
        ("sed | sed -n", SED_LAST),
        ("sed -n | sed", SED_FIRST),
    ];
    let mut contenders: Vec<_> = texts.iter().map(|(name, text)| lab.shell(name, &out(text))).collect();
    contenders.push(lab.pelton("pelton run, sed | grep", ["run", "--jobs", "1", &out(LAST)]));
    contenders.push(lab.pelton("pelton run, sed | sed -n", ["run", "--jobs", "1", &out(SED_LAST)]));
    let samples = lab.contest(&contenders)?;
    let [last, first, sed_last, sed_first, ours, ours_sed] = &samples[..] else {
        return Err("no samples".into());
    };
    finding.row("sed, then grep", "0.496 s real, 0.588 s CPU", &cost(last), &cost(ours));
    finding.row("grep, then sed", "0.089 s real, 0.127 s CPU", &cost(first), "");
    finding.row("sed, then sed as the filter", "0.466 s real, 0.711 s CPU", &cost(sed_last), &cost(ours_sed));
    finding.row("sed as the filter, then sed", "0.180 s real, 0.243 s CPU", &cost(sed_first), "");
    let reason = || "the filter keeps too many lines, or costs as much as the map".to_owned();
    finding.judge(&REAL, &real_ratios(first, last), reason);
    finding.judge(&CPU, &cpu_ratios(first, last), reason);
    finding.judge(&SED, &cpu_ratios(sed_first, sed_last), reason);
    finding.judge(&OURS, &cpu_ratios(ours, first), reason);
    finding.plot(plots::costs("The filter last, and first", &samples));
    let expected = lab.bash(LAST)?.stdout;
    let mut same = vec![lab.same(LAST, ["run", LAST])?, lab.same(UNSAFE, ["run", UNSAFE])?];
    for text in [FIRST, SED_LAST, SED_FIRST] {
        same.push(lab.bash(text)?.stdout == expected);
    }
    finding.count(&SAME, same.iter().filter(|same| **same).count(), same.len(), || {
        "an output differs".to_owned()
    });
    for (shape, text, expected) in [(&FIRED, LAST, "fired"), (&DECLINED, UNSAFE, "declined")] {
        let outcome = outcome(lab, text)?;
        finding.is(shape, outcome.starts_with(expected), || outcome.clone());
    }
    shown(lab, finding, &["explain", LAST])?;
    shown(lab, finding, &["explain", UNSAFE])?;
    finding.samples(&samples);
    Ok(())
}

/// Returns what the plan says about the rule: `fired` or `declined`.
fn outcome(lab: &Lab, pipeline: &str) -> Outcome<String> {
    let plan = lab.json(["explain", "--json", pipeline])?;
    let decisions = list(&plan, "/pipelines/0/plan/decisions");
    let rule = decisions.iter().find(|one| text(one, "/name") == "filter-before-map");
    let outcome = rule.and_then(|rule| rule["outcome"].as_object()).and_then(|outcome| outcome.keys().next());
    Ok(outcome.cloned().unwrap_or_else(|| "not considered".to_owned()))
}
