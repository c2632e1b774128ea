//! `pelton verify`: programs whose behaviour was changed are caught, and what is equal is served.
//!
//! A changed program is a script that calls the real tool with one difference, and calls itself an unknown version.

use pelton_testkit::skips::skip;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with changed tools, a file `a`, and a cache of its own.
struct Machine {
    folder: TempDir,
}

impl Machine {
    /// Each tool by its name and its script, which runs after the question for the version was answered.
    fn new(tools: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "x y\n").unwrap();
        for (name, body) in tools {
            let path = folder.path().join(name);
            let version = format!("{name} (GNU coreutils) 9.99");
            let text = format!(
                "#!/bin/sh\nPATH=/usr/bin:/bin\n[ \"$1\" = --version ] && echo '{version}' && exit\n{body}\n"
            );
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Machine { folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn pelton(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_pelton"))
            .args(args)
            .env("PATH", format!("{}:/usr/bin:/bin", self.folder.path().display()))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .env("LC_ALL", "C")
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    /// Verifies tools, and returns the status and the results by tool. A busy machine gets more time than these seconds.
    fn verify(&self, seconds: u64, tools: &[&str]) -> (Option<i32>, Vec<Value>) {
        const MOST_SECONDS: u64 = 100;
        let time = seconds.to_string();
        let args = [&["verify", "--json", "--seed", "7", "--seconds", &time], tools].concat();
        let out = self.pelton(&args);
        let told: Value = serde_json::from_slice(&out.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out.stderr)));
        let found = told["tools"].as_array().unwrap().clone();
        let too_seldom = |tool: &Value| {
            tool["result"].as_str().is_some_and(|result| result.contains("compared too seldom"))
        };
        if seconds < MOST_SECONDS && found.iter().any(too_seldom) {
            return self.verify(seconds * 2, tools);
        }
        (out.status.code(), found)
    }

    /// Returns why the first stage is left to a process; empty if it runs natively.
    fn declined(&self, text: &str) -> String {
        let out = self.pelton(&["explain", "--json", text]);
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        let first = &told["pipelines"][0]["plan"]["segments"][0];
        if first["native"] == true { String::new() } else { first["reason"].as_str().unwrap().to_owned() }
    }
}

const FOUND: &str = "as `pelton verify` found";

fn is_tested() -> bool {
    let version = Command::new("/usr/bin/cut").arg("--version").output().unwrap();
    let tested = version.stdout.starts_with(b"cut (GNU coreutils) 9.1\n");
    if !tested {
        skip("coreutils 9.1");
    }
    tested
}

/// Ten changes, each with a call that shows it and, if only some calls do, one that does not.
const CHANGES: [(&str, &str, &str, Option<&str>); 10] = [
    // The order.
    ("sort", "exec sort -f \"$@\"", "sort a", None),
    // The delimiter.
    (
        "cut",
        "for a; do case $a in -f*) f=1;; -d*|--d*) d=1;; esac; done
         [ \"$f$d\" = 1 ] && exec cut -d ' ' \"$@\"; exec cut \"$@\"",
        "cut -f1 a",
        Some("cut -c1 a"),
    ),
    // A message.
    ("comm", "comm \"$@\" 2>.err; s=$?; sed 's/sorted order/order/' .err >&2; exit $s", "comm a a", None),
    // Fields are ignored.
    ("uniq", "case $1 in -f*) exec uniq;; esac; exec uniq \"$@\"", "uniq -f1 a", Some("uniq -c a")),
    // The default number.
    ("head", "[ $# = 0 ] && exec head -n 9; exec head \"$@\"", "head < a", None),
    // Widths of numbers.
    ("wc", "wc \"$@\" | sed 's/^/ /'", "wc -l a", None),
    // The characters that repeat.
    ("tr", "case $1 in -s*) exec tr \"$@\" b b;; esac; exec tr \"$@\"", "tr -s a < a", None),
    // An exit status.
    ("paste", "paste \"$@\"; s=$?; [ $s = 0 ] && exit 3; exit $s", "paste a a", None),
    // The width of line numbers.
    ("nl", "exec nl -w 5 \"$@\"", "nl a", None),
    // Tab stops.
    ("expand", "[ $# = 0 ] && exec expand -t 7; exec expand \"$@\"", "expand < a", None),
];

#[test]
fn changed_programs_are_caught_and_only_equal_calls_are_served() {
    if !is_tested() {
        return;
    }
    let scripts: Vec<(&str, &str)> = CHANGES.iter().map(|(name, script, ..)| (*name, *script)).collect();
    let machine = Machine::new(&scripts);
    let names: Vec<&str> = CHANGES.iter().map(|(name, ..)| *name).collect();
    let (status, found) = machine.verify(40, &names);
    assert_eq!(status, Some(1));
    for ((name, _, differs, equal), told) in CHANGES.iter().zip(&found) {
        assert_eq!(told["tool"], *name);
        assert_ne!(told["differences"], Value::Array(Vec::new()), "{name} was not caught: {told:#}");
        let reason = machine.declined(differs);
        assert!(reason.contains(FOUND), "{differs}: '{reason}': {told:#}");
        if let Some(equal) = equal {
            assert_eq!(machine.declined(equal), "", "{equal} is not served: {told:#}");
        }
    }
}

#[test]
fn a_program_that_agrees_is_served_until_its_file_changes() {
    if !is_tested() {
        return;
    }
    let machine = Machine::new(&[("cut", "exec cut \"$@\"")]);
    assert!(machine.declined("cut -c1 a").contains("`pelton verify cut` compares it"));
    let (status, found) = machine.verify(6, &["cut"]);
    assert_eq!((status, &found[0]["served"]), (Some(0), &Value::Bool(true)), "{found:#?}");
    assert_eq!(machine.declined("cut -c1 a"), "");
    let explained = String::from_utf8(machine.pelton(&["explain", "cut -c1 a"]).stdout).unwrap();
    let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("GNU coreutils 9.99, said by a script"), "{explained}");
    assert!(words.contains("verified here on 20"), "{explained}");
    let listed = String::from_utf8(machine.pelton(&["verify", "--list"]).stdout).unwrap();
    assert!(listed.contains("GNU coreutils 9.99"), "{listed}");

    // The same length and time, but not the same program.
    let path = machine.path("cut");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let text = fs::read_to_string(&path).unwrap().replace("exec cut", "exec cat");
    fs::write(&path, text).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_ne!(machine.declined("cut -c1 a"), "");
}

/// What differs in few calls may be found by one comparison and not by the next.
#[test]
fn what_was_found_once_is_not_forgotten() {
    if !is_tested() {
        return;
    }
    let rare = "for a; do case $a in -n299*) exit 9;; esac; done; exec head \"$@\"";
    let machine = Machine::new(&[("head", rare)]);
    let verify = |seed: &str| {
        machine.pelton(&["verify", "--seed", seed, "--seconds", "6", "head"]);
        machine.declined("head -n2999 a | sort")
    };
    // As a certificate would be after a comparison that found it. The first seed finds it soon, as long as no grammar changes.
    let mut first = String::new();
    for seed in ["126", "2", "12", "22", "32", "42", "52", "62"] {
        first = verify(seed);
        if first.contains(FOUND) {
            break;
        }
    }
    assert!(first.contains(FOUND), "never found: {first}");
    assert!(verify("3").contains(FOUND), "found, and forgotten");
}

#[test]
fn calls_that_time_out_or_end_as_if_they_had_are_not_served() {
    if !is_tested() {
        return;
    }
    let machine = Machine::new(&[
        ("uniq", "for a; do [ \"$a\" = -c ] && { uniq \"$@\"; exit 124; }; done; exec uniq \"$@\""),
        ("tac", "case $1 in -b*) sleep 77 & exec tac \"$@\";; esac; exec tac \"$@\""),
    ]);
    let (status, found) = machine.verify(20, &["uniq", "tac"]);
    assert_eq!(status, Some(1), "{found:#?}");
    for text in ["uniq -c a", "tac -b a"] {
        let reason = machine.declined(text);
        assert!(reason.contains(FOUND), "{text}: '{reason}': {found:#?}");
    }
    assert_eq!(machine.declined("uniq -d a"), "");
}

#[test]
fn a_difference_holds_for_the_file_by_any_path_and_for_programs_that_start_it() {
    if !is_tested() {
        return;
    }
    let script = "for a; do case $a in -f*|--f*) exec cut -d ' ' \"$@\";; esac; done; exec cut \"$@\"";
    let machine = Machine::new(&[("cut", script)]);
    machine.verify(6, &["cut"]);
    std::os::unix::fs::symlink(machine.folder.path(), machine.path("other")).unwrap();
    assert!(machine.declined("other/cut -f1 a").contains(FOUND));
    for text in ["echo a | xargs cut -f1", "find . -name a -exec cut -f1 {} +", "cut -f1 a | cat"] {
        let shell = Command::new("bash")
            .args(["-c", text])
            .current_dir(machine.folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", machine.folder.path().display()))
            .output()
            .unwrap();
        assert_eq!(machine.pelton(&["run", text]).stdout, shell.stdout, "{text}");
    }
}

#[test]
fn certificates_are_removed_and_never_taken_from_others() {
    if !is_tested() {
        return;
    }
    let machine = Machine::new(&[("cut", "exec cut \"$@\"")]);
    machine.verify(6, &["cut"]);
    assert_eq!(machine.declined("cut -c1 a"), "");
    let cache = machine.path("cache/pelton");
    let set = |mode: u32| fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    assert_ne!(machine.declined("cut -c1 a"), "", "others may write the folder");
    for action in ["--list", "--forget"] {
        set(0o777);
        let out = machine.pelton(&["verify", action]);
        assert_eq!(out.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&out.stderr).contains("chmod go-w"));
    }
    set(0o700);
    assert_eq!(machine.declined("cut -c1 a"), "");
    let out = machine.pelton(&["verify", "--forget", "cut"]);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "removed 1 certificate\n");
    assert_ne!(machine.declined("cut -c1 a"), "");
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let machine = Machine::new(&[]);
    for (args, message) in [
        (&["verify", "xyz"][..], "pelton knows no tool called `xyz`"),
        (&["verify", "find"], "`find` cannot be compared"),
        (&["verify", "--locale", "xx_YY.UTF-8", "cat"], "the locale `xx_YY.UTF-8` is not installed"),
        (&["verify", "--seconds", "0"], "0 is not in 1..=86400"),
    ] {
        let out = machine.pelton(args);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
        assert!(out.stdout.is_empty());
    }
    assert!(!Path::new(&machine.path("cache/pelton/verified")).exists());
}

/// A process that ends with its test, however that ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Its workers end, and their folders go.
#[test]
fn an_interrupted_comparison_leaves_nothing() {
    let machine = Machine::new(&[]);
    let mut child = Ended(
        Command::new(env!("CARGO_BIN_EXE_pelton"))
            .args(["verify", "--seconds", "60", "cat", "tr"])
            .env("XDG_CACHE_HOME", machine.path("cache"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let pid = child.0.id();
    let workers = || -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children =
            threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
        children
            .flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect()
    };
    let folders_of = |pid: u32| {
        let prefix = format!("pelton-verify-{pid}-");
        let all = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count()
    };
    pelton_testkit::wait_until("a worker has a folder", || {
        workers().iter().any(|worker| folders_of(*worker) > 0)
    });
    let started = workers();
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.0.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    assert_eq!(started.iter().map(|worker| folders_of(*worker)).sum::<usize>(), 0);
}
