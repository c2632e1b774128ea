//! One turn: a target's process with a seed, from its start to its counts and findings.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::targets::Built;
use crate::oracles;
use workbench::Outcome;

/// Counters, by target and by name. A target name with a dot is a part of another target's sums, shown in
/// the record only.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<(String, String), u64>);

impl Sums {
    /// Adds a target's line: `tally: kernels comparisons=400 differences=0`.
    fn read(&mut self, line: &str) {
        let Some((_, line)) = line.split_once("tally: ") else { return };
        let mut words = line.split_whitespace();
        let Some(target) = words.next() else { return };
        for (name, count) in words.filter_map(|word| word.split_once('=')) {
            let Ok(count) = count.parse::<u64>() else { continue };
            *self.0.entry((target.to_owned(), name.to_owned())).or_default() += count;
        }
    }

    /// Adds the sums of a turn.
    pub fn add(&mut self, other: &Sums) {
        for (key, count) in &other.0 {
            *self.0.entry(key.clone()).or_default() += count;
        }
    }

    /// Returns the parts of this target's sums: `kernels.sed` and its counters.
    pub fn parts(&self, target: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut parts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((name, counted), count) in &self.0 {
            if let Some((_, part)) = name.split_once('.').filter(|(whole, _)| *whole == target) {
                parts.entry(part.to_owned()).or_default().insert(counted.clone(), *count);
            }
        }
        parts
    }

    /// Returns the sums of whole targets except this one: `parsers` and its counters.
    pub fn others(&self, target: &str) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut others: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let whole = |name: &&String| !name.contains('.') && *name != target;
        for ((name, counted), count) in self.0.iter().filter(|((name, _), _)| whole(&name)) {
            others.entry(name.clone()).or_default().insert(counted.clone(), *count);
        }
        others
    }

    /// Formats the main counters: `kernels: 5,000,000 comparisons · pipelines: …`.
    pub fn shown(&self) -> String {
        const WORTH_SHOWING: [&str; 5] = ["pipelines", "answers", "comparisons", "expressions", "inputs"];
        let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for name in WORTH_SHOWING {
            let of_wholes =
                self.0.iter().filter(|((target, counted), _)| counted == name && !target.contains('.'));
            for ((target, _), count) in of_wholes {
                targets.entry(target).or_default().push(format!("{} {name}", grouped(*count)));
            }
        }
        let shown: Vec<String> =
            targets.iter().map(|(target, counts)| format!("{target}: {}", counts.join(", "))).collect();
        shown.join(" · ")
    }
}

/// Formats `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The result of a turn.
pub struct Turn {
    /// The turn's counters.
    pub sums: Sums,
    /// Files with differences.
    pub found: Vec<PathBuf>,
}

/// Shrinking a finding makes a turn longer, but must end some time.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs a target with a seed, against the tools of a root if one is named; differences go into `folder`.
pub fn take(built: &Built, oracle: &str, seed: u64, folder: &Path) -> Outcome<Turn> {
    let mut command = Command::new(&built.program);
    if !oracle.is_empty() {
        command.env("PELTON_ORACLE", oracles::tools(oracle)?);
    }
    if let Some(commands) = built.target.commands {
        command.env("PELTON_FUZZ_ONLY", commands);
    }
    let mut child = command
        .args(["--nocapture", "--test-threads", "1"])
        .args(built.target.functions)
        .current_dir(&built.dir)
        .env("PELTON_FUZZ_CASES", built.target.cases.to_string())
        .env("PELTON_SEED", seed.to_string())
        .env("PELTON_FUZZ_THREADS", "1")
        .env("PELTON_FUZZ_FOUND", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let collect = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // After a read error the log is incomplete.
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let said = collect(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let complained = collect(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let deadline = Instant::now() + TIMEOUT;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = [said, complained].map(|thread| thread.join().unwrap_or_default()).concat();
    let mut sums = Sums::default();
    text.lines().for_each(|line| sums.read(line));
    let ended_well = status.is_some_and(|status| status.success());
    Ok(Turn { sums, found: kept(folder, ended_well, &text)? })
}

/// Returns the files that a turn left, or its log if it failed without leaving one.
fn kept(folder: &Path, ended_well: bool, log: &str) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            found.push(entry?.path());
        }
    }
    if found.is_empty() && !ended_well {
        fs::create_dir_all(folder)?;
        let path = folder.join("log.txt");
        fs::write(&path, log)?;
        found.push(path);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up() {
        let mut sums = Sums::default();
        sums.read("cut 3 comparisons");
        sums.read("tally: kernels comparisons=1234000 declined=3");
        sums.read("test x ... tally: kernels comparisons=567 x=y");
        sums.read("tally: kernels.cut comparisons=567");
        let mut other = Sums::default();
        other.read("tally: pipelines pipelines=7 comparisons=12");
        sums.add(&other);
        assert_eq!(sums.shown(), "kernels: 1,234,567 comparisons · pipelines: 7 pipelines, 12 comparisons");
        assert_eq!(sums.parts("kernels")["cut"]["comparisons"], 567);
        assert_eq!(sums.others("kernels").keys().collect::<Vec<_>>(), ["pipelines"]);
        assert_eq!(sums.others("kernels")["pipelines"]["pipelines"], 7);
    }

    #[test]
    fn a_turn_that_died_leaves_its_log() {
        let folder = std::env::temp_dir().join(format!("pelton-turn-{}", std::process::id()));
        assert!(kept(&folder, true, "fine").unwrap().is_empty());
        let found = kept(&folder, false, "killed").unwrap();
        assert_eq!(fs::read_to_string(&found[0]).unwrap(), "killed");
        fs::remove_dir_all(&folder).unwrap();
    }
}
