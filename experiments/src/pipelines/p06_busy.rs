//! P6: ten copies at once, whole and split; and ten peltons, with one thread each and with as many as they
//! choose.

use super::JsonStages;
use crate::Experiment;
use crate::finding::{Finding, cost, real_ratios};
use crate::lab::Lab;
use crate::report::plots;
use crate::shape::{Bound, Shape};
use pelton_bench::stats;
use workbench::Outcome;
use workbench::inputs::PROSE;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P6",
    title: "A busy machine",
    published: "Ten copies at once: the split version loses (mawk 9.07 → 9.36 s real, gawk 23.0 → 24.3 s). Parallel work pays only where cores are idle.",
    shapes: &[&MAWK, &POLITE, &JOBS, &SAME],
    lesson: "Splitting work pays only where a core would have been idle; on a busy machine it only costs. pelton begins with one thread, takes more \
             while cores are idle, and gives them back when others want them.",
    run,
};

const MAWK: Shape = Shape::timing("ten at once, mawk: real of split, of whole", Bound::AtLeast(0.98));
const POLITE: Shape = Shape::timing(
    "ten at once, pelton run: real of as many threads as it likes, of one each",
    Bound::AtMost(1.05),
);
const JOBS: Shape = Shape::timing("ten at once, pelton run: real, of the shell's", Bound::AtMost(0.5));
const SAME: Shape = Shape::exact("all ten print what one prints", Bound::All);

const WORDS: &str = "tr -cs A-Za-z '\\n' < prose | tr A-Z a-z | sort | uniq -c | sort -rn | head";

/// Returns shell text that runs a command ten times, each writing its own file. `$0` is pelton.
fn ten(command: &str) -> String {
    format!("for i in 0 1 2 3 4 5 6 7 8 9; do {{ {command}; }} > out$i & done; wait")
}

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let stages = JsonStages::prepare(lab, 2)?;
    lab.input(&PROSE, 10)?;
    let pelton =
        |jobs: &str| ten(&format!("\"$PELTON\" run --jobs {jobs} \"{}\"", WORDS.replace('\\', "\\\\")));
    let pelton_text = |jobs: &str| format!("PELTON={}; {}", lab.pelton.display(), pelton(jobs));
    let pelton_with = |name: &str, jobs: &str| lab.shell(name, &pelton_text(jobs));
    let contenders = [
        lab.shell("ten, mawk, whole", &ten(&stages.whole("mawk"))),
        lab.shell("ten, mawk, split", &ten(&stages.split("mawk"))),
        lab.shell("ten, words, shell", &ten(WORDS)),
        pelton_with("ten, words, pelton --jobs 1", "1"),
        pelton_with("ten, words, pelton", "auto"),
    ];
    let samples = lab.contest_of(&contenders, 3)?;
    let [whole, split, shell, one, auto] = &samples[..] else { return Err("no samples".into()) };
    finding.row("ten, mawk, whole", "9.07 s real", &cost(whole), "");
    finding.row("ten, mawk, split", "9.36 s real", &cost(split), "");
    finding.row(
        "ten word counts",
        "",
        &cost(shell),
        &format!("{}; with one thread each {}", cost(auto), cost(one)),
    );
    let work = stats::median_ratio(&split.cpu, &whole.cpu);
    let reason = || format!("split cost {work:.2} times the user+sys of whole here");
    finding.judge(&MAWK, &real_ratios(split, whole), reason);
    finding.judge(&POLITE, &real_ratios(auto, one), || {
        "threads were begun before the machine was seen to be busy".to_owned()
    });
    finding.judge(&JOBS, &real_ratios(auto, shell), String::new);
    // The contest's last contender left its own output.
    lab.bash(&pelton_text("auto"))?;
    let expected = lab.bash(WORDS)?.stdout;
    let same = (0..10)
        .filter(|i| std::fs::read(lab.path(&format!("out{i}"))).is_ok_and(|out| out == expected))
        .count();
    finding.count(&SAME, same, 10, || "an output differs".to_owned());
    finding.plot(plots::costs("Ten at once", &samples));
    finding.samples(&samples);
    Ok(())
}
