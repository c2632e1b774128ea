//! `pelton time` on scripts: the cost of each line in bash and dash, and that the run is unchanged.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs pelton with these arguments in `dir`; returns the output and the record.
fn pelton(dir: &Path, options: &[&str], words: &[&str]) -> (Output, Value) {
    let record = dir.join("record.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(["time", "--format", "json", "-o", record.to_str().unwrap()]).args(options).args(words);
    let out = command.current_dir(dir).env("LC_ALL", "C").stdin(Stdio::null()).output().unwrap();
    (out, serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap())
}

/// Returns each row in text order: line, text, runs.
fn rows(record: &Value) -> Vec<(u64, String, u64)> {
    let rows = record["lines"]["rows"].as_array().unwrap_or_else(|| panic!("no lines: {record:#}"));
    let row = |row: &Value| {
        let text = row["text"].as_str().unwrap().to_owned();
        (row["line"].as_u64().unwrap_or(0), text, row["runs"].as_u64().unwrap())
    };
    let mut rows: Vec<_> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

fn row(line: u64, text: &str, runs: u64) -> (u64, String, u64) {
    (line, text.to_owned(), runs)
}

const SCRIPT: &str = "\
tokenize() {
  tr -s ' ' '\\n'
}
count() {
  # Comments take lines, too.
  sort | uniq -c
}
tokenize < words | count
for i in 1 2 3; do
  grep -c two words |
    cat | wc -l
  expr $i + 1; expr $i + 2 | cat
done
x=$(cut -c1 words | sort -u)
while read -r l; do date; done < words | wc -l
( sort words; echo x ) | tail -n 1
if sort -c words; then :; fi
echo $LINENO $0 $# \"$x\"
exit 3
";

fn expected() -> Vec<(u64, String, u64)> {
    let mut rows = vec![
        row(2, "tr -s ' ' '\\n'", 1),
        row(6, "sort | uniq -c", 1),
        row(8, "tokenize < words | count", 1),
        row(10, "grep -c two words | cat | wc -l", 3),
        row(12, "expr $i + 1", 3),
        row(12, "expr $i + 2 | cat", 3),
        row(14, "cut -c1 words | sort -u", 1),
        row(15, "date", 2),
        row(15, "while read -r l; do date; done < words | wc -l", 1),
        row(16, "( sort words; echo x ) | tail -n 1", 1),
        row(16, "sort words", 1),
        row(17, "sort -c words", 1),
    ];
    rows.sort();
    rows
}

fn prepare(dir: &Path) {
    std::fs::write(dir.join("words"), "one two\none one\n").unwrap();
    std::fs::write(dir.join("x.sh"), SCRIPT).unwrap();
}

#[test]
fn every_line_has_its_runs_and_its_share() {
    for shell in ["bash", "dash"] {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let (out, record) = pelton(dir.path(), &["--shell", shell], &["-f", "x.sh", "a"]);
        let plain =
            Command::new(shell).args(["x.sh", "a"]).current_dir(dir.path()).env("LC_ALL", "C").output();
        let plain = plain.unwrap();
        // The date may have changed.
        let last = |out: &[u8]| String::from_utf8_lossy(out).lines().last().map(str::to_owned);
        assert_eq!((last(&out.stdout), &out.stderr), (last(&plain.stdout), &plain.stderr), "{shell}");
        assert_eq!(out.status.code(), Some(3));
        assert_eq!(rows(&record), expected(), "{shell}");
        // The same as one text, and as words.
        for call in [&[format!("{shell} x.sh a").as_str()][..], &[shell, "x.sh", "a"]] {
            assert_eq!(rows(&pelton(dir.path(), &[], call).1), expected(), "{call:?}");
        }
        let lines = &record["lines"];
        let own: u64 =
            lines["rows"].as_array().unwrap().iter().map(|row| row["own_cpu_ns"].as_u64().unwrap()).sum();
        let all = own + lines["shell_cpu_ns"].as_u64().unwrap();
        let whole = lines["cpu_ns"].as_u64().unwrap();
        assert!(all.abs_diff(whole) * 20 <= whole, "{all} of {whole}");
    }
}

#[test]
fn stages_that_are_functions_are_called_so() {
    for shell in ["bash", "dash"] {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path());
        let (_, record) = pelton(dir.path(), &[], &[shell, "x.sh", "a"]);
        assert_eq!(rows(&record), expected(), "{shell}");
        let pipelines = record["pipelines"][0]["stages"][0]["inside"]["pipelines"].as_array().unwrap();
        let outer = pipelines.iter().find(|inner| inner["line"] == 8).unwrap();
        assert_eq!(outer["pipeline"]["text"], "tokenize < words | count", "{shell}");
        let names: Vec<_> = outer["pipeline"]["stages"].as_array().unwrap().iter().collect();
        assert_eq!(names[0]["name"], "tokenize tr", "{shell}");
        assert!(names[1]["name"].as_str().unwrap().starts_with("count "), "{shell}: {names:?}");
    }
}

/// `zcat` is a script that becomes gzip; a script of another language is its interpreter's process.
#[test]
fn scripts_that_a_line_starts_are_found_by_their_names() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("wrapper", "#!/bin/sh\nexec cat \"$@\"\n");
    script("rows.awk", "#!/usr/bin/awk -f\n{ print NR }\n");
    std::fs::write(
        dir.path().join("x.sh"),
        "seq 3 | ./wrapper | wc -l\nseq 4 | ./rows.awk\n./wrapper x.sh\n",
    )
    .unwrap();
    let (_, record) = pelton(dir.path(), &[], &["bash", "x.sh"]);
    let wanted = [
        row(1, "seq 3 | ./wrapper | wc -l", 1),
        row(2, "seq 4 | ./rows.awk", 1),
        row(3, "./wrapper x.sh", 1),
    ];
    assert_eq!(rows(&record), wanted);
    let stages = &record["pipelines"][0]["stages"][0]["inside"]["pipelines"][0]["pipeline"]["stages"];
    assert_eq!((&stages[1]["name"], &stages[1]["text"]), (&"wrapper".into(), &"./wrapper".into()));
}

#[test]
fn what_a_script_reads_in_has_no_line_of_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("lib"), "\n\n\nexpr 1 + 1\n").unwrap();
    std::fs::write(dir.path().join("x.sh"), "if true; then\n. ./lib\nfi\nwc -l lib\n").unwrap();
    let (_, record) = pelton(dir.path(), &[], &["-f", "x.sh"]);
    assert_eq!(rows(&record), [row(0, "expr", 1), row(4, "wc -l lib", 1)]);
}

#[test]
fn plain_pipelines_have_lines_as_well() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.sh"), "# Nothing else.\nseq 9 | sort |\n  tail -n 1\nseq 3\n").unwrap();
    let (out, record) = pelton(dir.path(), &[], &["-f", "x.sh"]);
    assert_eq!(out.stdout, b"9\n1\n2\n3\n");
    assert_eq!(rows(&record), [row(2, "seq 9 | sort | tail -n 1", 1), row(4, "seq 3", 1)]);
}

#[test]
fn what_fifos_join_has_its_own_lines() {
    let script = "mkfifo p\nseq 9 | cat > p &\n(sort; :) < p\nwait\n";
    for shell in ["bash", "dash"] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.sh"), script).unwrap();
        let (out, record) = pelton(dir.path(), &["--"], &[shell, "x.sh"]);
        assert_eq!(out.stdout, b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        assert_eq!(
            rows(&record),
            [row(1, "mkfifo p", 1), row(2, "seq 9 | cat > p", 1), row(3, "sort", 1)],
            "{shell}"
        );
        assert_eq!(record["pipelines"][0]["stages"][0]["inside"]["pipelines"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_shell_that_does_not_show_its_lines_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.sh"), "for i in 1 2; do\nseq $i\ndone\n").unwrap();
    let (out, record) = pelton(dir.path(), &["--shell", "zsh"], &["-f", "x.sh"]);
    assert_eq!(out.stdout, b"1\n1\n2\n");
    assert!(record["lines"].is_null());
    let notes = record["notes"].to_string();
    assert!(notes.contains("the lines of the script are not told apart"), "{notes}");
}

#[test]
fn options_traps_and_sources_are_as_without() {
    let dir = tempfile::tempdir().unwrap();
    for script in [
        "trap 'echo \"$LINENO $BASH_COMMAND\"' ERR\nfor i in 1; do\nfalse | cat\nfalse\ndone\n",
        "f() { echo ${FUNCNAME[*]} ${BASH_LINENO[*]} ${BASH_SOURCE[*]} $-; }\nif true; then\nf | cat\nfi\n",
        "set -e\nwhile true; do\nseq 3 | grep -q 9\necho never\ndone\n",
        "for i in 1 2; do\nseq 9 | head -n 1; echo ${PIPESTATUS[*]} $?\ndone\nnosuchcommand\n(exit 7)\n",
    ] {
        std::fs::write(dir.path().join("x.sh"), script).unwrap();
        let (out, record) = pelton(dir.path(), &[], &["-f", "x.sh"]);
        let plain =
            Command::new("bash").arg("x.sh").current_dir(dir.path()).env("LC_ALL", "C").output().unwrap();
        assert_eq!(out, plain, "{script}");
        assert!(!record["lines"].is_null(), "{script}");
    }
}
