//! P11: selects values by path while reading, beside gron and jq.

use crate::Experiment;
use crate::finding::{Finding, bytes, cost, cpu_ratios};
use crate::lab::{Lab, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use pelton_bench::contest::Samples;
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::JSON_MENU;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P11",
    title: "JSON selected in one pass",
    published: "gron | grep pays for every line that it throws away, and what it prints must be parsed again to get the value. Wanted: select by path \
                while parsing, print only what is selected, in constant memory.",
    shapes: &[&SAME, &MEMORY, &GRON, &JQ],
    lesson: "What nobody wants need not be printed to be thrown away: tell the parser what is wanted, and it skips the rest. Then memory does not \
             depend on the document's size either.",
    run,
};

const SAME: Shape = Shape::exact(
    "pelton json PATH prints as many values as there are, and the shell's way the same ones",
    Bound::All,
);
const MEMORY: Shape =
    Shape::exact("peak memory over a document four times as long, of over the short one", Bound::AtMost(1.1));
const GRON: Shape = Shape::timing("user+sys of pelton json PATH, of gron | grep | cut", Bound::AtMost(0.05));
const JQ: Shape = Shape::timing("user+sys of pelton json PATH, of jq's", Bound::AtMost(0.1));

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let menus = lab.size(40_000, 1000);
    for (name, many) in [("menus.json", menus), ("longer.json", 4 * menus)] {
        let megabytes = (many as u64 * 202).div_ceil(1_000_000);
        // Two arrays of one recipe must not share a file.
        let array = JSON_MENU.array(&lab.kept.join(name), megabytes, many)?;
        std::os::unix::fs::symlink(array, lab.path(name))?;
    }
    let mut contenders = vec![lab.pelton("pelton json", ["json", "[].menu.id", "menus.json"])];
    for (program, text) in [("gron", GRON_TEXT), ("jq", JQ_TEXT)] {
        if on_path(program) {
            contenders.push(lab.shell(program, text));
        } else {
            finding.lacks(program);
        }
    }
    let samples = lab.contest_of(&contenders, 3)?;
    judge(finding, &samples);
    let expected = "\"file\"\n".repeat(menus);
    let mut same = vec![lab.capture(["json", "[].menu.id", "menus.json"])?.text() == expected];
    if on_path("jq") {
        same.push(lab.bash(JQ_TEXT)?.text() == expected);
    }
    finding.count(&SAME, same.iter().filter(|same| **same).count(), same.len(), || "other values".to_owned());
    let peak = |file: &str| -> Outcome<f64> {
        let record =
            lab.record(&[], &[&format!("{} json [].menu.id {file} | wc -l", lab.pelton.display())])?;
        Ok(number(&record, "/pipelines/0/stages/0/cost/peak_rss_bytes"))
    };
    let (short, long) = (peak("menus.json")?, peak("longer.json")?);
    finding.figure(&MEMORY, long / short, || format!("{short} and {long} bytes"));
    finding.row(
        "peak memory, four times the document",
        "constant",
        "",
        &format!("{} and {}", bytes(short), bytes(long)),
    );
    if on_path("gron") {
        let record = lab.record(&[], &["gron menus.json | wc -l"])?;
        let gron = number(&record, "/pipelines/0/stages/0/cost/peak_rss_bytes");
        finding.row("peak memory of gron", "", &bytes(gron), "");
    }
    finding.plot(plots::costs("One value of each menu", &samples));
    finding.samples(&samples);
    Ok(())
}

const GRON_TEXT: &str = "gron menus.json | grep '\\.menu\\.id = ' | cut -d '\"' -f 2";
const JQ_TEXT: &str = "jq -c '.[].menu.id' menus.json";

fn judge(finding: &mut Finding, samples: &[Samples]) {
    let ours = &samples[0];
    for (shape, name, way) in [(&GRON, "gron", "gron | grep | cut"), (&JQ, "jq", "jq")] {
        match samples.iter().find(|one| one.name == name) {
            Some(peer) => {
                finding.judge(shape, &cpu_ratios(ours, peer), String::new);
                finding.row(
                    way,
                    "",
                    &cost(peer),
                    if name == "gron" { cost(ours) } else { String::new() }.as_str(),
                );
            }
            None => finding.cannot(shape, &format!("{name} is not installed")),
        }
    }
}
