//! `pelton time --syscalls` counts every call of everything that a stage starts, and changes nothing else.
//! Nor does `--exact`, which traces in the same way.

use pelton_testkit::wait_until;
use serde_json::Value;
use std::process::{Command, Stdio};

const WAYS: [&str; 2] = ["--syscalls", "--exact"];

/// Counts the calls of `text`; returns its output, its status, and the record.
fn counted(text: &str) -> (String, Option<i32>, Value) {
    traced("--syscalls", text)
}

/// As [`counted`], with calls counted or waits traced.
fn traced(way: &str, text: &str) -> (String, Option<i32>, Value) {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record.json");
    let out = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["time", way, "--format", "json", "-o", record.to_str().unwrap(), text])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .current_dir(directory.path())
        .output()
        .unwrap();
    let record = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    (String::from_utf8(out.stdout).unwrap(), out.status.code(), record)
}

/// Returns calls, errors, bytes of a stage's call.
fn row(record: &Value, stage: usize, name: &str) -> Option<(u64, u64, Option<u64>)> {
    let rows = record["pipelines"][0]["stages"][stage]["syscalls"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name)?;
    Some((row["calls"].as_u64().unwrap(), row["errors"].as_u64().unwrap(), row["bytes"].as_u64()))
}

/// Whether tracing is permitted here; if not, pelton says so.
fn is_permitted() -> bool {
    let (_, _, record) = counted("true | cat");
    let permitted = !record["pipelines"][0]["stages"][1]["syscalls"].is_null();
    let notes = record["notes"].to_string();
    assert_eq!(permitted, !notes.contains("permits no tracing"), "{notes}");
    permitted
}

#[test]
fn every_call_is_counted() {
    if !is_permitted() {
        return;
    }
    let (printed, status, record) = counted("dd if=/dev/zero bs=1 count=777 status=none | cat | wc -c");
    assert_eq!((printed.as_str(), status), ("777\n", Some(0)));
    assert_eq!(row(&record, 0, "write"), Some((777, 0, Some(777))));
    let (reads, errors, bytes) = row(&record, 0, "read").unwrap();
    assert!(reads > 777 && errors == 0 && bytes >= Some(777), "{reads} {errors} {bytes:?}");
    assert_eq!(row(&record, 0, "execve"), Some((1, 0, None)));
    assert_eq!(row(&record, 1, "write").unwrap().2, Some(777));
    let notes = record["notes"].to_string();
    assert!(notes.contains("were counted by ptrace, at about"), "{notes}");
}

#[test]
fn what_a_stage_starts_counts_as_well() {
    if !is_permitted() {
        return;
    }
    let script = "sh -c 'for i in 1 2 3; do dd if=/dev/zero bs=1 count=10 status=none; done' | wc -c";
    let (printed, status, record) = counted(script);
    assert_eq!((printed.as_str(), status), ("30\n", Some(0)));
    assert_eq!(row(&record, 0, "write"), Some((30, 0, Some(30))));
    assert_eq!(row(&record, 0, "execve").unwrap().0, 4);
    let threads = "python3 -c 'import threading, os\nt = [threading.Thread(target=lambda: [os.write(1, b\"x\") for i in range(50)]) for j in range(4)]\n[x.start() for x in t]\n[x.join() for x in t]' | wc -c";
    let (printed, _, record) = counted(threads);
    assert_eq!(printed, "200\n");
    assert!(row(&record, 0, "write").unwrap().2 >= Some(200), "all threads'");
}

#[test]
fn ends_are_what_they_were() {
    if !is_permitted() {
        return;
    }
    for (text, printed, status) in [
        ("yes | head -n 1", "y\n", 0),
        ("sh -c 'exit 7' | cat; exit 3", "", 3),
        ("sh -c 'kill -9 $$' | cat; echo ${PIPESTATUS[0]}", "137\n", 0),
        ("sh -c 'trap \"echo caught\" TERM; kill -TERM $$; echo on'", "caught\non\n", 0),
        ("sh -c 'sh -c \"kill -STOP \\$\\$; echo on\" & sleep 0.3; kill -CONT $!; wait'", "on\n", 0),
        ("cat nosuch; echo $?", "1\n", 0),
    ] {
        for way in WAYS {
            let (found, code, _) = traced(way, text);
            assert_eq!((found.as_str(), code), (printed, Some(status)), "{way} {text}");
        }
    }
}

#[test]
fn what_outlives_the_run_goes_on_untraced() {
    if is_permitted() {
        WAYS.into_iter().for_each(outlives_untraced);
    }
}

fn outlives_untraced(way: &str) {
    let (printed, status, _) = traced(way, "sh -c 'sleep 100 > /dev/null & echo $!' | cat");
    assert_eq!(status, Some(0));
    let pid = printed.trim();
    let tracer = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it still runs");
        text.lines().find_map(|line| line.strip_prefix("TracerPid:")).map(|pid| pid.trim().to_owned())
    };
    // The tracer was told to end; when it does is up to the system.
    wait_until("nobody traces it", || tracer().as_deref() == Some("0"));
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
}
