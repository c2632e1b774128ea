//! Errors for bad input say what was being done, to what, and what to try; nothing is half written.

use std::path::Path;
use std::process::{Command, Output};

fn pelton(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(args).current_dir(dir).env("LC_ALL", "C.UTF-8").env("XDG_CACHE_HOME", dir.join(".cache"));
    command.output().expect("pelton starts")
}

struct Expected<'a> {
    status: i32,
    /// Each must occur in standard error.
    says: &'a [&'a str],
}

fn check(args: &[&str], expected: Expected<'_>) -> Output {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = pelton(dir.path(), args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(expected.status), "{args:?}: {stderr}");
    for part in expected.says {
        assert!(stderr.contains(part), "{args:?} does not say {part:?}:\n{stderr}");
    }
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("readable").flatten().map(|e| e.file_name()).collect();
    let left: Vec<_> = left.into_iter().filter(|name| name != ".cache").collect();
    assert!(left.is_empty(), "{args:?} left {left:?}");
    output
}

#[test]
fn an_unclosed_quote_is_underlined_and_nothing_runs() {
    for verb in ["run", "time"] {
        let says = ["this double quote is never closed", "1 │ touch x | cat \"a b", "━", "help:"];
        check(&[verb, "touch x | cat \"a b"], Expected { status: 2, says: &says });
    }
}

#[test]
fn a_missing_command_is_underlined_with_a_suggestion() {
    let says = [
        "there is no command `sor`",
        "1 │ printf a | sor",
        "━━━",
        "did you mean `sort`?",
        "command not found",
    ];
    check(&["time", "printf a | sor"], Expected { status: 127, says: &says });
    check(
        &["time", "nosuchcommand", "-x"],
        Expected { status: 127, says: &["there is no command `nosuchcommand`"] },
    );
    check(
        &["run", "nosuchcommand"],
        Expected { status: 127, says: &["bash: line 1: nosuchcommand: command not found"] },
    );
}

#[test]
fn a_script_that_cannot_be_read() {
    check(
        &["run", "-f", "nofile"],
        Expected { status: 127, says: &["cannot read the script `nofile`", "No such file"] },
    );
    check(
        &["run", "-f", "/"],
        Expected { status: 126, says: &["cannot read the script `/`", "Is a directory"] },
    );
    let says = ["is a binary file, not a shell script"];
    check(&["run", "-f", "/bin/cat"], Expected { status: 126, says: &says });
}

#[test]
fn an_unreadable_input_file_is_the_commands_own_error() {
    let output = check(
        &["time", "-p", "cat nofile | wc -l"],
        Expected { status: 0, says: &["cat: nofile: No such file"] },
    );
    assert_eq!(output.stdout, b"0\n");
    check(
        &["run", "cat < nofile"],
        Expected { status: 1, says: &["bash: line 1: nofile: No such file or directory"] },
    );
}

#[test]
fn a_report_that_cannot_be_written_is_noticed_before_anything_runs() {
    let says = ["cannot write the report to", "it is a directory", "try: -o"];
    check(&["time", "-o", "/", "touch x"], Expected { status: 2, says: &says });
    let says = ["cannot write the report to `no/such/report`", "no such directory"];
    check(&["time", "-o", "no/such/report", "touch x"], Expected { status: 2, says: &says });
    check(&["time", "-o", "new/", "touch x"], Expected { status: 2, says: &["no such directory"] });
}

#[test]
fn a_report_for_a_full_disk_is_shown_instead() {
    let says = ["cannot write the report to `/dev/full`: No space left on device", "ALL", "wc -l"];
    let output = check(&["time", "-o", "/dev/full", "seq 3 | wc -l"], Expected { status: 2, says: &says });
    assert_eq!(output.stdout, b"3\n");
}

#[test]
fn unknown_options_formats_and_names() {
    check(&["time", "--jsonn", "true"], Expected { status: 2, says: &["no option `--jsonn`"] });
    check(&["time", "--format", "xml", "true"], Expected { status: 2, says: &["xml", "table, json, csv"] });
    check(
        &["run", "--without", "nothing", "true"],
        Expected { status: 2, says: &["no rule or kernel is called `nothing`"] },
    );
    check(
        &["run", "--shell", "nosuchshell", "true"],
        Expected { status: 127, says: &["the shell `nosuchshell` was not"] },
    );
    check(&["time"], Expected { status: 2, says: &["there is no pipeline to run", "try:"] });
}

#[test]
fn options_after_the_pipeline_are_explained() {
    let says = ["there is no command `seq 3 | wc -l`", "options of pelton stand before it"];
    check(&["time", "seq 3 | wc -l", "--all"], Expected { status: 127, says: &says });
}

#[test]
fn a_report_file_appears_whole_and_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output =
        pelton(dir.path(), &["time", "--format", "json", "-o", "report.json", "ls -A | grep -v cache"]);
    assert_eq!(output.status.code(), Some(1), "nothing of pelton's is there while the pipeline runs");
    let text = std::fs::read_to_string(dir.path().join("report.json")).expect("written");
    let record: serde_json::Value = serde_json::from_str(&text).expect("whole");
    assert_eq!(record["record_version"], 1);
}

#[test]
fn what_was_probably_meant_is_said() {
    let ways = [
        "`seq 3 | wc` is shell text",
        "pelton time 'seq 3 | wc' ",
        "pelton run 'seq 3 | wc' ",
        "pelton explain",
    ];
    check(&["seq 3 | wc"], Expected { status: 2, says: &ways });
    check(&["--color", "never", "seq 3 | wc"], Expected { status: 2, says: &ways });
    check(&["it's | wc"], Expected { status: 2, says: &[r"pelton time 'it'\''s | wc' "] });
    check(
        &["grep", "-c", "a b", "f"],
        Expected { status: 2, says: &["`grep` is a program", "pelton time grep -c 'a b' f"] },
    );
    check(&["tim", "a"], Expected { status: 2, says: &["no command `tim`", "try: pelton time"] });
    check(
        &["time", "--run", "3", "true"],
        Expected { status: 2, says: &["no option `--run`", "try: --runs"] },
    );
    check(&["time", "--jsno", "true"], Expected { status: 2, says: &["try: --json"] });
    for args in
        [["time", "--html", "seq 3 | wc"], ["time", "-o", "seq 3 | wc"], ["time", "--trace", "seq 3 | wc"]]
    {
        let says =
            [&format!("`{}` took 'seq 3 | wc'", args[1]), &format!("pelton time {} FILE 'seq", args[1])];
        check(&args, Expected { status: 2, says: &says.map(String::as_str) });
    }
    check(&["time", "--html=seq 3 | wc"], Expected { status: 2, says: &["`--html` took 'seq 3 | wc'"] });
}

#[test]
fn alone_it_shows_the_first_steps() {
    let output = check(&[], Expected { status: 0, says: &[] });
    let shown = String::from_utf8_lossy(&output.stdout);
    for first in ["pelton time 'sort", "pelton run 'sort", "pelton doctor", "pelton --help"] {
        assert!(shown.contains(first), "{shown}");
    }
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn commands_that_only_pelton_calls_are_not_suggested() {
    for word in ["stam", "stampp", "lin", "lines"] {
        let output = check(&[word], Expected { status: 2, says: &["pelton has no command"] });
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("pelton stamp") && !stderr.contains("pelton line"), "{stderr}");
    }
}

#[test]
fn a_line_of_which_the_shell_ran_the_rest_is_shown_whole() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let pelton = env!("CARGO_BIN_EXE_pelton");
    let said = |rest: &str| {
        let line = format!("'{pelton}' time seq -s ' ' 3 | {rest}");
        let mut bash = Command::new("bash");
        bash.args(["-c", &line]).current_dir(dir.path()).env("COLUMNS", "60").env("LC_ALL", "C");
        let output = bash.output().expect("bash starts");
        (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (printed, stderr) = said("cat | grep -c '1 2'");
    assert_eq!(printed, b"1\n");
    let whole = "pelton time - << 'end'\n  seq -s ' ' 3 | cat | grep -c '1 2'\nend\n";
    assert!(stderr.contains("only `seq -s ' ' 3` was timed") && stderr.contains(whole), "{stderr}");
    let (_, stderr) = said("while read -r line; do echo; done");
    assert!(
        stderr.contains("only `seq -s ' ' 3` was timed") && !stderr.contains("pelton time 'seq"),
        "{stderr}"
    );
}

#[test]
fn a_report_in_a_file_is_as_wide_as_columns_says() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for columns in [60, 80, 200] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["time", "seq 9999 | sort | uniq -c | wc -l"]).current_dir(dir.path());
        let output =
            command.env("COLUMNS", columns.to_string()).env("LC_ALL", "C.UTF-8").output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns), "{columns}:\n{text}");
    }
}

#[test]
fn a_word_that_is_no_text_is_shown_as_well_as_it_can_be() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    let output = command.arg("grep").arg(std::ffi::OsStr::from_bytes(b"a\xff")).output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && stderr.contains("pelton time grep"), "{stderr}");
}
