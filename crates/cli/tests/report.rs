//! `pelton report`: what it holds, and which texts it refuses.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn report(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.arg("report").args(args).current_dir(dir).stdin(Stdio::null()).env("LC_ALL", "C");
    command.output().expect("pelton starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_report_holds_the_text_the_outcome_the_plan_and_the_versions() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), "b\na\nb\n").expect("written");
    let out = report(dir.path(), &["sort f | uniq -c"]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}{}", text(&out.stderr));
    for part in [
        "LC_ALL=C",
        "GNU bash",
        "sort f | uniq -c\n```",
        "bash prints the same",
        "sort-uniq",
        "GNU coreutils",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let out = report(dir.path(), &["-o", "r.md", "sort f | uniq -c"]);
    assert_eq!((out.stdout.len(), out.status.code()), (0, Some(0)));
    assert_eq!(std::fs::read_to_string(dir.path().join("r.md")).expect("a file"), said);
}

/// As services of systemd and CI runners start their commands.
#[test]
fn a_report_ignores_sigpipe_where_it_is_ignored() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("s.sh"), "seq 100000 > f\nsort f | sh -c 'read x; echo $x'\n")
        .expect("written");
    let call = format!("trap '' PIPE; exec '{}' report --run-twice -f s.sh", env!("CARGO_BIN_EXE_pelton"));
    let out = Command::new("bash").args(["-c", &call]).current_dir(dir.path()).env("LC_ALL", "C").output();
    let said = text(&out.expect("bash starts").stdout);
    for part in ["- SIGPIPE is ignored", "Broken pipe", "- sort: GNU coreutils", "bash prints the same"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// pelton runs the text first, so a text that counts its runs differs, and so does its beginning.
#[test]
fn a_difference_is_found_in_the_shortest_part() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = report(dir.path(), &["date +%s%N | cat | sort"]);
    let said = text(&out.stdout);
    assert!(said.contains("does not agree with itself"), "{said}");
    assert_eq!(out.status.code(), Some(0), "no fault of pelton's");
    // The third run and those behind it print the same again: so the shell agrees with itself, and not with the first.
    std::fs::write(dir.path().join("once"), "test -e seen && echo b && exit; echo a; echo > seen\n")
        .expect("written");
    let out = report(dir.path(), &["--run-twice", "env sh once | tr a-z A-Z | cat -n"]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(3), "{said}");
    assert!(said.contains("standard output differs first at byte 8"), "{said}");
}

#[test]
fn without_lines_nothing_of_the_output_or_the_messages_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "test -e seen && echo SECRET2 && exit; echo SECRET1; echo SECRET3 >&2; echo pelton: checked: SECRET4 >&2; echo SECRET5 >&2; echo > seen\n";
    let said = |options: &[&str]| {
        std::fs::write(dir.path().join("once"), script).expect("written");
        let _ = std::fs::remove_file(dir.path().join("seen"));
        let out = report(dir.path(), &[options, &["--run-twice", "env sh once | tr a-z a-z"]].concat());
        assert_eq!(out.status.code(), Some(3), "{}", text(&out.stdout));
        text(&out.stdout)
    };
    let whole = said(&[]);
    for secret in ["SECRET1", "SECRET2", "SECRET3"] {
        assert!(whole.contains(secret), "{secret}: {whole}");
    }
    let without = said(&["--without-lines"]);
    assert!(!without.contains("SECRET"), "{without}");
    assert!(without.contains("differs first at byte 7, in line 1:\n    (left out)"), "{without}");
}

#[test]
fn the_files_of_a_script_are_compared_and_its_variables_told() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("data"), "b\na\nb\n").expect("written");
    std::fs::write(dir.path().join("s.sh"), "export X=1\nsort $FROM | uniq -c > out\n").expect("written");
    for call in [&["-f", "s.sh"][..], &["sh", "s.sh"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["report", "--run-twice"]).args(call).env("FROM", "data").env("LC_ALL", "C");
        let out = command.current_dir(dir.path()).stdin(Stdio::null()).output().expect("pelton starts");
        let said = text(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{said}{}", text(&out.stderr));
        for part in ["- FROM=data", "it writes the same file", "sort $FROM | uniq -c > out", "What you saw"] {
            assert!(said.contains(part), "{call:?}: {part}: {said}");
        }
    }
    let out = report(dir.path(), &["sort data | uniq -c > out"]);
    assert!(text(&out.stdout).contains("- the file `data` has 6 bytes"), "{}", text(&out.stdout));
}

#[test]
fn what_must_not_run_twice_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    for (text_given, why) in [("sort f >> g", "writes `g`"), ("rm x | sort", "may do more than print")] {
        let out = report(dir.path(), &[text_given]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(why) && !said.contains("--check"), "{said}");
    }
}
