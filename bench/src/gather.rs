//! `cargo xtask bench gather`: one table of all existing results. `bench all` runs what can be run here, then
//! gathers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::stats;
use workbench::Outcome;

/// The table's file name.
const FILE: &str = "ALL.md";
/// Longer texts are cut: the benchmark's own result has the full text.
const LONGEST: usize = 60;

/// Contenders that ran side by side, and their benchmark.
struct Group<'r> {
    what: String,
    contenders: Vec<&'r Value>,
}

/// Writes the table of the results in `dir`, and returns its path.
pub fn run(dir: &Path) -> Outcome<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    names.sort();
    let mut results = Vec::new();
    for path in names {
        let result: Value = serde_json::from_slice(&fs::read(&path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        // The folder also holds comparison campaigns.
        if result["benchmark"].is_string() {
            results.push(result);
        }
    }
    let path = dir.join(FILE);
    fs::write(&path, table(&results))?;
    Ok(path)
}

fn table(results: &[Value]) -> String {
    let mut out = String::from(
        "# All benchmarks\n\nThe last result of each, gathered by `cargo xtask bench gather` (`bench all` runs them first). Medians; \
         ratios are to the first contender of a group, medians of runs that stood next to each other. Raw samples, what was asked \
         and on which data: the benchmark's own page.\n\n\
         | benchmark | claims held | date | machine | pelton |\n| --- | --- | --- | --- | --- |\n",
    );
    for result in results {
        let machine = &result["machine"];
        let claims = result["claims"].as_array().map_or(&[][..], Vec::as_slice);
        let held = claims.iter().filter(|claim| claim["held"] == true).count();
        let told = if claims.is_empty() { String::new() } else { format!("{held} of {}", claims.len()) };
        let _ = writeln!(
            out,
            "| [{0}]({0}.md) | {told} | {1} | {2}, {3} cores, Linux {4}, load {5} | {6} |",
            text(result, "benchmark"),
            text(machine, "date"),
            text(machine, "cpu"),
            machine["cores"],
            text(machine, "kernel"),
            text(machine, "load").split(' ').next().unwrap_or_default(),
            text(machine, "commit"),
        );
    }
    out.push_str(
        "\n## Figures\n\n| benchmark | what | contender | real | user+sys | real, ratio | user+sys, ratio |\n\
         | --- | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for result in results {
        let mut groups = Vec::new();
        collect(&result["data"], &mut Vec::new(), &mut groups);
        groups.iter().for_each(|group| rows(text(result, "benchmark"), group, &mut out));
    }
    out.push_str(&versions(results));
    out
}

/// Collects every list of samples in a result's data, at any depth, with the keys on its path.
fn collect<'r>(data: &'r Value, way: &mut Vec<&'r str>, groups: &mut Vec<Group<'r>>) {
    match data {
        Value::Array(items) if items.iter().any(is_samples) => {
            let contenders = items.iter().filter(|item| is_samples(item)).collect();
            groups.push(Group { what: way.join(", "), contenders });
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, way, groups)),
        Value::Object(members) => {
            let before = way.len();
            let told = ["kernel", "name", "tree", "title", "pipeline", "locale"];
            way.extend(told.iter().filter_map(|key| members.get(*key)?.as_str()));
            for (key, member) in members {
                let inside = way.len();
                if !matches!(key.as_str(), "samples" | "runs" | "run" | "data") {
                    way.push(key);
                }
                collect(member, way, groups);
                way.truncate(inside);
            }
            way.truncate(before);
        }
        _ => {}
    }
}

fn is_samples(item: &Value) -> bool {
    item["name"].is_string() && item["median"]["real"].is_number()
}

fn rows(benchmark: &str, group: &Group, out: &mut String) {
    let raw = |one: &Value, which: &str| -> Vec<f64> {
        let figures = |key: &str| one["raw"][key].as_array().into_iter().flatten().filter_map(Value::as_f64);
        match which {
            "cpu" => figures("user").zip(figures("sys")).map(|(user, sys)| user + sys).collect(),
            _ => figures("real").collect(),
        }
    };
    let first = group.contenders[0];
    for one in &group.contenders {
        let ratio = |which: &str| stats::median_ratio(&raw(one, which), &raw(first, which));
        let median = |which: &str| seconds(one["median"][which].as_f64().unwrap_or(f64::NAN));
        let _ = writeln!(
            out,
            "| {benchmark} | {} | {} | {} | {} | {:.3} | {:.3} |",
            short(&group.what),
            short(text(one, "name")),
            median("real"),
            median("cpu"),
            ratio("real"),
            ratio("cpu"),
        );
    }
}

/// Returns the versions in the newest result.
fn versions(results: &[Value]) -> String {
    let newest = results.iter().max_by_key(|result| text(&result["machine"], "date"));
    let versions = newest.and_then(|result| result["machine"]["versions"].as_object());
    let all: Vec<&str> = versions.into_iter().flatten().filter_map(|(_, version)| version.as_str()).collect();
    format!("\nVersions, when last measured: {}.\n", all.join("; "))
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let cut = if cut.len() < text.len() { cut + "…" } else { cut };
    cut.replace('|', "\\|")
}

fn seconds(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.3} ms", seconds * 1e3) } else { format!("{seconds:.3} s") }
}

fn text<'a>(json: &'a Value, key: &str) -> &'a str {
    json[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn samples(name: &str, real: f64) -> Value {
        json!({"name": name, "median": {"real": real, "cpu": real}, "raw": {"real": [real], "user": [real], "sys": [0.0]}})
    }

    #[test]
    fn samples_are_found_wherever_they_stand() {
        let data = json!([{"kernel": "cut | x", "runs": [{"locale": "C", "samples": [samples("shell", 2.0), samples("pelton", 0.5)]}]}]);
        let result = json!({"benchmark": "kernels", "claims": [{"held": true}, {"held": false}], "data": data,
            "machine": {"date": "2026-01-01", "cpu": "one", "cores": 2, "kernel": "6", "load": "0.1 0.2", "commit": "abc"}});
        let table = table(&[result]);
        assert!(
            table.contains(
                "| [kernels](kernels.md) | 1 of 2 | 2026-01-01 | one, 2 cores, Linux 6, load 0.1 | abc |"
            ),
            "{table}"
        );
        assert!(
            table.contains("| kernels | cut \\| x, C | pelton | 0.500 s | 0.500 s | 0.250 | 0.250 |"),
            "{table}"
        );
    }

    #[test]
    fn the_results_that_are_kept_can_be_gathered() {
        let dir = std::env::temp_dir().join(format!("pelton-gather-test-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        for entry in fs::read_dir(workbench::cargo_workspace::root().join("bench/results")).unwrap().flatten()
        {
            fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
        }
        let all = fs::read_to_string(run(&dir).unwrap()).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        for name in ["kernels", "tiny"] {
            assert!(
                all.contains(&format!("| [{name}]({name}.md) |")) && all.contains(&format!("| {name} | ")),
                "{all}"
            );
        }
    }
}
