//! P2: which stage is the bottleneck, and whether a change to a stage helped.

use serde_json::Value as Json;

use super::bottleneck;
use crate::finding::Finding;
use crate::lab::{Lab, number, text};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;
use workbench::inputs::LINES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P2",
    title: "The bottleneck",
    published: "The stage near 100% CPU sets the pace; the others wait for input, or for room in a 64 KiB pipe. A change helped if real fell, or if \
                user+sys fell at the same real; the same real for more user+sys is a loss.",
    shapes: &[&STAGE, &OTHER_OUTPUT, &BETTER, &ELSEWHERE, &LOSS],
    lesson: "Only work on the stage that sets the pace shortens the whole; all others merely wait in another place. Judge a change by real and \
             user+sys together, over several runs, and see that the output stayed the same.",
    run,
};

const STAGE: Shape = Shape::exact("the stage that was made slow is named: first, middle, last", Bound::All);
const OTHER_OUTPUT: Shape = Shape::exact("pelton compare sees another output, with status 3", Bound::All);
const BETTER: Shape = Shape::timing("pelton compare: half the work in the bottleneck 'helped'", Bound::All);
const ELSEWHERE: Shape =
    Shape::timing("half the work in another stage: real, of before", Bound::Within(0.9, 1.1));
const LOSS: Shape =
    Shape::timing("pelton compare: a busy stage more at the same real is 'worse'", Bound::All);

/// Returns a stage that passes lines on and runs a loop of this many rounds for each line.
fn work(rounds: u64) -> String {
    format!("mawk '{{ for (i = 0; i < {rounds}; i++) n += i % 7; print }}'")
}

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&LINES, 3)?;
    let heavy = work(lab.size(200, 400));
    let light = work(lab.size(20, 40));
    let places = [
        ("first", format!("{heavy} lines | cat | wc -c")),
        ("middle", format!("cat lines | {heavy} | wc -c")),
        ("last", format!("cat lines | cat | {heavy} > out")),
    ];
    let mut right = 0;
    for (stage, (place, text)) in places.iter().enumerate() {
        let record = lab.record(&["--timeline"], &[text])?;
        let (named, headline) = bottleneck(&record);
        right += usize::from(named == Some(stage as u64));
        finding.row(&format!("the {place} stage is slow"), "near 100% CPU", "not told", headline);
        if *place == "middle" {
            finding.plot(plots::stages(
                "The middle stage is slow: what each stage did when",
                &record["pipelines"][0],
            ));
        }
    }
    finding.count(&STAGE, right, places.len(), || "another stage was named".to_owned());
    shown(lab, finding, &["time", &places[1].1])?;
    changes(lab, finding, &heavy, &light)
}

/// Judges three changes and one mistake with `pelton compare`.
fn changes(lab: &Lab, finding: &mut Finding, heavy: &str, light: &str) -> Outcome {
    let half = work(lab.size(100, 200));
    let less = work(lab.size(10, 20));
    let before = format!("{heavy} lines | {light} > /dev/null");
    let runs = lab.size("8", "2");
    let compare = |after: &str| lab.json(["compare", "--json", "--runs", runs, &before, after]);
    let better = compare(&format!("{half} lines | {light} > /dev/null"))?;
    finding.is(&BETTER, kind(&better) == "helped", || text(&better, "/judgement/headline").to_owned());
    let elsewhere = compare(&format!("{heavy} lines | {less} > /dev/null"))?;
    finding.figure(&ELSEWHERE, number(&elsewhere, "/real/ratio"), || {
        text(&elsewhere, "/judgement/headline").to_owned()
    });
    let loss = compare(&format!("{heavy} lines | {light} | {light} | {light} > /dev/null"))?;
    finding.is(&LOSS, kind(&loss) == "worse", || text(&loss, "/judgement/headline").to_owned());
    for (what, said) in [
        ("half the work in the bottleneck", &better),
        ("half the work elsewhere", &elsewhere),
        ("two busy stages more", &loss),
    ] {
        finding.row(
            what,
            "",
            "",
            &format!(
                "{}: real ×{:.2}, user+sys ×{:.2}",
                text(said, "/judgement/headline"),
                number(said, "/real/ratio"),
                number(said, "/cpu/ratio")
            ),
        );
        finding.raw(said["judgement"].clone());
    }
    let wrong = lab.capture(["compare", "--runs", "2", "seq 1000", "seq 999"])?;
    finding.is(&OTHER_OUTPUT, wrong.status.code() == Some(3), || wrong.text());
    Ok(())
}

fn kind(said: &Json) -> &str {
    text(said, "/judgement/kind")
}
