//! C3: pelton copy's ways of copying side by side, beside the original C programs.

use serde_json::Value as Json;

use super::{big, copiers};
use crate::finding::{Finding, bytes, cost, cpu_ratios, seconds};
use crate::lab::{Lab, list, number, text};
use crate::report::plots;
use crate::shape::{Bound, Shape};
use crate::{Experiment, shown};
use pelton_bench::shell_and_run::digest;
use workbench::Outcome;

pub const EXPERIMENT: Experiment = Experiment {
    id: "C3",
    title: "Ways of copying",
    published: "A 100 MB file: character loop 1.15 s, 1 MB, 72 involuntary switches; mapped bytewise 0.30 s, 201 MB, 30,822 page reclaims; mapped with memcpy \
                0.06 s, 197 MB; the system's cp 1.11 s, 2 MB, 662 voluntary switches.",
    shapes: &[&SAME, &MEMORY, &SMALL, &LOOP, &BYTES, &DEFAULT],
    lesson: "Mapping a file is fast and takes memory for all of it; the kernel's own calls copy as fast in none. What is best depends on the file system \
             and the kernel, so it is measured here, and chosen by default with its reason told.",
    run,
};

const SAME: Shape = Shape::exact("every way that works here gives the same file", Bound::All);
const MEMORY: Shape = Shape::exact("mapped: peak memory, of the file's size", Bound::AtLeast(1.5));
const SMALL: Shape = Shape::exact("copy_file_range: peak memory in MB", Bound::AtMost(8.0));
const LOOP: Shape = Shape::timing("user+sys of the character loop, of read-write", Bound::AtLeast(2.0));
const BYTES: Shape = Shape::timing("user+sys of mapped bytewise, of mapped with memcpy", Bound::AtLeast(1.0));
const DEFAULT: Shape = Shape::timing("user+sys of pelton copy's own choice, of cp's", Bound::AtMost(1.25));

/// The original's names of pelton's ways.
const PUBLISHED: [(&str, &str); 4] = [
    ("characters", "1.15 s, 1 MB, 72 involuntary switches"),
    ("mapped-bytes", "0.30 s, 201 MB, 30,822 page reclaims"),
    ("mapped", "0.06 s, 197 MB"),
    ("cp", "1.11 s, 2 MB, 662 voluntary switches"),
];

fn run(lab: &Lab, finding: &mut Finding) -> Outcome {
    let size = big(lab)? as f64;
    std::fs::create_dir(lab.path("copies"))?;
    let report = lab.json(["copy", "--report", "--json", "--runs", lab.size("5", "1"), "big", "copies"])?;
    let ways = list(&report, "/ways");
    for way in ways {
        row(finding, way);
    }
    let of = |name: &str, key: &str| {
        ways.iter().find(|way| way["way"] == name).map_or(f64::NAN, |way| number(way, key))
    };
    let cpu = |name: &str| of(name, "/user_ns") + of(name, "/sys_ns");
    finding.figure(&MEMORY, of("mapped", "/peak_rss_bytes") / size, || {
        "the mapping was not touched as a whole".to_owned()
    });
    finding.figure(&SMALL, of("copy_file_range", "/peak_rss_bytes") / 1e6, || {
        "the way is not to be had here".to_owned()
    });
    let reason = || "this file system copies so fast that starting counts".to_owned();
    finding.figure(&LOOP, cpu("characters") / cpu("read-write"), reason);
    finding.figure(&BYTES, cpu("mapped-bytes") / cpu("mapped"), || {
        "the page faults, which are the same, outweigh the copying".to_owned()
    });
    let worked = || ways.iter().filter(|way| way["error"].is_null());
    let group = |way: &Json| {
        let name = text(way, "/way");
        (name.to_owned(), vec![number(way, "/wall_ns") / 1e6, cpu(name) / 1e6])
    };
    finding.plot(plots::bars(
        "100 MB in memory: by way",
        "ms",
        &["real", "user+sys"],
        &worked().map(group).collect::<Vec<_>>(),
    ));
    let memory = |way: &Json| (text(way, "/way").to_owned(), vec![number(way, "/peak_rss_bytes") / 1e6]);
    finding.plot(plots::bars(
        "Peak memory: by way",
        "MB",
        &["peak"],
        &worked().map(memory).collect::<Vec<_>>(),
    ));
    same(lab, finding, worked())?;
    originals(lab, finding)?;
    finding.raw(report.clone());
    shown(lab, finding, &["copy", "-v", "big", "copy"])
}

fn row(finding: &mut Finding, way: &Json) {
    let name = text(way, "/way");
    let published =
        PUBLISHED.into_iter().find(|(known, _)| *known == name).map_or("", |(_, published)| published);
    let words = match way["error"].as_str() {
        Some(error) => error.to_owned(),
        None => format!(
            "{} real, {} CPU, {}, {} page reclaims, {} voluntary and {} involuntary switches",
            seconds(number(way, "/wall_ns") / 1e9),
            seconds((number(way, "/user_ns") + number(way, "/sys_ns")) / 1e9),
            bytes(number(way, "/peak_rss_bytes")),
            way["minor_faults"],
            way["voluntary_switches"],
            way["involuntary_switches"],
        ),
    };
    let (shell, ours) = if name == "cp" { (words, String::new()) } else { (String::new(), words) };
    finding.row(name, published, &shell, &ours);
}

/// Compares each way's copy with the file.
fn same<'r>(lab: &Lab, finding: &mut Finding, ways: impl Iterator<Item = &'r Json>) -> Outcome {
    let expected = digest(&lab.path("big"))?;
    let (mut same, mut of) = (0, 0);
    for way in ways.map(|way| text(way, "/way")).filter(|way| *way != "cp") {
        let _ = std::fs::remove_file(lab.path("copy"));
        let status = lab.capture(["copy", "--via", way, "big", "copy"])?.status;
        same += usize::from(status.success() && digest(&lab.path("copy"))? == expected);
        of += 1;
    }
    finding.count(&SAME, same, of, || "a copy differs".to_owned());
    Ok(())
}

/// Measures the C programs, cp, and pelton's own choice.
fn originals(lab: &Lab, finding: &mut Finding) -> Outcome {
    // Each writes `out`, which is removed before each run.
    let mut contenders =
        vec![lab.shell("cp", "cp big out"), lab.pelton("pelton copy", ["copy", "big", "out"])];
    if let Some([characters, mapped]) = copiers(lab, finding)? {
        let (characters, mapped) = (characters.into_os_string(), mapped.into_os_string());
        contenders.push(lab.program_of("C: characters", [characters, "big".into(), "out".into()]));
        for how in ["bytes", "memcpy"] {
            contenders.push(lab.program_of(
                &format!("C: mapped {how}"),
                [mapped.clone(), how.into(), "big".into(), "out".into()],
            ));
        }
    }
    let samples = lab.contest(&contenders)?;
    finding.judge(&DEFAULT, &cpu_ratios(&samples[1], &samples[0]), || {
        "both leave the work to the kernel, whose time varies".to_owned()
    });
    for sample in &samples {
        let (shell, ours) = if sample.name.starts_with("pelton") {
            (String::new(), cost(sample))
        } else {
            (cost(sample), String::new())
        };
        finding.row(&sample.name, "", &shell, &ours);
    }
    finding.samples(&samples);
    Ok(())
}
