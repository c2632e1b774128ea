//! Random faults while several workers run a pipeline: processes that are killed or frozen, a driver that is killed, results
//! that vanish or are cut short. The run still prints what bash prints, or fails, prints no more than a beginning of that, and
//! the same command goes on from what is there. No process is left behind.
//!
//! `cargo test` runs some rounds; `PELTON_FUZZ_CASES=200 PELTON_SEED=7 cargo test -p pelton --test worker_faults` more.
#![allow(missing_docs)]

use pelton_testkit::{Campaign, Random, wait_until};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");
/// Rounds, unless `PELTON_FUZZ_CASES` is set.
const ROUNDS: u64 = 12;
/// A run of these lasts about a second.
const TEXTS: &[&str] = &[
    "grep 404 log",
    "grep -c 404 log",
    "grep -n 40 log | tail -n 50",
    "cat log | cut -d' ' -f2 | sort | uniq -c | sort -rn",
    "sort -k2,2n log",
    "sort -u log | md5sum",
    "mawk '{c[$3] += $2} END {for (k in c) print k, c[k]}' log | sort",
    "tail -n +2 log | wc",
    "grep -m 200 404 log",
    "cat log | head -n 1700",
    "zcat log.gz log.gz log.gz log.gz log.gz | grep -c 500",
    "slow < log | wc -l",
];

/// What may happen to a run.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A process below the driver gets this signal.
    Below(&'static str),
    /// A process of a worker is stopped. (A stage behind the parts that is stopped waits for whoever did it, as in the shell.)
    Frozen,
    /// The driver gets this signal.
    Driver(&'static str),
    /// A file of the work directory vanishes.
    Lost,
    /// The output of a part that is done loses its second half.
    Cut,
}

const FAULTS: &[Fault] = &[
    Fault::Below("-KILL"),
    Fault::Below("-KILL"),
    Fault::Below("-TERM"),
    Fault::Below("-HUP"),
    Fault::Frozen,
    Fault::Driver("-KILL"),
    Fault::Driver("-TERM"),
    Fault::Driver("-INT"),
    Fault::Lost,
    Fault::Cut,
];

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { dir: tempfile::tempdir().expect("a directory") };
        let mut random = Random::new(31);
        let mut log = String::new();
        for _ in 0..9000 {
            let word = ["a", "ab", "b c", "", "A"][random.below(5)];
            let _ = writeln!(log, "{word} {} {}", random.below(300), [200, 404, 500][random.below(3)]);
        }
        fs::write(place.path("log"), log).expect("written");
        let made = place.command("bash", &["-c", "gzip -k log"]).status().expect("bash runs");
        assert!(made.success());
        // A real command on the parts, which is no kernel of pelton.
        fs::write(place.path("slow"), "#!/bin/sh\nsleep 0.05\nexec cat\n").expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.path("slow"), mode).expect("may be executed");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.dir.path().display(), std::env::var("PATH").unwrap_or_default());
        command.args(args).current_dir(self.dir.path()).env("LC_ALL", "C").env("PATH", path);
        command.env("XDG_CACHE_HOME", self.path(".cache")).env("TMPDIR", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, text: &str) -> Command {
        let on = ["run", "--on", "local:3", "--part-size", "6000", "--stateless", "slow"];
        self.command(PELTON, &[&on[..], &["--work-dir", "work", "--", text]].concat())
    }
}

/// The processes below one, with the times at which they began.
fn below(driver: u32) -> HashMap<u32, String> {
    let mut parents: HashMap<u32, Vec<(u32, String)>> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some((parent, began)) = born(pid) {
            parents.entry(parent).or_default().push((pid, began));
        }
    }
    let mut found = HashMap::new();
    let mut open = vec![driver];
    while let Some(parent) = open.pop() {
        for (pid, began) in parents.remove(&parent).unwrap_or_default() {
            open.push(pid);
            found.insert(pid, began);
        }
    }
    found
}

/// Returns the parent of a process that lives, and when it began.
fn born(pid: u32) -> Option<(u32, String)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    (fields[0] != "Z").then_some((fields[1].parse().ok()?, fields[19].to_owned()))
}

/// Whether a process runs a part, or is the stages of one.
fn is_of_worker(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1).is_some_and(|word| word == b"worker")
}

fn send(signal: &str, pid: u32) {
    let kill = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
    kill.expect("kill runs");
}

/// Lets a fault happen to a run. Returns the processes that were below it.
fn happen(fault: Fault, driver: &Child, work: &Path, random: &mut Random) -> HashMap<u32, String> {
    let seen = below(driver.id());
    let mut pids: Vec<u32> = seen.keys().copied().collect();
    pids.sort_unstable();
    match fault {
        Fault::Below(signal) => {
            if let Some(pid) = one_of(&pids, random) {
                send(signal, *pid);
            }
        }
        Fault::Frozen => {
            pids.retain(|pid| is_of_worker(*pid));
            if let Some(pid) = one_of(&pids, random) {
                send("-STOP", *pid);
            }
        }
        Fault::Driver(signal) => send(signal, driver.id()),
        Fault::Lost => {
            if let Some(file) = one_of(&files(work), random) {
                // It may be gone by now.
                let _ = fs::remove_file(file);
            }
        }
        Fault::Cut => {
            if let Some(file) = one_of(&outputs(work), random) {
                let open = fs::OpenOptions::new().write(true).open(file);
                let _ = open.and_then(|open| open.set_len(open.metadata()?.len() / 2));
            }
        }
    }
    seen
}

/// Returns the files of a work directory, without the plan: without that it is another directory.
fn files(work: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.file_name().is_some_and(|name| name != "plan.json"));
    files.sort();
    files
}

/// Returns the outputs of parts that are done.
fn outputs(work: &Path) -> Vec<PathBuf> {
    let read = |file: &PathBuf| {
        let result: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
        Some(work.join(result["output"].as_str()?))
    };
    files(work)
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .filter_map(read)
        .collect()
}

fn one_of<'a, T>(all: &'a [T], random: &mut Random) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[random.below(all.len())])
}

fn is_gone(pid: u32, began: &str) -> bool {
    born(pid).is_none_or(|(_, now)| now != began)
}

/// Runs a text with faults, until it ends; then again without. Returns what happened, in words.
fn round(place: &Place, random: &mut Random) -> String {
    let text = TEXTS[random.below(TEXTS.len())];
    let wanted = place.command("bash", &["-c", text]).output().expect("bash runs");
    let _ = fs::remove_dir_all(place.path("work"));
    let driver = place.run(text).spawn().expect("pelton starts");
    let mut seen = HashMap::new();
    let mut story = format!("`{text}`");
    for _ in 0..1 + random.below(3) {
        let delay = Duration::from_millis(random.below(500) as u64);
        std::thread::sleep(delay);
        let fault = FAULTS[random.below(FAULTS.len())];
        let _ = write!(story, ", after {delay:?} {fault:?}");
        seen.extend(happen(fault, &driver, &place.path("work"), random));
    }
    let faulty = driver.wait_with_output().expect("it ends");
    let _ = write!(story, ": {}", faulty.status);
    // What was merged of an output when that was cut is printed already: it must fail, or have been done before.
    if !story.contains("Cut") || faulty.status.code() == wanted.status.code() {
        assert_whole_or_beginning(&faulty, &wanted, &story);
    }
    wait_until("no process is left", || seen.iter().all(|(pid, began)| is_gone(*pid, began)));
    let again = place.run(text).output().expect("pelton runs");
    assert!(
        again.stdout == wanted.stdout && again.status.code() == wanted.status.code(),
        "again, after {story}: {again:?}"
    );
    story
}

/// Asserts that a run which met a fault printed what bash prints; if it failed, no more than a beginning of that.
fn assert_whole_or_beginning(faulty: &Output, wanted: &Output, story: &str) {
    let is_whole = faulty.stdout == wanted.stdout;
    if faulty.status.code() == wanted.status.code() {
        assert!(is_whole, "other bytes with success: {story}: {}", String::from_utf8_lossy(&faulty.stderr));
    }
    assert!(wanted.stdout.starts_with(&faulty.stdout), "other bytes: {story}");
}

/// The last stage would print what it has when its input ends.
#[test]
fn a_failed_merge_prints_nothing_of_the_stages_behind_it() {
    let place = Place::new();
    let text = "cat log | cut -d' ' -f2 | sort | uniq -c | sort -rn";
    let whole = place.run(text).output().expect("pelton runs");
    assert!(whole.status.success() && !whole.stdout.is_empty(), "{whole:?}");
    let output = &outputs(&place.path("work"))[0];
    let lines = fs::read_to_string(output).expect("counted lines");
    let mut lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let at =
        (1..lines.len()).find(|at| lines[*at].len() == lines[at - 1].len()).expect("lines of one length");
    lines[at] = lines[at - 1];
    fs::write(output, lines.concat()).expect("written");
    let failed = place.run(text).output().expect("pelton runs");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(said.contains("cannot merge the outputs of the parts"), "{said}");
    assert_eq!((failed.status.code(), failed.stdout.len()), (Some(2), 0), "{said}");
}

#[test]
fn random_faults_lose_and_double_nothing() {
    let wanted = Campaign::from_env();
    let (rounds, seed) = (wanted.cases.unwrap_or(ROUNDS), wanted.seed);
    let place = Place::new();
    let mut random = Random::new(seed);
    for at in 0..rounds {
        let story = round(&place, &mut random);
        let _ = writeln!(std::io::stderr(), "{at}: {story}");
    }
}
