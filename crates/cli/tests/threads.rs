//! `pelton time --threads`: threads that take turns, and those that do not.
//!
//! What a program can show depends on idle CPU time: under heavy load, the tests only assert that there is no
//! false alarm.

use pelton_testkit::skips::has_program;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Runs `program` under `pelton time --threads`; returns its stage's threads.
fn threads(program: &[&str]) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("record.json");
    let status = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["time", "--threads", "--format", "json", "-o", record.to_str().unwrap(), "--"])
        .args(program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    record["pipelines"][0]["stages"][0]["threads"].clone()
}

/// Asserts that its threads are not said to take turns. If others take the cores, they may seem to: it is
/// measured again.
fn run_at_once(program: &[&str]) {
    let looks: Vec<Value> =
        (0..3).map_while(|_| Some(threads(program)).filter(|found| !found["turns"].is_null())).collect();
    assert!(looks.len() < 3, "{looks:#?}");
}

fn python(script: &str) -> Value {
    threads(&["python3", "-c", script])
}

/// Counts for a fixed time, in one of several threads or processes.
const COUNT: &str =
    "\ndef count():\n  end = time.time() + 2\n  while time.time() < end:\n    for i in range(1000): pass\n";

#[test]
fn python_threads_take_turns() {
    let script = format!(
        "import threading, time{COUNT}t = [threading.Thread(target=count) for _ in range(4)]\n[x.start() for x in t]\n[x.join() for x in t]"
    );
    for _ in 0..5 {
        let found = python(&script);
        assert!(found["rows"].as_array().unwrap().len() >= 5, "{found:#}");
        if found["cores_used"].as_f64() >= Some(0.75) {
            assert_eq!(found["turns"]["is_interpreter_lock"], true, "{found:#}");
            let verdict = found["verdict"].as_str().unwrap();
            assert!(
                verdict.contains("threads take turns: 1.") || verdict.contains("threads take turns: 0."),
                "{verdict}"
            );
            return;
        }
    }
}

#[test]
fn python_processes_do_not() {
    let script = format!(
        "import multiprocessing, time{COUNT}m = multiprocessing.get_context('fork')\nt = [m.Process(target=count) for _ in range(4)]\n[x.start() for x in t]\n[x.join() for x in t]"
    );
    let found = python(&script);
    assert!(found["turns"].is_null(), "{found:#}");
    let mut pids: Vec<u64> =
        found["rows"].as_array().unwrap().iter().map(|row| row["pid"].as_u64().unwrap()).collect();
    pids.dedup();
    assert!(pids.len() >= 4, "{found:#}");
}

/// Each Ruby thread waits on a futex of its own.
#[test]
fn ruby_threads_take_turns() {
    let script =
        "4.times.map { Thread.new { n = 0; e = Time.now + 2; n += 1 while Time.now < e } }.each(&:join)";
    for _ in 0..5 {
        let found = threads(&["ruby", "-e", script]);
        if found["cores_used"].as_f64() >= Some(0.75) {
            assert_eq!(found["turns"]["threads"], 4, "{found:#}");
            return;
        }
    }
}

#[test]
fn threads_that_wait_for_time_do_not() {
    let script = "import threading, time\nt = [threading.Thread(target=time.sleep, args=(1,)) for _ in range(4)]\n[x.start() for x in t]\n[x.join() for x in t]";
    let found = python(script);
    assert!(found["turns"].is_null(), "{found:#}");
    assert!(found["cores_used"].as_f64() < Some(0.5), "{found:#}");
}

#[test]
fn threads_of_one_worker_do_not() {
    let script =
        format!("import threading, time{COUNT}t = threading.Thread(target=count)\nt.start()\nt.join()");
    assert!(python(&script)["turns"].is_null());
}

#[test]
fn go_and_java_do_not() {
    let directory = tempfile::tempdir().unwrap();
    if has_program("go") {
        let source = directory.path().join("main.go");
        let program = directory.path().join("spin");
        std::fs::write(
            &source,
            "package main\nimport (\"sync\"; \"time\")\nfunc main() {\n\tvar w sync.WaitGroup\n\tend := time.Now().Add(2 * time.Second)\n\
             \tfor i := 0; i < 4; i++ {\n\t\tw.Add(1)\n\t\tgo func() { defer w.Done(); n := 0; for time.Now().Before(end) { n++ } }()\n\t}\n\tw.Wait()\n}\n",
        )
        .unwrap();
        let built = Command::new("go")
            .args(["build", "-o", program.to_str().unwrap(), source.to_str().unwrap()])
            .env("GOCACHE", directory.path().join("cache"))
            .env("GO111MODULE", "off")
            .status()
            .unwrap();
        assert!(built.success());
        run_at_once(&[program.to_str().unwrap()]);
    }
    // A runtime without a compiler cannot run a source file.
    if has_program("javac") {
        let source = directory.path().join("Spin.java");
        std::fs::write(
            &source,
            "public class Spin { public static void main(String[] a) throws Exception { Thread[] t = new Thread[4];\n\
             long end = System.nanoTime() + 2000000000L;\n\
             for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> { long n = 0; while (System.nanoTime() < end) n++; }); t[i].start(); }\n\
             for (Thread x : t) x.join(); } }\n",
        )
        .unwrap();
        run_at_once(&["java", source.to_str().unwrap()]);
    }
}
