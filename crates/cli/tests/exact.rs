//! `pelton time --exact` on pipelines whose waits are known. Only shapes are compared: the longest part of a
//! stage's life.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// The parts of a stage's life.
const PARTS: [&str; 4] = ["running_ns", "cpu_wait_ns", "starved_ns", "backpressured_ns"];
const ELSEWHERE: [&str; 4] = ["io_ns", "lock_ns", "asleep_ns", "held_ns"];

fn pelton(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pelton"))
        .arg("time")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Measures the stages of `text` this way.
fn stages(way: &[&str], text: &str) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = pelton(&[way, &["--json", "-o", file.path().to_str().unwrap(), text]].concat());
    assert!(out.status.success(), "{text}: {out:?}");
    let record: Value = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    record["pipelines"][0]["stages"].as_array().unwrap().clone()
}

/// Whether tracing is permitted here; if not, pelton says so.
fn is_permitted() -> bool {
    let out = pelton(&["--exact", "true"]);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code() == Some(2), told.contains("permits no tracing"), "{told}");
    out.status.success()
}

/// Each part of a stage's life.
fn parts(stage: &Value) -> Vec<(&'static str, u64)> {
    let waits = &stage["waits"];
    let part = |of: &Value, name: &'static str| (name, of[name].as_u64().unwrap());
    let elsewhere = ELSEWHERE.map(|name| part(&waits["elsewhere"], name));
    PARTS.map(|name| part(waits, name)).into_iter().chain(elsewhere).collect()
}

/// Returns a stage's longest part.
fn most(stage: &Value) -> &'static str {
    parts(stage).into_iter().max_by_key(|(_, ns)| *ns).unwrap().0
}

/// Pipelines, and the longest part of each of their stages.
const KNOWN: [(&str, &[&str]); 7] = [
    (
        "sh -c 'for i in 1 2 3 4; do sleep 0.1; echo $i; done' | cat | wc -l",
        &["asleep_ns", "starved_ns", "starved_ns"],
    ),
    ("yes | sh -c 'sleep 0.5; head -n 1'", &["backpressured_ns", "asleep_ns"]),
    ("yes | cat | sh -c 'sleep 0.5; head -n 1'", &["backpressured_ns", "backpressured_ns", "asleep_ns"]),
    // A shell counts as its commands, timeout as what it runs.
    ("sleep 0.5 | sh -c 'cat; true' | timeout 100 cat", &["asleep_ns", "starved_ns", "starved_ns"]),
    // Splicing between pipes, and polling descriptors.
    (
        "sleep 1 | /usr/bin/python3 -SE -c 'import os; os.splice(0, 1, 4096)' | /usr/bin/python3 -SE -c 'import select; select.select([0], [], [])'",
        &["asleep_ns", "starved_ns", "starved_ns"],
    ),
    // The pause lets input arrive: of a call that waits for input and then for room, only the first wait is
    // seen.
    (
        "yes | /usr/bin/python3 -SE -c 'import os, time\nwhile os.splice(0, 1, 65536): time.sleep(0.05)' 2>/dev/null | sh -c 'sleep 1; head -n 1'",
        &["backpressured_ns", "backpressured_ns", "asleep_ns"],
    ),
    // Threads: the leading one waits for the other, which sleeps.
    (
        "/usr/bin/python3 -SE -c 'import threading, time\nt = threading.Thread(target=time.sleep, args=[1]); t.start(); t.join()' | cat",
        &["asleep_ns", "starved_ns"],
    ),
];

#[test]
fn the_longest_wait_is_the_known_one_as_for_samples() {
    if !is_permitted() {
        return;
    }
    for (text, expected) in KNOWN {
        for way in [&["--exact"][..], &[]] {
            // If other programs take the cores, a stage may wait for a CPU most of the time: then it is
            // measured again.
            let look = |_| {
                Some(stages(way, text).iter().map(most).collect()).filter(|found: &Vec<_>| found != expected)
            };
            let others: Vec<_> = (0..3).map_while(look).collect();
            assert!(others.len() < 3, "{way:?} {text}: {others:?}, not {expected:?}");
        }
    }
}

#[test]
fn the_record_says_that_it_is_exact_and_parts_add_up() {
    if !is_permitted() {
        return;
    }
    for stage in stages(&["--exact"], "head -c 3000 /dev/zero | dd bs=1 status=none | wc -c") {
        let waits = &stage["waits"];
        assert_eq!((&waits["samples"], &waits["margin_ns"]), (&Value::from(0), &Value::Null));
        assert_eq!(waits["exact"]["means"], "ptrace");
        let least = if stage["name"] == "dd" { 6000 } else { 3 };
        assert!(waits["exact"]["calls"].as_u64() >= Some(least), "{stage}");
        let ns = |name: &str| waits[name].as_u64().unwrap();
        let whole = PARTS.map(ns).iter().sum::<u64>() + ns("other_ns");
        assert_eq!(whole, stage["cost"]["wall_ns"].as_u64().unwrap());
        let elsewhere: u64 = ELSEWHERE.iter().map(|name| waits["elsewhere"][name].as_u64().unwrap()).sum();
        assert!(elsewhere <= ns("other_ns"), "{stage}");
        // Tiny calls: tracing each takes longer than the call.
        if stage["name"] == "dd" {
            assert!(waits["elsewhere"]["held_ns"].as_u64().unwrap() > 0, "{stage}");
        }
    }
}

#[test]
fn the_table_says_what_tracing_cost() {
    if !is_permitted() {
        return;
    }
    let out = pelton(&["--exact", "--all", "dd if=/dev/zero bs=1 count=2000 status=none | wc -c"]);
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.stdout, b"2000\n");
    for words in ["held by the tracing", "system calls were traced by ptrace, at about", "tracing"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[test]
fn who_is_traced_already_is_told_what_to_do() {
    if !is_permitted() {
        return;
    }
    let out = pelton(&["--exact", "--", env!("CARGO_BIN_EXE_pelton"), "time", "--exact", "echo never"]);
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(2), &b""[..]), "{told}");
    assert!(
        told.contains("permits no tracing") && told.contains("without --exact, waits are sampled"),
        "{told}"
    );
}

/// What a program reads at start-up (loader, locale) is no input; a file that it reads is.
#[test]
fn the_input_of_a_stage_that_reads_a_pipe_is_what_the_stage_before_it_wrote() {
    let bytes = |stage: &Value, field: &str| stage["cost"][field].as_u64().unwrap();
    let rows = stages(&[], "seq 10000 | sort | uniq -c | wc -l");
    for pair in rows.windows(2) {
        assert_eq!(bytes(&pair[1], "read_bytes"), bytes(&pair[0], "written_bytes"), "{pair:?}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 1 << 20]).unwrap();
    let rows = stages(&[], &format!("seq 10 | cat - {}", file.path().display()));
    assert!(bytes(&rows[1], "read_bytes") > 1 << 20, "{rows:?}");
}
