//! A program and its children under `pelton time`: the channels between them, by any descriptor, and the waits on them.
//!
//! Of each language there is a slow reader, a slow child, a deadlock, and a healthy look-alike.

use pelton_testkit::skips::has_program;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs `words` in a new directory with these files; returns the record.
fn time_with(files: &[(&str, &str)], words: &[&str]) -> Value {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    time_in(dir.path(), words)
}

fn time_in(dir: &Path, words: &[&str]) -> Value {
    let record = dir.join("record.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(["time", "--json", "-o", record.to_str().unwrap()]).args(words);
    command
        .env("LC_ALL", "C")
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap();
    serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap()
}

fn tree(record: &Value) -> &Value {
    &record["pipelines"][0]["stages"][0]["tree"]
}

fn findings(record: &Value) -> Vec<(&str, &str)> {
    let all = tree(record)["findings"].as_array();
    all.into_iter()
        .flatten()
        .map(|one| (one["kind"].as_str().unwrap(), one["headline"].as_str().unwrap()))
        .collect()
}

/// Asserts that a finding of this kind has these words, and that the verdict says it first.
#[track_caller]
fn finds(record: &Value, kind: &str, words: &[&str]) {
    let found = findings(record);
    let fits = |said: &str| words.iter().all(|word| said.contains(word));
    let one = found.iter().find(|(is, said)| *is == kind && fits(said));
    let Some((_, said)) = one else { panic!("no {kind} with {words:?} in {found:#?}\n{:#}", tree(record)) };
    let verdict = &record["verdict"];
    let neighbours = verdict["neighbours"].as_array().unwrap();
    assert!(
        verdict["headline"] == *said || neighbours.iter().any(|text| text.as_str().unwrap().ends_with(said)),
        "{verdict:#}"
    );
}

/// Asserts that nobody is accused: that one who computes sets the pace is no accusation.
#[track_caller]
fn accuses_nobody(record: &Value) {
    let mut found = findings(record);
    found.retain(|(_, said)| !said.contains(" sets the pace: it computed"));
    assert!(found.is_empty(), "{found:#?}\n{:#}", tree(record));
}

/// The interpreter itself: a shim of pyenv starts processes of its own.
fn python() -> String {
    let out = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn time_python(text: &str) -> Value {
    time_with(&[("prog.py", text)], &[&python(), "prog.py"])
}

/// Ends a program that would never end by itself.
fn time_for_a_while(files: &[(&str, &str)], words: &[&str]) -> Value {
    time_with(files, &[&["timeout", "3"], words].concat())
}

#[test]
fn python_that_reads_late() {
    if !has_program("python3") {
        return;
    }
    let record = time_python(
        "import time\nfrom subprocess import Popen, PIPE\np = Popen(['seq', '300000'], stdout=PIPE)\n\
         time.sleep(1.5)\np.stdout.read()\np.wait()\n",
    );
    finds(&record, "not_read", &["seq was blocked on write for ", "slept and did not read descriptor "]);
    assert!(record["verdict"]["advice"].as_str().unwrap().contains("pelton buffer"), "{record:#}");
    let tree = tree(&record);
    let channel = &tree["channels"][0];
    assert_eq!(tree["nodes"][channel["writers"][0]["node"].as_u64().unwrap() as usize]["name"], "seq");
    assert_eq!((&channel["readers"][0]["node"], &channel["writers"][0]["fd"]), (&0.into(), &1.into()));
    assert!(channel["fill"]["full_share"].as_f64() > Some(0.5), "{channel:#}");
    assert!(channel["reader_meanwhile"]["asleep_ns"].as_u64() > Some(500_000_000), "{channel:#}");
}

#[test]
fn python_that_computes_before_it_reads() {
    if !has_program("python3") {
        return;
    }
    let record = time_python(
        "import time\nfrom subprocess import Popen, PIPE\np = Popen(['seq', '300000'], stdout=PIPE)\n\
         while time.process_time() < 1.5: pass\np.stdout.read()\np.wait()\n",
    );
    finds(&record, "not_read", &["seq was blocked on write for ", "computed and did not read descriptor "]);
}

#[test]
fn python_with_a_slow_child() {
    if !has_program("python3") {
        return;
    }
    let record = time_python(
        "from subprocess import Popen, PIPE\nPopen(['sh', '-c', 'sleep 1.5; echo 1'], stdout=PIPE).stdout.read()\n",
    );
    finds(&record, "slow_writer", &["was blocked on read from descriptor ", "slept"]);
}

#[test]
fn python_that_waits_without_reading() {
    if !has_program("python3") {
        return;
    }
    let text = "from subprocess import Popen, PIPE\nPopen(['seq', '300000'], stdout=PIPE).wait()\n";
    let record = time_for_a_while(&[("prog.py", text)], &[&python(), "prog.py"]);
    finds(&record, "deadlock", &["deadlock for ", "is blocked on write to a pipe that ", "does not read"]);
    assert_eq!(tree(&record)["deadlock"]["finding"]["kind"], "waits_without_reading");
}

#[test]
fn python_that_writes_while_its_child_does() {
    if !has_program("python3") {
        return;
    }
    let text = "from subprocess import Popen, PIPE\np = Popen(['cat'], stdin=PIPE, stdout=PIPE)\n\
                p.stdin.write(b'x' * 1000000)\n";
    let record = time_for_a_while(&[("prog.py", text)], &[&python(), "prog.py"]);
    finds(&record, "deadlock", &["blocked on write to each other's channels"]);
}

#[test]
fn python_that_talks_with_its_child() {
    if !has_program("python3") {
        return;
    }
    // Both work on each message for as long as the other does.
    let child = "import sys, time\nfor line in sys.stdin:\n    time.sleep(0.01)\n    print(line, end='', flush=True)\n";
    let text = "import sys, time\nfrom subprocess import Popen, PIPE\n\
                p = Popen([sys.executable, 'child.py'], stdin=PIPE, stdout=PIPE)\n\
                for i in range(150):\n    p.stdin.write(b'x\\n')\n    p.stdin.flush()\n    p.stdout.readline()\n    time.sleep(0.01)\n\
                p.stdin.close()\np.wait()\n";
    let record = time_with(&[("prog.py", text), ("child.py", child)], &[&python(), "prog.py"]);
    accuses_nobody(&record);
    let kinds = tree(&record)["channels"].as_array().unwrap();
    assert_eq!(kinds.len(), 2, "one each way: {kinds:#?}");
    // And one that reads at once what its child writes.
    accuses_nobody(&time_python(
        "from subprocess import Popen, PIPE\np = Popen(['seq', '3000000'], stdout=PIPE)\nwhile p.stdout.read(65536): pass\np.wait()\n",
    ));
}

#[test]
fn short_children_are_summed_by_command() {
    let record =
        time_with(&[], &["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do x=$(/bin/echo $i); done; sleep 0.2"]);
    let nodes = tree(&record)["nodes"].as_array().unwrap();
    let all: Vec<(&str, u64)> =
        nodes.iter().map(|node| (node["name"].as_str().unwrap(), node["times"].as_u64().unwrap())).collect();
    assert!(all.iter().any(|(name, times)| *name == "echo" && *times == 8), "{all:?}");
    assert!(nodes.iter().all(|node| node["cpu_ns"].is_u64()), "{nodes:#?}");
}

#[test]
fn a_stage_of_a_pipeline_has_its_tree() {
    if !has_program("python3") {
        return;
    }
    let text = "import sys, time\nfrom subprocess import Popen, PIPE\np = Popen(['seq', '300000'], stdout=PIPE)\n\
                time.sleep(1.2)\nsys.stdout.buffer.write(p.stdout.read())\n";
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("prog.py"), text).unwrap();
    let pipeline = format!("{} prog.py | wc -l", python());
    let record = time_in(dir.path(), &[&pipeline]);
    finds(&record, "not_read", &[]);
}

/// A language: how to run a case of it, and how its processes may be named.
struct Language {
    folder: &'static str,
    extension: &'static str,
    program: &'static str,
}

const LANGUAGES: [Language; 6] = [
    Language { folder: "multiprocessing", extension: "py", program: "python3" },
    Language { folder: "asyncio", extension: "py", program: "python3" },
    Language { folder: "perl", extension: "pl", program: "perl" },
    Language { folder: "sh", extension: "sh", program: "sh" },
    Language { folder: "ruby", extension: "rb", program: "ruby" },
    Language { folder: "node", extension: "js", program: "node" },
];

/// Runs a case; one that never ends is ended after a while.
fn case(language: &Language, name: &str) -> Value {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/children").join(language.folder);
    let source = source.join(name).with_extension(language.extension);
    let program = if language.program == "python3" { python() } else { language.program.to_owned() };
    let words = [program.as_str(), source.to_str().unwrap()];
    if name == "deadlock" { time_for_a_while(&[], &words) } else { time_with(&[], &words) }
}

#[test]
fn slow_readers_in_every_language() {
    for language in LANGUAGES.iter().filter(|language| has_program(language.program)) {
        let record = case(language, "slow_reader");
        let did = if language.folder == "sh" { "waited for a child to end" } else { "slept" };
        finds(&record, "not_read", &["was blocked on write for ", did, " and did not read descriptor "]);
    }
}

#[test]
fn slow_children_in_every_language() {
    for language in LANGUAGES.iter().filter(|language| has_program(language.program)) {
        let record = case(language, "slow_child");
        finds(&record, "slow_writer", &["was blocked on read from descriptor ", "slept"]);
    }
}

#[test]
fn deadlocks_in_every_language() {
    for language in LANGUAGES.iter().filter(|language| has_program(language.program)) {
        let record = case(language, "deadlock");
        match language.folder {
            // A signal or an event could still wake these: that nobody reads is certain.
            "asyncio" | "sh" => {
                finds(&record, "not_read", &["waited for a child to end and did not read descriptor "]);
            }
            _ => finds(&record, "deadlock", &["deadlock for ", "which is blocked on write"]),
        }
    }
}

#[test]
fn healthy_programs_in_every_language() {
    for language in LANGUAGES.iter().filter(|language| has_program(language.program)) {
        accuses_nobody(&case(language, "healthy"));
    }
}

#[test]
fn java_and_its_child() {
    if !has_program("javac") || !has_program("java") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/children/java/Children.java");
    let built = Command::new("javac").args(["-d", "."]).arg(source).current_dir(dir.path()).status();
    assert!(built.unwrap().success());
    let record = time_in(dir.path(), &["java", "Children", "slow_reader"]);
    // Other threads of the machine wait for time and for children too.
    finds(&record, "not_read", &["seq was blocked on write for ", "java ", "did not read descriptor "]);
    let record = time_in(dir.path(), &["java", "Children", "slow_child"]);
    finds(&record, "slow_writer", &["java was blocked on read from descriptor ", "slept"]);
    let record = time_in(dir.path(), &["timeout", "5", "java", "Children", "deadlock"]);
    finds(&record, "not_read", &["java waited for a child to end and did not read descriptor "]);
    accuses_nobody(&time_in(dir.path(), &["java", "Children", "healthy"]));
}

#[test]
fn go_and_its_child() {
    if !has_program("go") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let timed = |name: &str, prefix: &[&str]| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/children/go/{name}.go"));
        let program = dir.path().join("prog");
        let built = Command::new("go")
            .args(["build", "-o"])
            .args([&program, &source])
            .env("GOCACHE", dir.path().join("cache"))
            .status();
        assert!(built.unwrap().success());
        time_in(dir.path(), &[prefix, &[program.to_str().unwrap()]].concat())
    };
    let record = timed("slow_reader", &[]);
    finds(&record, "not_read", &["seq was blocked on write for ", "prog slept and did not read descriptor "]);
    finds(&timed("slow_child", &[]), "slow_writer", &["prog was blocked on read from descriptor ", "slept"]);
    let record = timed("deadlock", &["timeout", "3"]);
    finds(&record, "not_read", &["prog waited for a child to end and did not read descriptor "]);
    accuses_nobody(&timed("healthy", &[]));
}

#[test]
fn make_and_its_pool_of_tokens() {
    if !has_program("make") {
        return;
    }
    let record = time_with(
        &[
            ("Makefile", "all: a b c d\na b c d:\n\t+@$(MAKE) -f sub.mk one two\n"),
            ("sub.mk", "one two:\n\t@sleep 0.3\n"),
        ],
        &["make", "-j2"],
    );
    accuses_nobody(&record);
}

#[test]
fn watch_shows_the_channels_of_a_running_program() {
    if !has_program("python3") {
        return;
    }
    let text = "import time\nfrom subprocess import Popen, PIPE\np = Popen(['seq', '300000'], stdout=PIPE)\n\
                time.sleep(600)\n";
    let mut program = Command::new(python());
    program.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = program.spawn().unwrap();
    let pid = program.id().to_string();
    let shown = (0..20).any(|_| {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_pelton"));
        watch.args(["watch", "--json", "--for", "1.5", "--interval", "0.7", &pid]).stdin(Stdio::null());
        let out = String::from_utf8(watch.output().unwrap().stdout).unwrap();
        out.lines().any(|line| {
            let now: Value = serde_json::from_str(line).unwrap();
            let said = now["pipelines"][0]["verdict"]["headline"].as_str().unwrap_or_default();
            said.starts_with("seq was blocked on write for ") && said.contains("did not read descriptor ")
        })
    });
    // Its child ends of a closed pipe.
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(shown, "never told");
}
