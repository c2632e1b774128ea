//! The record of all campaigns: `comparisons.json`, and the same as Markdown for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::State;
use super::turn::grouped;
use crate::oracles;
use workbench::Outcome;

/// Columns: each counter of a tool, and its heading.
const COUNTED: [(&str, &str); 6] = [
    ("answers", "compared"),
    ("comparisons", "runs of kernels"),
    ("processes", "processes"),
    ("declined", "declined"),
    ("handed_over", "handed over"),
    ("differences", "differences"),
];

/// Columns of machines that do not compare tools, but a library (json, csv), invariants (parsers), or bash.
const COUNTED_OTHERS: [(&str, &str); 4] = [
    ("inputs", "inputs"),
    ("accepted", "of them accepted"),
    ("comparisons", "comparisons"),
    ("differences", "differences"),
];

/// Adds a campaign's counts to the record in this folder.
pub fn add(folder: &Path, state: &State) -> Outcome {
    fs::create_dir_all(folder)?;
    let path = folder.join("comparisons.json");
    let mut campaigns: Vec<Value> = match fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Vec::new(),
    };
    for (oracle, sums) in &state.sums {
        campaigns.push(json!({
            "machine": state.machine,
            "oracle": oracle,
            "versions": oracles::versions(oracle)?,
            "seeds": [state.first_seed, state.next_seed - 1],
            "turns": state.turns,
            "minutes": (state.begun.elapsed().as_secs_f64() / 6.0).round() / 10.0,
            "tools": sums.parts("kernels"),
            "others": sums.others("kernels"),
        }));
    }
    fs::write(&path, serde_json::to_string_pretty(&campaigns)? + "\n")?;
    Ok(fs::write(folder.join("comparisons.md"), page(&campaigns))?)
}

/// Returns a table of the tools of each root, with their versions.
pub fn by_oracle(state: &State) -> String {
    let columns = &COUNTED[..];
    let mut out = String::from("\n| root | tool | version |");
    columns.iter().for_each(|(_, title)| out += &format!(" {title} |"));
    out += &format!("\n| --- | --- | --- |{}\n", " ---: |".repeat(columns.len()));
    for (oracle, sums) in &state.sums {
        let versions = oracles::versions(oracle).unwrap_or_default();
        for (tool, counts) in sums.parts("kernels") {
            let version = versions.get(&tool).map_or("", String::as_str);
            let name = format!("{oracle} | {tool} | {version}");
            row(&mut out, &name, columns, |counted| counts.get(counted).copied().unwrap_or_default());
        }
    }
    out
}

fn page(campaigns: &[Value]) -> String {
    let mut out = String::from(
        "# Comparisons with the real tools\n\n\
         Generated command lines over generated data: what a kernel prints, says and ends with, beside the installed tool as a \
         process. *Compared* counts command lines with data that the tool ran and whose answer was compared; for each the kernel runs \
         in blocks of one, 7 or 4096 bytes, alone and shared by three, and in a whole block (*runs of kernels*). *Declined* is what pelton leaves to the tool, which \
         a campaign does not run. Every difference became a case and was mended, in the campaign's time or after it; what is recorded as \
         a difference here was one then, and is counted once for each locale. Added to by\n\n\
         ```sh\ncargo xtask fuzz --only awk,sed --minutes 60 --seed N --record bench/results\n```\n",
    );
    out += "\n## All campaigns\n\n";
    let (mut tools, mut others): (Counts, Counts) = Default::default();
    for campaign in campaigns {
        add_counts(&mut tools, &campaign["tools"]);
        add_counts(&mut others, &campaign["others"]);
    }
    out += &tables(&tools, &others);
    for (number, campaign) in campaigns.iter().enumerate() {
        let machine = &campaign["machine"];
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(
            out,
            "\n## Campaign {}: {}, seeds {} to {}, {} minutes\n\n{}, {} cores, commit {}\n\n",
            number + 1,
            text(&machine["date"]),
            campaign["seeds"][0],
            campaign["seeds"][1],
            campaign["minutes"],
            text(&machine["cpu"]),
            machine["cores"],
            text(&machine["commit"]),
        );
        if let Some(oracle) = campaign["oracle"].as_str().filter(|oracle| !oracle.is_empty()) {
            let versions = campaign["versions"].as_object().into_iter().flatten();
            let versions: Vec<String> =
                versions.map(|(tool, version)| format!("{tool} {}", text(version))).collect();
            let _ = write!(out, "With the tools of {oracle}: {}.\n\n", versions.join(", "));
        }
        let (mut tools, mut others): (Counts, Counts) = Default::default();
        add_counts(&mut tools, &campaign["tools"]);
        add_counts(&mut others, &campaign["others"]);
        out += &tables(&tools, &others);
    }
    out
}

/// Counters by tool or machine.
type Counts = BTreeMap<String, BTreeMap<String, u64>>;

fn add_counts(sums: &mut Counts, counted: &Value) {
    for (name, counts) in counted.as_object().into_iter().flatten() {
        let sums = sums.entry(name.clone()).or_default();
        for (counted, count) in counts.as_object().into_iter().flatten() {
            *sums.entry(counted.clone()).or_default() += count.as_u64().unwrap_or_default();
        }
    }
}

fn tables(tools: &Counts, others: &Counts) -> String {
    let tables = [table("tool", &COUNTED, tools), table("machine", &COUNTED_OTHERS, others)];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Formats a table; `None` without rows.
fn table(of: &str, columns: &[(&str, &str)], rows: &Counts) -> Option<String> {
    let mut out = format!("| {of} |");
    columns.iter().for_each(|(_, title)| out += &format!(" {title} |"));
    out += &format!("\n| --- |{}\n", " ---: |".repeat(columns.len()));
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, counts) in rows {
        for (counted, _) in columns {
            *all.entry(counted).or_default() += counts.get(*counted).copied().unwrap_or_default();
        }
        row(&mut out, name, columns, |counted| counts.get(counted).copied().unwrap_or_default());
    }
    // The counts of different machines cannot be added up.
    if rows.len() > 1 && of == "tool" {
        row(&mut out, "**all**", columns, |counted| all[counted]);
    }
    (!rows.is_empty()).then_some(out)
}

fn row(out: &mut String, name: &str, columns: &[(&str, &str)], count: impl Fn(&str) -> u64) {
    let counts: Vec<String> = columns.iter().map(|(counted, _)| grouped(count(counted))).collect();
    let _ = writeln!(out, "| {name} | {} |", counts.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaigns_add_up() {
        let one = |answers: u64| {
            json!({
                "machine": {"date": "2025-03-02", "cpu": "x", "cores": 2, "commit": "abc"}, "seeds": [1, 4], "minutes": 1.5,
                "tools": {"mawk": {"answers": answers, "declined": 1}, "sed": {"answers": 5}},
                "others": {"json": {"inputs": 300_000}},
            })
        };
        let page = page(&[one(1000), one(234)]);
        assert!(page.contains("| mawk | 1,234 | 0 | 0 | 2 | 0 | 0 |"), "{page}");
        assert!(page.contains("| **all** | 1,244 |"), "{page}");
        assert!(page.contains("| json | 600,000 | 0 | 0 | 0 |"), "{page}");
        assert!(page.contains("## Campaign 2: 2025-03-02, seeds 1 to 4, 1.5 minutes"), "{page}");
    }
}
