//! Tests the comparison: versions of pelton that are each wrong in one way must be caught.
#![allow(missing_docs)]

use std::os::unix::fs::symlink;
use std::path::Path;

use pelton_testkit::{Case, Findings, Subject, check_case, load_topic};

/// Makes a `pelton` from bash: `body` runs `$TEXT`, mostly with an error. The program is a link to a file
/// that no test writes, since a file open for writing cannot be executed ("Text file busy").
fn fake(folder: &Path, body: &str) -> Subject {
    let path = folder.join("pelton");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-pelton");
    symlink(program, &path).expect("linked");
    std::fs::write(folder.join("pelton.body"), body).expect("written");
    Subject::Pelton(path)
}

fn case(toml: &str) -> Case {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.toml");
    let text =
        format!("about = \"one\"\n[[case]]\nname = \"one\"\nmodes = [\"run\"]\nsettle_s = 0.1\n{toml}\n");
    std::fs::write(&path, text).expect("written");
    load_topic(&path).expect("a good case").cases.remove(0)
}

fn findings(toml: &str, body: &str) -> Findings {
    let folder = tempfile::tempdir().expect("a folder");
    let mut findings = Findings::default();
    check_case(&case(toml), &fake(folder.path(), body), &mut findings).expect("checked");
    findings
}

#[track_caller]
fn caught(toml: &str, body: &str, why: &str) {
    let text = findings(toml, body).to_string();
    assert!(text.contains(why), "expected {why:?} in:\n{text}");
}

const FAITHFUL: &str = "exec -a bash bash -c \"$TEXT\"";

#[test]
fn a_faithful_subject_passes() {
    findings("text = 'echo a | cat; echo b >&2; echo c > f; exit 3'", FAITHFUL).assert_none();
    findings("text = 'printf x | tr x y'\nstderr = 'lines'", FAITHFUL).assert_none();
    findings("text = 'sleep 0.01 | cat'\nalone_at_exit = true", FAITHFUL).assert_none();
    findings("text = 'sh -c \"kill -KILL \\$\\$\"; true'\npids = true", FAITHFUL).assert_none();
}

#[test]
fn a_lost_newline_is_caught() {
    caught("text = 'echo a'", "printf %s \"$(bash -c \"$TEXT\")\"", "stdout: first difference at byte 1");
}

#[test]
fn a_lost_status_is_caught() {
    caught("text = 'exit 3'", "bash -c \"$TEXT\"; exit 0", "status: expected Exit(3), got Exit(0)");
    let killed = "text = 'kill -TERM $$'";
    caught(killed, "bash -c \"$TEXT\"; exit $?", "status: expected Signal(15), got Exit(143)");
}

#[test]
fn a_lost_message_is_caught() {
    caught("text = 'echo a >&2'", "bash -c \"$TEXT\" 2>/dev/null", "stderr: first difference at byte 0");
    caught(
        "text = 'echo a >&2'\nstderr = 'lines'",
        "bash -c \"$TEXT\" 2>/dev/null",
        "stderr: first difference",
    );
}

#[test]
fn files_are_compared_by_name_contents_and_mode() {
    let write = "text = 'echo a > f'";
    caught(write, "bash -c \"$TEXT\"; echo x > leaked", "file leaked: should not be there");
    caught(write, "bash -c \"$TEXT\"; rm f", "file f: missing");
    caught(write, "bash -c \"$TEXT\"; echo b > f", "file f: first difference at byte 0");
    caught(write, "bash -c \"$TEXT\"; chmod 600 f", "expected a file 644 of 2 bytes, got a file 600");
}

#[test]
fn processes_left_behind_are_caught() {
    caught("text = 'true'", "sleep 300 >/dev/null 2>&1 &", "left behind: expected [], got [\"sleep\"]");
    let waits = "text = 'true'\nalone_at_exit = true";
    caught(waits, "sleep 0.1 >/dev/null 2>&1 &", "pelton ended while these were alive");
}

#[test]
fn a_leaked_descriptor_is_caught() {
    caught(
        "text = 'ls /proc/self/fd | cat'",
        "exec 9</dev/null; exec bash -c \"$TEXT\"",
        "stdout: first difference",
    );
}

#[test]
fn a_hanging_subject_is_ended_and_caught() {
    caught("text = 'true'\ntimeout_s = 0.3", "sleep 300", "status: expected Exit(0), got TimedOut");
}

#[test]
fn a_changed_environment_is_caught() {
    caught("text = 'env | sort'", "export MORE=1; exec bash -c \"$TEXT\"", "stdout: first difference");
}

#[test]
fn a_known_difference_must_still_differ() {
    let known = "text = 'exit 3'\nknown = 'just so'";
    findings(known, "exit 0").assert_none();
    caught(known, FAITHFUL, "no longer differs; remove its mark");
}

#[test]
fn a_report_must_be_a_whole_record() {
    let half = "while [ \"$1\" != --output ]; do shift; done\necho '{\"record_version\":' > \"$2\"; exec bash -c \"$TEXT\"";
    caught(
        "text = 'true'",
        &format!("set -- time --output ../report.json\n{half}"),
        "the report is not a record",
    );
}
