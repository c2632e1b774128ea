//! The same pipeline on several workers: the same bytes, status and messages as from bash, whatever happens to a worker.

use pelton_testkit::{Random, wait_until, without_pids};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

/// Pipelines that are divided.
const DIVIDED: &[&str] = &[
    "cat log | grep ' 404 ' | awk '{print $4}' | sort | uniq -c | sort -rn | head",
    "grep -c 404 log",
    "grep 404 log",
    "grep -v 404 log | head -n 1",
    "grep nothing log",
    "grep -c nothing log",
    "grep 'b' log > found",
    "grep nothing log >> found",
    "grep -c nothing log > found",
    "grep 404 log > missing/found",
    "grep -o '[0-9]*' log | sort -u",
    "wc -l < log",
    "cat log more | wc -w",
    "cat more log more | wc -c",
    "cut -d' ' -f1 log | sort | uniq -c | sort -rn | head -n 5",
    "sort log",
    "grep 404 log | cut -c1 more",
    "cat log more | sort -r | uniq -c",
    "cut -c1 < log | sort -k1,1 | uniq -c | sort -n | tail -n 1",
    "cat log more | sort -s -k2,2 | uniq -c | head -n 40",
    "cat log | sort | uniq -c -f1 | head -n 30",
    "sort -s -k2,2n log",
    "sort -u -k1,1 log",
    "sort -k2,2nr -k1,1 < log | tail -n 4",
    "LC_ALL=C sort -r < log | head -n 3",
    "tr a-z A-Z < log | grep A | wc -l",
    "tr -cs A-Za-z '\\n' < log | grep -v '^$' | sort | uniq -c | sort -rn | head -n 3",
    "tr -s ' ' < log | cut -d' ' -f1,2 | sort -u",
    "tr -d '\\n' < log | wc -c",
    "tr ' ' '\\n' < log | sort | uniq -c",
    "cat log | head -n 700 | tail -n 2",
    "cat log | tail -n 3",
    "cat log | head -n 3",
    "uniq log | wc -l",
    "awk '{print $1, $3}' log | sort -u | wc -l",
    "awk '{printf \"%s,\", $1}' log | wc -c",
    "mawk '$3 == 404' log | wc -l",
    "sed -n 's/a\\(.\\)/<\\1>/p' log | sort | uniq -c",
    "expand log | fold -w 9 | sort | tail -n 2",
    "sort -n -k2 log | awk '{print $2}' | nl | tail -n 3",
    "grep -n 404 log | tail -n 3",
    "cat log more | grep -no '[ab]'",
    "cat log more | cat -n",
    "cat -n log | grep 404",
    "grep -n nothing log",
    "grep 404 log | cat -n | tail -n 1",
    "sed 1d log | grep -n 404 | tail -n 1",
    "tr 5 '\\n' < log | cat -n | tail -n 1",
    "zcat log.gz log.gz | grep 404 | cat -n | tail -n 1",
    "grep -m 3 404 log",
    "grep -m 3 nothing log",
    "cat more log | grep -m 100 -v 404 | tail -n 2",
    "grep -q 404 log",
    "grep -q nothing log",
    "cat log more | grep -vq nothing",
    "tail -n +2 log | sort | uniq -c | head -n 3",
    "tail -n +3 log",
    "sed 1d log | cut -d' ' -f2 | sort -n | tail -n 2",
    "sed '1,20d' log | wc -l",
    "mawk 'NR > 1 {print $2}' log | sort | uniq -c | head -n 4",
    "mawk 'NR == 1 {next} $NF == 404 {print $1}' log | wc -l",
    "zcat log.gz more.gz log.gz | grep 404 | sort | uniq -c | head",
    "gzip -dc log.gz log.gz | wc -l",
    "zcat -- log.gz log.gz more.gz | tail -n +2 | cut -c1 | sort | uniq -c",
    "zcat log.gz log.gz | grep -m 2 404",
    "xz -dc log.xz log.xz | grep -c 404",
    "awk '{s += $2} END {print s}' log",
    "mawk '{c[$3]++} END {for (k in c) print c[k], k}' log | sort -rn",
    "grep 404 log | mawk '{s += $(NF-1); n++} END {print s / n, NR}'",
    "tail -n +2 log | mawk '{c[$1 \"\\t\" $2] += $3} END {for (k in c) print k, c[k]}' | sort | head -n 9",
    "mawk 'BEGIN {FS = \" \"} $NF == 404 {n++} END {print n + 0}' log",
    "mawk '$NF == 777 {n++} END {print n + 0, NR}' log",
    "zcat log.gz log.gz | mawk '{s += $NF} END {printf \"%d\\n\", s}'",
];

/// Pipelines that are not.
const UNDIVIDED: &[&str] = &[
    "nl log | tail -n 1",
    "mawk '{s += $2 / 3} END {print s}' log",
    "mawk '{s += $2 / 3; n++} END {print s, n}' log",
    "mawk 'BEGIN {s = 0.5} {s += $NF} END {print s}' log",
    "mawk '{c[$3]++} END {for (k in c) print c[k], k}' log",
    "mawk '{c[$2]++} END {for (k in c) print c[k], k}' log > found | sort",
    "mawk '{c[$2]++} END {for (k in c) print c[k], k}' log | sort < more",
    "mawk '{last = $1} END {print last}' log",
    "mawk 'NR > 1 {s += $NF} END {print s}' log",
    "mawk '{s += $NF} END {print s, $0}' log",
    "mawk 'END {print FNR}' log",
    "cat log more | gawk '{n++} END {print n, FNR}'",
    "sort -g log | tail -n 2",
    "cat missing | sort",
    "sort log; sort more",
    "cat log | sed = | head -n 3",
    "seq 100000 | sort | tail -n 1",
    "sort -z log | wc -c",
    "grep 404 log missing",
    "cat log |& sort",
    "! grep 404 log",
    "cat more | unexpand -a log | tail -n 1",
    "cat log | sort more | tail -n 3",
    "cat log | grep -c 404 more",
    "wc -l - < log",
    "grep 404 log >> log",
    "grep 404 < more >> more",
    "sort more > more",
    "grep 404 log > /dev/full",
    "awk '{print ENVIRON[\"TMPDIR\"], $1}' log",
    "zcat log.gz | sort | head -n 3",
    "zcat more.gz more.gz | sort | head -n 3",
    "zcat log.gz log | wc -l",
    "zcat log.gz missing.gz | wc -l",
    "mawk 'NR > 1 && FNR > 1' log | wc -l",
    "mawk 'NR % 2' log | wc -l",
    "mawk 'BEGIN {NR = 5} NR > 7' log | wc -l",
    "tail -n +99999 log | wc -l",
    "tail -n +2900 log | wc -l",
    "sed '1!d' log",
    "sed -n 1d log",
    "grep -m 3 -c 404 log",
    "grep -l 404 log",
    "grep 404 /dev/stdin < log",
    "cat /dev/fd/0 < log | sort | tail -n 3",
];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let mut random = Random::new(29);
        let mut lines = |count: usize| {
            let mut text = String::new();
            for _ in 0..count {
                let word = ["a", "ab", "é", "b c", "", "  x", "A"][random.below(7)];
                let _ = writeln!(text, "{word} {} {}", random.below(300), [200, 404, 500][random.below(3)]);
            }
            text
        };
        let log = lines(9000);
        let more = lines(800);
        std::fs::write(dir.path().join("log"), log).expect("written");
        // Its last line has no end.
        std::fs::write(dir.path().join("more"), more.trim_end()).expect("written");
        for (program, file, compressed) in
            [("gzip", "log", "log.gz"), ("gzip", "more", "more.gz"), ("xz", "log", "log.xz")]
        {
            let to = std::fs::File::create(dir.path().join(compressed)).expect("created");
            let made = Command::new(program).args(["-c", file]).current_dir(dir.path()).stdout(to).status();
            assert!(made.expect("it runs").success(), "{program}");
        }
        Place(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, program: &str, args: &[&str], locale: &str) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path()).env("LC_ALL", locale).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.path().join(".cache")).env("TMPDIR", self.path());
        command
    }

    fn bash(&self, text: &str, locale: &str) -> Output {
        self.command("bash", &["-c", text], locale).output().expect("bash runs")
    }

    /// Returns what pelton prints, and why it did not divide the text.
    fn divided(&self, text: &str, locale: &str, more: &[&str]) -> (Output, Option<String>) {
        let args = [&["run", "--on", "local:3", "--part-size", "12000"], more, &["--", text]].concat();
        let mut output = self.command(PELTON, &args, locale).output().expect("pelton runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_reason = |line: &&str| line.starts_with("pelton: runs here, undivided, because of");
        let reason = said.lines().find(is_reason).map(str::to_owned);
        let left: String =
            said.lines().filter(|line| !is_reason(line)).map(|line| format!("{line}\n")).collect();
        output.stderr = left.into_bytes();
        (output, reason)
    }

    fn assert_alike(&self, text: &str, locale: &str, is_divided: bool) {
        let file = |name| std::fs::read(self.path().join(name)).ok();
        let wanted = self.bash(text, locale);
        let written = file("found");
        let (got, reason) = self.divided(text, locale, &[]);
        let about = format!("{text} in {locale}: {reason:?}");
        assert_eq!(String::from_utf8_lossy(&got.stdout), String::from_utf8_lossy(&wanted.stdout), "{about}");
        assert_eq!(got.status.code(), wanted.status.code(), "{about}");
        let said = |output: &Output| String::from_utf8_lossy(&without_pids(&output.stderr)).into_owned();
        let without_line = |text: String| text.replace("bash: line 1: ", "bash: ");
        assert_eq!(without_line(said(&got)), without_line(said(&wanted)), "{about}");
        assert_eq!(file("found"), written, "{about}");
        assert_eq!(reason.is_none(), is_divided, "{about}");
        assert_eq!(self.left_behind(), Vec::<String>::new(), "{about}");
    }

    /// Returns the names of what a run left in $TMPDIR.
    fn left_behind(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.path()).expect("a directory").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("pelton-parts")).collect()
    }
}

#[test]
fn divided_pipelines_print_what_bash_prints() {
    let place = Place::new();
    for locale in ["C", "C.UTF-8"] {
        DIVIDED.iter().for_each(|text| place.assert_alike(text, locale, true));
    }
}

#[test]
fn what_cannot_be_divided_runs_here_and_says_why() {
    let place = Place::new();
    UNDIVIDED.iter().for_each(|text| place.assert_alike(text, "C", false));
}

#[test]
fn input_that_is_no_text_to_a_stage_makes_the_text_run_undivided() {
    let place = Place::new();
    let mut log = std::fs::read(place.path().join("log")).expect("the log");
    log.extend_from_slice(b"a\0 404\nlast 404\n");
    std::fs::write(place.path().join("log"), &log).expect("written");
    place.assert_alike("grep 404 log | wc -l", "C", false);
    place.assert_alike("cut -c1-3 log | sort | tail -n 2", "C", true);
    std::fs::write(place.path().join("log"), [&log[..80_000], b"\n\xff 404\n"].concat()).expect("written");
    place.assert_alike("grep 404 log | wc -l", "C.UTF-8", false);
    place.assert_alike("grep 404 log | wc -l", "C", true);
    // There, bytes that are no characters are equal to each other.
    place.assert_alike("cut -d' ' -f1 log | sort | uniq -c", "en_US.UTF-8", false);
    place.assert_alike("cut -d' ' -f1 log | sort | uniq -c", "C", true);
    std::fs::write(place.path().join("log"), [&log[..80_000], b"\n"].concat()).expect("written");
    place.assert_alike("cut -d' ' -f1 log | sort | uniq -c", "en_US.UTF-8", true);
}

#[test]
fn parts_that_are_done_are_not_done_again_and_another_text_is_refused() {
    let place = Place::new();
    let text = "grep 404 log | sort | uniq -c";
    let wanted = place.bash(text, "C");
    let keep = ["--work-dir", "w"];
    let written = || {
        let names = std::fs::read_dir(place.path().join("w")).expect("the work directory").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(place.divided(text, "C", &keep).0.stdout, wanted.stdout);
    let first = written();
    // A part that is gone is done again, the others not: their files have the names of their workers.
    let gone = first.iter().find(|name| name.ends_with("3.json")).expect("part 3").clone();
    std::fs::remove_file(place.path().join("w").join(&gone)).expect("removed");
    assert_eq!(place.divided(text, "C", &keep).0.stdout, wanted.stdout);
    let second = written();
    let new = second.iter().filter(|name| !first.contains(name)).count();
    assert_eq!(new, 1, "{first:?} {second:?}");
    let (other, _) = place.divided("grep 500 log | sort | uniq -c", "C", &keep);
    assert_eq!(other.status.code(), Some(2), "{}", String::from_utf8_lossy(&other.stderr));
    assert!(other.stdout.is_empty());
}

#[test]
fn a_plan_is_carried_out_by_workers_that_something_else_starts() {
    let place = Place::new();
    let text = "cut -d' ' -f1 log | sort | uniq -c";
    let run = |args: &[&str]| place.command(PELTON, args, "C").output().expect("pelton runs");
    let planned = run(&["plan", "--work-dir", "w", "--part-size", "20000", "--", text]);
    let said = String::from_utf8_lossy(&planned.stdout).into_owned();
    let parts: usize =
        said.lines().nth(1).and_then(|line| line.split(' ').next()?.parse().ok()).expect("parts");
    assert!(parts > 3, "{said}");
    assert!(run(&["worker", "--plan", "w/plan.json", "--check"]).status.success());
    for part in (0..parts).rev() {
        let done = run(&["worker", "--plan", "w/plan.json", "--part", &part.to_string()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    // The size of the parts is that of the plan.
    let merged = run(&["run", "--on", "local:1", "--work-dir", "w", "--", text]);
    assert_eq!(merged.stdout, place.bash(text, "C").stdout, "{}", String::from_utf8_lossy(&merged.stderr));
    // A worker refuses an input that has changed, and says so when it is asked.
    std::fs::write(place.path().join("log"), "x\n").expect("written");
    let check = run(&["worker", "--plan", "w/plan.json", "--check"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&check.stdout).contains("log has changed"));
    assert!(!run(&["worker", "--plan", "w/plan.json", "--part", "0"]).status.success());
}

#[test]
fn a_directory_whose_name_is_no_text_is_not_used() {
    let place = Place::new();
    let odd = place.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir(&odd).expect("made");
    let args = ["run", "--on", "local:2", "--part-size", "12000", "--", "sort log"];
    let got = place.command(PELTON, &args, "C").env("TMPDIR", &odd).output().expect("pelton runs");
    assert_eq!(got.stdout, place.bash("sort log", "C").stdout);
    assert_eq!(std::fs::read_dir(&odd).expect("there").count(), 0);
}

/// Starts a text whose parts wait for a file, and returns it once its workers run.
fn waiting(place: &Place) -> std::process::Child {
    let script = "#!/bin/sh\ntouch begun.$$\nwhile [ ! -e go ]; do sleep 0.02; done\nexec cat\n";
    std::fs::write(place.path().join("slow"), script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("slow"), mode).expect("may be executed");
    let args = [
        "run",
        "--on",
        "local:2",
        "--part-size",
        "40000",
        "--stateless",
        "slow",
        "--",
        "cat log | slow | wc -c",
    ];
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = place.command(PELTON, &args, "C");
    let child = command.env("PATH", path).stdout(Stdio::piped()).spawn().expect("pelton starts");
    wait_until("two workers run", || begun(place) >= 2);
    child
}

/// Lets the parts of a text that waits go on, and asserts that it prints what bash prints.
fn assert_finishes(place: &Place, child: std::process::Child) {
    std::fs::write(place.path().join("go"), "").expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, place.bash("wc -c < log", "C").stdout);
    assert_eq!(place.left_behind(), Vec::<String>::new());
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs");
    assert!(sent.success(), "{signal} to {pid}");
}

fn begun(place: &Place) -> usize {
    stages(place).len()
}

/// Returns the processes of the stage on the parts.
fn stages(place: &Place) -> Vec<u32> {
    let names = std::fs::read_dir(place.path()).expect("a directory").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.strip_prefix("begun.")?.parse().ok()).collect()
}

/// Returns the workers of a driver.
fn workers(driver: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{driver}/task/{driver}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn a_reader_that_leaves_ends_it_as_it_ends_the_shell() {
    let place = Place::new();
    for text in ["cut -c1-9 log", "grep -v nothing log", "cat log | sort | uniq -c", "sort log | cat -A"] {
        let run = format!(
            "{PELTON} run --on local:2 --part-size 20000 -- \"{text}\" | true; echo ${{PIPESTATUS[0]}}"
        );
        // Enough that a pipe does not take it.
        let many =
            format!("for i in 1 2 3; do cat log; done > l; for i in 1 2 3; do cat l; done > log; {run}");
        let got = place.command("bash", &["-c", &many], "C").output().expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&got.stdout), "141\n", "{text}");
        assert_eq!(String::from_utf8_lossy(&got.stderr), "", "{text}");
        assert_eq!(place.left_behind(), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_worker_that_is_killed_is_replaced() {
    let place = Place::new();
    let child = waiting(&place);
    let victim = workers(child.id())[0];
    send("-KILL", victim);
    wait_until("another worker runs", || begun(&place) >= 3);
    // The stages of the killed one are gone.
    wait_until("two workers' stages run", || {
        stages(&place).iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count() == 2
    });
    assert_finishes(&place, child);
}

/// The stages behind it would print what they have, with success.
#[test]
fn a_part_is_done_again_if_one_of_its_stages_is_ended_from_outside() {
    for signal in ["-TERM", "-KILL"] {
        let place = Place::new();
        let child = waiting(&place);
        let victim = stages(&place)[0];
        send(signal, victim);
        wait_until("another worker runs", || begun(&place) >= 3);
        assert_finishes(&place, child);
    }
}

#[test]
fn frozen_workers_end_with_a_driver_that_is_killed() {
    let place = Place::new();
    let mut child = waiting(&place);
    let started = workers(child.id());
    let leaders = started.iter().flat_map(|worker| workers(*worker)).collect::<Vec<_>>();
    let all = [started, leaders, stages(&place)].concat();
    assert!(all.len() >= 6, "{all:?}");
    all.iter().for_each(|pid| send("-STOP", *pid));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    wait_until("no process is left", || all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
}

#[test]
fn an_interrupt_ends_all_workers_and_leaves_nothing() {
    let place = Place::new();
    let mut child = waiting(&place);
    let started = workers(child.id());
    send("-TERM", child.id());
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(15), "{status}");
    wait_until("no worker runs", || started.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    assert_eq!(place.left_behind(), Vec::<String>::new());
}
