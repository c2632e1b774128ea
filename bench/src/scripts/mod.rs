//! Scripts: loops of one line, and 60 scripts in `bench/scripts` that do what scripts of distributions do.

mod inputs;
mod loops;
mod stages;
mod whole;

use crate::Bench;
use crate::results::{Results, earlier};
use serde_json::json;
use workbench::Outcome;

/// Measures the loops and the scripts. `--only loops`, `--only bash`, `--only bash-utf8`, `--only dash`, `--only zsh`
/// measures one part and keeps the others; `--only NAME` runs the scripts whose names contain NAME, in all of them.
pub fn run(bench: &Bench) -> Outcome<Results> {
    let about =
        "Scripts under the shell and under `pelton run`: time, output, files, exit status.".to_owned();
    let mut results =
        Results { name: "scripts", about, body: String::new(), claims: vec![], data: json!({}) };
    let before = earlier(bench, "scripts");
    let only = bench.only.as_deref();
    let is_part = |name: &str| name == "loops" || whole::SETTINGS.iter().any(|setting| setting.name == name);
    let pattern = only.filter(|name| !is_part(name));
    for setting in &whole::SETTINGS {
        let name = setting.name;
        let chosen = only.is_none_or(|only| only == name) || pattern.is_some();
        let part = if chosen { whole::run(bench, setting, pattern)? } else { before[name].clone() };
        if part["samples"].as_object().is_some_and(|samples| !samples.is_empty()) {
            results.add(name, part);
        }
    }
    let chosen = only.is_none_or(|only| only == "loops");
    results.add("loops", if chosen { loops::run(bench)? } else { before["loops"].clone() });
    Ok(results)
}
