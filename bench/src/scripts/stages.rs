//! Which stages of a script run natively, and why the others do not.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use workbench::Outcome;

/// The stages of one script, and the reasons of those that stay processes, with how many there are of each.
#[derive(Default)]
pub struct Stages {
    pub all: usize,
    pub native: usize,
    pub reasons: BTreeMap<String, usize>,
}

impl Stages {
    /// Reads what `pelton explain --json` says of the script (`explained`) and what its calls have logged. A stage of a loop
    /// counts once.
    pub fn of(explained: &str, log: &str) -> Outcome<Self> {
        let mut found = Stages::default();
        let explained: Value = serde_json::from_str(explained)?;
        let whole = explained["shell_runs_all_because_of"].as_str();
        for one in explained["script"].as_array().into_iter().flatten() {
            let count = |name: &str| one[name].as_u64().unwrap_or(0) as usize;
            let outside = count("stages") - count("stages_called");
            found.all += outside;
            let reason = one["not_all_because_of"].as_str().unwrap_or("unknown");
            let reason = reason.split_once("; `").map_or(reason, |(why, _)| why);
            found.process(reason, outside);
        }
        // A text without compound commands: pelton runs it itself.
        for plan in explained["pipelines"].as_array().into_iter().flatten().map(|one| &one["plan"]) {
            for segment in plan["segments"].as_array().into_iter().flatten() {
                let bound = |name: &str| segment["stages"][name].as_u64().unwrap_or(0) as usize;
                for at in bound("start")..bound("end") {
                    found.all += 1;
                    match segment["reason"].as_str() {
                        None => found.native += 1,
                        Some(why) => {
                            let name = plan["stages"][at]["name"].as_str().unwrap_or_default();
                            found.process(&format!("{name}: {why}"), 1);
                        }
                    }
                }
            }
        }
        if let Some(why) = whole {
            found.all += 1;
            found.process(&format!("the whole script: {why}"), 1);
        }
        let mut calls: BTreeMap<String, Value> = BTreeMap::new();
        for line in log.lines() {
            let call: Value = serde_json::from_str(line)?;
            let (line, stages) = (call["line"].to_string(), call["stages"].clone());
            calls.entry(line).or_insert(stages);
        }
        for stage in calls.values().flat_map(|stages| stages.as_array().into_iter().flatten()) {
            found.all += 1;
            match stage["process_because_of"].as_str() {
                None => found.native += 1,
                Some(reason) => {
                    found.process(&format!("{}: {reason}", stage["name"].as_str().unwrap_or_default()), 1);
                }
            }
        }
        Ok(found)
    }

    fn process(&mut self, reason: &str, count: usize) {
        if count > 0 {
            *self.reasons.entry(reason.to_owned()).or_default() += count;
        }
    }
}

/// Returns what a command prints.
pub fn printed(command: &mut Command) -> Outcome<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok(String::from_utf8(output.stdout)?)
}
