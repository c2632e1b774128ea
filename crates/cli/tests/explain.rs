//! What `pelton explain` prints, and that `run` treats the end of a file as it says.

use std::path::Path;
use std::process::{Command, Output};

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(args).current_dir(dir).env("LC_ALL", "C").env("XDG_CACHE_HOME", dir.join("cache"));
    command
}

fn pelton(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().expect("pelton starts")
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
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    // Where the line is broken depends on the figures.
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(" of input"), "{text}");
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
    assert_eq!(value["pipelines"][1]["plan"]["segments"][1]["reason"], "pelton has no native od");
    let stages = &value["pipelines"][1]["plan"]["stages"];
    assert_eq!(stages[0]["shown"], "tr a b < f");
    assert!(stages[0]["equals"].as_str().is_some_and(|tool| tool.starts_with("GNU coreutils ")), "{stages}");
    assert!(stages[1]["equals"].is_null(), "{stages}");
}

#[test]
fn what_a_source_prints_is_its_input() {
    let dir = directory();
    for (text, bytes) in [
        ("printf 'a\\nb\\n' | wc -l", 4),
        ("seq 8 3 105 | wc -l", "8\n".len() + "11\n".len() * 30 + "101\n".len() * 2),
        ("seq -w -s, 1 1000 | wc -l", 4999 + 1),
        ("seq 2 1 | wc -l", 0),
    ] {
        let source = text.split(" |").next().unwrap_or_default();
        let shell = Command::new("bash").args(["-c", source]).output().expect("bash");
        assert_eq!(shell.stdout.len(), bytes, "{text}");
        let value = printed(dir.path(), &["explain", "--json", text]);
        let value: serde_json::Value = serde_json::from_str(&value).expect("JSON");
        assert_eq!(value["pipelines"][0]["input_bytes"], bytes, "{text}");
    }
}

#[test]
fn what_pelton_does_not_look_into() {
    let dir = directory();
    let text = printed(dir.path(), &["explain", "{ head -n 1; sort; } < f"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("when it begins depends on `{ head -n 1; sort; } < f`, which runs as it is"),
        "{text}"
    );
    let text = printed(dir.path(), &["explain", "echo \"${PIPESTATUS[@]}\" | cat"]);
    assert_eq!(text, "the shell runs all of it, because of `PIPESTATUS`, which tells stages apart\n");
}

#[test]
fn only_what_ends_when_it_has_enough_says_so() {
    let dir = directory();
    for text in ["rev f | tail -c 3", "join f f | wc -l", "sort -c f"] {
        assert!(!printed(dir.path(), &["explain", text]).contains("has enough"), "{text}");
    }
    for text in ["rev f | head -c 3", "sed 2q f"] {
        assert!(printed(dir.path(), &["explain", text]).contains("has enough"), "{text}");
    }
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

/// Returns a PATH with two awks, wherever the test runs.
fn with_a_second_awk(dir: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").expect("a PATH");
    let mawk = std::env::split_paths(&path).map(|folder| folder.join("mawk")).find(|file| file.is_file());
    std::fs::create_dir(dir.join("bin")).expect("made");
    std::fs::copy(mawk.expect("mawk is installed"), dir.join("bin/original-awk")).expect("copied");
    let folders = std::iter::once(dir.join("bin")).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("a PATH")
}

#[test]
fn an_awk_is_measured_only_if_it_can_do_nothing_but_print() {
    let dir = directory();
    let path = with_a_second_awk(dir.path());
    // Joins the lines.
    let told = |text: &str| {
        let output = command(dir.path(), &["explain", "--measure", text]).env("PATH", &path).output();
        let words = String::from_utf8(output.expect("pelton starts").stdout).expect("text");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = told("mawk '{print > \"written\"}' f");
    assert!(text.contains("was not measured: its program may do more than print"), "{text}");
    assert!(!dir.path().join("written").exists());
    let text = told("mawk '{print $1}' f");
    // Which is faster depends on the machine.
    assert!(text.contains("awk is mawk here; on the first 538 kB of f, "), "{text}");
    assert!(text.contains("prints the same") || text.contains("takes"), "{text}");
}

/// As services of systemd and CI runners start their commands.
#[test]
fn what_is_native_where_sigpipe_is_ignored() {
    let dir = directory();
    let said = |prefix: &str| {
        let call = format!(
            "{prefix}'{}' explain 'sort f | uniq -c | sort -rn | head -n 3'",
            env!("CARGO_BIN_EXE_pelton")
        );
        let out =
            Command::new("bash").args(["-c", &call]).current_dir(dir.path()).output().expect("bash starts");
        String::from_utf8_lossy(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let ignored = said("trap '' PIPE; ");
    assert!(
        ignored.contains("one native pass") && ignored.contains("a process: SIGPIPE is ignored"),
        "{ignored}"
    );
    let cured = said("trap '' PIPE; env --default-signal=PIPE ");
    assert!(cured.contains("one native pass") && !cured.contains("SIGPIPE"), "{cured}");
}

#[test]
fn stages_in_different_locales_are_one_pass() {
    let dir = directory();
    let mut command = command(dir.path(), &["explain", "cut -c1 f | LC_ALL=C sort | uniq -c | sort -rn"]);
    let output = command.env("LC_ALL", "C.UTF-8").output().expect("pelton starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("4 stages, 1 process\n"), "{text}");
    assert!(text.contains("sort-uniq: "), "{text}");
}
