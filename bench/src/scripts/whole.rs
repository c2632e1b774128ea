//! Whole scripts over inputs of two sizes: the same output, files and status, and the time that each takes.

use super::inputs;
use super::stages::{Stages, printed};
use crate::contest::{Contender, Samples, run_to_status};
use crate::results::{Claim, part};
use crate::shell_and_run::{Place, digest};
use crate::{Bench, stats};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use workbench::Outcome;
use workbench::cargo_workspace::root;

/// A shell that runs the scripts in a locale.
pub struct Setting {
    /// Its part of the result.
    pub name: &'static str,
    shell: &'static str,
    /// `LC_ALL`.
    locale: &'static str,
}

/// The parts of the result.
pub const SETTINGS: [Setting; 4] = [
    Setting { name: "bash", shell: "bash", locale: "C" },
    Setting { name: "bash-utf8", shell: "bash", locale: "en_US.UTF-8" },
    Setting { name: "dash", shell: "dash", locale: "C" },
    Setting { name: "zsh", shell: "zsh", locale: "C" },
];
/// Sizes of the inputs in MB, rounds, and the gain that is asked for.
const SIZES: [(u64, usize, f64); 2] = [(1, 7, 1.3), (50, 3, 4.0)];
/// A script that ends sooner than this is timed in more rounds.
const SHORT_SECONDS: f64 = 0.15;

/// What was found of one script.
struct Row {
    name: String,
    lines: usize,
    /// For each size: the shell's time in seconds, and how many times faster pelton is.
    times: Vec<(f64, f64)>,
    stages: Stages,
}

/// Runs all scripts that the shell can read and whose name contains `pattern`.
pub fn run(bench: &Bench, setting: &Setting, pattern: Option<&str>) -> Outcome<Value> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut differences, mut samples_of) = (Vec::new(), serde_json::Map::new());
    for (megabytes, rounds, _) in SIZES {
        let large = bench.data.join(format!("scripts-{megabytes}"));
        inputs::make_large(&large, megabytes << 20)?;
        let place = Place::named(&format!("pelton-scripts-{megabytes}"))?;
        inputs::make_small(&place.dir)?;
        for entry in fs::read_dir(&large)? {
            let path = entry?.path();
            std::os::unix::fs::symlink(&path, place.dir.join(path.file_name().unwrap_or_default()))?;
        }
        for script in scripts(setting.shell, pattern)? {
            let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            fs::copy(&script, place.dir.join("script.sh"))?;
            let one = Script { bench, setting, dir: &place.dir };
            let (same, samples) = one.contest(bench.runs(rounds))?;
            let gain = stats::median_ratio(&samples[0].real, &samples[1].real);
            if !same {
                differences.push(format!("{name} ({megabytes} MB)"));
            }
            println!(
                "{} {megabytes} MB {name}: {:.3} s, {gain:.2}x{}",
                setting.name,
                stats::median(&samples[0].real),
                if same { "" } else { "  DIFFERENT" }
            );
            if !rows.iter().any(|row| row.name == name) {
                let lines = fs::read_to_string(&script)?.lines().count();
                rows.push(Row { name: name.clone(), lines, times: vec![], stages: one.stages()? });
            }
            let row = rows.iter_mut().find(|row| row.name == name).ok_or("no such row")?;
            row.times.push((stats::median(&samples[0].real), gain));
            samples_of.insert(format!("{name} {megabytes}"), samples.iter().map(Samples::json).collect());
        }
    }
    let mut part = part(&told(setting, &rows, &differences), &claims(setting.name, &rows, &differences));
    part["samples"] = samples_of.into();
    Ok(part)
}

/// Returns the scripts that the shell can read, in order of their names.
fn scripts(shell: &str, pattern: Option<&str>) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("bench/scripts"))? {
        let path = entry?.path();
        let is_for_bash = fs::read_to_string(&path)?.starts_with("#!/bin/bash");
        let named = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if (!is_for_bash || shell == "bash") && pattern.is_none_or(|pattern| named.contains(pattern)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A script in its place, `script.sh`.
struct Script<'a> {
    bench: &'a Bench,
    setting: &'a Setting,
    dir: &'a Path,
}

/// What a run has left: its status, its output, and its files with their contents.
type Left = (Option<i32>, Vec<u8>, BTreeMap<PathBuf, Option<(u64, u64)>>);

impl Script<'_> {
    /// Runs the script both ways, in turns. Returns whether all runs left the same.
    fn contest(&self, rounds: usize) -> Outcome<(bool, Vec<Samples>)> {
        let (pelton, Setting { shell, locale, .. }) = (self.bench.pelton.as_os_str(), self.setting);
        let script = "exec \"$@\" ./script.sh > printed 2>&1";
        let contender = |name: &str, words: &[OsString]| {
            let mut argv: Vec<OsString> = ["dash", "-c", script, "dash"].map(OsString::from).to_vec();
            argv.extend(words.iter().cloned());
            Contender::new(name, argv).in_locale(locale)
        };
        let both = [
            contender("shell", &[(*shell).into()]),
            contender(
                "pelton",
                &[pelton.to_owned(), "run".into(), "--shell".into(), (*shell).into(), "-f".into()],
            ),
        ];
        let mut samples: Vec<Samples> =
            both.iter().map(|one| Samples { name: one.name.clone(), ..Samples::default() }).collect();
        let (mut first, mut same, mut round) = (None, true, 0);
        let rounds_max = if rounds > 1 { rounds * 3 } else { 1 };
        while round < rounds || round < rounds_max && stats::median(&samples[0].real) < SHORT_SECONDS {
            for place in 0..2 {
                let index = (place + round) % 2;
                self.clean()?;
                let (run, status) = run_to_status(&both[index], self.dir)?;
                samples[index].push(&run);
                let left = self.left(status.code())?;
                same &= *first.get_or_insert_with(|| left.clone()) == left;
            }
            round += 1;
        }
        self.clean()?;
        Ok((same, samples))
    }

    /// Empties the directory of outputs.
    fn clean(&self) -> Outcome {
        let out = self.dir.join("out");
        if out.is_dir() {
            fs::remove_dir_all(&out)?;
        }
        Ok(fs::create_dir(out)?)
    }

    fn left(&self, status: Option<i32>) -> Outcome<Left> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.dir.join("out")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                let content = if path.is_dir() {
                    folders.push(path.clone());
                    None
                } else {
                    Some(digest(&path)?)
                };
                files.insert(path, content);
            }
        }
        Ok((status, fs::read(self.dir.join("printed"))?, files))
    }

    /// Runs the script once more and asks which stages ran natively.
    fn stages(&self) -> Outcome<Stages> {
        let log = self.dir.join("calls");
        let _ = fs::remove_file(&log);
        let pelton = |verb: &str| {
            let mut command = Command::new(&self.bench.pelton);
            command
                .arg(verb)
                .current_dir(self.dir)
                .env("LC_ALL", self.setting.locale)
                .env_remove("LD_LIBRARY_PATH");
            command
        };
        let explained =
            printed(pelton("explain").args(["--json", "--shell", self.setting.shell, "-f", "./script.sh"]))?;
        printed(pelton("run").arg("--log-calls").arg(&log).args([
            "--shell",
            self.setting.shell,
            "-f",
            "./script.sh",
        ]))?;
        let logged = fs::read_to_string(&log).unwrap_or_default();
        self.clean()?;
        Stages::of(&explained, &logged)
    }
}

fn told(setting: &Setting, rows: &[Row], differences: &[String]) -> String {
    let Setting { name, shell, locale } = setting;
    let mut text = format!("## {name}: {} scripts, LC_ALL={locale}\n\n", rows.len());
    let sizes: Vec<String> = SIZES.iter().map(|(mb, ..)| format!(" {shell}, {mb} MB, s | gain |")).collect();
    text += &format!(
        "| script | lines | stages, native |{} processes, because of |\n| --- | ---: | ---: |",
        sizes.concat()
    );
    text += &format!("{} --- |\n", " ---: | ---: |".repeat(SIZES.len()));
    let mut ranking: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for row in rows {
        let times: String =
            row.times.iter().map(|(time, gain)| format!(" {time:.3} | {gain:.2} |")).collect();
        let reasons: Vec<String> =
            row.stages.reasons.iter().map(|(why, count)| format!("{count}: {why}")).collect();
        let cell = reasons.join("; ").replace('|', "\\|");
        text += &format!(
            "| {} | {} | {}/{} |{times} {cell} |\n",
            row.name, row.lines, row.stages.native, row.stages.all
        );
        for (reason, count) in &row.stages.reasons {
            let entry = ranking.entry(reason).or_default();
            entry.0 += count;
            entry.1 += row.times.last().map_or(0.0, |(time, gain)| time / gain);
        }
    }
    let mut ranking: Vec<_> = ranking.into_iter().collect();
    ranking.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    text += "\nThe most frequent reasons for processes, with the time that the scripts with such stages take under pelton at 50 MB:\n\n| stages | s | reason |\n| ---: | ---: | --- |\n";
    for (reason, (count, seconds)) in ranking {
        text += &format!("| {count} | {seconds:.2} | {} |\n", reason.replace('|', "\\|"));
    }
    if !differences.is_empty() {
        text += &format!("\nDifferent: {}\n", differences.join(", "));
    }
    text + "\n"
}

fn claims(name: &str, rows: &[Row], differences: &[String]) -> Vec<Claim> {
    let mut claims = vec![Claim {
        text: format!("{name}: scripts that leave other bytes, files or statuses: {}", differences.len()),
        held: differences.is_empty(),
    }];
    for (at, (megabytes, _, asked)) in SIZES.iter().enumerate() {
        let gains: Vec<f64> =
            rows.iter().filter_map(|row| row.times.get(at)).map(|(_, gain)| *gain).collect();
        let mean = stats::geometric_mean(gains.iter().copied());
        let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
        let asked_of = |what: &str, figure: f64, least: f64| Claim {
            text: format!("{name}, {megabytes} MB: {what}: {figure:.2} (at least {least})"),
            held: figure >= least,
        };
        claims.push(asked_of("gain, geometric mean", mean, *asked));
        claims.push(asked_of("least gain", least, 0.97));
    }
    let sum = |of: fn(&Stages) -> usize| rows.iter().map(|row| of(&row.stages)).sum::<usize>();
    let share = sum(|stages| stages.native) as f64 / sum(|stages| stages.all).max(1) as f64;
    claims.push(Claim {
        text: format!("{name}: share of stages that run natively: {share:.2} (at least 0.85)"),
        held: share >= 0.85,
    });
    claims
}
