//! `pelton time --history` and `--budget`: runs are kept under a name, compared, listed; limits fail.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn time(state: &Path, args: &[&str]) -> Output {
    let mut pelton = Command::new(env!("CARGO_BIN_EXE_pelton"));
    pelton.arg("time").args(args).env("XDG_STATE_HOME", state).stdin(Stdio::null());
    pelton.output().unwrap()
}

fn record(state: &Path, args: &[&str]) -> Value {
    let output = time(state, &[&["--json"], args].concat());
    serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn runs_are_kept_and_listed() {
    let state = tempfile::tempdir().unwrap();
    let keep = |text: &str| record(state.path(), &["--history", "nightly", text])["history"].clone();
    assert_eq!(keep("true | true")["verdict"], "the first run of this name");
    let second = keep("true | true");
    assert_eq!(second["verdict"], "1 run before: five are needed to tell a change");
    assert_eq!(second["runs"].as_array().unwrap().len(), 2);
    assert_eq!(keep("false")["verdict"], "it ended with status 1, so it is not compared");
    let other = "none of the runs before had this text on this machine and succeeded";
    assert_eq!(keep("sleep 0.01")["verdict"], other);

    let listed = time(state.path(), &["--history", "nightly"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().filter(|line| line.contains(" ago ")).count(), 4, "{listed}");
    assert!(listed.contains("true | true\n") && listed.contains("sleep 0.01\n"), "{listed}");
    let data = time(state.path(), &["--history", "nightly", "--json"]);
    let data: Value = serde_json::from_slice(&data.stdout).unwrap();
    assert_eq!(data[2]["exit_status"], 1);

    let unknown = time(state.path(), &["--history", "weekly"]);
    let said = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(said.contains("no run is kept under the name `weekly`") && said.contains("nightly"), "{said}");
}

#[test]
fn a_slow_run_stands_out() {
    let state = tempfile::tempdir().unwrap();
    let text = "sleep $SECONDS_TO_SLEEP";
    let run = |seconds: &str| {
        let mut pelton = Command::new(env!("CARGO_BIN_EXE_pelton"));
        pelton.args(["time", "--json", "--history", "x", "--budget", "real=+100%", text]);
        pelton.env("XDG_STATE_HOME", state.path()).env("SECONDS_TO_SLEEP", seconds).stdin(Stdio::null());
        let output = pelton.output().unwrap();
        let record: Value = serde_json::from_slice(&output.stderr).unwrap();
        (record["history"]["verdict"].as_str().unwrap().to_owned(), output.status.code())
    };
    for _ in 0..5 {
        assert_eq!(run("0.1").1, Some(0));
    }
    let (verdict, status) = run("2");
    assert!(
        verdict.starts_with("real is more (") && verdict.ends_with("in any of the 5 runs before"),
        "{verdict}"
    );
    assert_eq!(status, Some(3), "over its budget");
}

#[test]
fn several_processes_keep_runs_at_once() {
    let state = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| time(state.path(), &["--history", "x", "true"]));
        }
    });
    let data: Value =
        serde_json::from_slice(&time(state.path(), &["--history", "x", "--json"]).stdout).unwrap();
    assert_eq!(data.as_array().unwrap().len(), 8);
}

#[test]
fn budgets_fail_only_what_succeeded() {
    let state = tempfile::tempdir().unwrap();
    let status = |budget: &str, text: &str| time(state.path(), &["--budget", budget, text]).status.code();
    assert_eq!(status("real=20ms", "sleep 0.1"), Some(3));
    assert_eq!(status("real=20ms", "sleep 0.1; exit 7"), Some(7));
    assert_eq!(status("real=100s,cpu=100s,mem=10G", "sleep 0.1"), Some(0));
    assert_eq!(status("mem=1K", "true | true"), Some(3));
    let elsewhere = time(state.path(), &["--format", "csv", "--budget", "mem=1K", "true"]);
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("pelton: over budget: peak mem"));
    let record = record(state.path(), &["--budget", "real=100s", "--budget", "mem=1K", "true"]);
    assert_eq!(
        (&record["budgets"][0]["is_exceeded"], &record["budgets"][1]["figure"]),
        (&false.into(), &"mem".into())
    );
}

#[test]
fn a_damaged_history_is_not_replaced() {
    let state = tempfile::tempdir().unwrap();
    time(state.path(), &["--history", "x", "true"]);
    let file = state.path().join("pelton/history/x.json");
    std::fs::write(&file, "{ damaged").unwrap();
    let output = time(state.path(), &["--history", "x", "echo kept"]);
    // Nothing is run in vain.
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot read the history") && said.contains("it is damaged"), "{said}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{ damaged");
}
