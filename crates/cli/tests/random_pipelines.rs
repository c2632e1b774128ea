//! Random pipelines over random files: `pelton run TEXT` against `bash -c TEXT`, with all rules on, and with
//! others.
//!
//! `cargo test` runs a slice of a few seconds. A campaign, on a release build:
//!
//! ```text
//! PELTON_FUZZ_CASES=20000 PELTON_SEED=7 PELTON_BIN=target/release/pelton cargo test -p pelton --test random_pipelines
//! ```
//!
//! or `cargo xtask fuzz --only pipelines`. With `PELTON_FUZZ_ONLY=grep` every second stage is a grep. Where pelton
//! differs, both run again several times ([`Again`]). If the shell itself gives several results, one of which is
//! pelton's, or if it never gives the same result twice, the text is counted as skipped. A difference in some of the
//! repetitions counts as much as one in all of them, and the report says in how many. What differs every time is shrunk
//! and printed as a case for `cases/native.toml`.
#![allow(missing_docs)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pelton_testkit::campaign_settings::tally;
use pelton_testkit::generate::{Pipelines, Sample, commands};
use pelton_testkit::{
    BriefStdin, Campaign, Case, Ending, Entry, Outcome, Result, StdinFrom, Subject, World, compare,
    limit_files, run_briefly, snapshot,
};

/// Samples per thread, unless `PELTON_FUZZ_CASES` is set.
const SLICE: u64 = 170;
/// The same of pipelines for several workers.
const DIVIDED_SLICE: u64 = 60;
/// Threads, unless `PELTON_FUZZ_THREADS` is set.
const THREADS: u64 = 2;
/// Signs of a stage that may end before its input: it needs no more, reads something else, or cannot start.
const MAY_LEAVE: [&str; 21] = [
    "head", "<", "true", "false", "nosuch", "join", "comm", "paste", "missing", "grep", "sed", "find",
    "xargs", "pelton", " -c", " -C", "read", "sleep", "sort", "shuf", "rev",
];
/// Messages that only appear if the command lives to its end, or after its reader has left: a race.
const LAST_WORDS: [&str; 2] = ["input is not in sorted order", "terminated by signal 13"];
/// Every generated pipeline takes much less.
const TIMEOUT: Duration = Duration::from_secs(20);
/// It also writes much less, unless it reads its own output.
const FILE_BYTES: u64 = 1 << 30;
/// Locales with their own collation.
const LOCALES: [&str; 6] =
    ["en_US.UTF-8", "de_DE.UTF-8", "ja_JP.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "zh_CN.UTF-8"];
/// Runs texts on several workers, as far as they can be divided.
const WORKERS: [&str; 4] = ["--on", "local:2", "--part-size", "300"];
/// One of so many samples runs on them.
const ON_WORKERS: u64 = 3;
/// What pelton says of a text that cannot be divided.
const UNDIVIDED: &[u8] = b"pelton: runs here, undivided";
/// How often the shell and pelton run again after a difference.
const REPETITIONS: usize = 8;
/// How often the shell runs again before a difference counts, to see its other results.
const SHELL_REPETITIONS: usize = 40;
/// How many samples pass between two progress messages.
const PROGRESS: u64 = 200;
/// How many smaller samples are tried for each difference, and for how long.
const TRIALS: usize = 400;
const PATIENCE: Duration = Duration::from_secs(60);

/// Results of a campaign.
#[derive(Default)]
struct Tally {
    samples: u64,
    pipelines: u64,
    comparisons: u64,
    /// How many of them on several workers.
    divided: u64,
    /// How many texts, by reason.
    skipped: BTreeMap<Reason, u64>,
    differences: Vec<String>,
}

impl Tally {
    fn shown(&self) -> String {
        let Tally { samples, pipelines, comparisons, divided, skipped, differences } = self;
        let (found, all) = (differences.len(), self.skipped());
        let why: Vec<String> = skipped.iter().map(|(reason, times)| format!("{times}: {reason}")).collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        format!(
            "{samples} texts, {pipelines} pipelines, {comparisons} comparisons ({divided} on workers), {all} texts skipped{why}, {found} differences"
        )
    }

    fn skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

#[test]
fn random_pipelines_agree_with_the_shell() {
    let all = campaign("pipelines", SLICE, false);
    assert!(all.samples < SLICE * THREADS || all.pipelines >= 300, "only {} pipelines", all.pipelines);
}

#[test]
fn random_pipelines_on_several_workers_agree_with_the_shell() {
    let all = campaign("workers", DIVIDED_SLICE, true);
    assert!(
        all.samples < DIVIDED_SLICE * THREADS || all.divided >= all.samples / 2,
        "only {} on workers",
        all.divided
    );
}

/// Compares random pipelines, at least `slice` per thread; `divided`: such as several workers may divide.
fn campaign(name: &str, slice: u64, divided: bool) -> Tally {
    let wanted = Campaign::from_env();
    let threads = wanted.threads.unwrap_or(THREADS).max(1);
    let (samples, seed) = (wanted.cases.map_or(slice, |all| all.div_ceil(threads)), wanted.seed);
    let begun = Instant::now();
    let campaign = |thread| {
        std::thread::spawn(move || {
            Arena::new(divided).and_then(|arena| arena.campaign(seed * threads + thread, samples))
        })
    };
    let running: Vec<_> = (0..threads).map(campaign).collect();
    let mut all = Tally::default();
    for thread in running {
        let tally = thread.join().expect("a thread").expect("a world");
        all.samples += tally.samples;
        all.pipelines += tally.pipelines;
        all.comparisons += tally.comparisons;
        all.divided += tally.divided;
        tally.skipped.iter().for_each(|(reason, times)| *all.skipped.entry(reason).or_default() += times);
        all.differences.extend(tally.differences);
    }
    say(&format!("seed {seed}: {} in {:.1} s", all.shown(), begun.elapsed().as_secs_f64()));
    say(&tally(
        name,
        &[
            ("pipelines", all.pipelines),
            ("comparisons", all.comparisons),
            ("divided", all.divided),
            ("skipped", all.skipped()),
            ("differences", all.differences.len() as u64),
        ],
    ));
    assert!(all.differences.is_empty(), "\n{}", all.differences.join("\n"));
    all
}

#[test]
fn every_command_with_a_kernel_is_generated() {
    let generated: Vec<&str> = commands().collect();
    for tool in pelton_commands::TOOLS.iter().filter(|tool| tool.has_kernel()) {
        assert!(generated.contains(&tool.name), "{} has no grammar", tool.name);
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A case and its generated bytes: generating takes longer than running.
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

    fn bytes(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes).chain(&self.stdin).map(Vec::len).sum()
    }
}

/// Where the shell and pelton are compared.
struct Arena {
    subject: Subject,
    world: World,
    campaign: Campaign,
    /// Whether all pipelines are made to be divided.
    divided: bool,
    /// Whether pelton's last run was one on several workers.
    ran_divided: Cell<bool>,
    /// The installed ones of [`LOCALES`].
    locales: &'static [&'static str],
}

impl Arena {
    fn new(divided: bool) -> Result<Self> {
        limit_files(FILE_BYTES)?;
        let subject = Subject::from_env(env!("CARGO_BIN_EXE_pelton"));
        let installed = std::process::Command::new("locale").arg("-a").output()?.stdout;
        let installed = String::from_utf8_lossy(&installed).replace(".utf8", ".UTF-8");
        let is_there = |locale: &&&str| installed.lines().any(|name| name == **locale);
        let locales = LOCALES.iter().filter(is_there).copied().collect::<Vec<_>>().leak();
        Ok(Arena {
            subject,
            world: World::in_memory()?,
            campaign: Campaign::from_env(),
            divided,
            ran_divided: Cell::default(),
            locales,
        })
    }

    fn campaign(&self, seed: u64, samples: u64) -> Result<Tally> {
        let mut source = self.source(seed);
        let mut tally = Tally::default();
        for at in 0..samples {
            let sample = source.sample();
            tally.samples += 1;
            self.judge(&sample, (seed, at), &mut tally)?;
            if at % PROGRESS == PROGRESS - 1 {
                say(&format!("seed {seed}: {}", tally.shown()));
            }
        }
        Ok(tally)
    }

    /// Applies `PELTON_FUZZ_ONLY` to every second stage.
    fn source(&self, seed: u64) -> Pipelines {
        let source = Pipelines::new(seed);
        let source = if self.divided { source.divided() } else { source };
        let source = if self.locales.is_empty() { source } else { source.in_locales(self.locales) };
        match std::env::var("PELTON_FUZZ_ONLY") {
            Ok(name) => source.favouring(&name),
            Err(_) => source,
        }
    }

    /// Tests one sample, with all switches on and with others.
    fn judge(&self, sample: &Sample, (seed, at): (u64, u64), tally: &mut Tally) -> Result<()> {
        let scene = Scene::of(sample)?;
        let shell = some_shell(seed.wrapping_add(at));
        let expected = self.shell(&scene, &shell)?;
        let others = some_switches(seed.wrapping_mul(1_000_003).wrapping_add(at), scene.bytes());
        let workers = [shell.clone(), WORKERS.map(str::to_owned).to_vec()].concat();
        let workers = Some(workers).filter(|_| self.divided || at % ON_WORKERS == 0);
        for switches in [shell.clone(), [shell, others].concat()].into_iter().chain(workers) {
            let ours = self.pelton(&scene, &switches)?;
            if !differences(&scene.case, &expected, &ours).is_empty() {
                let name = format!("random-{seed}-{at}");
                let report = match self.again(&scene, &switches, ours)? {
                    Again::Race(reason) => {
                        *tally.skipped.entry(reason).or_default() += 1;
                        return Ok(());
                    }
                    Again::Always => self.report(sample.clone(), &switches, &name)?,
                    Again::Sometimes { times, differences } => {
                        let when = format!("in {times} of {} runs: ", REPETITIONS + 1);
                        written(sample, &switches, &name, &when, &differences)
                    }
                };
                say(&report);
                self.campaign.keep(&name, &report);
                tally.differences.push(report);
                break;
            }
            tally.comparisons += 1;
            tally.divided += u64::from(self.ran_divided.get());
        }
        tally.pipelines += sample.size().0 as u64;
        Ok(())
    }

    /// Returns the shell's outcome; `None` if two runs differ.
    fn expected(&self, scene: &Scene, switches: &[String]) -> Result<Option<Outcome>> {
        let (one, other) = (self.shell(scene, switches)?, self.shell(scene, switches)?);
        Ok(differences(&scene.case, &one, &other).is_empty().then_some(one))
    }

    fn shell(&self, scene: &Scene, switches: &[String]) -> Result<Outcome> {
        self.run(scene, &[shell_of(switches), "-c", &scene.case.text].map(OsString::from))
    }

    fn pelton(&self, scene: &Scene, switches: &[String]) -> Result<Outcome> {
        let case = &scene.case;
        let argv = match &self.subject {
            Subject::Shell => [shell_of(switches), "-c", &case.text].map(OsString::from).to_vec(),
            Subject::Pelton(bin) => {
                let mut argv = vec![bin.into(), OsString::from("run")];
                argv.extend(switches.iter().map(OsString::from));
                argv.push((&case.text).into());
                argv
            }
        };
        let mut outcome = self.run(scene, &argv)?;
        let lines = outcome.ended.stderr.split_inclusive(|byte| *byte == b'\n');
        let is_undivided =
            outcome.ended.stderr.split(|byte| *byte == b'\n').any(|line| line.starts_with(UNDIVIDED));
        self.ran_divided.set(!is_undivided && switches.ends_with(&WORKERS.map(str::to_owned)));
        outcome.ended.stderr = lines.filter(|line| !line.starts_with(UNDIVIDED)).collect::<Vec<_>>().concat();
        Ok(outcome)
    }

    /// Runs the shell and pelton again, since pelton's outcome `first` differed from the shell's.
    fn again(&self, scene: &Scene, switches: &[String], first: Outcome) -> Result<Again> {
        let Some(expected) = self.expected(scene, switches)? else { return Ok(Again::Race(SHELL_DIFFERS)) };
        let found = |ours: &Outcome| differences(&scene.case, &expected, ours);
        let mut deviating: Vec<Outcome> =
            Some(first).into_iter().filter(|first| !found(first).is_empty()).collect();
        for _ in 0..REPETITIONS {
            let (again, ours) = (self.shell(scene, switches)?, self.pelton(scene, switches)?);
            if !found(&again).is_empty() {
                return Ok(Again::Race(SHELL_DIFFERS));
            }
            deviating.extend(Some(ours).filter(|ours| !found(ours).is_empty()));
        }
        deviating.retain(|ours| !may_differ_in_reads(&scene.case, &expected, ours));
        if deviating.is_empty() {
            return Ok(Again::Race(NUL_IN_PIPE));
        }
        let always = deviating.len() > REPETITIONS;
        for _ in 0..SHELL_REPETITIONS {
            let again = self.shell(scene, switches)?;
            deviating.retain(|ours| !differences(&scene.case, &again, ours).is_empty());
            if deviating.is_empty() {
                return Ok(Again::Race(SHELL_DIFFERS));
            }
        }
        if always {
            deviating.retain(|ours| !is_told_in_pieces(&scene.case, &expected, ours));
            return Ok(if deviating.is_empty() { Again::Race(IN_PIECES) } else { Again::Always });
        }
        deviating.retain(|ours| !is_told_in_pieces(&scene.case, &expected, ours));
        let stages = Stages::of(&scene.case, &[]);
        if !stages.left_early().is_empty() {
            deviating.retain(|ours| !differs_in_messages_alone(&expected, ours));
        }
        let Some(one) = deviating.first() else { return Ok(Again::Race(IN_PIECES)) };
        Ok(Again::Sometimes { times: deviating.len(), differences: found(one) })
    }

    /// Returns how they differ now, unless two runs of the shell differ.
    fn differs(&self, sample: &Sample, switches: &[String]) -> Result<Option<Vec<String>>> {
        let scene = Scene::of(sample)?;
        let Some(expected) = self.expected(&scene, switches)? else { return Ok(None) };
        let ours = differences(&scene.case, &expected, &self.pelton(&scene, switches)?);
        Ok(Some(ours).filter(|ours| !ours.is_empty()))
    }

    /// Returns how they differ, if in each of several runs.
    fn always_differs(&self, sample: &Sample, switches: &[String]) -> Result<Option<Vec<String>>> {
        let mut found = None;
        for _ in 0..REPETITIONS {
            found = self.differs(sample, switches)?;
            if found.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// Shrinks a sample that differs, and reports the result; the sample itself, if that does not always
    /// differ.
    fn report(&self, whole: Sample, switches: &[String], name: &str) -> Result<String> {
        let mut sample = whole.clone();
        let (mut trials, until) = (TRIALS, Instant::now() + PATIENCE);
        'smaller: loop {
            for smaller in sample.shrunk() {
                if trials == 0 || Instant::now() > until {
                    break 'smaller;
                }
                trials -= 1;
                if self.differs(&smaller, switches)?.is_some() {
                    sample = smaller;
                    continue 'smaller;
                }
            }
            break;
        }
        let (sample, differences) = match self.always_differs(&sample, switches)? {
            Some(differences) => (sample, differences),
            None => (whole.clone(), self.differs(&whole, switches)?.unwrap_or_default()),
        };
        Ok(written(&sample, switches, name, "", &differences))
    }

    /// Runs once in a new directory.
    fn run(&self, scene: &Scene, argv: &[OsString]) -> Result<Outcome> {
        let (case, dir) = (&scene.case, self.world.dir());
        self.world.empty()?;
        scene.files.iter().try_for_each(|(name, bytes)| std::fs::write(dir.join(name), bytes))?;
        let path: PathBuf = self.world.aside("stdin");
        let stdin = match (&scene.stdin, case.stdin_from) {
            (None, _) => BriefStdin::Null,
            (Some(bytes), StdinFrom::Pipe) => BriefStdin::Pipe(bytes),
            (Some(bytes), StdinFrom::File) => {
                std::fs::write(&path, bytes)?;
                BriefStdin::File(&path)
            }
        };
        let ended =
            run_briefly(&case.started(argv.to_vec()), &dir, &case.environment(&dir), &stdin, TIMEOUT)?;
        Ok(Outcome { ended, files: snapshot(&dir)?, report_fault: None, statuses: None })
    }
}

/// Why a difference does not count, as shown in the tally.
type Reason = &'static str;
/// No result of the shell came twice, or one of them was pelton's.
const SHELL_DIFFERS: Reason = "the shell itself differs from run to run";
/// Several processes wrote messages at the same time: the C library writes a message in pieces, which mix.
const IN_PIECES: Reason = "messages of several processes, in pieces";

/// grep prints lines up to its first read with a NUL, and of a pipe it reads what is there: docs/design/grep.md.
const NUL_IN_PIPE: Reason = "where grep's reads of a pipe end before a NUL";

/// What a difference turned out to be when both ran again.
enum Again {
    /// A race.
    Race(Reason),
    /// A difference each time.
    Always,
    /// A difference in `times` of `REPETITIONS + 1` runs, with outcomes that the shell never had.
    Sometimes { times: usize, differences: Vec<String> },
}

/// Whether two outcomes differ only in the order of message pieces, or in messages of commands that may end
/// early.
fn is_told_in_pieces(case: &Case, expected: &Outcome, actual: &Outcome) -> bool {
    let pieces = |outcome: &Outcome| {
        let pieces = outcome.ended.stderr.split(|byte| matches!(byte, b'\n' | b':' | b'('));
        let mut pieces: Vec<Vec<u8>> = pieces.map(|piece| piece.trim_ascii().to_vec()).collect();
        pieces.sort_unstable();
        pieces.dedup();
        pieces
    };
    let bytes = |outcome: &Outcome| {
        let mut bytes = outcome.ended.stderr.clone();
        bytes.sort_unstable();
        bytes
    };
    let same_pieces = || {
        let (ours, theirs) = (pieces(actual), pieces(expected));
        bytes(expected) == bytes(actual) || theirs.iter().all(|piece| ours.contains(piece))
    };
    let stages = Stages::of(case, &speakers(&expected.ended.stderr));
    several_speak(case, &expected.ended.stderr)
        && differs_in_messages_alone(expected, &without_races(case, &stages, expected, actual))
        && same_pieces()
}

/// Whether a grep that reads a pipe found a NUL in both, and nothing but standard output differs.
fn may_differ_in_reads(case: &Case, expected: &Outcome, actual: &Outcome) -> bool {
    let stages = Stages::of(case, &[]);
    let behind_pipe =
        |pipeline: &Vec<Stage<'_>>| pipeline.iter().skip(1).any(|stage| stage.text.contains("grep "));
    let (one, other) = (&expected.ended, &actual.ended);
    let is_binary = one.stderr.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"grep: ("));
    is_binary
        && stages.0.iter().any(behind_pipe)
        && one.ending == other.ending
        && one.stderr == other.stderr
        && expected.files == actual.files
}

/// How many messages a writer prints before its reader leaves is a race.
fn differs_in_messages_alone(expected: &Outcome, actual: &Outcome) -> bool {
    let (one, other) = (&expected.ended, &actual.ended);
    one.stdout == other.stdout && one.ending == other.ending && expected.files == actual.files
}

/// Whether several processes print messages: commands of several names, of one name in several stages, or the
/// shell for several of its children.
fn several_speak(case: &Case, stderr: &[u8]) -> bool {
    let speakers = speakers(stderr);
    let stages = || case.text.split(['|', ';', '&', '\n']);
    let stages_with =
        |name: &str| stages().filter(|stage| stage.split_whitespace().any(|word| word == name)).count();
    let is_shell = |name: &str| matches!(name, "bash" | "dash" | "sh");
    let messages = |name: &str| {
        stderr.windows(name.len() + 2).filter(|at| *at == format!("{name}: ").as_bytes()).count()
    };
    match &speakers[..] {
        [one] if is_shell(one) => messages(one) > 1,
        [one] => stages_with(one) > 1,
        several => several.len() > 1,
    }
}

/// Renders a case below its differences and `when`.
fn written(sample: &Sample, switches: &[String], name: &str, when: &str, differences: &[String]) -> String {
    let differences: String =
        differences.iter().map(|line| format!("# - {when}{}\n", line.replace('\n', "\n#"))).collect();
    format!("# pelton run {}\n{differences}{}", switches.join(" "), sample.toml(name))
}

/// Compares outcomes. Concurrent stages print messages in any order: only that may differ, and races.
fn differences(case: &Case, expected: &Outcome, actual: &Outcome) -> Vec<String> {
    let speakers = speakers(&expected.ended.stderr);
    let stages = Stages::of(case, &speakers);
    if case.stdin.is_some() && stages.leave_input_to_others() {
        return Vec::new();
    }
    let mut expected = expected.clone();
    let mut actual = without_races(case, &stages, &expected, actual);
    let left = stages.left_early();
    if !left.is_empty() {
        for outcome in [&mut expected, &mut actual] {
            outcome.ended.stderr = without_last_words(&outcome.ended.stderr, &left);
            for (name, entry) in &mut outcome.files {
                if let Entry::File(_, bytes) = entry
                    && stages.print_messages_to(name)
                {
                    *bytes = without_last_words(bytes, &left);
                }
            }
        }
    }
    let mut case = case.clone();
    if several_speak(&case, &expected.ended.stderr) {
        case.stderr = pelton_testkit::Strictness::Lines;
    }
    compare(&case, &expected, &actual)
}

/// Returns the commands with messages.
fn speakers(stderr: &[u8]) -> Vec<String> {
    let lines = stderr.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split(|byte| *byte == b':').next());
    let mut names: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The stages of a text, pipeline by pipeline.
struct Stages<'a>(Vec<Vec<Stage<'a>>>);

struct Stage<'a> {
    text: &'a str,
    /// It printed a message: a command does so about its arguments before it reads, and then ends.
    complains: bool,
    may_leave: bool,
}

impl<'a> Stages<'a> {
    fn of(case: &'a Case, speakers: &[String]) -> Self {
        let is_file = |word: &str| case.files.iter().any(|(name, _)| name == word);
        let stage = |text: &'a str| {
            let mut words = text.split_whitespace();
            let complains = words.clone().any(|word| speakers.iter().any(|name| name == word));
            // A stage that reads a file ignores its input.
            let reads = words.any(is_file);
            let may_leave = complains || reads || MAY_LEAVE.iter().any(|sign| text.contains(sign));
            Stage { text, complains, may_leave }
        };
        let pipelines = case.text.split("||").flat_map(|part| part.split([';', '&', '\n']));
        Stages(pipelines.map(|pipeline| pipeline.split('|').map(stage).collect()).collect())
    }

    /// Returns the stages before the last one that may end early: whether they live to print messages is a
    /// race, and depends on how much each writes at once.
    fn before_a_leaver(&self) -> impl Iterator<Item = &Stage<'a>> {
        let all = || self.0.iter().flatten();
        let last = all().enumerate().filter(|(_, stage)| stage.may_leave).last();
        all().take(last.map_or(0, |(at, _)| at))
    }

    fn left_early(&self) -> Vec<String> {
        let names = self.before_a_leaver().filter_map(|stage| stage.text.split_whitespace().next());
        names.map(|name| format!("{name}: ")).collect()
    }

    /// Whether a stage that may lose its reader writes its messages to this file.
    fn print_messages_to(&self, file: &str) -> bool {
        let to_file = |stage: &Stage<'_>| {
            let messages =
                stage.text.split_once("2>").map(|(_, name)| name.trim_start_matches('>').trim_start());
            messages.is_some_and(|name| name.split_whitespace().next() == Some(file))
        };
        self.before_a_leaver().any(to_file)
    }

    /// Whether a stage after one of this command may end early.
    fn may_leave_behind(&self, command: &str) -> bool {
        self.before_a_leaver().any(|stage| stage.text.contains(command))
    }

    /// Whether a stage ends at once, and leaves an unknown part of standard input to the next pipelines.
    fn leave_input_to_others(&self) -> bool {
        let pipelines = self.0.split_last().map_or(&[][..], |(_, before)| before);
        pipelines.iter().any(|pipeline| pipeline.iter().skip(1).any(|stage| stage.complains))
    }
}

fn without_last_words(stderr: &[u8], left_early: &[String]) -> Vec<u8> {
    let lines = stderr.split_inclusive(|byte| *byte == b'\n');
    let others = lines.filter(|line| {
        let line = String::from_utf8_lossy(line);
        let of_builtin = |name: &String| line.starts_with("bash: ") && line.contains(name.as_str());
        let of_them = left_early.iter().any(|name| line.starts_with(name.as_str()) || of_builtin(name));
        !of_them && !LAST_WORDS.iter().any(|words| line.contains(words))
    });
    others.collect::<Vec<_>>().concat()
}

/// Replaces outcomes of races by the shell's. A writer whose reader leaves early (`join a b | true`) ends by
/// SIGPIPE or by itself (xargs with a status for it), which `pipefail` shows; a tee whose reader leaves has
/// written more or less of its copies. With few bytes, the outcome only depends on load.
/// `cases/early_exit.toml` has the certain cases.
fn without_races(case: &Case, stages: &Stages<'_>, expected: &Outcome, actual: &Outcome) -> Outcome {
    let mut actual = actual.clone();
    let endings = [&expected.ended.ending, &actual.ended.ending];
    let broken = |ending: &&Ending| match ending {
        Ending::Exit(141) => true,
        Ending::Exit(125) => stages.may_leave_behind("xargs "),
        _ => false,
    };
    if case.text.starts_with("set -o pipefail")
        && endings.iter().any(broken)
        && actual.ended.ending != Ending::TimedOut
    {
        actual.ended.ending = expected.ended.ending;
    }
    if stages.may_leave_behind("tee ") {
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

/// Returns the option for the shell: one text of eight is dash's.
fn some_shell(number: u64) -> Vec<String> {
    if number.is_multiple_of(8) { ["--shell", "dash"].map(str::to_owned).to_vec() } else { Vec::new() }
}

fn shell_of(switches: &[String]) -> &str {
    if switches.iter().any(|switch| switch == "dash") { "dash" } else { "bash" }
}

/// Returns switches of pelton, by number, for `bytes` of data: nothing native, names off, rules alone, few
/// names on; blocks of 1, 7 or 4096 bytes and 1, 2 or 8 threads, the smallest only for little data; little
/// memory.
fn some_switches(number: u64, bytes: usize) -> Vec<String> {
    let names = pelton_plan::list_names();
    let (kernels, rules): (Vec<&str>, Vec<&str>) = names
        .iter()
        .copied()
        .partition(|name| pelton_commands::lookup(name.as_bytes()).is_some_and(|tool| tool.has_kernel()));
    let mixed = |salt: u64| (number.wrapping_mul(salt) >> 7) as usize;
    let switch = |option: &str, salt: u64| [option.to_owned(), names[mixed(salt) % names.len()].to_owned()];
    let alone = rules[mixed(0x9e37_79b9) % rules.len()];
    let mut switches = match number % 8 {
        0 => return vec!["--faithful".to_owned()],
        1 | 2 => switch("--without", 0x9e37_79b9).to_vec(),
        3 => [switch("--without", 0x9e37_79b9), switch("--without", 0x85eb_ca6b)].concat(),
        4 | 5 => {
            kernels.iter().copied().chain([alone]).flat_map(|name| ["--only".into(), name.into()]).collect()
        }
        6 => vec![],
        _ => [1, 3, 5, 7, 11].map(|salt| switch("--only", salt * 0x9e37_79b9)).concat(),
    };
    let smallest = BLOCKS.iter().position(|(_, most)| bytes <= *most).unwrap_or(BLOCKS.len() - 1);
    let block = BLOCKS[smallest + mixed(0xc2b2_ae35) % (BLOCKS.len() - smallest)].0;
    switches.extend(["--block-bytes".to_owned(), block.to_string()]);
    // With tiny blocks, threads begin at once.
    switches.extend(["--jobs".to_owned(), [1, 2, 8][mixed(0x27d4_eb2f) % 3].to_string()]);
    // Every third time, sorting and grouping must spill most of the data.
    if let Some(bytes) = [100, 3000].get(mixed(0x1656_67b1) % 6) {
        switches.extend(["--memory".to_owned(), bytes.to_string()]);
    }
    switches
}

/// Block sizes, and the most data for each: every block is a call of all kernels.
const BLOCKS: [(usize, usize); 3] = [(1, 30_000), (7, 150_000), (4096, usize::MAX)];
