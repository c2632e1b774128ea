//! `pelton time --what-if`. How well it predicts is measured by `cargo xtask bench what-if`: here only what holds on a busy
//! machine too.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Computes for some tenths of a second in its second stage.
const BUSY: &str = "seq 400000 | sort -n | tail -n 1";

fn pelton(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pelton"))
        .arg("time")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs a text, and returns its record and its output.
fn record(arguments: &[&str]) -> (Value, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let out = pelton(&[&["--json", "-o", file.path().to_str().unwrap()], arguments].concat());
    assert!(out.status.success(), "{arguments:?}: {out:?}");
    let record = serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
    (record, String::from_utf8(out.stdout).unwrap())
}

fn is_range(prediction: &Value) -> bool {
    let ns = |part: &str| prediction[part].as_u64().unwrap();
    ns("low_ns") <= ns("total_ns") && ns("total_ns") <= ns("high_ns")
}

#[test]
fn each_stage_has_its_predictions_or_there_is_a_reason() {
    let (record, printed) = record(&["--what-if", BUSY]);
    assert_eq!(printed, "400000\n");
    let found = &record["what_if"];
    let rows = found["stages"].as_array().unwrap();
    let headline = found["headline"].as_str().unwrap();
    match found["reason"].as_str() {
        Some(_) => assert!(rows.is_empty() && headline.starts_with("nothing can be predicted"), "{found}"),
        None => {
            assert_eq!(rows.len(), 3);
            assert!(
                rows.iter().all(|row| is_range(&row["free"]) && is_range(&row["twice_as_fast"])),
                "{found}"
            );
            assert!(rows[2]["larger_pipe"].is_null());
            // A sort cannot be shared by lines.
            assert!(rows[1]["split"].is_null());
        }
    }
    assert!(record["pipelines"][0]["stages"][0]["timeline"].is_array());
}

#[test]
fn without_the_option_nothing_is_predicted_or_kept() {
    let (record, _) = record(&[BUSY]);
    assert!(record["what_if"].is_null());
    assert!(record["pipelines"][0]["stages"][0]["timeline"].is_null());
}

#[test]
fn what_cannot_be_predicted_has_a_reason() {
    for (text, reason) in [("sleep 0.2", "only one stage"), ("seq 3 | wc -l", "too few samples")] {
        let (record, _) = record(&["--what-if", text]);
        let told = record["what_if"]["reason"].as_str().unwrap();
        assert!(told.contains(reason), "{text}: {told}");
        let out = pelton(&["--what-if", text]);
        let shown = String::from_utf8_lossy(&out.stderr).replace("\n  ", " ");
        assert!(shown.contains("what if: nothing can be predicted"), "{shown}");
    }
}

#[test]
fn measuring_prints_once_and_leaves_nothing_stopped() {
    let (record, printed) = record(&["--what-if=measure", BUSY]);
    assert_eq!(printed, "400000\n");
    let notes: Vec<_> = record["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(notes.iter().any(|note| note.contains("measured")), "{notes:?}");
    for row in record["what_if"]["stages"].as_array().unwrap() {
        assert!(row["measured_twice_as_fast"].is_null() || is_range(&row["measured_twice_as_fast"]));
    }
}

#[test]
fn the_page_has_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("run.html");
    let out = pelton(&["--what-if", "--html", page.to_str().unwrap(), BUSY]);
    assert!(out.status.success(), "{out:?}");
    assert!(std::fs::read_to_string(page).unwrap().contains("what if"));
}

#[test]
fn some_options_do_not_go_together() {
    for (arguments, reason) in [
        (["--what-if", "--runs=2", "true"], "cannot be used with"),
        (["--what-if=all", "--all", "true"], "possible values: model, measure"),
    ] {
        let out = pelton(&arguments);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
