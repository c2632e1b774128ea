//! Experiments with pipelines of commands.

mod p01_per_stage;
mod p02_bottleneck;
mod p03_fusion;
mod p04_splitting;
mod p05_three_awks;
mod p06_busy;
mod p07_width;
mod p08_blocking;
mod p09_filter_early;
mod p10_json_stages;
mod p11_json_select;
mod p12_start;
mod p13_advice;
mod p14_csv;

use serde_json::Value as Json;

use super::Experiment;
use super::finding::Finding;
use super::lab::{Lab, list, number, text};
use workbench::Outcome;
use workbench::cargo_workspace::on_path;
use workbench::inputs::JSON_MENU;

/// All experiments of this group, in order.
pub const ALL: &[&Experiment] = &[
    &p01_per_stage::EXPERIMENT,
    &p02_bottleneck::EXPERIMENT,
    &p03_fusion::EXPERIMENT,
    &p04_splitting::EXPERIMENT,
    &p05_three_awks::EXPERIMENT,
    &p06_busy::EXPERIMENT,
    &p07_width::EXPERIMENT,
    &p08_blocking::EXPERIMENT,
    &p09_filter_early::EXPERIMENT,
    &p10_json_stages::EXPERIMENT,
    &p11_json_select::EXPERIMENT,
    &p12_start::EXPERIMENT,
    &p13_advice::EXPERIMENT,
    &p14_csv::EXPERIMENT,
];

/// The JSON parser in two awk stages, whole and with its tokenizer split in two, over a file `menu`.
struct JsonStages;

impl JsonStages {
    /// Prepares the programs, and this many megabytes of menus.
    fn prepare(lab: &Lab, megabytes: u64) -> Outcome<Self> {
        for program in ["bench/awk/tokenize.awk", "bench/awk/parse.awk"] {
            lab.program(program)?;
        }
        for program in ["split1.awk", "split2.awk", "json.sh"] {
            lab.program(&format!("experiments/pipelines/{program}"))?;
        }
        lab.input(&JSON_MENU, megabytes)?;
        Ok(JsonStages)
    }

    fn whole(&self, awk: &str) -> String {
        format!("{awk} -f tokenize.awk menu | {awk} -f parse.awk")
    }

    fn split(&self, awk: &str) -> String {
        format!("{awk} -f split1.awk menu | {awk} -f split2.awk | {awk} -f parse.awk")
    }
}

/// Returns those of the three awks that are installed.
fn awks(finding: &mut Finding) -> Vec<&'static str> {
    let mut found = Vec::new();
    for awk in ["original-awk", "mawk", "gawk"] {
        if on_path(awk) {
            found.push(awk);
        } else {
            finding.lacks(awk);
        }
    }
    found
}

/// Returns each stage's (user+sys)/real in percent.
fn shares(record: &Json) -> Vec<f64> {
    let share = |stage: &Json| {
        let ns = |key: &str| number(stage, &format!("/cost/{key}"));
        100.0 * (ns("user_ns") + ns("sys_ns")) / ns("wall_ns")
    };
    list(record, "/pipelines/0/stages").iter().map(share).collect()
}

/// Formats the shares: `tokenizer 63%, parser 100%`.
fn share_words(record: &Json, names: &[&str]) -> String {
    let words: Vec<String> =
        names.iter().zip(shares(record)).map(|(name, share)| format!("{name} {share:.0}%")).collect();
    words.join(", ")
}

/// Returns the bottleneck stage, and the sentence about it.
fn bottleneck(record: &Json) -> (Option<u64>, &str) {
    (record["verdict"]["bottleneck"]["stage"].as_u64(), text(record, "/verdict/headline"))
}

/// Returns user+sys of the whole run in seconds.
fn total_cpu(record: &Json) -> f64 {
    (number(record, "/total/user_ns") + number(record, "/total/sys_ns")) / 1e9
}
