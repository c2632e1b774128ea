//! How much memory a stream takes: the same pipelines over a short stream and over one ten times as long.

use std::fmt::Write as _;

use serde_json::json;

use super::Bench;
use super::contest::Contender;
use super::contest::peak_bytes;
use super::results::{Claim, Results};
use super::shell_and_run::Place;
use workbench::Outcome;
use workbench::inputs::PROSE;

/// Name, text after the stream, and whether it holds lines, within `--memory`.
const CASES: [(&str, &str, bool); 8] = [
    ("five seds", "sed 's/a/A/g' | sed 's/b/B/g' | sed 's/c/C/g' | sed 's/d/D/g' | sed 's/[0-9]//g'", false),
    ("filters", "grep -v zz | tr a-z A-Z | cut -d' ' -f2-", false),
    ("awk", "awk '{ s += NF } END { print s }'", false),
    ("counting", "wc", false),
    ("word frequency", "tr -cs A-Za-z '\\n' | sort | uniq -c | sort -rn", false),
    ("a real sed in several processes", "sed -E 's/([a-z])([0-9])(.*)\\1/<\\2>\\3/'", false),
    ("sort, 256 MB", "sort", true),
    ("distinct lines, 256 MB", "sort -u", true),
];
/// The memory limit of sorts, in bytes; their processes also hold code and buffers.
const MEMORY: u64 = 256_000_000;
const BESIDES: u64 = 64_000_000;

/// Measures two lengths of stream.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let megabytes = bench.size_mb(200);
    let file = PROSE.file(&bench.data, megabytes)?;
    let place = Place::with(&[("f", &file)])?;
    let (mut body, mut claims, mut data) = (String::new(), Vec::new(), Vec::new());
    let _ = writeln!(
        body,
        "| pipeline | peak memory, {megabytes} MB | {} MB |\n| --- | ---: | ---: |",
        10 * megabytes
    );
    for (name, text, keeps) in CASES {
        let peak = |times: usize| {
            let text = format!("env cat{} | {text} > /dev/null", " f".repeat(times));
            let mut argv = vec![bench.pelton.clone().into_os_string(), "run".into(), "--memory=256M".into()];
            argv.extend(["--".into(), text.into()]);
            peak_bytes(bench, &Contender::new(name, argv), &place.dir)
        };
        let (short, long) = (peak(1)?, peak(10)?);
        let _ = writeln!(body, "| {name} | {:.1} MB | {:.1} MB |", short as f64 / 1e6, long as f64 / 1e6);
        let what = format!("{name}: peak memory of ten times as much");
        claims.push(if keeps {
            Claim::at_most(&what, long as f64 / 1e6, (MEMORY + BESIDES) as f64 / 1e6, "MB")
        } else {
            // The number of threads varies, and with it a few blocks.
            Claim::at_most(&what, long as f64 / 1e6, short as f64 / 1e6 * 1.5 + 8.0, "MB")
        });
        data.push(json!({"name": name, "short_bytes": short, "long_bytes": long}));
    }
    let about = "Peak resident set of the largest process of `env cat f … | PIPELINE > /dev/null` under `pelton run --memory=256M`, \
                 as `pelton time` tells it.";
    Ok(Results { name: "memory", about: about.into(), body, claims, data: data.into() })
}
