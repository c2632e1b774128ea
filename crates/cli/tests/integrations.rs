//! The script of `integrations/`, as GitHub's and GitLab's runners call it, and the files that call it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PIPELINE: &str = "seq 20000 | sort -r | tail -n 1";

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations")
}

fn check(shell: &str, dir: &Path, args: &[&str]) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_pelton")).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(shell);
    command.arg(integrations().join("pelton-check.sh")).args(args).current_dir(dir);
    command.env("PATH", format!("{}:{path}", bin.display())).env("TMPDIR", dir);
    command.env("PELTON_RUNS", "6").env("GITHUB_STEP_SUMMARY", dir.join("summary.md"));
    command.stdin(Stdio::null()).output().expect("a shell")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("readable").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Writes a record of the pipeline, with its times multiplied.
fn record(dir: &Path, factor: f64) {
    let out = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["time", "--runs", "6", "--json", "-o", "record.json", PIPELINE])
        .current_dir(dir)
        .output()
        .expect("pelton starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let file = dir.join("record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&file).expect("a record")).expect("JSON");
    for name in ["wall_ns", "user_ns", "sys_ns"] {
        for value in record["repeats"][name].as_array_mut().expect("a list") {
            *value = ((value.as_f64().expect("a number") * factor) as u64).into();
        }
    }
    fs::write(file, record.to_string()).expect("written");
}

#[test]
fn the_table_is_appended_and_a_slower_pipeline_fails() {
    for shell in ["dash", "bash"] {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("summary.md"), "before\n").expect("written");
        let out = check(shell, dir.path(), &[PIPELINE]);
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        let summary = fs::read_to_string(dir.path().join("summary.md")).expect("a summary");
        assert!(summary.starts_with("before\n") && summary.contains("`sort -r`"), "{summary}");

        for (factor, status) in [(1000.0, 0), (0.001, 1)] {
            record(dir.path(), factor);
            let out = check(shell, dir.path(), &[PIPELINE, "record.json"]);
            let said = String::from_utf8_lossy(&out.stdout).into_owned();
            assert_eq!(out.status.code(), Some(status), "{said}{}", String::from_utf8_lossy(&out.stderr));
            assert!(said.contains("BEFORE is the record record.json, of 6 runs"), "{said}");
        }
        assert_eq!(names(dir.path()), ["record.json", "summary.md"], "nothing else is left");
    }
}

#[test]
fn what_cannot_be_measured_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, status) in [(&[][..], 2), (&["sort ("], 2), (&[PIPELINE, "nofile"], 2)] {
        let out = check("dash", dir.path(), args);
        assert_eq!(out.status.code(), Some(status), "{args:?}");
        assert!(!out.stderr.is_empty(), "{args:?}");
    }
}

/// The files name each variable of the script, and the script.
#[test]
fn the_templates_name_what_the_script_reads() {
    for file in ["github/action.yml", "gitlab.yml"] {
        let text = fs::read_to_string(integrations().join(file)).expect("a template");
        for name in ["PIPELINE", "RECORD", "PELTON_RUNS", "PELTON_THRESHOLD", "pelton-check.sh"] {
            assert!(text.contains(name), "{file}: {name}");
        }
    }
}
