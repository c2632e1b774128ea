//! P10: JSON in two awk stages, inside a script; and in one pass.

use super::{JsonStages, awks, bottleneck};
use crate::finding::{Finding, bytes, cost, cpu_ratios};
use crate::lab::{Lab, list, text};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use workbench::Outcome;
use workbench::inputs::JSON_MENU;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P10",
    title: "JSON in two stages",
    published: "A tokenizer prints one JSON token a line, a parser prints `@.\"menu\".\"popup\".\"menuitem\".0.\"value\": \"New\"` for each value and `<=> {` … \
                `<=> }` around containers; callbacks change the format. Both are shell functions around awk, in a script: one array of \
                100,000 menus, 24 MB.",
    shapes: &[&SAME, &INSIDE, &NAMED, &FORMATS, &OURS],
    lesson: "Stages that only hand tokens on pay for printing and reading each of them; one program that reads the text once does not. And a \
             pipeline may hide in a script: measuring must follow what the script starts, and pelton time does.",
    run,
};

const SAME: Shape = Shape::exact("pelton json prints what the two stages print, in every awk", Bound::All);
const INSIDE: Shape = Shape::exact(
    "pelton time looks inside the script: stages of the pipeline found",
    Bound::Within(2.0, 2.0),
);
const NAMED: Shape = Shape::exact("and says which of the two sets the pace", Bound::All);
const FORMATS: Shape =
    Shape::exact("--format prints the same format, and any other, a line for each line", Bound::All);
const OURS: Shape = Shape::timing("user+sys of pelton json, of mawk's two stages", Bound::AtMost(0.05));

/// The number of menus in 24 MB.
const MENUS: usize = 100_000;

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let stages = JsonStages::prepare(lab, 2)?;
    let array = JSON_MENU.array(&lab.kept, lab.size(30, 1), MENUS)?;
    std::os::unix::fs::symlink(&array, lab.path("menus.json"))?;
    let text = |awk: &str| stages.whole(awk).replace(" menu ", " menus.json ");
    let samples = lab.contest_of(
        &[
            lab.shell("two stages of mawk", &format!("{} > out", text("mawk"))),
            lab.shell("pelton json", &format!("{} json menus.json > out", lab.pelton.display())),
        ],
        3,
    )?;
    let size = bytes(array.metadata()?.len() as f64);
    finding.row(&format!("an array of menus, {size}"), "24 MB", &cost(&samples[0]), &cost(&samples[1]));
    finding.judge(&OURS, &cpu_ratios(&samples[1], &samples[0]), String::new);
    finding.plot(plots::costs("Two stages, and one pass", &samples));
    finding.samples(&samples);
    inside(lab, finding)?;
    let ours = lab.capture(["json", "menu"])?.stdout;
    let awks = awks(finding);
    let same = awks
        .iter()
        .map(|awk| Ok(lab.bash(&stages.whole(awk))?.stdout == ours))
        .collect::<Outcome<Vec<_>>>()?;
    finding.count(&SAME, same.iter().filter(|same| **same).count(), same.len(), || {
        "an output differs".to_owned()
    });
    formats(lab, finding, &ours)
}

/// Runs the pipeline in the script.
fn inside(lab: &Lab, finding: &mut Finding) -> Outcome {
    let words = ["sh", "json.sh", "mawk", "tokenize.awk", "parse.awk", "menu"];
    let record = lab.record(&[], &words)?;
    let found = &record["pipelines"][0]["stages"][0]["inside"];
    let stages = list(found, "/pipelines/0/pipeline/stages");
    finding.figure(&INSIDE, stages.len() as f64, || found.to_string());
    let verdict = serde_json::json!({"verdict": found["verdict"]});
    let (named, headline) = bottleneck(&verdict);
    finding.is(&NAMED, named.is_some_and(|stage| stage < 2), || headline.to_owned());
    finding.row("inside the script", "", "not told", headline);
    let names: Vec<&str> = stages.iter().map(|stage| text(stage, "/text")).collect();
    finding.note(format!("Found inside json.sh: {}.", names.join(" | ")));
    shown(lab, finding, &[&["time"], &words[..]].concat())
}

/// Compares the default, given as a format, and another format.
fn formats(lab: &Lab, finding: &mut Finding, default: &[u8]) -> Outcome {
    let container = "{path} <=> {value}";
    let words = [
        "json",
        "--format",
        "{path}: {value}",
        "--format-open",
        container,
        "--format-close",
        container,
        "menu",
    ];
    let same = lab.capture(words)?.stdout == default;
    let other = lab.capture([
        "json",
        "--format",
        "{depth} {type} {text}",
        "--format-open",
        "open",
        "--format-close",
        "close",
        "menu",
    ])?;
    let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    let as_many = lines(&other.stdout) == lines(default);
    finding.count(&FORMATS, usize::from(same) + usize::from(as_many), 2, || {
        "another number of lines".to_owned()
    });
    finding.show(
        "pelton json --format '{depth} {type} {text}' --format-open open --format-close close menu",
        &first_lines(&other.text(), 6),
    );
    Ok(())
}

fn first_lines(text: &str, count: usize) -> String {
    text.lines().take(count).collect::<Vec<_>>().join("\n") + "\n…"
}
