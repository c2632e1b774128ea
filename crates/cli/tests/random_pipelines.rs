//! Random pipelines over random files: `pelton run TEXT` against `bash -c TEXT`, with all rules on, and with others.
//!
//! `cargo test` runs a slice of a few seconds. A campaign, on a release build:
//!
//! ```text
//! PELTON_FUZZ_CASES=20000 PELTON_SEED=7 PELTON_BIN=target/release/pelton cargo test -p pelton --test random_pipelines
//! ```
//!
//! The shell runs every pipeline twice. If it does not agree with itself, nothing can be said, and the pipeline is
//! counted as skipped. A difference is shrunk and printed as a case for `cases/native.toml`.
#![allow(missing_docs)]

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pelton_testkit::generate::{Pipelines, Sample, commands};
use pelton_testkit::{
    Case, Ended, Ending, Entry, Outcome, Result, StdinFrom, Subject, World, compare, snapshot,
};

/// Per thread, unless `PELTON_FUZZ_CASES` says otherwise.
const SLICE: u64 = 170;
const THREADS: u64 = 2;
/// Signs of a stage that may end before its input does: it wants no more, reads something else, or cannot start.
const MAY_LEAVE: [&str; 9] = ["head", "<", "true", "join", "comm", "paste", "missing", "grep", "sed"];
/// A difference counts if it comes so many times in a row.
const CONFIRMED: usize = 8;
/// How many samples of a campaign pass between two signs of life.
const PROGRESS: u64 = 200;
/// How many smaller samples are tried for each difference, and for how long.
const TRIALS: usize = 400;
const PATIENCE: Duration = Duration::from_secs(60);

/// What a campaign did.
#[derive(Default)]
struct Tally {
    pipelines: u64,
    comparisons: u64,
    skipped: u64,
    differences: Vec<String>,
}

#[test]
fn random_pipelines_agree_with_the_shell() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (samples, seed) = (number("PELTON_FUZZ_CASES"), number("PELTON_SEED").unwrap_or(1));
    let samples = samples.map_or(SLICE, |all| all.div_ceil(THREADS));
    let begun = Instant::now();
    let campaign = |thread| {
        std::thread::spawn(move || {
            Arena::new().and_then(|arena| arena.campaign(seed * THREADS + thread, samples))
        })
    };
    let threads: Vec<_> = (0..THREADS).map(campaign).collect();
    let mut all = Tally::default();
    for thread in threads {
        let tally = thread.join().expect("a thread").expect("a world");
        all.pipelines += tally.pipelines;
        all.comparisons += tally.comparisons;
        all.skipped += tally.skipped;
        all.differences.extend(tally.differences);
    }
    say(&format!(
        "seed {seed}: {} pipelines, {} comparisons, {} texts skipped, {} differences in {:.1} s",
        all.pipelines,
        all.comparisons,
        all.skipped,
        all.differences.len(),
        begun.elapsed().as_secs_f64()
    ));
    assert!(all.differences.is_empty(), "\n{}", all.differences.join("\n"));
    assert!(samples < SLICE || all.pipelines >= 300, "only {} pipelines", all.pipelines);
}

#[test]
fn every_command_with_a_kernel_is_generated() {
    let generated: Vec<&str> = commands().collect();
    for entry in pelton_commands::COMMANDS.iter().filter(|entry| entry.native) {
        assert!(generated.contains(&entry.name), "{} has no grammar", entry.name);
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A case and the bytes that its recipes make, which takes longer than to run it.
struct Scene {
    case: Case,
    files: Vec<(String, Vec<u8>)>,
    stdin: Option<Vec<u8>>,
}

impl Scene {
    fn of(sample: &Sample) -> Result<Self> {
        let case = sample.case()?;
        let files = case.files.iter().map(|(name, recipe)| (name.clone(), recipe.make())).collect();
        let stdin = case.stdin.as_ref().map(|recipe| recipe.make());
        Ok(Scene { case, files, stdin })
    }
}

/// Where the shell and pelton are compared.
struct Arena {
    subject: Subject,
    world: World,
}

impl Arena {
    fn new() -> Result<Self> {
        Ok(Arena { subject: Subject::from_env(env!("CARGO_BIN_EXE_pelton")), world: World::new()? })
    }

    fn campaign(&self, seed: u64, samples: u64) -> Result<Tally> {
        let mut source = Pipelines::new(seed);
        let mut tally = Tally::default();
        for at in 0..samples {
            let sample = source.sample();
            let scene = Scene::of(&sample)?;
            let Some(expected) = self.expected(&scene)? else {
                tally.skipped += 1;
                continue;
            };
            tally.pipelines += sample.size().0 as u64;
            for switches in [vec![], some_switches(seed.wrapping_mul(1_000_003).wrapping_add(at))] {
                tally.comparisons += 1;
                let differences = differences(&scene.case, &expected, &self.pelton(&scene, &switches)?);
                if !differences.is_empty() && self.differs(&sample, &switches, CONFIRMED)?.is_some() {
                    let report = self.report(sample.clone(), &switches, &format!("random-{seed}-{at}"))?;
                    say(&report);
                    tally.differences.push(report);
                    break;
                }
            }
            if at % PROGRESS == PROGRESS - 1 {
                say(&format!(
                    "seed {seed}: {} of {samples} samples, {} comparisons",
                    at + 1,
                    tally.comparisons
                ));
            }
        }
        Ok(tally)
    }

    /// What the shell does with it; `None` if that is not the same twice.
    fn expected(&self, scene: &Scene) -> Result<Option<Outcome>> {
        let shell = || ["bash", "-c", &scene.case.text].map(OsString::from).to_vec();
        let (one, other) = (self.run(scene, shell())?, self.run(scene, shell())?);
        Ok(differences(&scene.case, &one, &other).is_empty().then_some(one))
    }

    fn pelton(&self, scene: &Scene, switches: &[String]) -> Result<Outcome> {
        let case = &scene.case;
        let argv = match &self.subject {
            Subject::Shell => ["bash", "-c", &case.text].map(OsString::from).to_vec(),
            Subject::Pelton(bin) => {
                let mut argv = vec![bin.into(), OsString::from("run")];
                argv.extend(switches.iter().map(OsString::from));
                argv.push((&case.text).into());
                argv
            }
        };
        self.run(scene, argv)
    }

    /// How they differ, if they do `times` times in a row while the shell agrees with itself, whatever the run.
    fn differs(&self, sample: &Sample, switches: &[String], times: usize) -> Result<Option<Vec<String>>> {
        let scene = Scene::of(sample)?;
        let mut found = None;
        let Some(expected) = self.expected(&scene)? else { return Ok(None) };
        for _ in 0..times {
            let Some(again) = self.expected(&scene)? else { return Ok(None) };
            let ours = differences(&scene.case, &expected, &self.pelton(&scene, switches)?);
            if ours.is_empty() || !differences(&scene.case, &expected, &again).is_empty() {
                return Ok(None);
            }
            found = Some(ours);
        }
        Ok(found)
    }

    /// Shrinks a sample that differs, and shows what is left.
    fn report(&self, mut sample: Sample, switches: &[String], name: &str) -> Result<String> {
        let (mut trials, until) = (TRIALS, Instant::now() + PATIENCE);
        'smaller: loop {
            for smaller in sample.shrunk() {
                if trials == 0 || Instant::now() > until {
                    break 'smaller;
                }
                trials -= 1;
                if self.differs(&smaller, switches, 1)?.is_some() {
                    sample = smaller;
                    continue 'smaller;
                }
            }
            break;
        }
        let differences = self.differs(&sample, switches, 1)?.unwrap_or_default();
        let differences: String =
            differences.iter().map(|line| format!("# - {}\n", line.replace('\n', "\n#"))).collect();
        Ok(format!("# pelton run {}\n{differences}{}", switches.join(" "), sample.toml(name)))
    }

    /// One run, in a directory made anew. Bounded in time by timeout(1), which passes a death by signal on.
    fn run(&self, scene: &Scene, argv: Vec<OsString>) -> Result<Outcome> {
        let (case, dir) = (&scene.case, self.world.dir());
        self.world.empty()?;
        scene.files.iter().try_for_each(|(name, bytes)| std::fs::write(dir.join(name), bytes))?;
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "20"]).args(argv).current_dir(&dir).env_clear().envs(case.environment(&dir));
        command.stdin(match (&scene.stdin, case.stdin_from) {
            (None, _) => Stdio::null(),
            (Some(_), StdinFrom::Pipe) => Stdio::piped(),
            (Some(bytes), StdinFrom::File) => Stdio::from(self.stdin_file(bytes)?),
        });
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), scene.stdin.clone()) {
            // The reader may leave early, which is no fault of the feeder.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let output = child.wait_with_output()?;
        let ended = Ended {
            ending: if output.status.code() == Some(124) {
                Ending::TimedOut
            } else {
                Ending::from(output.status)
            },
            stdout: output.stdout,
            stderr: output.stderr,
            alive_at_exit: vec![],
            left_behind: vec![],
        };
        Ok(Outcome { ended, files: snapshot(&dir)?, report_fault: None, statuses: None })
    }

    fn stdin_file(&self, bytes: &[u8]) -> Result<File> {
        let path: PathBuf = self.world.aside("stdin");
        std::fs::write(&path, bytes)?;
        Ok(File::open(&path)?)
    }
}

/// Stages that complain at the same time do so in any order: only that may differ, and what races do.
fn differences(case: &Case, expected: &Outcome, actual: &Outcome) -> Vec<String> {
    let actual = &without_races(case, expected, actual);
    let speakers = |stderr: &[u8]| {
        let names =
            stderr.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b':').next());
        let mut names: Vec<Vec<u8>> = names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let mut case = case.clone();
    if speakers(&expected.ended.stderr) > 1 {
        case.stderr = pelton_testkit::Strictness::Lines;
    }
    compare(&case, expected, actual)
}

/// Switches of pelton, by number: nothing native, one name off, a few names on.
fn some_switches(number: u64) -> Vec<String> {
    let names = pelton_plan::list_names();
    let name = |salt: u64| names[(number.wrapping_mul(salt) >> 7) as usize % names.len()];
    let switch = |option: &str, salt: u64| [option.to_owned(), name(salt).to_owned()];
    match number % 8 {
        0 => vec!["--faithful".to_owned()],
        1..=4 => switch("--without", 0x9e37_79b9).to_vec(),
        5 => [switch("--without", 0x9e37_79b9), switch("--without", 0x85eb_ca6b)].concat(),
        _ => [1, 3, 5, 7, 11].map(|salt| switch("--only", salt * 0x9e37_79b9)).concat(),
    }
}

/// What the shell may show as well, whoever comes first, made what it did show. A writer whose reader leaves early
/// (`join a b | true`) ends by SIGPIPE or by itself, which `pipefail` tells; and a tee whose reader leaves has written
/// more or less of its copies. What a loaded machine makes of few bytes says nothing. `cases/early_exit.toml` has
/// what is certain.
fn without_races(case: &Case, expected: &Outcome, actual: &Outcome) -> Outcome {
    let broken_pipe = Ending::Exit(128 + 13);
    let mut actual = actual.clone();
    let endings = [&expected.ended.ending, &actual.ended.ending];
    if case.text.starts_with("set -o pipefail")
        && endings.contains(&&broken_pipe)
        && actual.ended.ending != Ending::TimedOut
    {
        actual.ended.ending = expected.ended.ending;
    }
    let behind_tee = case.text.split_once("tee ").map_or("", |(_, behind)| behind);
    if MAY_LEAVE.iter().any(|sign| behind_tee.contains(sign)) {
        for (name, entry) in &mut actual.files {
            if let (Some(Entry::File(mode, shell)), Entry::File(own, bytes)) =
                (expected.files.get(name), &*entry)
                && mode == own
                && (shell.starts_with(bytes) || bytes.starts_with(shell))
            {
                *entry = Entry::File(*mode, shell.clone());
            }
        }
    }
    actual
}
