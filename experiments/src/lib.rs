//! `cargo xtask experiments`: repeats every measurement that pelton's requirements rest on, and compares it
//! with the published one. One file per experiment, named after its id; a folder per group; their small
//! programs are in experiments/.
//!
//! Each run leaves a JSON record per experiment. The report uses all existing records, so one experiment can
//! be run again alone, which updates its part of the report.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool speaks")]

mod buffers;
mod copying;
mod finding;
mod lab;
mod pipelines;
mod programs;
mod report;
mod shape;
mod threads;
mod walking;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use lexopt::prelude::*;
use serde_json::Value as Json;

use finding::Finding;
use lab::Lab;
use pelton_bench::machine;
use shape::Shape;
use workbench::cargo_workspace::{release_binary, root, target_dir};
use workbench::steps::timed;
use workbench::{Failure, Outcome};

/// An experiment: what was published, what is expected here, and how to measure it.
pub struct Experiment {
    /// Its id in the requirements, such as `P3`.
    pub id: &'static str,
    /// A short title.
    pub title: &'static str,
    /// What was published, in a sentence or two.
    pub published: &'static str,
    /// The expected shapes, as data.
    pub shapes: &'static [&'static Shape],
    /// The lesson, in two sentences.
    pub lesson: &'static str,
    /// Runs the experiment.
    run: fn(&Lab, &mut Finding) -> Outcome,
}

/// All groups, in the order of the report.
const ALL: &[&[&Experiment]] = &[pipelines::ALL, walking::ALL, buffers::ALL, threads::ALL, copying::ALL];

/// The options.
#[derive(Default)]
pub struct Options {
    /// Ids, or the letters of groups; all if empty.
    pub only: Vec<String>,
    /// Uses small inputs and one round.
    pub quick: bool,
    /// Runs nothing; makes the report of the existing records.
    pub gather: bool,
    /// The directory of records and report.
    pub results: Option<PathBuf>,
    /// A pelton to use instead of the release binary.
    pub pelton: Option<PathBuf>,
}

impl Options {
    /// Parses `[--only P5,B] [--quick] [--gather] [--results DIR] [--pelton FILE]`.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut options = Options::default();
        while let Some(arg) = args.next()? {
            match arg {
                Long("only") => {
                    options.only.extend(args.value()?.string()?.split(',').map(str::to_uppercase))
                }
                Long("quick") => options.quick = true,
                Long("gather") => options.gather = true,
                Long("results") => options.results = Some(args.value()?.into()),
                Long("pelton") => options.pelton = Some(args.value()?.into()),
                other => return Err(other.unexpected().into()),
            }
        }
        options.chosen()?;
        Ok(options)
    }

    fn chosen(&self) -> Outcome<Vec<&'static Experiment>> {
        let wanted = |one: &Experiment, word: &String| one.id == word || &one.id[..1] == word;
        if let Some(word) = self.only.iter().find(|word| !all().any(|one| wanted(one, word))) {
            let ids: Vec<&str> = all().map(|one| one.id).collect();
            return Err(format!("there is no experiment '{word}': there are {}", ids.join(", ")).into());
        }
        let chosen =
            |one: &&Experiment| self.only.is_empty() || self.only.iter().any(|word| wanted(one, word));
        Ok(all().filter(chosen).collect())
    }

    /// Returns the results directory. A quick run replaces the figures of a full run only if asked to.
    fn results(&self) -> Outcome<PathBuf> {
        match &self.results {
            Some(dir) => Ok(dir.clone()),
            None if self.quick => Ok(target_dir()?.join("experiments-quick")),
            None => Ok(root().join("experiments")),
        }
    }
}

/// Returns all experiments.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    ALL.iter().copied().flatten().copied()
}

/// Runs the chosen experiments, and writes the report. If one cannot run, the others still do.
pub fn run(options: &Options) -> Outcome {
    let dir = options.results()?;
    fs::create_dir_all(dir.join("results"))?;
    let failures = if options.gather { Vec::new() } else { measure(options, &dir)? };
    let written = report::write(&dir, &records(&dir)?)?;
    for file in written {
        println!("{}", file.display());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn measure(options: &Options, dir: &std::path::Path) -> Outcome<Vec<String>> {
    if !options.quick {
        programs::install();
    }
    let pelton = options.pelton.clone().map_or_else(release_binary, |path| Ok(fs::canonicalize(path)?))?;
    let machine = machine::describe(&pelton);
    let mut failures = Vec::new();
    for experiment in options.chosen()? {
        let lab = Lab::open(pelton.clone(), options.quick)?;
        match timed(&format!("{}: {}", experiment.id, experiment.title), || {
            perform(experiment, &lab, &machine)
        }) {
            Ok(record) => fs::write(record_path(dir, experiment), record + "\n")?,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    Ok(failures)
}

fn record_path(dir: &std::path::Path, experiment: &Experiment) -> PathBuf {
    dir.join("results").join(experiment.id).with_extension("json")
}

/// Runs one experiment; returns its record as JSON.
fn perform(experiment: &Experiment, lab: &Lab, machine: &Json) -> Outcome<String> {
    let start = Instant::now();
    let mut finding = Finding::default();
    (experiment.run)(lab, &mut finding)?;
    finding.complete(experiment.shapes)?;
    let record = finding.record(experiment, lab.quick, machine, start.elapsed());
    Ok(pelton_bench::results::pretty_json(&record))
}

/// Calls pelton and keeps its report, or else its output, for our report.
fn shown(lab: &Lab, finding: &mut Finding, words: &[&str]) -> Outcome {
    let out = lab.capture(words)?;
    let reports = matches!(words[0], "time" | "find");
    let quoted = |word: &&str| {
        let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=,+".contains(&byte));
        if plain { (*word).to_owned() } else { format!("\"{}\"", word.replace('$', "\\$")) }
    };
    let command = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    finding.show(&format!("pelton {command}"), &if reports { out.stderr } else { out.text() });
    Ok(())
}

/// Returns the existing records, in the order of the report.
fn records(dir: &std::path::Path) -> Outcome<Vec<(&'static Experiment, Option<Json>)>> {
    let read = |experiment: &'static Experiment| -> Outcome<_> {
        let path = record_path(dir, experiment);
        let record = match fs::read(&path) {
            Ok(text) => Some(
                serde_json::from_slice(&text)
                    .map_err(|error| -> Failure { format!("{}: {error}", path.display()).into() })?,
            ),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok((experiment, record))
    };
    all().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_every_experiment_expects_something() {
        let mut ids: Vec<&str> = all().map(|one| one.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().count());
        for one in all() {
            assert!(!one.shapes.is_empty(), "{}", one.id);
            assert!(one.shapes.iter().any(|shape| shape.exact), "{}: nothing for the tests to see", one.id);
        }
    }
}
