//! `pelton guard` on commands that really hang, on healthy ones that look like it, and as a wrapper that nobody
//! notices.
//!
//! Each case runs in its own session and directory, and is killed with all it started. A report is awaited as
//! long as a loaded machine needs to get there; the times that are asserted are guard's own.

mod cases;

use cases::Language::{self, Bash, C, Python, Ruby};
use cases::{Case, HANGS, MOVING, STILL, healthy};
use pelton_testkit::SessionLeader;
use pelton_testkit::skips::has_program;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");
const PATIENCE: Duration = Duration::from_secs(90);
const STALL_NS: u64 = 1_000_000_000;

/// A command under guard, until it is dropped.
struct Guarded {
    /// Is killed with all that it started when this is dropped.
    _guard: SessionLeader,
    directory: TempDir,
}

impl Guarded {
    fn start(case: &Case, options: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let command = command(case, directory.path())?;
        let options_of_guard = [PELTON, "guard", "--stall", "1s", "--json", "report.json"];
        let words = options_of_guard.iter().chain(options).copied().chain(["--"]).map(str::to_owned);
        let words: Vec<String> = words.chain(command).collect();
        let guard = SessionLeader::start(&words, directory.path()).unwrap();
        Some(Guarded { _guard: guard, directory })
    }

    fn reports(&self) -> Vec<Value> {
        let Ok(text) = fs::read(self.directory.path().join("report.json")) else { return Vec::new() };
        let told: Value = serde_json::from_slice(&text).unwrap();
        told["stalls"].as_array().unwrap().clone()
    }

    /// Waits until a report has a finding that `fits`, and returns that report.
    #[track_caller]
    fn await_report(&self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let reports = self.reports();
            let fitting =
                |report: &&Value| report["diagnosis"]["findings"].as_array().unwrap().iter().any(&fits);
            if let Some(report) = reports.iter().find(fitting) {
                return report.clone();
            }
            assert!(start.elapsed() < PATIENCE, "{name}: not found in {reports:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Returns the words that run a case in `directory`; `None` if its language is not installed.
fn command(case: &Case, directory: &Path) -> Option<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let file = |name: &str| fs::write(directory.join(name), case.text).unwrap();
    match case.language {
        Bash => Some(words(&["bash", "-c", case.text])),
        Python => {
            file("case.py");
            Some(words(&["python3", "case.py"]))
        }
        Ruby => {
            file("case.rb");
            has_program("ruby").then(|| words(&["ruby", "case.rb"]))
        }
        C(options) => {
            file("case.c");
            let mut compiler = Command::new("cc");
            compiler.args(["-g", options, "-o", "case", "case.c"]).current_dir(directory);
            (has_program("cc") && compiler.status().unwrap().success()).then(|| words(&["./case"]))
        }
    }
}

/// Returns the lines of the program itself that a finding names.
fn lines(finding: &Value) -> Vec<u64> {
    let frames = finding["waits"].as_array().unwrap().iter();
    let frames = frames
        .flat_map(|wait| wait["stacks"].as_array().unwrap())
        .flat_map(|stack| stack["frames"].as_array().unwrap());
    let own = frames.filter(|frame| frame["file"].as_str().is_some_and(|file| file.contains("case.")));
    own.filter_map(|frame| frame["line"].as_u64()).collect()
}

fn fits(case: &Case, finding: &Value) -> bool {
    let lines = lines(finding);
    finding["health"] == case.health
        && (case.kind.is_empty() || finding["kind"] == case.kind)
        && case.lines.iter().all(|line| lines.contains(&u64::from(*line)))
}

/// Whether a stack of this language can be read here.
fn has_lines(language: Language) -> bool {
    match language {
        Python => {
            let version = "import sys; sys.exit(not (7 <= sys.version_info[1] <= 13))";
            Command::new("python3").args(["-c", version]).status().unwrap().success()
        }
        Ruby => {
            let out = Command::new("ruby").args(["-e", "print RUBY_VERSION"]).output();
            out.is_ok_and(|out| out.stdout.starts_with(b"3."))
        }
        Bash => true,
        C(_) => cfg!(target_arch = "x86_64"),
    }
}

/// Runs cases, a few at a time.
fn each(cases: &[Case], check: impl Fn(&Case) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
}

#[test]
fn hangs_are_named_with_their_lines() {
    each(HANGS, |case| {
        if !has_lines(case.language) {
            return;
        }
        let Some(guarded) = Guarded::start(case, &[]) else { return };
        let report = guarded.await_report(case.name, |finding| fits(case, finding));
        assert_eq!(report["kind"], "still", "{}", case.name);
        assert!(report["quiet_ns"].as_u64().unwrap() >= STALL_NS, "{}: {report:#}", case.name);
        // For the table in the book: cargo test … -- --nocapture
        let finding =
            report["diagnosis"]["findings"].as_array().unwrap().iter().find(|one| fits(case, one)).unwrap();
        let still = finding["still_ns"].as_u64().map_or("?".into(), |ns| format!("{:.2}", ns as f64 / 1e9));
        let _ = writeln!(std::io::stderr(), "told when still for {still} s  {:?}  {}", case.lines, case.name);
    });
}

#[test]
fn what_stands_still_by_intention_is_not_called_dead() {
    each(STILL, |case| {
        let Some(guarded) = Guarded::start(case, &["--kill=dead"]) else { return };
        guarded.await_report(case.name, |finding| fits(case, finding));
        for report in guarded.reports() {
            assert_ne!(report["diagnosis"]["health"], "dead", "{}: {report:#}", case.name);
        }
    });
}

#[test]
fn what_moves_is_not_reported() {
    each(MOVING, |case| {
        let Some(guarded) = Guarded::start(case, &["--timeout", "4s"]) else { return };
        let report = guarded.await_report(case.name, |finding| finding["health"] == case.health);
        assert_eq!(report["kind"], "timeout", "{}: {report:#}", case.name);
        assert_eq!(guarded.reports().len(), 1, "{}", case.name);
    });
}

#[test]
fn small_commands_again_and_again_are_polling() {
    let case = healthy("polling", "idle", "", Bash, "until false; do sleep 0.3; done");
    let guarded = Guarded::start(&case, &["--kill"]).unwrap();
    let start = Instant::now();
    loop {
        let reports = guarded.reports();
        if let Some(report) = reports.iter().find(|report| report["kind"] == "polling") {
            assert_eq!(report["repeated"], serde_json::json!(["sleep"]));
            assert_ne!(report["diagnosis"]["health"], "dead", "{report:#}");
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{reports:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn guard(args: &[&str]) -> Output {
    Command::new(PELTON).arg("guard").args(args).stdin(Stdio::null()).output().unwrap()
}

fn status(args: &[&str]) -> Option<i32> {
    guard(args).status.code()
}

#[test]
fn nobody_notices_it() {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status(&["true"]), Some(0));
    assert_eq!(status(&["--", "sh", "-c", "exit 7"]), Some(7));
    assert_eq!(guard(&["sh", "-c", "kill -KILL $$"]).status.signal(), Some(9));
    assert_eq!(guard(&["sh", "-c", "kill -TERM $$"]).status.signal(), Some(15));
    assert_eq!(status(&["/nonexistent/program"]), Some(127));
    assert_eq!(status(&["/etc/passwd"]), Some(126));
    let mut cat = Command::new(PELTON);
    let mut cat =
        cat.args(["guard", "--", "cat", "-u"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    cat.stdin.take().unwrap().write_all(b"a\n\0b").unwrap();
    assert_eq!(cat.wait_with_output().unwrap().stdout, b"a\n\0b");
    let out = guard(&["sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((out.stdout.as_slice(), out.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
}

/// A copy of a pipe's end in guard would hold back the end of file, or the broken pipe.
#[test]
fn it_holds_no_pipe_open() {
    // Descriptor 7 is a copy of standard output, which guard inherits.
    let driver =
        r#"exec "$0" guard --timeout 60s -- sh -c 'echo x; exec >&- 7>&-; read -r line; exit 5' 7>&1"#;
    let mut guard = Command::new("sh");
    guard.args(["-c", driver, PELTON]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut guard = guard.spawn().unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(guard.stdout.as_mut().unwrap(), &mut out).unwrap();
    assert_eq!(out, "x\n");
    guard.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(guard.wait().unwrap().code(), Some(5), "its output had ended before");
}

#[test]
fn signals_reach_the_command() {
    for (signal, text) in [("TERM", "term"), ("INT", "int"), ("USR1", "usr1"), ("HUP", "hup")] {
        let script = format!(
            "trap 'echo {text}; exit 9' {signal}; echo ready; for i in $(seq 1000); do sleep 0.05; done"
        );
        let mut guard = Command::new(PELTON);
        let mut guard =
            guard.args(["guard", "--", "sh", "-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(guard.stdout.take().unwrap()));
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let mut kill = Command::new("kill");
        assert!(kill.args([&format!("-{signal}"), &guard.id().to_string()]).status().unwrap().success());
        assert_eq!(lines.next().unwrap().unwrap(), text);
        assert_eq!(guard.wait().unwrap().code(), Some(9), "{signal}");
    }
}

#[test]
fn it_ends_the_whole_tree_with_a_status_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("report.txt");
    // A grandchild that ignores TERM, and an orphan.
    let script = "(sh -c 'trap \"\" TERM; sleep 1000; sleep 1001' & echo $! > pids); sleep 1002 & echo $! >> pids; cat";
    let mut guard = Command::new(PELTON);
    guard.args(["guard", "--stall", "500ms", "--kill", "--kill-after", "500ms", "-o"]).arg(&output);
    guard.args(["--", "sh", "-c", script]).current_dir(directory.path());
    let mut guard = guard.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = guard.stdin.take();
    assert_eq!(guard.wait().unwrap().code(), Some(124));
    drop(stdin);
    for pid in fs::read_to_string(directory.path().join("pids")).unwrap().lines() {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid}");
    }
    let report = fs::read_to_string(output).unwrap();
    assert!(report.starts_with("pelton guard: nothing has moved for 0.5 s in `sh -c"), "{report}");
    assert!(report.contains("; status 124\n"), "{report}");
}

#[test]
fn what_it_cannot_do_is_said_before_the_command_runs() {
    let out = guard(&["--json", "/nonexistent/report.json", "--", "echo", "ran"]);
    assert_eq!((out.status.code(), out.stdout.as_slice()), (Some(2), &b""[..]));
    let out = guard(&[]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("there is no command to run"), "{out:?}");
    let out = guard(&["--kil", "--", "true"]);
    assert_eq!(
        (out.status.code(), String::from_utf8_lossy(&out.stderr).contains("--kill")),
        (Some(2), true),
        "{out:?}"
    );
    assert_eq!(status(&["--stall", "soon", "--", "true"]), Some(2));
    assert_eq!(status(&["--kill", "--signal", "NONSENSE", "--", "true"]), Some(2));
    assert_eq!(status(&["--schema"]), Some(0));
}

#[test]
fn a_record_and_a_page_are_left() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (record, page, json) = (file("last.jsonl"), file("hang.html"), file("hang.json"));
    let options = ["--stall", "300ms", "--kill", "--record", &record, "--html", &page, "--json", &json];
    let script = "mkfifo f; (exec sleep 0.2); cat f; :";
    let mut guard = Command::new("setsid");
    guard
        .args(["-w", PELTON, "guard"])
        .args(options)
        .args(["--", "sh", "-c", script])
        .current_dir(&directory);
    assert_eq!(guard.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap().code(), Some(124));
    let entries: Vec<Value> = fs::read_to_string(&record)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry["entry"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("start", "end"));
    for kind in ["moved", "processes", "stall"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    let shown = guard_show(&record);
    assert!(shown.contains("cat (") && shown.contains("ended, status 124"), "{shown}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("guard ended it; status 124"), "{page}");
    let json: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&json["exit_status"], &json["ended_by"]), (&124.into(), &"still".into()));
    // The last line may be cut short, if guard was killed.
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, &text[..text.len() - 10]).unwrap();
    assert!(guard_show(&record).contains("cat ("));
    assert_eq!(status(&["--show", "/etc/passwd"]), Some(2));
}

fn guard_show(record: &str) -> String {
    let out = guard(&["--show", record]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// The command's own Ctrl-Z, as an editor does it, reaches the shell too.
#[test]
fn the_shell_sees_the_job_stop() {
    use pelton_testkit::{Launch, Terminal};
    let script = r#"set -m
        "$0" guard -- sh -c "$1"
        echo "stopped $?"; fg > /dev/null; echo "done $?""#;
    for (command, key) in [
        ("echo ready; read x; echo got $x; exit 3", &["\x1a"][..]),
        ("echo ready; kill -STOP $$; read x; echo got $x; exit 3", &[][..]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let argv = ["bash", "-c", script, PELTON, command].map(Into::into).to_vec();
        let launch = Launch {
            argv,
            dir: directory.path().into(),
            env: std::env::vars_os().collect(),
            stdin: pelton_testkit::Stdin::Null,
            timeout: PATIENCE,
            settle: Duration::ZERO,
        };
        let mut terminal = Terminal::spawn(&launch).unwrap();
        terminal.await_words("ready").unwrap();
        for keys in key {
            terminal.keys(keys).unwrap();
        }
        terminal.await_words("stopped ").unwrap();
        terminal.keys("word\n").unwrap();
        let ended = terminal.finish().unwrap();
        let out = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(out.contains("got word") && out.contains("done 3"), "{command}: {out}");
    }
}
