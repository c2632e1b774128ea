//! `pelton time --inside`: the line that costs most is found, in each language, and nothing else changes.
//!
//! The programs compute, and call the kernel no more than once in a while: on a loaded machine, samples see more of such
//! lines.

use pelton_testkit::skips::has_program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pelton(directory: &Path, args: &[&str]) -> Output {
    let mut pelton = Command::new(env!("CARGO_BIN_EXE_pelton"));
    pelton.args(args).current_dir(directory).stdin(Stdio::null()).output().unwrap()
}

/// Runs `text`; returns its record.
fn record(directory: &Path, inside: &str, text: &str) -> Value {
    let output = pelton(directory, &["time", "--inside", inside, "--json", "-o", "record.json", text]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&std::fs::read(directory.join("record.json")).unwrap()).unwrap()
}

/// Runs one stage; returns its profile.
///
/// On a machine that reads its files for the first time, symbols are read for longer than a program of a second runs:
/// the verdict says so, and another run shows it.
fn profile(directory: &Path, text: &str) -> Value {
    let once = || record(directory, "1", text)["pipelines"][0]["stages"][0]["profile"].clone();
    let is_seen = |profile: &Value| !profile["verdict"].as_str().unwrap_or_default().contains("was not seen");
    let first = once();
    if is_seen(&first) { first } else { once() }
}

/// Returns the share of the samples that belong to lines of this function, or to this line.
fn share(profile: &Value, function: &str, line: Option<u64>) -> f64 {
    let lines = profile["lines"].as_array().unwrap().iter();
    let rows = lines.filter(|row| {
        let frame = &row["frame"];
        frame["function"].as_str().unwrap().ends_with(function)
            && (line.is_none() || frame["line"].as_u64() == line)
    });
    let samples: u64 = rows.map(|row| row["samples"].as_u64().unwrap()).sum();
    samples as f64 / profile["samples"].as_f64().unwrap()
}

/// Asserts that about three quarters of the CPU time are in `much` and one quarter in `little`.
fn three_to_one(profile: &Value, much: (&str, Option<u64>), little: (&str, Option<u64>)) {
    let samples = profile["samples"].as_u64().unwrap();
    assert!(samples >= 20, "{profile:#}");
    let (much, little) = (share(profile, much.0, much.1), share(profile, little.0, little.1));
    assert!((0.5..0.95).contains(&much) && (0.05..0.5).contains(&little), "{much} {little}: {profile:#}");
}

/// Returns the path of the interpreter itself: `python3` may be a script that looks for it.
fn python() -> String {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const PYTHON: &str = "\
def spin(seconds):
    for _ in range(int(seconds * 10_000)):
        sum(range(5000))
def much():
    spin(0.03)
def little():
    spin(0.01)
# In turns: the cores may be busier for a while.
for _ in range(30):
    much()
    little()
";

#[test]
fn lines_of_python() {
    let directory = tempfile::tempdir().unwrap();
    let own = PYTHON.replace("sum(range(5000))", "list(map(str, range(500)))");
    std::fs::write(directory.path().join("work.py"), own).unwrap();
    let found = profile(directory.path(), &format!("{} work.py", python()));
    assert!(share(&found, "spin", Some(3)) > 0.6, "{found:#}");
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("of its CPU time is in line 3 of work.py (spin)"), "{verdict}");
    let first = &found["lines"][0];
    assert_eq!(first["text"], "list(map(str, range(500)))");
    let total = |function: &str| {
        let stacks = found["stacks"].as_array().unwrap().iter();
        let has = |stack: &&Value| {
            let mut frames = stack["frames"].as_array().unwrap().iter();
            frames.any(|frame| found["frames"][frame.as_u64().unwrap() as usize]["function"] == function)
        };
        stacks.filter(has).map(|stack| stack["samples"].as_u64().unwrap()).sum::<u64>() as f64
    };
    let ratio = total("much") / total("little");
    assert!((1.5..6.0).contains(&ratio), "{ratio}: {found:#}");
}

#[test]
fn lines_of_a_program_that_the_stage_starts() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("work.py"), PYTHON).unwrap();
    let found = profile(directory.path(), &format!("sh -c '{} work.py; exit 0'", python()));
    assert!(share(&found, "spin", Some(3)) > 0.6, "{found:#}");
    assert!(found["lines"][0]["process"].as_str().unwrap().starts_with("python"), "{found:#}");
}

#[test]
fn lines_of_ruby() {
    if !has_program("ruby") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let own = "\
def spin(seconds)
  (seconds * 5000).to_i.times do
    (1..2000).map(&:to_s)
  end
end
def much = spin(0.9)
def little = spin(0.3)
much
little
";
    std::fs::write(directory.path().join("work.rb"), own).unwrap();
    let found = profile(directory.path(), "ruby work.rb");
    assert!(share(&found, "in spin", Some(3)) > 0.6, "{found:#}");
}

#[test]
fn lines_of_perl() {
    let directory = tempfile::tempdir().unwrap();
    let own = "\
sub spin {
  for my $i (1 .. 1000 * shift) {
    my @all = sort { $a <=> $b } map { $_ * 7 % 501 } 1 .. 5000;
  }
}
sub much { spin(0.9) }
sub little { spin(0.3) }
much();
little();
";
    std::fs::write(directory.path().join("work.pl"), own).unwrap();
    let found = profile(directory.path(), "perl work.pl");
    assert!(share(&found, "spin", Some(3)) > 0.6, "{found:#}");
    let much = found["frames"].as_array().unwrap().iter().find(|frame| frame["function"] == "much").unwrap();
    assert_eq!((much["line"].as_u64(), much["language"].as_str()), (Some(6), Some("perl")));
    let calls = found["lines"][0]["calls"].as_array().unwrap();
    assert!(calls.iter().all(|call| call["function"].as_str().unwrap().starts_with("Perl_")), "{found:#}");
}

/// Counts for so many steps.
const C: &str = "\
static volatile unsigned long sink;
__attribute__((noinline)) void much(unsigned long steps) {
  for (unsigned long i = 0; i < steps; i++)
    sink += i * i;
}
__attribute__((noinline)) void little(unsigned long steps) {
  for (unsigned long i = 0; i < steps; i++)
    sink += i * i;
}
int main(void) {
  for (int i = 0; i < 100; i++) { much(6000000); little(2000000); }
  return 0;
}
";

#[test]
fn lines_and_functions_of_c() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("work.c"), C).unwrap();
    for flags in [&["-O1", "-g"][..], &["-O0", "-g"], &["-O2", "-fomit-frame-pointer"]] {
        let mut compiler = Command::new("cc");
        compiler.args(flags).args(["-o", "work", "work.c"]).current_dir(directory.path());
        if !has_program("cc") || !compiler.status().unwrap().success() {
            return;
        }
        let found = profile(directory.path(), "./work");
        three_to_one(&found, ("much", None), ("little", None));
        let has_lines = flags.contains(&"-g");
        let line = found["lines"][0]["frame"]["line"].as_u64();
        assert!(if has_lines { matches!(line, Some(3 | 4)) } else { line.is_none() }, "{flags:?} {found:#}");
        let outermost = found["stacks"][0]["frames"].as_array().unwrap().len();
        assert!(outermost >= 2, "main calls it: {found:#}");
    }
}

#[test]
fn only_the_stage_that_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let text = "seq 200000 | sort -n | tail -n 1";
    let stages = record(directory.path(), "2", text)["pipelines"][0]["stages"].clone();
    let has = |i: usize| !stages[i]["profile"].is_null();
    assert_eq!([has(0), has(1), has(2)], [false, true, false]);
    let all = record(directory.path(), "all", text)["pipelines"][0]["stages"].clone();
    assert!(all.as_array().unwrap().iter().all(|stage| !stage["profile"].is_null()), "{all:#}");
}

#[test]
fn output_status_and_signals_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let run = |text: &str| pelton(directory.path(), &["time", "--inside", "all", "-o", "/dev/null", text]);
    let output = run("seq 300000 | sort | head -n 2; exit 3");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &b"1\n10\n"[..]));
    // Signals arrive while it is stopped again and again.
    let trapped =
        "bash -c 'n=0; trap \"n=\\$((n+1))\" USR1; for i in {1..300}; do kill -USR1 $$; done; echo $n'";
    assert_eq!(run(trapped).stdout, b"300\n");
}

#[test]
fn a_stage_that_does_not_exist_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (stage, text, says) in [
        ("3", "seq 3 | sort", "cannot look inside stage 3: it has 2 stages"),
        ("2", "true", "cannot look inside stage 2: it has one stage"),
        ("0", "true", "the number of a stage, from 1, or all"),
        ("x", "true", "the number of a stage, from 1, or all"),
    ] {
        let output = pelton(directory.path(), &["time", "--inside", stage, text]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn short_processes_are_not_taken_for_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let short = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); done";
    let found = profile(directory.path(), &format!("for i in $(seq 600); do sh -c '{short}'; done"));
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.contains("of its CPU time was not seen"), "{found:#}");
    assert!(found["seen_cpu_ns"].as_u64() < found["cpu_ns"].as_u64(), "{found:#}");
}

#[test]
fn one_that_is_traced_is_said_to_be() {
    if !has_program("strace") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let busy = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";
    let found = profile(directory.path(), &format!("strace -f -o /dev/null dash -c '{busy}'"));
    let verdict = found["verdict"].as_str().unwrap();
    assert!(!verdict.contains("it waits"), "{found:#}");
}

#[test]
fn a_late_thread_among_many_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let own = "\
import threading, time
for _ in range(90):
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
def work():
    for _ in range(6000):
        sum(range(5000))
worker = threading.Thread(target=work)
worker.start()
worker.join()
import os
os._exit(0)
";
    std::fs::write(directory.path().join("work.py"), own).unwrap();
    let found = profile(directory.path(), &format!("{} work.py", python()));
    assert!(share(&found, "work", Some(6)) > 0.5, "{found:#}");
}

#[test]
fn one_that_only_waits_has_no_lines() {
    let directory = tempfile::tempdir().unwrap();
    let found = profile(directory.path(), "sleep 0.3");
    assert!(found["samples"].as_u64().unwrap() < 20, "{found:#}");
    let verdict = found["verdict"].as_str().unwrap();
    assert!(verdict.contains("too short"), "{found:#}");
}
