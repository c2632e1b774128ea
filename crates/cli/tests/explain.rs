//! What `pelton explain` prints, and that what it says of a file's end is true of what `run` does.

use std::path::Path;
use std::process::{Command, Output};

fn pelton(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(args).current_dir(dir).env("LC_ALL", "C").env("XDG_CACHE_HOME", dir.join("cache"));
    command.output().expect("pelton starts")
}

fn printed(dir: &Path, args: &[&str]) -> String {
    let output = pelton(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lines: String = (0..50_000).map(|i| format!("line {i}\n")).collect();
    std::fs::write(dir.path().join("f"), lines).expect("written");
    dir
}

#[test]
fn a_plan_for_people() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "sort f | uniq -c | od"]);
    for part in [
        "3 stages, 2 processes\n|- one native pass, in place of 2 processes\n",
        "`- od ",
        "+ sort-uniq: ",
        "\nOutput    begins once the input has ended: ",
        "\nEstimate  about ",
        " of input",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn a_file_that_cannot_be_read_makes_processes() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "sort nosuch | uniq -c"]);
    assert!(text.contains("sort nosuch  a process: nosuch cannot be read"), "{text}");
    assert!(!text.contains("sort-uniq"), "{text}");
}

#[test]
fn a_plan_for_programs() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "--json", "cat f | wc -l; tr a b < f | od"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["version"], 1);
    let bytes = std::fs::metadata(dir.path().join("f")).expect("there").len();
    assert_eq!(value["pipelines"][0]["input_bytes"], bytes);
    assert_eq!(value["pipelines"][0]["plan"]["estimate"]["input_is_known"], true);
    assert_eq!(value["pipelines"][1]["plan"]["segments"][1]["reason"], "od has no kernel");
}

#[test]
fn a_picture_of_one_pipeline() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "--dot", "sort f | uniq -c | nosuch"]);
    assert!(text.starts_with("digraph plan {\n") && text.ends_with("}\n"), "{text}");
    assert_eq!(pelton(dir.path(), &["explain", "--dot", "sort f; sort f"]).status.code(), Some(2));
}

#[test]
fn every_rule_is_listed_with_what_it_does() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "--rules"]);
    for name in ["drop-cat", "count-lines", "top-k"] {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
        assert!(line.trim().len() > name.len() + 20, "{line}");
    }
}

#[test]
fn the_end_of_a_file_alone_is_read() {
    let dir = directory();
    for text in [
        "tail -n 3 f | cat -n",
        "tail -c 9 < f | tr a b",
        "cat f | tail -n 40000 | head -n 1",
        "tac f | head -n 2",
        "tail -qn 1 f f | sort",
    ] {
        let shell = Command::new("bash").args(["-c", text]).current_dir(dir.path()).output().expect("bash");
        assert_eq!(printed(dir.path(), &["run", text]), String::from_utf8_lossy(&shell.stdout), "{text}");
        let plan = printed(dir.path(), &["explain", text]);
        assert!(plan.contains("reads only the end of a plain file"), "{plan}");
    }
}

#[test]
fn an_awk_is_measured_only_if_it_can_do_nothing_but_print() {
    let dir = directory();
    // Without the breaks between its lines.
    let told = |text: &str| {
        let words = printed(dir.path(), &["explain", "--measure", text]);
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = told("mawk '{print > \"written\"}' f");
    assert!(text.contains("was not measured: its program may do more than print"), "{text}");
    assert!(!dir.path().join("written").exists());
    let text = told("mawk '{print $1}' f");
    // Which is faster is not for a test to say.
    assert!(text.contains("awk is mawk here; on the first 538 kB of f, "), "{text}");
    assert!(text.contains("prints the same") || text.contains("takes"), "{text}");
}
