//! Ctrl-C as a shell takes it, and the limits of the system: what a review once found wrong. bash is in the same story.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use pelton_testkit::wait_until;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");
const SIGINT: u32 = 2;

/// Starts the command in a process group of its own, interrupts the group once `wait` returns, and tells how it
/// ended: its status, its signal, and what it printed.
fn interrupted(mut command: Command, wait: impl FnOnce(u32)) -> (Option<i32>, Option<i32>, String) {
    let mut child =
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    wait(child.id());
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs");
    assert!(sent.success(), "the group was gone before it could be interrupted");
    let status = child.wait().expect("it ends");
    let mut stdout = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("readable");
    (status.code(), status.signal(), stdout)
}

/// A live process of a group.
struct Member {
    pid: u32,
    name: String,
    ignores_interrupts: bool,
}

/// Returns the live processes of a group.
fn members(group: u32) -> Vec<Member> {
    let numbers = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let is_member = fields[0] != "Z" && fields[2] == group.to_string();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok().filter(|_| is_member)?;
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?.trim();
        let ignored = u64::from_str_radix(ignored, 16).ok()?;
        Some(Member { pid, name: name.to_owned(), ignores_interrupts: ignored >> (SIGINT - 1) & 1 == 1 })
    })
    .collect()
}

/// Waits until the group is its leader, `sleeps` processes that sleep, shells that ignore interrupts, and at most
/// `more`: pelton may have started a process for the next command.
fn wait_for_sleeps(sleeps: usize, more: usize) -> impl FnOnce(u32) {
    move |group| {
        wait_until("all stages run", || {
            let members = members(group);
            let (asleep, awake): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.name == "sleep");
            let is_other = |member: &&&Member| member.pid != group && !member.ignores_interrupts;
            asleep.len() == sleeps && awake.iter().filter(is_other).count() <= more
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
        let expected = interrupted(command("bash", &["-c", text]), wait_for_sleeps(sleeps, more));
        for verb in [&["run", text][..], &["time", "-p", text]] {
            let actual = interrupted(command(PELTON, verb), wait_for_sleeps(sleeps, more));
            assert_eq!(actual, expected, "{verb:?}");
        }
    }
}

#[test]
fn an_interrupt_while_stages_are_started_is_not_lost() {
    let text = ["sleep 5"; 30].join(" | ");
    for delay_ms in [5, 10, 20, 40] {
        for verb in [&["run", text.as_str()][..], &["time", "-p", &text]] {
            let moment = |_| std::thread::sleep(Duration::from_millis(delay_ms));
            let (_, signal, _) = interrupted(command(PELTON, verb), moment);
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
