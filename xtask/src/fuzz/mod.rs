//! `cargo xtask fuzz`: runs the fuzzing targets in turns, with fresh seeds, for a given time.
//!
//! ```text
//! worker 1:  kernels seed 1 │ pipelines seed 2 │ regex seed 4 │ kernels … │ a turn: a process for seconds,
//! worker 2:  pipelines seed 3 │ kernels seed 5 │ …                        │ with a file per difference
//! ```
//!
//! The targets are tests (`differential`, `random_pipelines`, `regex_oracle`, `fuzz_targets`, `oracle`), built
//! once with the profile `fuzz`. Differences are kept in the target directory as cases that can be pasted
//! into `cases/*.toml`. `--oracle` compares with the tools of other systems instead, in turns.

mod bar;
mod record;
mod targets;
mod turn;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lexopt::prelude::*;
use nix::sys::resource::{Resource, setrlimit};
use serde_json::Value;

use bar::Bar;
use targets::{Built, Target};

use crate::oracles;
use pelton_bench::machine::describe;
use workbench::Outcome;
use workbench::cargo_workspace::target_dir;

/// The options.
pub struct Options {
    minutes: f64,
    seed: u64,
    jobs: usize,
    only: Option<Vec<String>>,
    /// The roots whose tools are compared, see [`oracles`]; the installed tools if empty.
    oracles: Vec<String>,
    /// The folder whose record this campaign is added to.
    record: Option<PathBuf>,
}

impl Options {
    /// Parses `--minutes N [--seed S] [--only MACHINE,…] [--oracle ROOT,… | --all-oracles] [--jobs N]
    /// [--record DIR]`.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options =
            Options { minutes: 1.0, seed: 1, jobs: cores, only: None, oracles: Vec::new(), record: None };
        while let Some(arg) = args.next()? {
            match arg {
                Long("minutes") => options.minutes = args.value()?.parse()?,
                Long("seed") => options.seed = args.value()?.parse()?,
                Long("jobs") => options.jobs = args.value()?.parse::<usize>()?.max(1),
                Long("record") => options.record = Some(args.value()?.into()),
                Long("only") => options.only = Some(list(&args.value()?.string()?)),
                Long("oracle") => options.oracles = list(&args.value()?.string()?),
                Long("all-oracles") => options.oracles = oracles::of_this_machine(),
                other => return Err(other.unexpected().into()),
            }
        }
        options.oracles.iter().try_for_each(|name| oracles::known(name))?;
        options.targets()?;
        Ok(options)
    }

    /// Returns the chosen targets.
    fn targets(&self) -> Outcome<Vec<&'static Target>> {
        let Some(names) = &self.only else { return Ok(targets::usual(self.compares_others())) };
        let find = |name: &String| {
            let known = || targets::ALL.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
            targets::ALL
                .iter()
                .find(|one| one.name == *name)
                .ok_or_else(|| format!("there is no target '{name}': there are {}", known()).into())
        };
        let targets: Vec<&Target> = names.iter().map(find).collect::<Outcome<_>>()?;
        match targets.iter().find(|target| self.compares_others() && !target.takes_oracles()) {
            Some(target) => Err(format!("'{}' compares with no tools of another system", target.name).into()),
            None => Ok(targets),
        }
    }

    fn compares_others(&self) -> bool {
        !self.oracles.is_empty()
    }
}

fn list(names: &str) -> Vec<String> {
    names.split(',').map(str::to_owned).collect()
}

/// Address space of each process of a campaign: a runaway must fail alone, not take the computer down.
const MEMORY_BYTES: u64 = 6 << 30;
/// The largest file that a process may write.
const FILE_BYTES: u64 = 1 << 30;

/// Builds the targets and runs them.
pub fn run(options: Options) -> Outcome {
    let found = target_dir()?.join("fuzz/found");
    std::fs::create_dir_all(&found)?;
    oracles::make_missing(&options.oracles)?;
    let built = targets::build(&options.targets()?, &target_dir()?.join("fuzz/programs"))?;
    // Only after the build: the compiler may need more.
    setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES)?;
    setrlimit(Resource::RLIMIT_FSIZE, FILE_BYTES, FILE_BYTES)?;
    let state = Mutex::new(State::new(&options));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| work(&state, &built, &found));
        }
        while !lock(&state).is_over() {
            std::thread::sleep(Duration::from_millis(500));
            lock(&state).show();
        }
    });
    let state = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(folder) = &options.record {
        record::add(folder, &state)?;
    }
    if options.compares_others() {
        println!("{}", record::by_oracle(&state));
    }
    state.close()
}

/// What all workers share.
struct State {
    /// The machine at the start of the campaign.
    machine: Value,
    begun: Instant,
    until: Instant,
    next_seed: u64,
    first_seed: u64,
    turns: u64,
    busy: usize,
    /// The names of the roots; one empty name for the installed tools.
    oracles: Vec<String>,
    /// The counts for each root.
    sums: BTreeMap<String, turn::Sums>,
    found: Vec<PathBuf>,
    failure: Option<String>,
    bar: Bar,
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl State {
    fn new(options: &Options) -> Self {
        let time = Duration::from_secs_f64(options.minutes.max(0.0) * 60.0);
        State {
            machine: describe(Path::new("pelton")),
            begun: Instant::now(),
            until: Instant::now() + time,
            next_seed: options.seed,
            first_seed: options.seed,
            turns: 0,
            busy: options.jobs,
            oracles: if options.compares_others() { options.oracles.clone() } else { vec![String::new()] },
            sums: BTreeMap::new(),
            found: Vec::new(),
            failure: None,
            bar: Bar::new(time),
        }
    }

    /// Returns the next turn's seed, which of so many targets it is, and the root, until time is up.
    fn next(&mut self, targets: usize) -> Option<(u64, usize, String)> {
        if Instant::now() >= self.until || self.failure.is_some() {
            self.busy -= 1;
            return None;
        }
        let number = self.turns as usize;
        self.turns += 1;
        self.next_seed += 1;
        let oracle = &self.oracles[number / targets % self.oracles.len()];
        Some((self.next_seed - 1, number % targets, oracle.clone()))
    }

    fn is_over(&self) -> bool {
        self.busy == 0
    }

    fn show(&mut self) {
        let text = self.counted();
        self.bar.show(&text);
    }

    /// Formats the main counters of all roots together.
    fn counted(&self) -> String {
        let mut all = turn::Sums::default();
        self.sums.values().for_each(|sums| all.add(sums));
        all.shown()
    }

    /// Prints the summary; fails if any difference was found.
    fn close(mut self) -> Outcome {
        self.bar.end();
        for path in &self.found {
            println!(
                "\n{}:\n{}",
                path.display(),
                std::fs::read_to_string(path).unwrap_or_default().trim_end()
            );
        }
        let seeds = format!("seeds {} to {}", self.first_seed, self.next_seed.max(self.first_seed + 1) - 1);
        println!("{} · {} turns, {seeds} · {} differences", self.counted(), self.turns, self.found.len());
        match self.failure {
            Some(failure) => Err(failure.into()),
            None if !self.found.is_empty() => Err("differences were found: paste them into cases/".into()),
            None => Ok(()),
        }
    }
}

/// Runs one worker: turn after turn.
fn work(state: &Mutex<State>, built: &[Built], found: &Path) {
    loop {
        let Some((seed, at, oracle)) = lock(state).next(built.len()) else { return };
        let target = &built[at];
        let folder = found.join(format!("{}-{oracle}-{seed}", target.target.name));
        let result = turn::take(target, &oracle, seed, &folder);
        let mut state = lock(state);
        match result {
            Ok(turn) => {
                state.sums.entry(oracle).or_default().add(&turn.sums);
                state.found.extend(turn.found);
            }
            Err(error) => state.failure = Some(format!("{}: {error}", target.target.name)),
        }
        state.show();
    }
}
