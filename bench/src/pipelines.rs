//! Whole pipelines beside the shell: CPU, with the required bounds.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::results::{Claim, Results};
use super::shell_and_run::{LOCALES, Place, Ratio};
use super::{Bench, stats};
use workbench::Outcome;
use workbench::inputs::{LINES, PROSE, PURCHASES, Recipe, SERVICE_LOG};

/// A pipeline, and the required factor of CPU saved in C and in C.UTF-8; 0 if none is required.
struct Case {
    name: &'static str,
    text: &'static str,
    asked: [f64; 2],
}

const CASES: &[Case] = &[
    Case {
        name: "five substitutions, five seds",
        text: "sed 's/a/A/g' < base64 | sed 's/b/B/g' | sed 's/c/C/g' | sed 's/d/D/g' | sed 's/[0-9]//g' > out",
        asked: [60.0, 100.0],
    },
    Case {
        name: "five substitutions, one sed",
        text: "sed -e 's/a/A/g' -e 's/b/B/g' -e 's/c/C/g' -e 's/d/D/g' -e 's/[0-9]//g' < base64 > out",
        asked: [0.0, 50.0],
    },
    Case { name: "filter behind a map", text: "sed 's/a/A/g' < base64 | grep 00 > out", asked: [0.0, 0.0] },
    Case {
        name: "word frequency",
        text: "tr -cs A-Za-z '\\n' < prose | tr A-Z a-z | sort | uniq -c | sort -rn | head > out",
        asked: [12.0, 18.0],
    },
    Case { name: "sort, CSV", text: "sort < csv > out", asked: [4.0, 4.0] },
    Case { name: "sort, log lines", text: "sort < service > out", asked: [2.0, 2.0] },
    Case { name: "distinct pairs", text: "cut -d, -f2,5 < csv | sort -u > out", asked: [2.5, 2.5] },
];

/// Name, recipe, and megabytes unless `--size` is given.
const INPUTS: [(&str, Recipe, u64); 4] =
    [("base64", LINES, 135), ("prose", PROSE, 100), ("csv", PURCHASES, 100), ("service", SERVICE_LOG, 100)];

/// Runs all cases.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let runs = bench.runs(3);
    let place = Place::with(&[])?;
    for (name, recipe, megabytes) in INPUTS {
        place.add(name, &recipe.file(&bench.data, bench.size_mb(megabytes))?)?;
    }
    let mut body = String::from(
        "| pipeline | locale | shell, user+sys | pelton, user+sys | CPU ratio | asked | real ratio |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let (mut data, mut claims) = (Vec::new(), Vec::new());
    for case in CASES {
        for (locale, asked) in LOCALES.into_iter().zip(case.asked) {
            let ratio = Ratio::of(bench, &place, case.text, locale, runs)?;
            let row = row(case, &ratio, asked);
            eprintln!("    {row}");
            let _ = writeln!(body, "{row}");
            claims.extend((asked > 0.0).then(|| claim(case, &ratio, asked)));
            data.push(json!({"name": case.name, "text": case.text, "run": ratio.json()}));
        }
    }
    body.push_str("\nThe texts:\n\n");
    for case in CASES {
        let _ = writeln!(body, "- {}: `{}`", case.name, case.text);
    }
    let about =
        format!("Pipelines under bash and under `pelton run --jobs 1`, {runs} rounds, order alternating.");
    Ok(Results { name: "pipelines", about, body, claims, data: Value::Array(data) })
}

fn row(case: &Case, ratio: &Ratio, asked: f64) -> String {
    let [shell, pelton] = [0, 1].map(|who| stats::median(&ratio.samples[who].cpu));
    let asked = if asked > 0.0 { format!("{asked}") } else { String::new() };
    let (name, locale, cpu, real) = (case.name, ratio.locale, ratio.cpu(), ratio.real());
    format!("| {name} | {locale} | {shell:.3} s | {pelton:.3} s | {cpu:.1} | {asked} | {real:.1} |")
}

fn claim(case: &Case, ratio: &Ratio, asked: f64) -> Claim {
    let found = ratio.cpu();
    let text = format!("{} in {}: {found:.1} times less CPU (at least {asked})", case.name, ratio.locale);
    Claim { text, held: found >= asked }
}
