//! Pipelines in a loop: many over very little data, and a few over much.

use crate::contest::{Contender, Samples, contest};
use crate::results::{Claim, Unit, part, table};
use crate::{Bench, stats};
use serde_json::Value;
use workbench::Outcome;

/// Three stages that all run natively, a thousand times.
const MANY: &str = "for f in small/*; do cut -d, -f2 \"$f\" | sort | uniq -c; done";
/// The same with a stage that only the shell can run.
const MIXED: &str = "for f in small/*; do cut -d, -f2 \"$f\" | sort | while read -r x; do :; done; done";
/// Over large files.
const LARGE: &str =
    "for f in large/*; do cut -d, -f2 \"$f\" | sort | uniq -c >\"$f.out\"; done; rm large/*.out";
/// The number of tiny files.
const FILES: usize = 1000;
/// The number of large files.
const LARGE_FILES: usize = 3;

/// Measures each loop with bash and with `pelton run`.
pub fn run(bench: &Bench) -> Outcome<Value> {
    prepare(bench)?;
    let (few, runs) = (bench.runs(3), bench.runs(7));
    let (mut body, mut claims, mut data) = (String::new(), Vec::new(), Vec::<Value>::new());
    for (text, runs, real_wanted, what) in [
        (MANY, runs, Some(1.0 / 1.5), "1,000 tiny files, three native stages"),
        (MIXED, runs, Some(1.0), "1,000 tiny files, two of three stages native"),
        (LARGE, few, None, "three files of 50 MB, three native stages"),
    ] {
        let contenders = [
            Contender::new("bash -c", ["bash", "-c", text]),
            Contender::new("pelton run", [bench.pelton.as_os_str(), "run".as_ref(), text.as_ref()]),
        ];
        let samples = contest(&contenders, &bench.data, runs, 1)?;
        let ratio =
            |values: fn(&Samples) -> &Vec<f64>| stats::median_ratio(values(&samples[1]), values(&samples[0]));
        claims.push(Claim::at_most(
            &format!("{what}: wall time, of bash's"),
            ratio(|one| &one.real),
            real_wanted.unwrap_or(1.0),
            "",
        ));
        claims.push(Claim::at_most(&format!("{what}: user+sys, of bash's"), ratio(|one| &one.cpu), 1.0, ""));
        body += &format!("{what}: `{text}`\n\n{}\n", table(&samples, Unit::Milliseconds));
        data.extend(samples.iter().map(Samples::json));
    }
    let about = format!("## Loops\n\n{runs} rounds ({few} over large files), order alternating.\n\n");
    let mut part = part(&(about + &body), &claims);
    part["samples"] = data.into();
    Ok(part)
}

fn prepare(bench: &Bench) -> Outcome {
    let (tiny, large) = (bench.data.join("small"), bench.data.join("large"));
    if !tiny.is_dir() {
        std::fs::create_dir_all(&tiny)?;
        for at in 0..FILES {
            let line = |number: usize| format!("{number},{},{}\n", (number * at) % 7, number % 3);
            std::fs::write(tiny.join(format!("{at:04}.csv")), (0..20).map(line).collect::<String>())?;
        }
    }
    std::fs::create_dir_all(&large)?;
    let megabytes = bench.size_mb(50);
    for at in 0..LARGE_FILES {
        let path = large.join(format!("{at}.csv"));
        if path.is_file() {
            continue;
        }
        let mut text = String::new();
        let mut number = at as u64;
        while (text.len() as u64) < megabytes << 20 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += &format!("{},{},{}\n", number >> 40, (number >> 33) % 5000, number % 97);
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
