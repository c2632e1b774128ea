//! Whether the waits that `pelton time` reports match those of the stages, which keep their own diary.

pub mod stage;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::Bench;
use super::results::{Claim, Results};
use workbench::steps::timed;
use workbench::{Failure, Outcome};

/// Allowed error of a share, in percentage points.
const POINTS: f64 = 5.0;
/// The compared shares: their names in the diary, and in the record.
const SHARES: [(&str, &str); 5] = [
    ("running", "running_ns"),
    ("cpu_wait", "cpu_wait_ns"),
    ("starved", "starved_ns"),
    ("backpressured", "backpressured_ns"),
    ("asleep", "asleep_ns"),
];

/// A pipeline: what each stage does, and what it shows.
struct Case {
    name: &'static str,
    stages: &'static [&'static str],
}

const CASES: [Case; 7] = [
    Case { name: "slow middle", stages: &["--source 400", "--spin 8000", "--sink"] },
    Case { name: "slow source", stages: &["--source 400 --spin 8000", "", "--sink"] },
    Case { name: "flood into a sleeper", stages: &["--source 150", "", "--sink --sleep 20000"] },
    Case {
        name: "everybody does something",
        stages: &["--source 300 --spin 3000", "--spin 5000 --sleep 4000", "--sink --spin 3000"],
    },
    Case {
        name: "bursts",
        stages: &["--source 200 --sleep 15000 --burst 4", "--spin 4000", "--sink --sleep 6000 --burst 1"],
    },
    Case {
        name: "halves: as slow as the pipe lets it",
        stages: &["--source 300 --spin 5000", "--sleep 6000", "--sink --spin 5000"],
    },
    Case {
        name: "more work than cores",
        stages: &[
            "--source 150 --spin 10000",
            "--spin 10000",
            "--spin 10000",
            "--spin 10000",
            "--sink --spin 10000",
        ],
    },
];

/// Runs every case `--runs` times (three by default).
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(3);
    let (mut body, mut data, mut worst) = (HEAD.to_owned(), Vec::new(), 0.0_f64);
    for case in &CASES {
        for _ in 0..runs {
            for stage in timed(case.name, || one(bench, case))? {
                worst = worst.max(stage.off);
                let _ = writeln!(body, "{}", stage.row);
                data.push(stage.data);
            }
        }
    }
    let _ = write!(body, "\nThe cases (microseconds for each megabyte):\n\n");
    for case in &CASES {
        let _ = writeln!(body, "- **{}**: `{}`", case.name, case.stages.join(" | "));
    }
    Ok(Results {
        name: "truth",
        about: format!(
            "Shares of each stage's life as `pelton time` tells them, beside the diary that the stage kept by its own clocks: \
             {runs} runs of each case, at the default rate."
        ),
        body,
        claims: vec![Claim::at_most("the largest difference of any share", worst, POINTS, "points")],
        data: data.into(),
    })
}

const HEAD: &str = "\
| case | stage | running | no CPU | input | room | asleep | off by |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
";

/// A stage of one run, compared.
struct Compared {
    off: f64,
    row: String,
    data: Value,
}

fn one(bench: &Bench, case: &Case) -> Outcome<Vec<Compared>> {
    let dir = super::shell_and_run::Place::with(&[])?;
    let own = std::env::current_exe()?;
    let diary = |i: usize| dir.dir.join(format!("diary-{i}.json"));
    let stages = case.stages.iter().enumerate();
    let texts = stages
        .map(|(i, options)| format!("'{}' stage {options} --diary '{}'", own.display(), diary(i).display()));
    let text = texts.collect::<Vec<_>>().join(" | ");
    let record = super::verdict::record(&bench.pelton, &text, &dir.dir, &dir.dir.join("record.json"))?;
    let said = record["pipelines"][0]["stages"].as_array().cloned().unwrap_or_default();
    let compared = said.iter().enumerate().map(|(i, stage)| compare(case, i, stage, &diary(i)));
    compared.collect()
}

fn compare(case: &Case, i: usize, stage: &Value, diary: &Path) -> Outcome<Compared> {
    let truth: Value = serde_json::from_str(&std::fs::read_to_string(diary)?)?;
    let waits = &stage["waits"];
    let life = stage["cost"]["wall_ns"].as_f64().ok_or_else(|| -> Failure { "no wall time".into() })?;
    let (mut off, mut cells) = (0.0_f64, String::new());
    for (name, field) in SHARES {
        let place = if field == "asleep_ns" { &waits["elsewhere"] } else { waits };
        let said = place[field].as_f64().ok_or_else(|| -> Failure { "no waits".into() })? / life * 100.0;
        let was = truth[name].as_f64().unwrap_or(f64::NAN) * 100.0;
        off = off.max((said - was).abs());
        let _ = write!(cells, " {said:.0} ({was:.0}) |");
    }
    let data = json!({"case": case.name, "stage": i + 1, "said": waits, "was": truth, "off": off});
    Ok(Compared { off, row: format!("| {} | {} |{cells} {off:.1} |", case.name, i + 1), data })
}
