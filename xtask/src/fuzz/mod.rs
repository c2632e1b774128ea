//! `cargo xtask fuzz`: runs the fuzzing machines in turns, with fresh seeds, for a given time.
//!
//! ```text
//! worker 1:  kernels seed 1 │ pipelines seed 2 │ regex seed 4 │ kernels … │ a turn: a process for seconds,
//! worker 2:  pipelines seed 3 │ kernels seed 5 │ …                        │ with a file per difference
//! ```
//!
//! The machines are tests (`differential`, `random_pipelines`, `regex_oracle`, `parsers`, `oracle`), built
//! once with the profile `fuzz`. Differences are kept in the target directory as cases that can be pasted
//! into `cases/*.toml`.

mod bar;
mod machine;
mod record;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lexopt::prelude::*;
use nix::sys::resource::{Resource, setrlimit};
use serde_json::Value;

use bar::Bar;
use machine::{Built, Machine};
use pelton_bench::machine::describe;
use workbench::Outcome;
use workbench::workspace::target_dir;

/// The options.
pub struct Options {
    minutes: f64,
    seed: u64,
    jobs: usize,
    only: Option<Vec<String>>,
    /// The folder whose record this campaign is added to.
    record: Option<PathBuf>,
}

impl Options {
    /// Parses `--minutes N [--seed S] [--only MACHINE,…] [--jobs N] [--record DIR]`.
    pub fn parse(mut args: lexopt::Parser) -> Outcome<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Options { minutes: 1.0, seed: 1, jobs: cores, only: None, record: None };
        while let Some(arg) = args.next()? {
            match arg {
                Long("minutes") => options.minutes = args.value()?.parse()?,
                Long("seed") => options.seed = args.value()?.parse()?,
                Long("jobs") => options.jobs = args.value()?.parse::<usize>()?.max(1),
                Long("record") => options.record = Some(args.value()?.into()),
                Long("only") => {
                    let names = args.value()?.string()?;
                    options.only = Some(names.split(',').map(str::to_owned).collect());
                }
                other => return Err(other.unexpected().into()),
            }
        }
        options.machines()?;
        Ok(options)
    }

    /// Returns the chosen machines.
    fn machines(&self) -> Outcome<Vec<&'static Machine>> {
        let Some(names) = &self.only else { return Ok(machine::usual()) };
        let find = |name: &String| {
            let known = || machine::ALL.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
            machine::ALL
                .iter()
                .find(|one| one.name == *name)
                .ok_or_else(|| format!("there is no machine '{name}': there are {}", known()).into())
        };
        names.iter().map(find).collect()
    }
}

/// Address space of each process of a campaign: a runaway must fail alone, not take the computer down.
const MEMORY_BYTES: u64 = 6 << 30;
/// The largest file that a process may write.
const FILE_BYTES: u64 = 1 << 30;

/// Builds the machines and runs them.
pub fn run(options: Options) -> Outcome {
    let found = target_dir()?.join("fuzz/found");
    std::fs::create_dir_all(&found)?;
    let built = machine::build(&options.machines()?, &target_dir()?.join("fuzz/programs"))?;
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
    sums: turn::Sums,
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
            sums: turn::Sums::default(),
            found: Vec::new(),
            failure: None,
            bar: Bar::new(time),
        }
    }

    /// Returns the next turn's seed and machine, until time is up.
    fn next(&mut self) -> Option<(u64, u64)> {
        if Instant::now() >= self.until || self.failure.is_some() {
            self.busy -= 1;
            return None;
        }
        self.turns += 1;
        self.next_seed += 1;
        Some((self.next_seed - 1, self.turns - 1))
    }

    fn is_over(&self) -> bool {
        self.busy == 0
    }

    fn show(&mut self) {
        let text = self.sums.shown();
        self.bar.show(&text);
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
        println!("{} · {} turns, {seeds} · {} differences", self.sums.shown(), self.turns, self.found.len());
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
        let Some((seed, number)) = lock(state).next() else { return };
        let machine = &built[(number % built.len() as u64) as usize];
        let result = turn::take(machine, seed, &found.join(format!("{}-{seed}", machine.machine.name)));
        let mut state = lock(state);
        match result {
            Ok(turn) => {
                state.sums.add(&turn.sums);
                state.found.extend(turn.found);
            }
            Err(error) => state.failure = Some(format!("{}: {error}", machine.machine.name)),
        }
        state.show();
    }
}
