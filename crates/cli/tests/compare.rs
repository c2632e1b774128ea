//! `pelton compare`: its report on two texts, and that it leaves nothing behind.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const INPUT: &str = "b\na\nc\na\n";

/// Runs it in `dir`, with a file as standard input.
fn compare(dir: &Path, args: &[&str]) -> Output {
    let input = dir.join("input");
    std::fs::write(&input, INPUT).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.arg("compare").args(args).current_dir(dir);
    command.env("LC_ALL", "C").env("TMPDIR", dir).env("XDG_CACHE_HOME", dir.join(".cache"));
    command.stdin(Stdio::from(std::fs::File::open(&input).expect("opened")));
    command.output().expect("pelton ends")
}

/// Returns standard output, standard error and status.
fn run(args: &[&str]) -> (String, String, i32) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = compare(dir.path(), args);
    let names = std::fs::read_dir(dir.path()).expect("readable").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = names.filter(|name| name != ".cache" && name != "input").collect();
    assert!(left.is_empty(), "{args:?} left {left:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

fn json(args: &[&str]) -> (Value, i32) {
    let (out, err, status) = run(&[&["--json"], args].concat());
    (serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")), status)
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn every_run_gets_the_same_input_and_both_outputs_are_compared() {
    let (record, status) = json(&["--runs", "3", "sort | uniq", "sort -u"]);
    assert_eq!(record["outputs"]["are"], "same", "{record}");
    assert_eq!(record["outputs"]["bytes"], 6, "{record}");
    // Three runs cannot rule out chance.
    assert_eq!((record["judgement"]["kind"].as_str(), status), (Some("no_difference"), 0));
    assert_eq!(record["before"]["pipelines"][0]["stages"].as_array().map(Vec::len), Some(2));
    assert_eq!(record["after"]["repeats"]["runs"], 3);
}

#[test]
fn results_are_hyperfines() {
    let (record, _) = json(&["--runs", "2", "cat", "sed ''"]);
    for (at, command) in ["cat", "sed ''"].iter().enumerate() {
        let result = &record["results"][at];
        assert_eq!(result["command"], *command);
        assert_eq!(result["times"].as_array().map(Vec::len), Some(2));
        assert_eq!(result["exit_codes"], serde_json::json!([0, 0]));
        for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
            assert!(result[field].as_f64().is_some_and(|it| it >= 0.0), "{field}: {result}");
        }
    }
}

#[test]
fn other_output_is_said_first() {
    let (out, _, status) = run(&["--runs", "2", "sort", "sort -r"]);
    assert_eq!(status, 3);
    says(&out, &["not the same output: they differ in line 1, where BEFORE has `a", "BEFORE", "AFTER"]);
    let (out, _, status) = run(&["--runs", "2", "echo a", "echo a; false"]);
    assert_eq!(status, 3);
    says(&out, &["BEFORE ends with status 0 and AFTER with 1"]);
    let (out, _, status) = run(&["--runs", "2", "echo a", "echo a; echo b >&2"]);
    assert_eq!(status, 3);
    says(&out, &["what they say on standard error differs"]);
    let (out, _, status) = run(&["--runs", "2", "--any-output", "sort", "sort -r"]);
    assert_eq!(status, 0);
    says(&out, &["Their outputs were not compared."]);
}

#[test]
fn what_never_prints_the_same_cannot_be_compared() {
    let (record, _) = json(&["--runs", "2", "echo $RANDOM$RANDOM$RANDOM$RANDOM", "echo 1"]);
    assert_eq!(record["outputs"]["are"], "unsteady", "{record}");
}

#[test]
fn messages_are_shown_once() {
    let (_, err, _) = run(&["--runs", "3", "echo oh >&2", "echo oh >&2"]);
    assert_eq!(err, "oh\n");
}

#[test]
fn parts_of_the_input_end_with_lines() {
    let (record, status) = json(&["--input-scale", "sort", "cat"]);
    assert_eq!(status, 0);
    for at in [0, 1] {
        let sizes =
            record[at]["points"].as_array().expect("points").iter().map(|point| point["bytes"].as_u64());
        assert_eq!(sizes.flatten().collect::<Vec<_>>(), [0, 2, 2, 2, 4, 8], "{record}");
    }
    assert_eq!(record[0]["exponent"], Value::Null);
}

#[test]
fn one_text_is_compared_with_itself_by_pelton_run() {
    let (out, err, _) = run(&["seq 100000 | tail -n 1"]);
    says(&out, &["run 'seq 100000 | tail -n 1'", "Both print the same 7 B"]);
    assert!(!err.contains("pelton:"), "{err}");
}

/// A text with quotes of its own, from a here-document.
#[test]
fn one_text_comes_from_standard_input() {
    let folder = Path::new(env!("CARGO_BIN_EXE_pelton")).parent().expect("a directory");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a PATH"));
    let script = "pelton compare -r 2 - << 'end'\nseq 3 | awk '{print $1}'\nend\n";
    // By its name: a row shows only the ends of a long path.
    let out = Command::new("bash").args(["-c", script]).env("PATH", path).output().expect("bash runs");
    let said = String::from_utf8_lossy(&out.stdout);
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let same = "Medians of 2 runs of each. Both print the same 6 B and the same messages, and end alike, and write no files in this folder (hidden files are not compared).";
    says(&flat, &["pelton run 'seq 3 | awk '", same]);
    assert!(!said.contains("standard input"), "{said}");
}

#[test]
fn files_that_both_write_are_compared() {
    let written = |before: &str, after: &str| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = compare(dir.path(), &["--json", "--runs", "1", before, after]);
        let record: Value = serde_json::from_slice(&out.stdout).expect("a record");
        (record["outputs"].clone(), record["judgement"]["headline"].to_string(), out.status.code())
    };
    let (outputs, _, status) = written("mkdir -p d; sort > d/x; seq 3 > y", "sort | cat > d/x; seq 3 > y");
    assert_eq!(
        (outputs["are"].as_str(), outputs["files"].as_u64(), status),
        (Some("same"), Some(2), Some(0))
    );
    let (_, headline, status) = written("sort > x", "sort -r > x");
    assert!(status == Some(3) && headline.contains("`x` has other bytes"), "{headline}");
    let (_, headline, status) = written("sort > x", "sort > z");
    assert!(
        status == Some(3) && headline.contains("`x` is written by BEFORE and not by AFTER"),
        "{headline}"
    );
    let (outputs, _, status) = written("sort > x; date +%s%N > now", "sort > x; date +%s%N > now");
    assert_eq!((outputs["files"].as_u64(), status), (Some(1), Some(0)), "{outputs}");
    assert_eq!(outputs["unsteady_files"], serde_json::json!(["now"]));
}

/// A signal to pelton alone, as `kill` and `timeout` send it.
#[test]
fn a_signal_ends_the_comparison_and_not_one_run() {
    use std::os::unix::process::ExitStatusExt;
    for (signal, code, died_by) in [("INT", Some(130), None), ("TERM", None, Some(15))] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        let text = "echo >> runs; kill -s $SIGNAL $PPID; sleep 0.05";
        command.args(["compare", "--any-output", "--runs", "50", text, text]).env("SIGNAL", signal);
        let out = command.current_dir(dir.path()).stdin(Stdio::null()).output().expect("pelton ends");
        // Before it has begun to wait for the run, the signal itself ends it.
        let ended = (out.status.code(), out.status.signal());
        let died = (None, Some(if signal == "INT" { 2 } else { 15 }));
        assert!(ended == (code, died_by) || ended == died, "{signal} {ended:?}");
        assert_eq!(std::fs::read_to_string(dir.path().join("runs")).expect("a file"), "\n", "{signal}");
    }
}

/// The shell of the `#!` line with its options, and the script's arguments, options included.
#[test]
fn a_script_is_compared_with_itself_by_pelton_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("a b.sh"), "#!/bin/sh -e\nsort | uniq -c; echo $0 $*; false; echo not\n")
        .expect("written");
    let out = compare(dir.path(), &["--json", "--runs", "1", "-f", "a b.sh", "-x", "it's"]);
    let record: Value = serde_json::from_slice(&out.stdout).expect("a record");
    assert_eq!(record["outputs"]["bytes"], 3 * 10 + "a b.sh -x it's\n".len(), "{record}");
    assert_eq!(record["before"]["text"], "/bin/sh -e 'a b.sh' -x 'it'\\''s'");
    assert_eq!(record["before"]["exit_status"], 1);
    let after = record["after"]["text"].as_str().expect("a text");
    assert!(after.ends_with("pelton run -f 'a b.sh' -x 'it'\\''s'"), "{after}");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    for (args, part) in [
        (&[][..], "BEFORE"),
        (&["--input-scale", "sort", "-"], "standard input"),
        (&["echo x", "nosuchcmd x"], "AFTER could not be run (status 127): nosuchcmd x"),
        (&["-", "cat"], "standard input cannot be both"),
        (&["--threshold", "200", "a", "b"], "--threshold 200"),
        (&["--runs", "0", "a", "b"], "--runs"),
        (&["sort |", "sort"], "sort |"),
        (&["sh", "input"], "try: pelton compare -f input"),
    ] {
        let (out, err, status) = run(args);
        assert_eq!((out.as_str(), status), ("", 2), "{args:?}: {err}");
        says(&err, &[part]);
    }
}

/// Returns the data that a page draws.
fn drawn(page: &Path) -> Value {
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, data) = page.split_once(r#"<script id="data" type="application/json">"#).expect("data");
    serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON")
}

#[test]
fn two_records_become_one_page_and_nothing_is_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let record = |name: &str, text: &str| {
        let mut pelton = Command::new(env!("CARGO_BIN_EXE_pelton"));
        pelton.args(["time", "--timeline", "--json", "-o", name, text]).current_dir(dir.path());
        assert!(pelton.output().expect("pelton ends").status.success());
    };
    record("a.json", "echo x >> ran; sleep 0.2 | cat");
    record("b.json", "sleep 0.1 | cat");
    let output = compare(dir.path(), &["a.json", "b.json", "--html", "both.html"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    says(&said, &["BEFORE", "AFTER", "sleep 0.1", "of one run each: real "]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(std::fs::read(dir.path().join("ran")).expect("written once"), b"x\n");
    let data = drawn(&dir.path().join("both.html"));
    let texts: Vec<_> =
        data["pipelines"].as_array().expect("both").iter().map(|one| one["text"].clone()).collect();
    assert_eq!(texts, ["before: echo x >> ran", "before: sleep 0.2 | cat", "after: sleep 0.1 | cat"]);
    assert!(data["wall"].as_u64() >= Some(200_000_000), "the longer of both: {}", data["wall"]);
    // A page is no record; a record of another form is refused.
    let refused = |args: &[&str], part: &str| {
        let output = compare(dir.path(), args);
        says(&String::from_utf8_lossy(&output.stderr), &[part]);
        assert_eq!(output.status.code(), Some(2));
    };
    refused(&["a.json", "both.html"], "`both.html` is a page");
    std::fs::write(dir.path().join("other.json"), "{\"a\": 1}").expect("written");
    refused(&["a.json", "other.json"], "`other.json` is no record of `pelton time`");
}

#[test]
fn two_texts_are_drawn_beside_each_other() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output =
        compare(dir.path(), &["--runs", "1", "--html", "both.html", "sleep 0.1 | sort", "sort | cat"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let data = drawn(&dir.path().join("both.html"));
    let stages = |at: usize| data["pipelines"][at]["stages"].as_array().expect("stages").len();
    assert_eq!([stages(0), stages(1)], [2, 2]);
    assert!(!data["pipelines"][0]["stages"][0]["slices"].as_array().expect("drawn").is_empty());
}
