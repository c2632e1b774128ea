//! F1: searches for a name in five ways, with the originals' language and with pelton find.

use crate::finding::{Finding, bytes, cost, cpu_ratios, real_ratios};
use crate::lab::{Lab, number};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, programs};
use pelton_bench::contest::Samples;
use pelton_bench::stats;
use workbench::Outcome;

use super::{WAYS, plant, statistics};

pub const EXPERIMENT: Experiment = Experiment {
    id: "F1",
    title: "Five ways to walk",
    published: "66,000 entries, 35,000 of them directories, on four cores: sequential 0.73 s; a task per directory 1.01 s on one core, 0.29 s on four, in \
                25–28 MB against 2; bounded by a semaphore 0.29 s, 5 MB; by an atomic counter 0.25 s, 6 MB; work stealing 0.25 s, 6 MB.",
    shapes: &[&FOUND, &MEMORY, &DEAR, &TWO, &STEALING, &OURS],
    lesson: "A task per directory makes far more tasks than there are cores, and pays for each in time and memory. Tasks pay where somebody is idle \
             to take them: bounded by slots, or given only to whoever asks.",
    run,
};

const FOUND: Shape =
    Shape::exact("each way finds what is there, and nothing that is not, as often as it should", Bound::All);
const MEMORY: Shape =
    Shape::timing("GHC: peak memory of a task per directory, of sequential", Bound::AtLeast(1.3));
const DEAR: Shape =
    Shape::timing("GHC: user+sys of a task per directory on one core, of sequential", Bound::AtLeast(1.1));
const TWO: Shape = Shape::timing("GHC, atomic: real on two cores, of sequential", Bound::AtMost(0.8));
const STEALING: Shape =
    Shape::timing("pelton find, stealing: real on two cores, of sequential", Bound::AtMost(0.6));
const OURS: Shape = Shape::timing("pelton find, sequential: user+sys, of GNU find's", Bound::AtMost(1.0));

const PUBLISHED: [&str; 5] = [
    "0.73 s, 2 MB",
    "1 core 1.01 s, 2 cores 0.55 s, 4 cores 0.29 s; 25–28 MB",
    "0.29 s, 5 MB",
    "0.25 s, 6 MB",
    "0.25 s, 6 MB",
];

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    plant(lab)?;
    let haskell = if lab.quick { None } else { programs::haskell(lab, "experiments/walking/walks.hs")? };
    let mut contenders = vec![lab.shell("GNU find", "find tree -name absent")];
    for way in WAYS {
        for jobs in ["1", "2"] {
            let words = ["find", "--unordered", "--jobs", jobs, "--walk", way, "tree", "-name", "absent"];
            contenders.push(lab.pelton(&format!("pelton, {way}, {jobs}"), words));
            if let Some(program) = &haskell {
                let words = [
                    program.to_string_lossy().into_owned(),
                    way.into(),
                    "absent".into(),
                    "tree".into(),
                    "+RTS".into(),
                    format!("-N{jobs}"),
                ];
                contenders.push(lab.program_of(&format!("GHC, {way}, {jobs}"), words));
            }
        }
    }
    let samples = lab.contest_of(&contenders, 3)?;
    let named = |name: String| samples.iter().find(|one| one.name == name);
    for (way, published) in WAYS.iter().zip(PUBLISHED) {
        let pair = |who: &str| {
            let cell = |jobs: usize| {
                named(format!("{who}, {way}, {jobs}")).map(|one| format!("{jobs}: {}", cost(one)))
            };
            [cell(1), cell(2)].into_iter().flatten().collect::<Vec<_>>().join("; ")
        };
        let peak = number(&statistics(lab, &["--jobs", "2", "--walk", way], "absent")?, "/peak_rss_bytes");
        finding.row(
            way,
            published,
            &format!("GHC, by cores: {}", pair("GHC")),
            &format!("{}; {}", pair("pelton"), bytes(peak)),
        );
    }
    finding.row("GNU find", "", &cost(&samples[0]), "");
    judge(finding, &samples);
    memory(lab, finding, haskell.as_deref())?;
    found(lab, finding)?;
    let groups: Vec<_> = samples
        .iter()
        .map(|one| (one.name.clone(), vec![stats::median(&one.real), stats::median(&one.cpu)]))
        .collect();
    finding.plot(plots::bars(
        "A name that is not there: by way and number of cores",
        "s",
        &["real", "user+sys"],
        &groups,
    ));
    finding.samples(&samples);
    Ok(())
}

fn judge(finding: &mut Finding, samples: &[Samples]) {
    let named = |name: &str| samples.iter().find(|one| one.name == name);
    let mut ratio = |shape: &Shape, of: &str, by: &str, ratios: fn(&Samples, &Samples) -> Vec<f64>| {
        match (named(of), named(by)) {
        (Some(of), Some(by)) => finding.judge(shape, &ratios(of, by), || {
            "the tree lies in memory here, so that the kernel's part of the work, which takes turns at its locks, is most of it".to_owned()
        }),
        _ => finding.cannot(shape, "GHC is not installed, or this is the quick form"),
    }
    };
    ratio(&DEAR, "GHC, per-directory, 1", "GHC, sequential, 1", cpu_ratios);
    ratio(&TWO, "GHC, atomic, 2", "GHC, sequential, 1", real_ratios);
    ratio(&STEALING, "pelton, stealing, 2", "pelton, sequential, 1", real_ratios);
    ratio(&OURS, "pelton, sequential, 1", "GNU find", cpu_ratios);
}

/// Measures the peak memory of GHC's programs with pelton time.
fn memory(lab: &Lab, finding: &mut Finding, haskell: Option<&std::path::Path>) -> Outcome {
    let Some(program) = haskell else {
        if !lab.quick {
            finding.lacks("GHC");
        }
        finding.cannot(&MEMORY, "GHC is not installed, or this is the quick form");
        return Ok(());
    };
    let program = program.to_string_lossy();
    let mut peaks = Vec::new();
    for way in WAYS {
        let record = lab.record(&["--outside"], &[&*program, way, "absent", "tree", "+RTS", "-N2"])?;
        peaks.push(number(&record, "/pipelines/0/stages/0/cost/peak_rss_bytes"));
    }
    finding.judge(&MEMORY, &[peaks[1] / peaks[0]], || {
        "the runtime's own memory outweighs that of the tasks".to_owned()
    });
    let words: Vec<String> =
        WAYS.iter().zip(&peaks).map(|(way, peak)| format!("{way} {}", bytes(*peak))).collect();
    finding.row("peak memory, GHC on two cores", "2; 25–28; 5; 6; 6 MB", &words.join(", "), "");
    Ok(())
}

/// Compares each way with GNU find, for a name that occurs once and for a missing one.
fn found(lab: &Lab, finding: &mut Finding) -> Outcome {
    let (mut right, mut of) = (0, 0);
    for name in ["dir7", "absent"] {
        let expected = lab.bash(&format!("find tree -name {name}"))?;
        for way in WAYS {
            let ours =
                lab.capture(["find", "--unordered", "--jobs", "2", "--walk", way, "tree", "-name", name])?;
            right +=
                usize::from(ours.stdout == expected.stdout && ours.status.code() == expected.status.code());
            of += 1;
        }
    }
    finding.count(&FOUND, right, of, || "GNU find prints something else".to_owned());
    Ok(())
}
