//! `pelton time` on a single command: its processes are followed, and nothing of it changes.

use pelton_testkit::wait_until;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pelton() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs `words` under `pelton time` in `dir`; returns the output and what was found inside.
fn time(dir: &Path, words: &[&str]) -> (Output, Value) {
    let record = dir.join("record.json");
    let mut command = pelton();
    command.args(["time", "--format", "json", "-o", record.to_str().unwrap(), "--"]);
    let out = command.args(words).current_dir(dir).output().unwrap();
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    (out, record["pipelines"][0]["stages"][0]["inside"].clone())
}

/// The same without pelton.
fn plain(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("LC_ALL", "C").stdin(Stdio::null());
    command.current_dir(dir).output().unwrap()
}

/// The names of a pipeline's stages.
fn names(inner: &Value) -> Vec<&str> {
    let stages = inner["pipeline"]["stages"].as_array().unwrap();
    stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect()
}

#[test]
fn output_statuses_and_deaths_are_those_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    for script in [
        "echo out; echo err >&2; exit 3",
        "yes | head -n 2; echo ${PIPESTATUS[*]}",
        "kill -TERM $$",
        "(exit 4) | cat; exit ${PIPESTATUS[0]}",
        "trap 'echo caught' USR1; kill -USR1 $$; wait",
        "seq 5 | { read x; echo $x; cat; } | tail -n 1; nosuchcommand; echo $?",
        "set -o pipefail; false | true; echo $?; sleep 0.05 & wait $!; echo $?",
        "exec sh -c 'exit 9'",
        "x=$(echo in | tr a-z A-Z); echo $x; cat <(echo sub)",
        "{ (kill -KILL $BASHPID); } 2> /dev/null; echo $?",
    ] {
        let words = ["bash", "-c", script];
        let (with, _) = time(dir.path(), &words);
        assert_eq!(with, plain(dir.path(), &words), "{script}");
    }
}

/// Returns the stage names of the first pipeline found in a script, if any.
fn joined(shell: &str, script: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.sh"), script).unwrap();
    let (out, inside) = time(dir.path(), &[shell, "x.sh"]);
    assert!(out.status.success(), "{script}: {out:?}");
    let first = inside["pipelines"].as_array().and_then(|all| all.first());
    first.map_or_else(Vec::new, |inner| names(inner).into_iter().map(str::to_owned).collect())
}

#[test]
fn fifos_join_stages() {
    for shell in ["bash", "dash"] {
        let script = "mkfifo p; seq 1000 > p & sort -rn < p | head -n 1; wait\n";
        assert_eq!(joined(shell, script), ["seq", "sort", "head"], "{shell}");
        // A FIFO that is only named, and has no writer.
        assert_eq!(joined(shell, "mkfifo p; ls -l p > out; cat < out\n"), [""; 0], "{shell}");
    }
}

#[test]
fn what_stands_for_a_file_joins_stages_and_what_leaks_does_not() {
    // `wait`: a process that outlives the script is no stage.
    assert_eq!(joined("bash", "sort -rn <(seq 1000) > out; wait $!\n"), ["seq", "sort"]);
    assert_eq!(joined("bash", "tee >(wc -l > n) < x.sh > out; wait $!\n"), ["tee", "wc"]);
    // sleep inherits the write end, but does not use it.
    assert_eq!(joined("bash", "exec 3> >(cat > out); sleep 0.1; exec 3>&-; wait\n"), [""; 0]);
}

#[test]
fn functions_around_commands_are_stages() {
    let dir = tempfile::tempdir().unwrap();
    let script = "one() { seq 1000; }\ntwo() { sort -n | tail -n 1; }\none | two\n";
    std::fs::write(dir.path().join("x.sh"), script).unwrap();
    let (out, inside) = time(dir.path(), &["bash", "x.sh"]);
    assert_eq!(out.stdout, b"1000\n");
    let pipelines = inside["pipelines"].as_array().unwrap();
    assert_eq!(pipelines.len(), 2, "{inside:#}");
    let outer = names(&pipelines[0]);
    assert_eq!((outer[0], outer.len()), ("one seq", 2), "{inside:#}");
    assert_eq!(names(&pipelines[1]), ["sort", "tail"]);
    assert_eq!(pipelines[1]["within"], serde_json::json!({"pipeline": 0, "stage": 1}));
}

#[test]
fn loops_are_summed_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let script = "for i in $(seq 40); do echo $i | sed s/1/2/ | wc -c > /dev/null; done";
    let (_, inside) = time(dir.path(), &["bash", "-c", script]);
    let pipelines = inside["pipelines"].as_array().unwrap();
    assert_eq!(pipelines.len(), 1, "{inside:#}");
    assert_eq!((pipelines[0]["times"].as_u64(), names(&pipelines[0]).len()), (Some(40), 3), "{inside:#}");
    let commands = inside["commands"].as_array().unwrap();
    let times = |name: &str| {
        commands.iter().find(|row| row["name"] == name).map_or(0, |row| row["times"].as_u64().unwrap())
    };
    assert_eq!((times("sed"), times("wc"), times("seq")), (40, 40, 1), "{inside:#}");
    assert_eq!(inside["processes"].as_u64(), Some(times("bash") + times("bash (fork)") + 81), "{inside:#}");
    assert!(inside["start_ns"].as_u64() > Some(0), "{inside:#}");
}

#[test]
fn what_commands_cost_adds_up_to_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record.json");
    let script =
        "seq 300000 | sort | uniq | tail -n 1; for i in 1 2 3; do expr $i + 1; done; sleep 0.01 & wait";
    let mut command = pelton();
    command.args(["time", "--format", "json", "-o", record.to_str().unwrap(), "--", "bash", "-c", script]);
    assert!(command.output().unwrap().status.success());
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let cpu = |cost: &Value| cost["user_ns"].as_u64().unwrap() + cost["sys_ns"].as_u64().unwrap();
    let row = &record["pipelines"][0]["stages"][0];
    let commands = row["inside"]["commands"].as_array().unwrap();
    let sum: u64 = commands.iter().map(|command| cpu(&command["cost"])).sum();
    let whole = cpu(&row["cost"]);
    assert!(sum.abs_diff(whole) * 50 <= whole, "{sum} of {whole}: {record:#}");
    let written: u64 =
        commands.iter().map(|command| command["cost"]["written_bytes"].as_u64().unwrap()).sum();
    assert_eq!(Some(written), row["cost"]["written_bytes"].as_u64());
}

#[test]
fn what_is_left_running_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let script = "(sleep 0.3; echo late > late) > /dev/null 2>&1 &";
    let (out, inside) = time(dir.path(), &["bash", "-c", script]);
    assert!(out.status.success());
    assert_eq!(inside["still_running"].as_u64().map(|n| n > 0), Some(true), "{inside:#}");
    let late = dir.path().join("late");
    wait_until("the background process writes its file", || late.exists());
}

#[test]
fn outside_it_is_one_row() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("record.json");
    let mut command = pelton();
    command.args(["time", "--outside", "--format", "json", "-o", record.to_str().unwrap(), "--"]);
    assert!(command.args(["bash", "-c", "seq 3 | cat"]).output().unwrap().status.success());
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert!(record["pipelines"][0]["stages"][0]["inside"].is_null());
}

/// Beside other work the pipeline may not compute for most of its time: then there is no advice.
#[test]
fn of_a_make_that_computes_it_tells_the_lines_for_the_makefile() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let makefile = "all:\n\t@seq 2000000 | sort -r | tail -n 1 > out\n\t@echo done\n";
    std::fs::write(dir.path().join("Makefile"), makefile).expect("written");
    wait_until("a run that computes", || {
        let (out, inside) = time(dir.path(), &["make"]);
        assert_eq!(out.stdout, b"done\n");
        let advice = inside["verdict"]["advice"].as_str().unwrap_or_default().to_owned();
        advice
            == "`SHELL := pelton` and `.SHELLFLAGS := sh --shell sh -c` in the Makefile: its pipeline runs natively, with the \
                same output"
    });
    let explained = pelton().args(["explain", "make all"]).output().expect("pelton runs");
    assert!(String::from_utf8_lossy(&explained.stdout).contains("`SHELL := pelton`"), "{explained:?}");
}
