//! Ctrl-C as a shell takes it, and the limits of the system: what a review once found wrong. bash is in the same story.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

/// Starts the command in a process group of its own, interrupts the group after `delay`, and tells how it ended.
fn interrupted(mut command: Command, delay: Duration) -> (Option<i32>, Option<i32>, String) {
    let mut child =
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(delay);
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs");
    assert!(sent.success(), "the group was gone before it could be interrupted");
    let status = child.wait().expect("it ends");
    let mut stdout = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("readable");
    (status.code(), status.signal(), stdout)
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

#[test]
fn an_interrupt_ends_the_text_if_every_child_died_of_it() {
    let texts = [
        "sleep 5 | sleep 5 | true; echo after",
        r#"sh -c 'trap "" INT; sleep 1' | sleep 5; echo after"#,
        "sleep 5; echo after",
    ];
    for text in texts {
        let delay = Duration::from_millis(400);
        let expected = interrupted(command("bash", &["-c", text]), delay);
        for verb in [&["run", text][..], &["time", "-p", text]] {
            assert_eq!(interrupted(command(PELTON, verb), delay), expected, "{verb:?}");
        }
    }
}

#[test]
fn an_interrupt_while_stages_are_started_is_not_lost() {
    let text = ["sleep 5"; 30].join(" | ");
    for delay_ms in [5, 10, 20, 40] {
        for verb in [&["run", text.as_str()][..], &["time", "-p", &text]] {
            let (_, signal, _) = interrupted(command(PELTON, verb), Duration::from_millis(delay_ms));
            assert_eq!(signal, Some(2), "{} after {delay_ms} ms", verb[0]);
        }
    }
}

#[test]
fn a_stage_longer_than_an_argument_may_be() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = dir.path().join("long.sh");
    std::fs::write(&script, format!("echo {} | wc -c\n", "x".repeat(200_000))).expect("writable");
    let output = command(PELTON, &["run", "-f"]).arg(&script).output().expect("it runs");
    assert_eq!(output.stdout, b"200001\n");
}

#[test]
fn more_stages_than_the_soft_limit_of_descriptors_allows_to_watch() {
    let text = format!("true{}", " | true".repeat(120));
    let script = format!("ulimit -Sn 256; exec \"$0\" time -p '{text}'");
    let output = command("bash", &["-c", &script, PELTON]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn children_that_were_there_before_are_not_charged() {
    let script =
        "(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done) & exec \"$0\" time --format csv 'sleep 1'";
    let output = command("sh", &["-c", script, PELTON]).output().expect("it runs");
    let report = String::from_utf8_lossy(&output.stderr);
    let all: Vec<&str> = report.lines().last().expect("a row").split(',').collect();
    let user_ns: u64 = all[11].parse().expect("a number");
    assert!(user_ns < 50_000_000, "the loop was charged to the run: {report}");
}
