//! `cargo xtask bench`: runs pelton side by side with the shell, one benchmark per file.
//!
//! Each writes its figures, the machine and raw samples to bench/results. They need a quiet machine, and no
//! test runs them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool speaks")]

mod awk;
mod buffer;
pub mod contest;
mod copy;
mod cores;
mod csv;
mod doctor;
mod elastic;
mod faithful;
pub mod find;
mod gather;
mod json;
mod kernels;
mod last;
mod limit;
mod load;
pub mod machine;
mod memory;
mod overhead;
mod parts;
mod pipelines;
pub mod results;
mod rivals;
mod scaling;
mod scripts;
pub mod shell_and_run;
mod size;
mod startup;
pub mod stats;
mod stats_overhead;
mod sweep;
mod tiny;
pub mod truth;
mod verdict;
mod what_if;

use std::path::PathBuf;

use lexopt::prelude::*;

use results::Results;
use workbench::cargo_workspace::{release_binary, root, target_dir};
use workbench::{Failure, Outcome, inputs};

/// A benchmark: its name and its function.
type Benchmark = (&'static str, fn(&Bench) -> Outcome<Results>);

const ALL: &[Benchmark] = &[
    ("faithful", faithful::run),
    ("overhead", overhead::run),
    ("startup", startup::run),
    ("tiny", tiny::run),
    ("kernels", kernels::run),
    ("pipelines", pipelines::run),
    ("cores", cores::run),
    ("parts", parts::run),
    ("scaling", scaling::run),
    ("elastic", elastic::run),
    ("memory", memory::run),
    ("buffer", buffer::run),
    ("scripts", scripts::run),
    ("stats", stats_overhead::run),
    ("json", json::run),
    ("csv", csv::run),
    ("awk", awk::run),
    ("size", size::run),
    ("verdict", verdict::run),
    ("doctor", doctor::run),
    ("find", find::run),
    ("copy", copy::run),
    ("truth", truth::run),
    ("what-if", what_if::run),
    ("sweep", sweep::run),
    ("last", last::run),
    ("limit", limit::run),
    ("rivals", rivals::run),
];

/// Returns the names of all benchmarks.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|(name, _)| *name).collect()
}

/// The options.
#[derive(Default)]
pub struct Options {
    names: Vec<String>,
    runs: Option<usize>,
    size_mb: Option<u64>,
    results: Option<PathBuf>,
    pelton: Option<PathBuf>,
    only: Option<String>,
    /// Makes one table of all results at the end.
    gather: bool,
}

/// The context of every benchmark.
pub struct Bench {
    /// The release binary.
    pub pelton: PathBuf,
    /// The data directory, also the working directory of measured programs.
    pub data: PathBuf,
    /// The part to run, for a benchmark with parts.
    pub only: Option<String>,
    /// The directory of results.
    pub results: PathBuf,
    /// The machine, see [`machine::describe`].
    pub machine: serde_json::Value,
    runs: Option<usize>,
    size_mb: Option<u64>,
}

impl Options {
    /// Parses `[NAME…] [--runs N] [--size MB] [--only PART] [--results DIR] [--pelton BINARY]`; the name
    /// `all` means all benchmarks, and `gather` the table.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let mut options = Options::default();
        while let Some(arg) = args.next()? {
            match arg {
                Long("runs") => options.runs = Some(args.value()?.parse()?),
                Long("size") => options.size_mb = Some(args.value()?.parse()?),
                Long("results") => options.results = Some(args.value()?.into()),
                Long("only") => options.only = Some(args.value()?.string()?),
                Long("pelton") => options.pelton = Some(args.value()?.into()),
                Value(name) => options.add(name.string()?),
                other => return Err(other.unexpected().into()),
            }
        }
        let chosen = options.chosen()?;
        if options.only.is_some()
            && chosen
                .iter()
                .any(|(name, _)| !["copy", "find", "limit", "rivals", "scripts", "sweep"].contains(name))
        {
            return Err(
                "--only is for `bench copy`, `find`, `limit`, `rivals`, `scripts` and `sweep`, which have parts".into(),
            );
        }
        Ok(options)
    }

    fn add(&mut self, name: String) {
        self.gather |= matches!(name.as_str(), "all" | "gather");
        match name.as_str() {
            "all" => self.names.extend(ALL.iter().map(|(name, _)| (*name).to_owned())),
            "gather" => {}
            _ => self.names.push(name),
        }
    }

    fn chosen(&self) -> Outcome<Vec<Benchmark>> {
        if self.names.is_empty() && !self.gather {
            return Ok(ALL.to_vec());
        }
        let find =
            |name: &String| ALL.iter().find(|(known, _)| known == name).copied().ok_or_else(|| unknown(name));
        self.names.iter().map(find).collect()
    }
}

fn unknown(name: &str) -> Failure {
    let known = ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    format!("there is no benchmark '{name}': there are {known}").into()
}

impl Bench {
    /// Returns the number of runs: `--runs`, or the default.
    pub fn runs(&self, default: usize) -> usize {
        self.runs.unwrap_or(default).max(1)
    }

    /// Returns the size of the data: `--size`, or the default.
    pub fn size_mb(&self, default: u64) -> u64 {
        self.size_mb.unwrap_or(default).max(1)
    }
}

/// Builds pelton, unless a binary was given, and runs the chosen benchmarks. With `all`, the others run even
/// if one fails.
pub fn run(options: Options) -> Outcome {
    let dir = options.results.clone().unwrap_or_else(|| root().join("bench/results"));
    let chosen = options.chosen()?;
    let measured = if chosen.is_empty() { Ok(()) } else { measure(&options, &chosen, &dir) };
    if options.gather {
        println!("{}", gather::run(&dir)?.display());
    }
    measured
}

fn measure(options: &Options, chosen: &[Benchmark], dir: &std::path::Path) -> Outcome {
    let pelton = match &options.pelton {
        Some(given) => given.canonicalize()?,
        None => release_binary()?,
    };
    let data = target_dir()?.join(format!("bench-v{}", inputs::VERSION));
    std::fs::create_dir_all(&data)?;
    let machine = machine::describe(&pelton);
    let (only, results) = (options.only.clone(), dir.to_path_buf());
    let (runs, size_mb) = (options.runs, options.size_mb);
    let bench = Bench { pelton, data, only, results, machine, runs, size_mb };
    let one = |(name, benchmark): &Benchmark| -> Outcome {
        let results = workbench::steps::timed(&format!("bench {name}"), || benchmark(&bench))?;
        results.publish(&bench.machine, dir)
    };
    match options.gather {
        true => workbench::steps::all(chosen.iter().map(one)),
        false => chosen.iter().try_for_each(one),
    }
}
