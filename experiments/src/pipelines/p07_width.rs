//! P7: the width is set by an option, with the script unchanged: pelton beside GNU parallel.

use std::ffi::OsString;

use crate::Experiment;
use crate::finding::{Finding, cost, cpu_ratios, real_ratios};
use crate::lab::Lab;
use crate::report::plots;
use crate::shape::{Bound, Shape};
use pelton_bench::contest::Contender;
use pelton_bench::shell_and_run::digest;
use pelton_bench::stats;
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::LINES;

pub const EXPERIMENT: Experiment = Experiment {
    id: "P7",
    title: "The width",
    published: "1, 2, 4 or 32 workers by an option, without changing the script, as xargs -P, make -j and GNU parallel allow and a pipe does not. \
                Data parallel (split the data) beats pipeline parallel (split the work).",
    shapes: &[&SAME, &TWO, &WIDE, &CPU],
    lesson: "A pipe has the width that its stages give it; sharing the data among copies of a stage has any width, by a number. Beyond the number \
             of cores more width gives nothing, and should cost nothing.",
    run,
};

const SAME: Shape =
    Shape::exact("widths 1, 2, 4 and 32 print the same, by --jobs and by PELTON_JOBS", Bound::All);
const TWO: Shape = Shape::timing("real of width 2, of width 1", Bound::AtMost(0.65));
const WIDE: Shape = Shape::timing("real of width 32, of width 2", Bound::AtMost(1.25));
const CPU: Shape = Shape::timing("user+sys of width 32, of width 1", Bound::AtMost(1.25));

/// A back-reference: pelton has no kernel for it, so the real sed runs, as often as the width says.
const TEXT: &str = "sed -E 's/([a-z])([0-9])(.*)\\1/<\\2>\\3/' < lines > out";
const WIDTHS: [&str; 4] = ["1", "2", "4", "32"];

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    lab.input(&LINES, 12)?;
    let mut contenders = vec![lab.shell("bash", TEXT)];
    contenders.extend(
        WIDTHS.map(|jobs| lab.pelton(&format!("pelton run --jobs {jobs}"), ["run", "--jobs", jobs, TEXT])),
    );
    if on_path("parallel") {
        contenders.extend(WIDTHS.map(|jobs| parallel(lab, jobs)));
    } else {
        finding.lacks("GNU parallel");
    }
    let samples = lab.contest_of(&contenders, 3)?;
    let (one, two, wide) = (&samples[1], &samples[2], &samples[4]);
    let cores = || format!("{} cores here", std::thread::available_parallelism().map_or(0, usize::from));
    finding.judge(&TWO, &real_ratios(two, one), cores);
    finding.judge(&WIDE, &real_ratios(wide, two), cores);
    finding.judge(&CPU, &cpu_ratios(wide, one), cores);
    finding.row("as it stands", "", &cost(&samples[0]), "");
    for (i, jobs) in WIDTHS.iter().enumerate() {
        let peer =
            samples.get(5 + i).map_or_else(String::new, |peer| format!("GNU parallel: {}", cost(peer)));
        finding.row(&format!("width {jobs}"), "", &peer, &cost(&samples[1 + i]));
    }
    same(lab, finding)?;
    let series: Vec<(String, Vec<(f64, f64)>)> = [("pelton run --jobs", 1), ("GNU parallel --pipe -j", 5)]
        .into_iter()
        .filter(|(_, first)| samples.len() > *first)
        .map(|(name, first)| {
            // Widths are equally spaced: to scale, 32 would crowd the others.
            (
                name.to_owned(),
                (0..WIDTHS.len())
                    .map(|i| (i as f64 + 1.0, stats::median(&samples[first + i].real)))
                    .collect(),
            )
        })
        .collect();
    finding.plot(plots::dots(
        "Real time by width: 1, 2, 4 and 32 workers",
        ("1st to 4th width", "seconds"),
        &series,
    ));
    finding.samples(&samples);
    Ok(())
}

fn parallel(lab: &Lab, jobs: &str) -> Contender {
    let sed = TEXT.split(" < ").next().unwrap_or_default().replace('\'', r"'\''");
    lab.shell(
        &format!("parallel -j {jobs}"),
        &format!("parallel --will-cite --pipe --keep-order --block 1M -j {jobs} '{sed}' < lines > out"),
    )
}

fn same(lab: &Lab, finding: &mut Finding) -> Outcome {
    let out = lab.path("out");
    lab.bash(TEXT)?;
    let expected = digest(&out)?;
    let mut same = 0;
    for jobs in WIDTHS {
        lab.capture(["run", "--jobs", jobs, TEXT])?;
        same += usize::from(digest(&out)? == expected);
        let words: [OsString; 2] = ["run".into(), TEXT.into()];
        lab.command(words).env("PELTON_JOBS", jobs).output()?;
        same += usize::from(digest(&out)? == expected);
    }
    finding.count(&SAME, same, 2 * WIDTHS.len(), || "an output differs".to_owned());
    Ok(())
}
