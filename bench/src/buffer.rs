//! Throughput of `pelton buffer` to a reader that keeps up, and to one that starts when the writer has ended,
//! so that all data is held in memory or in a file; beside `cat`, mbuffer, and a plain file.

use std::fmt::Write as _;

use serde_json::json;

use super::contest::{Contender, Samples, contest, peak_bytes};
use super::results::{Claim, Results, Unit, table};
use super::shell_and_run::Place;
use super::{Bench, stats};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::LINES;

/// A writer, and a reader that keeps up with it.
const KEEPS_UP: &str = "cat f | BUFFER | cat > /dev/null";
const WAITS: &str = "{ cat f; : > written; } | BUFFER | { until [ -e written ]; do sleep 0.01; done; cat > /dev/null; }; rm written";
const FILE: &str = "cat f | cat > kept; cat kept | cat > /dev/null; rm kept";

/// The program in the middle; `$0` is pelton.
struct Between {
    name: &'static str,
    program: &'static str,
    text: &'static str,
    buffer: &'static str,
}

const fn between(
    name: &'static str,
    program: &'static str,
    text: &'static str,
    buffer: &'static str,
) -> Between {
    Between { name, program, text, buffer }
}

/// In each case the first is pelton, the second is compared with it.
const CASES: [(&str, &[Between]); 3] = [
    (
        "a reader that keeps up",
        &[
            between("pelton buffer", "cat", KEEPS_UP, "\"$0\" buffer"),
            between("cat", "cat", KEEPS_UP, "cat"),
            between("mbuffer", "mbuffer", KEEPS_UP, "mbuffer -q -m 64M"),
        ],
    ),
    (
        "all of it in memory",
        &[
            between("pelton buffer --memory 3G", "cat", WAITS, "\"$0\" buffer --memory 3G"),
            between("a file in memory", "cat", FILE, ""),
            between("mbuffer -m 1200M", "mbuffer", WAITS, "mbuffer -q -m 1200M"),
        ],
    ),
    (
        "nearly all of it in a file",
        &[
            between(
                "pelton buffer --memory 16M",
                "cat",
                WAITS,
                "TMPDIR=. \"$0\" buffer --memory 16M --disk 4G",
            ),
            between("a file", "cat", FILE, ""),
        ],
    ),
];

/// Runs all cases. Files are in memory, so that no disk is measured.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let megabytes = bench.size_mb(1000);
    let file = LINES.file(&bench.data, megabytes)?;
    let place = Place::with(&[("f", &file)])?;
    let (mut body, mut claims, mut data) = (String::new(), Vec::new(), Vec::new());
    for (name, all) in CASES {
        let contenders: Vec<Contender> =
            all.iter().filter(|one| on_path(one.program)).map(|one| one.contender(bench)).collect();
        let samples = contest(&contenders, &place.dir, bench.runs(5), 1)?;
        let _ = writeln!(body, "{name}:\n\n{}", table(&samples, Unit::Seconds));
        let rates: Vec<f64> =
            samples.iter().map(|one| megabytes as f64 / 1000.0 / stats::median(&one.real)).collect();
        let told = contenders.iter().zip(&rates).map(|(one, rate)| format!("{} {rate:.2} GB/s", one.name));
        let _ = writeln!(body, "{}.\n", told.collect::<Vec<_>>().join(", "));
        let what = format!("{name}: time, of {}", all[1].name);
        claims.push(Claim::at_most(&what, stats::median_ratio(&samples[0].real, &samples[1].real), 1.05, ""));
        if let Some(other) = samples.iter().find(|one| one.name.starts_with("mbuffer")) {
            let what = format!("{name}: time, of {}", other.name);
            claims.push(Claim::at_most(&what, stats::median_ratio(&samples[0].real, &other.real), 1.0, ""));
        }
        data.push(json!({
            "name": name,
            "gigabytes_per_second": rates,
            "runs": samples.iter().map(Samples::json).collect::<Vec<_>>(),
        }));
    }
    let peak = peak_bytes(bench, &CASES[2].1[0].contender(bench), &place.dir)? as f64 / 1e6;
    claims.push(Claim::at_most("nearly all of it in a file: peak memory", peak, 16.0 + 16.0, "MB"));
    Ok(Results {
        name: "buffer",
        about: format!(
            "`{KEEPS_UP}` and `{WAITS}` with {megabytes} MB, files in memory, {} rounds.",
            bench.runs(5)
        ),
        body,
        claims,
        data: data.into(),
    })
}

impl Between {
    fn contender(&self, bench: &Bench) -> Contender {
        let text = self.text.replace("BUFFER", self.buffer);
        Contender::new(self.name, ["bash".as_ref(), "-c".as_ref(), text.as_ref(), bench.pelton.as_os_str()])
    }
}
