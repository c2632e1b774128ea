//! `cargo xtask test`: runs all of continuous integration, needing nothing but Debian and Rust.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Outcome, python, quick, setup, test_programs};
use workbench::cargo_workspace::{TestProgram, cargo, static_options, target_dir};
use workbench::machine::Machine;
use workbench::steps::{all, seconds, step, timed};

/// Sets up, checks and tests, even after a failure. The last lines are cargo test's own, and their sum.
pub fn run() -> Outcome {
    let start = Instant::now();
    setup::run()?;
    let skips = Skips::new()?;
    let checks = checks(&skips);
    let seed = seed();
    let counts = tests(&[("PELTON_SEED", &seed), ("PELTON_SKIPS", &skips.0.to_string_lossy())])?;
    eprintln!("    all of it took {}", seconds(start.elapsed()));
    let skipped = skips.close(&counts.ignored_tests);
    println!("random cases: seed {seed}; PELTON_SEED={seed} makes the same again");
    all([checks, skipped, counts.close()])
}

/// Returns the seed of the random cases: `PELTON_SEED` if set, else from the commit.
fn seed() -> String {
    if let Ok(seed) = std::env::var("PELTON_SEED") {
        return seed;
    }
    let commit = Command::new("git").args(["rev-parse", "--short=8", "HEAD"]).output();
    let commit = commit.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    // Small enough to multiply.
    u32::from_str_radix(&commit, 16).map_or(1, |hash| hash >> 8).to_string()
}

/// What a machine may lack: large, and not itself tested, or given to root only.
const MAY_LACK: [&str; 9] = [
    "a browser",
    "a mount name space",
    "go",
    "javac",
    "nfpm",
    "node",
    "rpm2cpio and cpio",
    "ruby",
    "Rust's library for another machine",
];

/// Ignored tests that do not fail the run: they take long, or start programs of the machine. Any other
/// ignored test fails it.
const LONG: [&str; 4] = [
    "five_hundred_points_of_harm",
    "those_that_print_a_help_do_so",
    "ten_thousand_stops_leave_nothing_running",
    "ten_thousand_random_stops_leave_nothing_running",
];

/// The file in which tests record what they skipped.
struct Skips(PathBuf);

impl Skips {
    fn new() -> Outcome<Self> {
        let path = target_dir()?.join("skips");
        fs::write(&path, "")?;
        Ok(Skips(path))
    }

    /// Records something.
    fn add(&self, what: &str) -> Outcome {
        Ok(writeln!(fs::OpenOptions::new().append(true).open(&self.0)?, "{what}")?)
    }

    /// Fails if something was skipped that must not be.
    fn close(self, ignored_tests: &[String]) -> Outcome {
        let skipped = fs::read_to_string(&self.0)?;
        let skipped: BTreeSet<&str> = skipped.lines().collect();
        for what in &skipped {
            println!("SKIPPED: {what}");
        }
        let missing = skipped.into_iter().filter(|what| !MAY_LACK.contains(what)).map(str::to_owned);
        let is_long = |test: &&String| LONG.iter().any(|name| test.ends_with(name));
        let ignored = ignored_tests.iter().filter(|test| !is_long(test)).cloned();
        let unlisted: Vec<String> = missing.chain(ignored).collect();
        if unlisted.is_empty() {
            return Ok(());
        }
        Err(format!("left out, which xtask/src/test.rs does not allow: {}", unlisted.join("; ")).into())
    }
}

fn checks(skips: &Skips) -> Outcome {
    let deny = ["deny", "--offline", "check", "licenses", "bans", "sources"];
    all([
        quick::tidy(),
        step("licences, bans, sources", &mut cargo(deny)),
        step("documentation", &mut strict_doc()),
        other_machines(skips),
    ])
}

/// Checks that everything compiles for the other machines: what runs there is seen by `cargo xtask roots debian-12-arm64`.
fn other_machines(skips: &Skips) -> Outcome {
    for machine in Machine::ALL {
        if machine == Machine::here()? {
            continue;
        }
        if machine.add_library().is_err() {
            skips.add("Rust's library for another machine")?;
            continue;
        }
        let mut clippy = cargo(["clippy", "--quiet", "--locked", "--workspace", "--target"]);
        clippy.args([&machine.target(), "--", "-D", "warnings"]);
        step(&format!("clippy, for {}", machine.name()), &mut clippy)?;
    }
    Ok(())
}

fn tests(environment: &[(&str, &str)]) -> Outcome<Counts> {
    let mut counts = Counts::default();
    // The release links its C library statically, so the tests do too. Tests that depend on the C library run
    // both ways.
    let asks = ["test", "-p", "pelton-sys", "--locked", "--no-fail-fast", "--lib"];
    counts.run("tests of the C library, linked dynamically", &mut cargo(asks))?;
    let options = static_options()?;
    let built = timed("build the tests, linked as the release is", || test_programs::build(&options));
    let programs = built.unwrap_or_else(|error| {
        eprintln!("{error}");
        counts.broken = true;
        Vec::new()
    });
    // Its binary is that of the tests, which are built by now.
    let binary = target_dir()?.join(Machine::here()?.target()).join("debug/pelton");
    if let Err(error) = timed("the Python package", || python::quick(&binary, environment)) {
        eprintln!("{error}");
        counts.broken = true;
    }
    let mut examples = cargo(["test", "--workspace", "--locked", "--no-fail-fast", "--doc"]);
    counts.run("doc examples", examples.args(&options))?;
    counts.run_programs(programs, environment)?;
    Ok(counts)
}

fn strict_doc() -> Command {
    let mut doc =
        cargo(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items", "--locked"]);
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
    doc
}

/// The sum of cargo test's result lines.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
    broken: bool,
    /// By name.
    ignored_tests: Vec<String>,
}

impl Counts {
    /// Runs test programs, showing what each printed when it ends, and counting.
    fn run_programs(&mut self, programs: Vec<TestProgram>, environment: &[(&str, &str)]) -> Outcome {
        timed("run the tests", || {
            test_programs::run(programs, environment, |ended| {
                println!("     Ran {} ({})", ended.source.display(), seconds(ended.took));
                for line in ended.output.split_inclusive(|byte| *byte == b'\n') {
                    let line = String::from_utf8_lossy(line);
                    print!("{line}");
                    self.count(line.trim_end());
                }
                self.broken |= !ended.success;
            })
        })
    }

    /// Runs cargo test, showing its output and counting.
    fn run(&mut self, what: &str, test: &mut Command) -> Outcome {
        eprintln!("==> {what}");
        let start = Instant::now();
        let mut child = test.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let out = child.stdout.take().ok_or("no pipe from cargo test")?;
        for line in BufReader::new(out).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            self.count(&line);
        }
        self.broken |= !child.wait()?.success();
        eprintln!("    done: {what} ({})", seconds(start.elapsed()));
        Ok(())
    }

    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`
    fn count(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix("test result: ") else {
            let test = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ignored"));
            self.ignored_tests.extend(test.map(|(name, _)| name.to_owned()));
            return;
        };
        let Some((_, figures)) = rest.split_once(". ") else { return };
        for figure in figures.split("; ") {
            let Some((number, word)) = figure.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    fn close(self) -> Outcome {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.ignored);
        match self {
            Counts { broken: true, .. } => Err("tests failed, or could not be built".into()),
            Counts { passed: 0, .. } => Err("no test ran".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn closing_lines_add_up() {
        let mut counts = Counts::default();
        counts.count("running 3 tests");
        counts.count("test slow ... ignored, some minutes");
        counts.count(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        counts.count("test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.2s");
        assert_eq!(
            counts,
            Counts {
                passed: 8,
                failed: 2,
                ignored: 1,
                broken: false,
                ignored_tests: vec!["slow".to_owned()]
            }
        );
    }

    #[test]
    fn a_run_without_tests_is_no_success() {
        assert!(Counts::default().close().is_err());
        assert!(Counts { passed: 1, ..Counts::default() }.close().is_ok());
        assert!(Counts { passed: 1, broken: true, ..Counts::default() }.close().is_err());
    }
}
