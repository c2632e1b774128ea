//! `pelton doctor` on processes that really hang, and on healthy ones that look like it.
//!
//! Each case runs in its own session and directory, and is killed with all it started. A hang is awaited as
//! long as a loaded machine needs to get there; a healthy case is examined repeatedly, and must never be
//! called dead.

use pelton_testkit::SessionLeader;
use pelton_testkit::skips::has_program;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// Processes that run until they are dropped.
struct Patient {
    leader: SessionLeader,
    _directory: TempDir,
}

impl Patient {
    /// Starts `program` as the leader of a session.
    fn start(program: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let leader = SessionLeader::start(program, directory.path()).unwrap();
        Patient { leader, _directory: directory }
    }

    fn bash(script: &str) -> Self {
        Patient::start(&["bash", "-c", script])
    }

    fn python(script: &str) -> Self {
        Patient::start(&["python3", "-c", script])
    }

    fn examine(&self) -> Value {
        let pid = self.leader.id().to_string();
        let out =
            Command::new(env!("CARGO_BIN_EXE_pelton")).args(["doctor", "--json", &pid]).output().unwrap();
        let told: Value = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)));
        let status = match told["health"].as_str() {
            Some("dead") => 1,
            Some("unknown") => 3,
            _ => 0,
        };
        assert_eq!(out.status.code(), Some(status), "{told:#}");
        told
    }

    /// Waits until the diagnosis holds these words.
    fn await_words(&self, words: &str) {
        let start = Instant::now();
        loop {
            let told = self.examine().to_string();
            if told.contains(words) {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{told}");
        }
    }

    /// Waits until a finding has this health and kind, and returns its text.
    fn await_finding(&self, health: &str, kind: &str) -> String {
        let start = Instant::now();
        loop {
            let told = self.examine();
            let all = told["findings"].as_array().unwrap();
            if let Some(one) = all.iter().find(|one| one["health"] == health && one["kind"] == kind) {
                let waits =
                    one["waits"].as_array().unwrap().iter().map(|wait| wait["words"].as_str().unwrap());
                let mut words: Vec<&str> = waits.collect();
                words.extend([one["headline"].as_str().unwrap(), one["cure"].as_str().unwrap_or_default()]);
                return words.join("\n");
            }
            assert!(start.elapsed() < PATIENCE, "not found: {health} {kind} in {told:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asserts a hang of this kind, with these words about it once all its processes wait.
    #[track_caller]
    fn hangs(&self, kind: &str, words: &[&str]) {
        let start = Instant::now();
        loop {
            let said = self.await_finding("dead", kind);
            let Some(missing) = words.iter().find(|word| !said.contains(**word)) else { return };
            assert!(start.elapsed() < PATIENCE, "`{missing}` is missing in:\n{said}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asserts that it is never called dead, neither during the start nor later.
    #[track_caller]
    fn is_healthy(&self, health: &str, kind: &str) {
        self.await_finding(health, kind);
        for _ in 0..4 {
            let told = self.examine();
            assert_ne!(told["health"], "dead", "{told:#}");
        }
    }
}

#[test]
fn a_wait_without_reading() {
    Patient::python(
        "import subprocess as s\np = s.Popen(['head', '-c', '200000', '/dev/zero'], stdout=s.PIPE)\np.wait()",
    )
    .hangs(
        "waits_without_reading",
        &[
            "standard output: pipe:[",
            "is full (65,536 of 65,536 bytes)",
            "for its child head (",
            "communicate()",
        ],
    );
}

#[test]
fn a_wait_without_reading_what_a_shell_started() {
    Patient::python("import subprocess as s\np = s.Popen(['sh', '-c', 'yes | head -c 200000; :'], stdout=s.PIPE)\np.wait()")
        .hangs("waits_without_reading", &["in python3 (", "read its descriptor"]);
}

#[test]
fn an_undrained_standard_error() {
    Patient::python(
        "import subprocess as s\np = s.Popen(['sh', '-c', 'head -c 200000 /dev/zero >&2; echo'], stdout=s.PIPE, stderr=s.PIPE)\n\
         p.stdout.read()",
    )
    .hangs("undrained_channel", &["blocked on write to its standard output", "blocked on read from its descriptor"]);
}

#[test]
fn an_undrained_standard_error_of_the_child_itself() {
    Patient::python(
        "import subprocess as s\np = s.Popen(['python3', '-c', 'import sys; sys.stderr.write(\"x\" * 200000)'],\n\
         stdout=s.PIPE, stderr=s.PIPE)\np.stdout.read()",
    )
    .hangs("undrained_channel", &["blocked on write to its standard error", "send the standard error of python3 ("]);
}

#[test]
fn both_pipes_full() {
    Patient::python(
        "import subprocess as s\np = s.Popen(['cat'], stdin=s.PIPE, stdout=s.PIPE)\np.stdin.write(b'x' * 1000000)\np.stdin.flush()",
    )
    .hangs("both_full", &["and neither reads", "cat ("]);
}

#[test]
fn a_leaked_write_end() {
    Patient::python("import os, subprocess as s\nr, w = os.pipe()\np = s.Popen(['cat'], stdin=r)\np.wait()")
        .hangs("held_open", &["close descriptor", "in python3 (", "cat ("]);
}

#[test]
fn a_reader_that_holds_its_own_write_end() {
    Patient::bash("mkfifo f; exec 3<>f; exec cat <&3")
        .hangs("held_open", &["has open for reading and writing", "/f"]);
}

/// Others have it open too, and it is no use to close it there.
#[test]
fn a_reader_that_may_write_what_it_reads() {
    let patient = Patient::bash("mkfifo f; exec 4<>f; while read -r x <&4; do echo $x; done | wc -l; :");
    patient.await_words("/f for reading only (`< /");
}

#[test]
fn a_fifo_opened_by_its_reader_only() {
    Patient::bash("mkfifo f; cat f; :").hangs("fifo_one_sided", &["/f for reading", "start the writer of /"]);
}

#[test]
fn a_fifo_that_was_removed_while_it_was_opened() {
    Patient::bash("mkfifo f; cat f & until grep -q wait_for_partner /proc/$!/wchan || [ $((n += 1)) = 200 ]; do sleep 0.01; done; rm f; wait")
        .hangs("fifo_one_sided", &["f for reading, which was removed", "it was removed or renamed", "end it (kill)"]);
}

#[test]
fn a_fifo_opened_by_its_writer_only() {
    Patient::bash("mkfifo f; echo x > f; :")
        .hangs("fifo_one_sided", &["/f for writing", "start the reader of /"]);
}

/// The reader of a FIFO is there, but first reads from one that waits for its writer.
#[test]
fn fifos_that_are_opened_in_a_circle() {
    let cure = ["first waits for", "in the command of comm (", "in place of /", "write `<(pelton buffer < /"];
    Patient::bash("mkfifo a b; seq 9999 | tee a > b & comm -12 <(sort a) b | wc -l")
        .hangs("fifo_one_sided", &cure);
    Patient::bash("mkfifo a b; seq 9999 | tee a b > out & join b a | wc -l")
        .hangs("fifo_one_sided", &["first waits for a writer of the FIFO /", "in the command of join ("]);
}

/// Somebody outside might open a FIFO, so it is not certain; what the filter has read cannot be seen.
#[test]
fn a_filter_in_a_circle_may_keep_a_line_back() {
    let patient = Patient::bash(
        "mkfifo ask answer; (while read -r x; do echo $x | tr a-z A-Z; done < ask | sed s/^/got:/ > answer) & \
         exec 3> ask 4< answer; echo hello >&3; read -r reply <&4; :",
    );
    patient.await_words("`sed -u`");
}

/// The shell of a terminal could open it, but a person there did not type the pipeline. What was typed there waits for a person.
#[test]
fn a_fifo_that_only_a_person_could_open() {
    let typed = |job: &str| {
        format!("sleep 100 | script -qec \"exec bash --norc -ic 'mkfifo f; {job} & read x'\" /dev/null")
    };
    Patient::bash(&typed("(cat f | cat; :)")).hangs("fifo_one_sided", &["waits for a writer of the FIFO /"]);
    Patient::bash(&typed("cat f")).never_dead();
}

#[test]
fn tee_into_two_fifos_that_are_read_in_order() {
    Patient::bash("mkfifo a b; tee a b < /dev/zero > /dev/null & cat a > /dev/null; cat b")
        .hangs("fifo_one_sided", &["/b for writing", "tee ("]);
}

#[test]
fn tee_into_its_own_input() {
    Patient::bash("mkfifo f; cat f | tee f > /dev/null; :").hangs("both_empty", &["cat (", "tee ("]);
}

#[test]
fn two_branches_read_in_order() {
    Patient::python(
        "import os\nr, w = os.pipe()\nr2, w2 = os.pipe()\n\
         if os.fork() == 0:\n  os.close(r); os.close(r2)\n  os.write(w, b'x' * 200000)\n  os.write(w2, b'x')\n\
         else:\n  os.close(w); os.close(w2)\n  os.read(r2, 1)",
    )
    .hangs("undrained_channel", &["reads one channel while"]);
}

#[test]
fn a_coprocess_that_keeps_its_answer_back() {
    Patient::bash(
        "coproc tr a-z A-Z; echo hello >&\"${COPROC[1]}\"; read -r line <&\"${COPROC[0]}\"; echo \"$line\"",
    )
    .hangs("both_empty", &["tr (", "in bash (", "stdbuf -oL"]);
}

#[test]
fn a_ring_of_four() {
    Patient::bash("mkfifo f; cat f | cat | cat | cat > f; :").hangs("both_empty", &["cat ("]);
}

#[test]
fn a_stopped_reader() {
    let patient = Patient::bash("yes | sh -c 'kill -STOP $$'; :");
    patient.hangs("stopped", &["kill -CONT", "yes", "is stopped, until"]);
}

#[test]
fn a_lock_whose_holder_waits_for_the_one_that_wants_it() {
    Patient::bash("exec 9> lock; flock 9; flock lock true; :")
        .hangs("file_lock", &["/lock", "in bash (", "(`flock -u 9`)"]);
    Patient::python(
        "import fcntl, subprocess as s\nf = open('lock', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\ns.run(['flock', 'lock', 'true'])",
    )
    .hangs("file_lock", &["/lock", "in python3 ("]);
}

#[test]
fn a_pair_of_sockets() {
    Patient::python(
        "import socket, subprocess as s\na, b = socket.socketpair()\np = s.Popen(['cat'], stdin=b, stdout=b)\nb.close()\na.recv(1)",
    )
    .hangs("both_empty", &["socket:[", "cat ("]);
}

#[test]
fn two_ends_of_a_connection() {
    Patient::python(
        "import os, socket\nl = socket.create_server(('127.0.0.1', 0))\n\
         if os.fork() == 0:\n  c = socket.create_connection(l.getsockname())\n  l.close()\n  c.recv(1)\n\
         else:\n  s, _ = l.accept()\n  s.recv(1)",
    )
    .hangs("both_empty", &["socket:["]);
}

#[test]
fn threads_that_lock_in_opposite_orders() {
    Patient::python(
        "import threading, time\na, b = threading.Lock(), threading.Lock()\n\
         def f(x, y):\n  x.acquire(); time.sleep(0.3); y.acquire()\n\
         t = [threading.Thread(target=f, args=p) for p in ((a, b), (b, a))]\n[x.start() for x in t]\n[x.join() for x in t]",
    )
    .hangs("threads", &["3 threads"]);
}

#[test]
fn a_poll_of_two_channels_whose_writer_waits_for_input() {
    Patient::python(
        "import select, subprocess as s\np = s.Popen(['cat'], stdin=s.PIPE, stdout=s.PIPE, stderr=s.PIPE)\n\
         select.select([p.stdout, p.stderr], [], [])",
    )
    .hangs("both_empty", &["close descriptor", "while it is open, cat ("]);
}

#[test]
fn a_terminal_that_nobody_types_at() {
    let script = "import os, pty\npid, fd = pty.fork()\n\
                  if pid == 0: os.execvp('cat', ['cat'])\nos.waitpid(pid, 0)";
    // The child of a pty leads another session; it ends with the terminal when its parent does.
    Patient::python(script).is_healthy("idle", "terminal");
}

#[test]
fn one_that_is_stopped_and_waited_for_by_nobody_is_no_deadlock() {
    Patient::bash("kill -STOP $$").is_healthy("idle", "stopped");
}

#[test]
fn healthy_sleepers() {
    Patient::bash("sleep 100 | cat; :").is_healthy("idle", "timer");
    Patient::bash("touch f; tail -f f | grep x | cat; :").is_healthy("idle", "outside");
    Patient::bash("echo x > f; tail -f f | grep --line-buffered x | cat; :").is_healthy("idle", "outside");
    Patient::python("import subprocess as s\ns.run(['sleep', '100'])").is_healthy("idle", "timer");
    Patient::bash("coproc sleep 100; read -r line <&\"${COPROC[0]}\"").is_healthy("idle", "timer");
    Patient::python("import signal\nsignal.pause()").is_healthy("idle", "signal");
}

/// The commonest reason for a `tail -f … | grep … | …` that stays silent.
#[test]
fn a_filter_that_keeps_its_output_back() {
    Patient::bash("echo x > f; tail -f f | grep x | sed s/x/y/ | cat; :").is_healthy("idle", "buffered");
    let said = Patient::bash("seq 99999 > f; tail -n +1 -f f | grep 7 | cat > /dev/null; :");
    let said = said.await_finding("idle", "buffered");
    assert!(said.contains("whole buffers of 4096"), "{said}");
    // What its child wrote counts as its own.
    let other = Patient::bash("(echo x | cat > f; exec sleep 100) | grep x | cat; :");
    other.is_healthy("idle", "timer");
    assert_eq!(other.examine()["findings"][0]["kind"], "timer");
    for quiet in
        ["grep --line-buffered nosuch | cat", "stdbuf -oL grep x | cat", "grep x | sort", "sed -n '$p' | cat"]
    {
        Patient::bash(&format!("echo x > f; tail -f f | {quiet}; :")).is_healthy("idle", "outside");
    }
    // Into a file as well.
    let into = "echo x > f; tail -f f | grep --line-buffered x | cut -c1 > out; :";
    let said = Patient::bash(into).await_finding("idle", "buffered");
    assert!(said.contains("cut") && said.contains("`stdbuf -oL cut`: into a pipe or a file"), "{said}");
    let said =
        Patient::bash("echo x > f; tail -f f | grep x | cut -c1 > out; :").await_finding("idle", "buffered");
    assert!(said.contains("by `grep --line-buffered` and `stdbuf -oL cut`"), "{said}");
    let twice = "echo x > f; tail -f f | grep x | grep -v y | cut -c1 > out; :";
    let said = Patient::bash(twice).await_finding("idle", "buffered");
    assert!(said.contains("by `grep --line-buffered` in both places and `stdbuf -oL cut`"), "{said}");
    let much = "(yes no | head -c 200000; sleep 100) | grep x | cat; :";
    Patient::bash(much).is_healthy("idle", "buffered");
}

/// A script waits for both, and so never gets to the second reader.
#[test]
fn a_command_in_the_foreground_that_waits_for_who_opens_a_fifo() {
    let script = "mkfifo a b; { exec > a; echo x; exec 3> b; } & sort a; sort b";
    let words = ["put & behind the command that runs as sort (", "does not get to a reader of the FIFO /"];
    Patient::bash(script).hangs("fifo_one_sided", &words);
    // Under pelton time, which only looks on.
    let pelton = env!("CARGO_BIN_EXE_pelton");
    Patient::start(&[pelton, "time", "bash", "-c", script]).hangs("fifo_one_sided", &words);
}

/// What runs beside the one that opens a FIFO is in the background already.
#[test]
fn a_writer_in_the_foreground_whose_reader_comes_later() {
    let script = "mkfifo a b; sort a & awk 'BEGIN {print > \"a\"; print > \"b\"}'; sort b";
    let words = ["put & behind the command of ", "awk (", "so that the script goes on to the reader of /"];
    Patient::bash(script).hangs("fifo_one_sided", &words);
}

/// Python reads what its child never writes before it has written all input.
#[test]
fn a_reader_of_standard_error_that_has_not_closed_the_input() {
    Patient::python(
        "import subprocess as s
p = s.Popen(['sh', '-c', 'grep x | sort; :'], stdin=s.PIPE, stdout=s.PIPE, stderr=s.PIPE)
p.stdin.write(b'x\\n'); p.stdin.flush(); p.stderr.readline()",
    )
    .hangs(
        "both_empty",
        &[
            "write all that grep (",
            "its standard input, before reading descriptor",
            "its standard error; or do both at once",
        ],
    );
}

/// The commonest reason for a script that does not go on after it has started a server.
#[test]
fn a_process_left_in_the_background_holds_the_output_of_a_substitution() {
    for script in ["x=$(sleep 100 & echo started); echo $x", "f() { sleep 100 & echo on; }; x=$(f | cat)"] {
        let said = Patient::bash(script).await_finding("idle", "held_open");
        assert!(
            said.contains("left in the background") && said.contains("`sleep … > FILE 2>&1 &`"),
            "{said}"
        );
    }
    // It still runs between the parentheses, or does not hold it.
    Patient::bash("x=$(sleep 100; echo x); echo $x").is_healthy("idle", "timer");
    Patient::bash("x=$(sleep 100 > /dev/null & echo x; sleep 100); echo $x").is_healthy("idle", "timer");
    Patient::bash("(sleep 100; echo x) | cat; :").is_healthy("idle", "timer");
}

/// `doctor PID` lists all processes that wait for the pipeline, PID included. `doctor` alone reports the pipeline as well,
/// although nothing in it is wrong.
#[test]
fn a_pipeline_that_stands_still_is_told_of_with_all_who_wait_for_it() {
    let patient = Patient::bash("(true; (true; sleep 1000 | cat; true); true); true");
    let asked = u64::from(patient.leader.id());
    let start = Instant::now();
    loop {
        let told = patient.examine();
        let waits = |told: &Value| -> Vec<u64> {
            let findings = told["findings"].as_array().unwrap();
            let waits = findings.iter().flat_map(|finding| finding["waits"].as_array().unwrap());
            waits.map(|wait| wait["pid"].as_u64().unwrap()).collect()
        };
        let named = waits(&told);
        if named.len() == 5 {
            assert!(named.contains(&asked), "{asked}: {told:#}");
            let out = Command::new(env!("CARGO_BIN_EXE_pelton")).args(["doctor", "--json"]).output().unwrap();
            let own: Value = serde_json::from_slice(&out.stdout).unwrap();
            // Other tests have newer ones.
            let still =
                own["findings"].as_array().unwrap().iter().filter(|one| one["health"] == "idle").count();
            assert!(waits(&own).contains(&asked) || still >= 3, "{asked}: {own:#}");
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{told:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn healthy_workers() {
    Patient::bash("while :; do :; done | sort; :").is_healthy("slow", "slow_writer");
    Patient::bash("yes | while read -r line; do :; done; :").is_healthy("slow", "slow_reader");
    Patient::bash("yes | sleep 100; :").is_healthy("slow", "slow_reader");
    Patient::bash("while :; do :; done").is_healthy("slow", "busy");
}

#[test]
fn healthy_servers_and_event_loops() {
    Patient::python("import socket\nl = socket.create_server(('127.0.0.1', 0))\nl.accept()")
        .is_healthy("idle", "outside");
    Patient::python(
        "import asyncio\nasync def f():\n  p = await asyncio.create_subprocess_exec('sleep', '100', stdout=-1)\n  await p.stdout.read()\n\
         asyncio.run(f())",
    )
    .is_healthy("idle", "timer");
    Patient::python(
        "import select, signal, socket\na, b = socket.socketpair()\na.setblocking(0); b.setblocking(0)\n\
         signal.set_wakeup_fd(b.fileno())\nsignal.signal(signal.SIGUSR1, lambda *x: None)\nselect.select([a], [], [])",
    )
    .is_healthy("idle", "signal");
}

#[test]
fn healthy_threads_and_locks() {
    Patient::python(
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(100,))\nt.start()\nt.join()",
    )
    .is_healthy("idle", "timer");
    Patient::bash("flock lock sleep 100 & sleep 0.2; flock lock true; :").is_healthy("idle", "timer");
}

#[test]
fn healthy_fifos_and_tees() {
    // Another process of the job still works, and may open it. Which one is named depends on which others
    // exist.
    Patient::bash("mkfifo f; sleep 100 & cat f; :").never_dead();
    Patient::bash("while sleep 0.02; do echo x; done | tee >(cat > /dev/null) | cat > /dev/null; :")
        .never_dead();
    Patient::bash("sleep 100 | timeout 90 cat; :").is_healthy("idle", "timer");
    Patient::bash("seq 1000 | xargs -P 2 -n 1 sleep").never_dead();
}

impl Patient {
    /// For cases whose state changes all the time.
    #[track_caller]
    fn never_dead(&self) {
        for _ in 0..5 {
            let told = self.examine();
            assert_ne!(told["health"], "dead", "{told:#}");
        }
    }
}

/// Ruby waits for an internal event that its SIGCHLD handler would trigger.
#[test]
fn a_ruby_that_waits_without_reading() {
    let script =
        "r, w = IO.pipe; c = Process.spawn('head -c 200000 /dev/zero', out: w); w.close; Process.wait c";
    Patient::start(&["ruby", "-e", script])
        .hangs("waits_without_reading", &["waits for its child head", "only ruby", "Open3.capture3"]);
}

#[test]
fn an_event_that_another_process_could_bring_about_is_waited_for() {
    Patient::python(
        "import os, select, time\ne = os.eventfd(0)\nif os.fork() == 0: time.sleep(100); os.eventfd_write(e, 1)\np = select.poll(); p.register(e); p.poll()",
    )
    .never_dead();
}

/// A signal handler may trigger what is polled for: only a read is certain.
#[test]
fn an_event_that_nobody_else_could_bring_about() {
    let dead = "waits for what only it itself could bring about";
    Patient::python("import os\nos.eventfd_read(os.eventfd(0))")
        .hangs("threads", &["[eventfd] on its descriptor", dead]);
    Patient::python(
        "import os, threading, time\ne = os.eventfd(0)\nthreading.Thread(target=time.sleep, args=(100,)).start()\nos.eventfd_read(e)",
    )
    .never_dead();
}

#[test]
fn it_does_not_tell_of_itself_nor_of_its_reader() {
    let directory = tempfile::tempdir().unwrap();
    // Its readers exec their own programs only after a while; until then they are shells.
    let script = r#"
        readers() { for pid in $(</proc/$$/task/$$/children); do cat /proc/$pid/comm; done | grep -c cat; }
        { until [ "$(readers)" = 2 ]; do :; done; exec "$0" doctor --json $$; } | cat | cat > told; :"#;
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_pelton")]).current_dir(&directory);
    // Tests at the same time inherit its descriptors.
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(shell.status().unwrap().success());
    let told: Value = serde_json::from_slice(&fs::read(directory.path().join("told")).unwrap()).unwrap();
    let headline = told["findings"][0]["headline"].as_str().unwrap();
    assert!(headline.starts_with("bash (") && !headline.contains("pelton"), "{told:#}");
    let waits = told["findings"][0]["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 1, "the shell alone: {told:#}");
}

#[test]
fn healthy_programs_in_other_languages() {
    if has_program("node") {
        Patient::start(&[
            "node",
            "-e",
            "require('child_process').spawn('sleep', ['100']); setInterval(() => {}, 1e6)",
        ])
        .never_dead();
    }
    if has_program("ruby") {
        Patient::start(&["ruby", "-e", "require 'open3'; Open3.capture3('sleep 100')"]).never_dead();
    }
    if has_program("make") {
        Patient::bash("printf 'all: a b\\na b:\\n\\tsleep 100\\n' > Makefile; make -j2").never_dead();
    }
}

#[test]
fn what_cannot_be_looked_at_is_an_error_of_its_own() {
    let pelton = |arguments: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_pelton")).arg("doctor").args(arguments).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (status, message) = pelton(&["no-such-program-at-all"]);
    assert_eq!(status, Some(2));
    assert!(message.contains("there is no process called `no-such-program-at-all`"), "{message}");
    assert_eq!(pelton(&["4194305"]).0, Some(2));
    assert_eq!(pelton(&["--all", "1"]).0, Some(2));
    assert_eq!(pelton(&["--schema"]), (Some(0), String::new()));
}

#[test]
fn a_name_finds_its_processes_and_the_graph_names_them() {
    let patient = Patient::bash("mkfifo f; exec -a pelton-patient-of-this-test cat f");
    patient.hangs("fifo_one_sided", &[]);
    let out = Command::new(env!("CARGO_BIN_EXE_pelton"))
        .args(["doctor", "--dot", "pelton-patient-of-this-test"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    let graph = String::from_utf8(out.stdout).unwrap();
    assert!(
        graph.contains(&format!("p{} [label=\"cat ({})", patient.leader.id(), patient.leader.id())),
        "{graph}"
    );
    assert!(graph.contains("peripheries=2"), "{graph}");
}
