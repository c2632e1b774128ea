//! The cost of `pelton run --stats`: in a native run, a kernel's calls are timed and counted.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::contest::{Contender, Samples, contest};
use super::results::{Claim, Results, Unit, table};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{LINES, PROSE, Recipe};
use workbench::steps::timed;

/// Also the name of the result.
const NAME: &str = "stats";

/// A pipeline that runs as one native pass; `@` is its file.
struct Case {
    name: &'static str,
    recipe: Recipe,
    text: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        name: "word frequency",
        recipe: PROSE,
        text: "tr -cs A-Za-z '\\n' < @ | tr A-Z a-z | sort | uniq -c | sort -rn | head",
    },
    Case {
        name: "fused seds",
        recipe: LINES,
        text: "sed 's/a/AA/g' < @ | sed 's/[0-9][0-9]*//g' | sed -n '/A.*B/p' | sed 's/B$/b/'",
    },
];

/// Runs each plain, with `--stats`, and plain again: the last shows the noise.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let (runs, megabytes) = (bench.runs(15), bench.size_mb(100));
    let mut body =
        format!("{megabytes} MB, {runs} rounds after one of warming up, LC_ALL=C, order alternating.\n");
    let (mut claims, mut data) = (Vec::new(), Vec::new());
    for case in CASES {
        let file = case.recipe.file(&bench.data, megabytes)?;
        let text = case.text.replace('@', &file.file_name().unwrap_or_default().to_string_lossy());
        let samples = timed(&format!("{}: {runs} rounds", case.name), || {
            contest(&contenders(bench, &text), &bench.data, runs, 1)
        })?;
        let [plain, with, again] = samples.as_slice() else {
            return Err("three contenders have samples".into());
        };
        let added = percents(with, plain);
        let noise = percents(again, plain);
        let _ = write!(
            body,
            "\n**{}**: `{text}`\n\n{}\n--stats adds user+sys {:+.2} %, real {:+.2} %; the second plain run, which is the \
             noise, user+sys {:+.2} %, real {:+.2} %.\n",
            case.name,
            table(&samples, Unit::Seconds),
            added.0,
            added.1,
            noise.0,
            noise.1,
        );
        claims.push(Claim::at_most(
            &format!("{}, user+sys with --stats over without", case.name),
            added.0,
            1.0,
            "%",
        ));
        claims.push(Claim::at_most(
            &format!("{}, real with --stats over without", case.name),
            added.1,
            1.0,
            "%",
        ));
        let samples: Vec<Value> = samples.iter().map(Samples::json).collect();
        data.push(json!({"name": case.name, "text": text, "megabytes": megabytes, "samples": samples}));
    }
    let about = "`pelton run --stats` beside plain `pelton run`: the cost of being accounted for, kernel by kernel. \
                 Each figure includes the start of pelton.";
    Ok(Results { name: NAME, about: about.into(), body, claims, data: Value::Array(data) })
}

fn contenders(bench: &Bench, text: &str) -> [Contender; 3] {
    let pelton = bench.pelton.as_os_str();
    let plain = |name: &str| {
        Contender::new(name, [pelton, "run".as_ref(), "--jobs=1".as_ref(), "--".as_ref(), text.as_ref()])
    };
    [
        plain("pelton run"),
        Contender::new(
            "pelton run --stats",
            [pelton, "run".as_ref(), "--stats".as_ref(), "--jobs=1".as_ref(), "--".as_ref(), text.as_ref()],
        ),
        plain("pelton run, again"),
    ]
}

/// Returns by how many percent `a` exceeds `b` in user+sys and real time, for runs that are adjacent in time.
fn percents(a: &Samples, b: &Samples) -> (f64, f64) {
    let percent = |a: &[f64], b: &[f64]| (stats::median_ratio(a, b) - 1.0) * 100.0;
    (percent(&a.cpu, &b.cpu), percent(&a.real, &b.real))
}
