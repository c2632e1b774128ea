//! Ctrl-C as a shell takes it, and the limits of the system: what a review once found wrong. bash is in the same story.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pelton_testkit::{SessionProcess, members, wait_until};
use rustix::process::Pid;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

/// Starts the command in a session of its own, interrupts its process group once `wait` returns, and tells how it
/// ended: its status, its signal, and what it printed.
fn interrupted(argv: &[&str], wait: impl FnOnce(&Child)) -> (Option<i32>, Option<i32>, String) {
    let mut child =
        command("setsid", argv).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_until("its session is there", || !members(Pid::from_child(&child)).is_empty());
    wait(&child);
    let group = format!("-{}", child.id());
    let sent = command("kill", &["-INT", "--", &group]).status().expect("kill runs");
    assert!(sent.success(), "the group was gone before it could be interrupted");
    let status = child.wait().expect("it ends");
    let mut stdout = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("readable");
    (status.code(), status.signal(), stdout)
}

/// Waits until the session is its leader, `sleeps` processes that sleep, shells that started one of them, and at most
/// `more`: pelton may have started a process for the next command. The leader then waits too, and has been told of
/// those that ended: an interrupt before that has other effects, also on bash.
fn wait_for_sleeps(sleeps: usize, more: usize) -> impl FnOnce(&Child) {
    move |leader| {
        let session = Pid::from_child(leader);
        wait_until("all stages run", || {
            let alive = members(session);
            let is_settled = |member: &SessionProcess| {
                member.state == 'S' || member.state != 'Z' && member.pid != leader.id() as i32
            };
            let is_other = |member: &&SessionProcess| {
                !["sleep", "sh"].contains(&member.name.as_str()) && member.pid != leader.id() as i32
            };
            let asleep = alive.iter().filter(|member| member.name == "sleep").count();
            let others = alive.iter().filter(is_other).count();
            alive.iter().all(is_settled) && asleep == sleeps && others <= more
        });
    }
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

#[test]
fn an_interrupt_ends_the_text_if_every_child_died_of_it() {
    let texts = [
        ("sleep 5 | sleep 5 | true; echo after", 2, 0),
        (r#"sh -c 'trap "" INT; sleep 1' | sleep 5; echo after"#, 2, 0),
        ("sleep 5; echo after", 1, 1),
    ];
    for (text, sleeps, more) in texts {
        let expected = interrupted(&["bash", "-c", text], wait_for_sleeps(sleeps, more));
        for argv in [&[PELTON, "run", text][..], &[PELTON, "time", "-p", text]] {
            let actual = interrupted(argv, wait_for_sleeps(sleeps, more));
            assert_eq!(actual, expected, "{argv:?}");
        }
    }
}

#[test]
fn an_interrupt_while_stages_are_started_is_not_lost() {
    let text = ["sleep 60"; 30].join(" | ");
    for delay_ms in [5, 10, 20, 40] {
        for argv in [&[PELTON, "run", text.as_str()][..], &[PELTON, "time", "-p", &text]] {
            let moment = |_: &Child| std::thread::sleep(Duration::from_millis(delay_ms));
            let (_, signal, _) = interrupted(argv, moment);
            assert_eq!(signal, Some(2), "{} after {delay_ms} ms", argv[1]);
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
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The run ends after the loop, which tells its own CPU time.
    let script = "mkfifo ended; (i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times > times; echo > ended) & \
                  exec \"$0\" time --format csv 'cat ended'";
    let output = command("bash", &["-c", script, PELTON]).current_dir(dir.path()).output().expect("it runs");
    let report = String::from_utf8_lossy(&output.stderr);
    let all: Vec<&str> = report.lines().last().expect("a row").split(',').collect();
    let user_s = all[11].parse::<f64>().expect("a number") / 1e9;
    let times = std::fs::read_to_string(dir.path().join("times")).expect("what times printed");
    let (minutes, seconds) = times.split_once('m').expect("0m0.123s 0m0.001s");
    let seconds: f64 = seconds.split('s').next().and_then(|number| number.parse().ok()).expect("seconds");
    let loop_s = minutes.parse::<f64>().expect("minutes") * 60.0 + seconds;
    assert!(user_s < loop_s / 2.0, "the loop took {loop_s} s of CPU, and was charged to the run: {report}");
}
