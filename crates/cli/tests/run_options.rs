//! `pelton run --stats`, `--strict` and `--check`: their output, their refusals, and that they change
//! nothing.

use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn pelton(dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command
        .arg("run")
        .args(args)
        .current_dir(dir)
        .env("LC_ALL", "C.UTF-8")
        .env("XDG_CACHE_HOME", dir.join(".cache"));
    command.env("TMPDIR", dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("pelton starts");
    // Fails if pelton does not read it all.
    let _ = child.stdin.take().expect("piped").write_all(input);
    child.wait_with_output().expect("pelton ends")
}

/// Returns standard output, standard error and status. Only the cache may be left behind.
fn run(args: &[&str], input: &[u8]) -> (String, String, i32) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = pelton(dir.path(), args, input);
    let left: Vec<_> =
        std::fs::read_dir(dir.path()).expect("readable").flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| name == ".cache"), "{args:?} left {left:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Returns the record of a native run.
fn record(text: &str) -> (String, Value, i32) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let args = ["--stats", "--format", "json", "-o", "report.json", text];
    let output = pelton(dir.path(), &args, b"");
    let record = std::fs::read_to_string(dir.path().join("report.json")).expect("written");
    let record = serde_json::from_str(&record).expect("JSON");
    (String::from_utf8_lossy(&output.stdout).into_owned(), record, output.status.code().unwrap_or(-1))
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().expect("rows").iter().filter_map(|row| row["cost"][field].as_u64()).sum()
}

#[test]
fn rows_of_a_native_pass_add_up_to_it() {
    let (printed, record, status) = record("seq 200000 | tr 0-9 a-j | sort | uniq -c | tail -n 1");
    assert_eq!((printed.as_str(), status), ("      1 jjjjj\n", 0));
    let pipeline = &record["pipelines"][0];
    let (rows, passes) = (&pipeline["stages"], &pipeline["passes"]);
    assert_eq!(passes.as_array().map(Vec::len), Some(1), "{pipeline}");
    for field in ["user_ns", "sys_ns"] {
        assert_eq!(sum(rows, field), sum(passes, field));
        assert_eq!(record["total"][field], passes[0]["cost"][field]);
    }
    // What the worker reported to its parent is not counted as output.
    for whole in [&passes[0]["cost"], &record["total"]] {
        assert_eq!(whole["written_bytes"].as_u64(), Some(printed.len() as u64), "{whole}");
    }
    let stands_for: u64 =
        rows.as_array().expect("rows").iter().filter_map(|row| row["stands_for"].as_u64()).sum();
    assert_eq!(stands_for, 5);
    for (row, next) in
        rows.as_array().expect("rows").iter().zip(rows.as_array().expect("rows").iter().skip(1))
    {
        assert_eq!(row["cost"]["written_bytes"], next["cost"]["read_bytes"], "{row}\n{next}");
        assert_eq!(row["how"]["by"], "native");
    }
}

#[test]
fn the_table_says_what_ran_as_one_and_what_that_saved() {
    let (printed, table, status) =
        run(&["--stats", "seq 30 | tr 0-9 a-j | sort | uniq -c | tr a-j A-J"], b"");
    assert_eq!((printed.lines().count(), status), (30, 0));
    says(
        &table,
        &[
            "1–5  one native pass",
            "1  ├ seq 30",
            "3–4  ├ sort | uniq -c",
            "5  └ tr a-j A-J",
            "the shell would run 5 processes, one for each stage; pelton ran 1",
            "stages 3 to 4 ran as one: sort the distinct lines, by sort-uniq",
        ],
    );
}

#[test]
fn real_commands_stand_beside_native_ones() {
    let (printed, table, status) = run(&["--stats", "seq 30 | env cat | tac | (cat; exit 3)"], b"");
    assert!(printed.starts_with("30\n29\n") && status == 3, "{status}: {printed}");
    says(&table, &["seq 30", "native", "process", "shell", "(cat; exit 3)", "pelton ran 4"]);
}

#[test]
fn what_a_worker_counted_outlives_its_death_by_a_broken_pipe() {
    let (_, record, _) = record("seq 2000000 | tr 0-9 a-j | env head -c 10");
    let rows = &record["pipelines"][0]["stages"];
    assert_eq!(rows[1]["end"]["killed"]["name"], "SIGPIPE", "{rows}");
    assert!(rows[1]["cost"]["written_bytes"].as_u64() > Some(10), "{rows}");
}

#[test]
fn little_memory_stores_lines_and_leaves_nothing() {
    let lines: Vec<String> = (0..5000).map(|n| format!("{:07}\n", n * 7919 % 100_003)).collect();
    let mut sorted = lines.clone();
    sorted.sort();
    for jobs in ["1", "2"] {
        let (printed, words, status) =
            run(&["--memory", "4K", "--jobs", jobs, "sort"], lines.concat().as_bytes());
        assert!(printed == sorted.concat() && words.is_empty() && status == 0, "{jobs} {status}: {words}");
    }
    let (printed, _, status) = run(&["--memory", "4K", "sort | head -n 3"], lines.concat().as_bytes());
    assert_eq!((printed, status), (sorted[..3].concat(), 0));
    let (_, words, status) = run(&["--memory", "much", "sort"], b"");
    assert_eq!(status, 2);
    says(&words, &["a size is wanted, as 64K, 500M or 2G"]);
}

/// Runs `text` in `dir` with these options, asserts bash's output, and returns the peak memory in bytes. Linux counts the
/// memory of who starts a program as the program's (`exec` keeps the peak of what it replaces): a small process starts it, and
/// not this one, which holds what all tests hold.
fn peak_of(dir: &Path, options: &[&str], text: &str) -> u64 {
    let starter = "import resource, subprocess, sys\n\
        subprocess.call(sys.argv[1:])\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)";

    let bash = Command::new("bash").args(["-c", text]).current_dir(dir).env("LC_ALL", "C").output();
    let mut command = Command::new("python3");
    command.args(["-c", starter, env!("CARGO_BIN_EXE_pelton"), "run"]).args(options).arg(text);
    command.current_dir(dir).env("LC_ALL", "C").env("TMPDIR", dir);
    let printed = dir.join("printed");
    command.stdout(std::fs::File::create(&printed).expect("a file"));
    let said = command.output().expect("python3 starts").stderr;
    assert!(std::fs::read(&printed).ok() == bash.ok().map(|bash| bash.stdout), "{text}");
    let kilobytes: u64 = String::from_utf8_lossy(&said).trim().parse().expect("a number");
    kilobytes << 10
}

/// The first sort holds its lines until it has printed the last, when the second one holds all of them too.
#[test]
fn sorts_behind_one_another_share_the_memory() {
    const LINES: usize = 240_000;
    const LINE_BYTES: usize = 250;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lines = (0..LINES).map(|n| format!("{:07}{}\n", n * 7919 % 100_003, "x".repeat(LINE_BYTES - 8)));
    std::fs::write(dir.path().join("f"), lines.collect::<String>()).expect("a file");
    let text = "sort -s -k1.3,1.4 f | cat -n | sort -k2 | md5sum";
    for jobs in ["1", "2"] {
        let options = ["--without", "last-sort", "--memory", "88M", "--jobs", jobs];
        let peak = peak_of(dir.path(), &options, text);
        // Both would take 140 MB. What exceeds the 88 is the program itself, and blocks under way.
        assert!(peak < 125 << 20, "{jobs}: {} MB", peak >> 20);
    }
}

/// Cutting stored runs looks at the line in many places, and must not copy it for each.
#[test]
fn a_line_longer_than_all_memory_is_not_held_many_times() {
    const LONG_BYTES: usize = 12 << 20;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lines: String = (0..100_000).map(|n| format!("{:07}\n", n * 7919 % 100_003)).collect();
    let text = [lines.as_str(), &"x".repeat(LONG_BYTES), "\n", &lines].concat();
    std::fs::write(dir.path().join("f"), text).expect("a file");
    let peak = peak_of(dir.path(), &["--memory", "1M"], "sort f");
    assert!(peak < 16 * LONG_BYTES as u64, "{} MB", peak >> 20);
}

#[test]
fn merging_with_little_memory_is_merging() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, step, end) in [("a", 3, "\n"), ("b", 7, "\nzz"), ("c", 2, "\n")] {
        let lines: Vec<String> = (0..4000).map(|n| format!("{:07}", n * step)).collect();
        std::fs::write(dir.path().join(name), lines.join("\n") + end).expect("a file");
    }
    std::fs::write(dir.path().join("empty"), "").expect("a file");
    for options in ["", " -u", " -s -k1,1"] {
        let text = format!("LC_ALL=C sort -m{options} a b empty c");
        let expected =
            Command::new("sh").args(["-c", &text]).current_dir(dir.path()).output().expect("sort runs");
        for memory in ["1", "4K", "40K", "1G"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
            command.args(["run", "--strict", "--memory", memory, &text]).current_dir(dir.path());
            let output = command.stdin(Stdio::null()).output().expect("pelton ends");
            assert!(output == expected, "{memory}{options}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn where_nothing_can_be_stored_the_real_sort_decides() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("f"), "some line\n".repeat(10) + "another\n").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(["run", "--memory", "10", "sort f"]).current_dir(dir.path()).env("LC_ALL", "C.UTF-8");
    let output = command.env("TMPDIR", "/nowhere").stdin(Stdio::null()).output().expect("pelton ends");
    let words = String::from_utf8_lossy(&output.stderr);
    // sort has enough memory.
    assert_eq!((words.as_ref(), output.status.code()), ("", Some(0)));
    assert!(output.stdout.starts_with(b"another\nsome line\n"));
}

#[test]
fn options_about_figures_want_figures() {
    let (_, words, status) = run(&["--format", "json", "seq 3"], b"");
    assert_eq!(status, 2);
    says(&words, &["`--format` says how figures are shown", "try: pelton run --stats --format"]);
}

#[test]
fn strict_underlines_what_would_stay_and_runs_nothing() {
    let (printed, words, status) = run(&["--strict", "touch x | sort | env cat | wc -l"], b"");
    assert_eq!((printed.as_str(), status), ("", 2));
    says(
        &words,
        &[
            "2 of 4 stages would not run natively; --strict runs nothing then",
            "pelton has no native touch",
            "━",
            "pelton has no native env",
            "pelton explain",
        ],
    );
    let (_, words, status) = run(&["--strict", "touch x & wait"], b"");
    assert_eq!(status, 2);
    says(&words, &["the shell would run all of it, because of a background command", "touch x & wait"]);
    let (_, words, status) = run(&["--strict", "sort", "-u", "x"], b"");
    assert_eq!(status, 2);
    says(&words, &["a command given as words runs as it is", "in one word"]);
    let (_, words, status) = run(&["--strict", "sort nofile | wc -l"], b"");
    assert_eq!(status, 2);
    says(&words, &["nofile cannot be read"]);
}

#[test]
fn strict_runs_what_is_all_native() {
    assert_eq!(run(&["--strict", "seq 3 | tac && true"], b""), ("3\n2\n1\n".into(), String::new(), 0));
}

#[test]
fn a_check_that_holds_says_so() {
    let (printed, words, status) = run(&["--check", "seq 3 | tac"], b"");
    assert_eq!((printed.as_str(), status), ("3\n2\n1\n", 0));
    assert_eq!(words, "pelton: checked: bash prints the same 6 bytes and ends with the same status 0\n");
    let (_, words, status) = run(&["--check", "sort nofile nofile2"], b"");
    assert_eq!(status, 2);
    says(
        &words,
        &["sort: cannot read: nofile", "prints nothing, says the same on standard error", "status 2"],
    );
}

/// What pelton itself prints into is no file that the text writes.
#[test]
fn a_check_may_print_into_files_of_the_folder() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| std::fs::File::create(dir.path().join(name)).expect("created");
    for (text, written) in [("seq 3 | tac", ""), ("seq 3 | tac > b", "; it writes the same file, `b`")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["run", "--check", text]).current_dir(dir.path());
        let status = command.stdout(file("out")).stderr(file("err")).stdin(Stdio::null()).status();
        let said = std::fs::read_to_string(dir.path().join("err")).expect("messages");
        assert_eq!(status.expect("pelton runs").code(), Some(0), "{said}");
        assert!(said.ends_with(&format!("the same status 0{written}\n")), "{said}");
    }
}

#[test]
fn both_runs_read_the_same_from_a_pipe() {
    let input: Vec<u8> = (0..40_000).flat_map(|i| format!("{}\n", i * 7919 % 40_000).into_bytes()).collect();
    let (printed, words, status) = run(&["--check", "sort -n | uniq -c | wc -l"], &input);
    assert_eq!((printed.as_str(), status), ("40000\n", 0), "{words}");
    let (printed, words, status) = run(&["--check", "--run-twice", "cat | env head -n 1"], &input);
    assert_eq!((printed.as_str(), status), ("0\n", 0), "{words}");
    says(&words, &["pelton: checked: bash prints the same 2 bytes"]);
}

#[test]
fn a_text_that_changes_from_run_to_run_cannot_be_checked() {
    let (printed, words, status) = run(&["--check", "date +%s%N | cat"], b"");
    assert!(printed.len() > 10, "{printed}");
    assert_eq!(status, 3, "{words}");
    says(
        &words,
        &[
            "this is not what bash prints",
            "standard output differs first at byte",
            "in line 1:",
            "^\n",
            "does not agree with itself either",
        ],
    );
}

#[test]
fn the_status_of_a_shell_whose_output_was_closed_is_not_compared() {
    // Only in the shell there is a process called seq, of which much more comes.
    let much = "seq 100000 | sh -c 'head -c 1 > /dev/null
        for p in $(cat /proc/$PPID/task/$PPID/children); do
            c=$(cat /proc/$p/comm); [ $c != seq ] || seq 400000; echo $c; done'";
    let (_, words, status) = run(&["--check", "--run-twice", much], b"");
    assert_eq!(status, 3, "{words}");
    says(
        &words,
        &[
            "bash prints far more: only its first ",
            " bytes were compared",
            "with --without seq it is the same",
        ],
    );
    assert!(!words.contains("exit status differs"), "{words}");
}

#[test]
fn a_difference_is_traced_to_the_kernel_that_makes_it() {
    // The output names siblings, and a native seq has no process called seq.
    let siblings = "seq 100000 | sh -c 'head -c 1 > /dev/null
        for p in $(cat /proc/$PPID/task/$PPID/children); do cat /proc/$p/comm; done'";
    let (printed, words, status) = run(&["--check", "--run-twice", siblings], b"");
    assert_eq!((printed.as_str(), status), ("pelton\nsh\n", 3), "{words}");
    says(
        &words,
        &[
            "differs first at byte 1, in line 1:",
            "pelton  pelton\\nsh\\n",
            "bash    seq\\nsh\\n",
            "with --without seq it is the same as from bash",
        ],
    );
}

#[test]
fn a_difference_that_no_kernel_makes_is_none_of_theirs() {
    let parent = "sh -c 'cat /proc/$PPID/comm' | cat";
    let (_, words, status) = run(&["--check", "--run-twice", parent], b"");
    assert_eq!(status, 3, "{words}");
    says(&words, &["it differs with --faithful too"]);
}

#[test]
fn what_must_not_run_twice_is_refused() {
    for (text, part) in [
        ("seq 3 >> x", "writes `x`, and would write it twice"),
        ("seq 3 > x; sort x", "writes `x`, and would write it twice"),
        ("seq 3 > $HOME/x", "writes a file that depends on variables"),
        ("seq 3 | tee x", "`tee` may do more than print here"),
        ("touch x", "`touch` may do more than print here"),
        (
            "seq 3 | while read x; do touch $x; done",
            "run by the shell, because of the compound command while",
        ),
        ("touch x & wait", "the shell runs all of this text"),
    ] {
        let (printed, words, status) = run(&["--check", text], b"");
        assert_eq!((printed.as_str(), status), ("", 2), "{text}: {words}");
        says(&words, &[part]);
    }
    let (printed, words, status) = run(&["--check", "--run-twice", "env seq 3 | sort -r"], b"");
    assert_eq!((printed.as_str(), status), ("3\n2\n1\n", 0), "{words}");
}

#[test]
fn files_that_a_text_or_script_writes_are_checked_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let check = |args: &[&str]| {
        let output = pelton(dir.path(), &[&["--check"], args].concat(), b"");
        (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    };
    // What may be read in another run than it was written, or under another name, is not run twice.
    std::fs::write(dir.path().join("data"), "b\na\n").expect("written");
    let made = Command::new("sh")
        .args(["-c", "ln -s data link; ln data hard; mkfifo ff"])
        .current_dir(dir.path())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    for text in [
        "head -n -1 d\"ata\" > t\"mp\"; cat tmp > data",
        "wc -l * > p",
        "echo x > ff",
        "sort link > data",
        "sort hard > data",
        "sort data > link",
        "cat < link > data",
        "sort $HOME/x > y",
    ] {
        let (words, status) = check(&[text]);
        assert_eq!(status, Some(2), "{text}: {words}");
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("data")).ok().as_deref(), Some("b\na\n"));
    let (words, status) = check(&["seq 30 | sort -r > sorted"]);
    assert_eq!(status, Some(0), "{words}");
    says(
        &words,
        &["bash prints nothing and ends with the same status 0; it writes the same file, `sorted`\n"],
    );
    // pelton's run is the first, and writes another file than all later ones.
    std::fs::write(dir.path().join("once"), "test -e seen && echo bb && exit; echo a; echo > seen\n")
        .expect("written");
    let once = "env sh once | tr a-z A-Z > out";
    let (words, status) = check(&["--run-twice", once]);
    assert_eq!(status, Some(3), "{words}");
    says(&words, &["a file differs: `out` has 2 bytes from pelton and 3 from bash"]);
    let (words, status) = check(&["--run-twice", "seq 3 | sort -r > sorted; date +%s%N > now"]);
    assert_eq!(status, Some(3), "{words}");
    says(&words, &["what this text writes into `now` changes from run to run"]);
    std::fs::write(dir.path().join("s.sh"), "export X=1\nseq 30 | sort -r > sorted\n").expect("written");
    for call in [&["-f", "s.sh"][..], &["bash", "s.sh"]] {
        let (words, status) = check(call);
        assert_eq!(status, Some(2), "{words}");
        says(&words, &["--run-twice as well"]);
        let (words, status) = check(&[&["--run-twice"], call].concat());
        assert_eq!(status, Some(0), "{words}");
        says(&words, &["it writes the same file"]);
    }
}

#[test]
fn a_reader_that_leaves_early_ends_both_runs() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let script = format!("{} run --check 'yes | tr y n' | head -n 2", env!("CARGO_BIN_EXE_pelton"));
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("XDG_CACHE_HOME", dir.path())
        .output()
        .expect("bash starts");
    assert_eq!(output.stdout, b"n\nn\n");
    says(&String::from_utf8_lossy(&output.stderr), &["after which nobody read on"]);
}

#[test]
fn progress_changes_nothing() {
    // A short run prints no progress.
    assert_eq!(run(&["--progress", "seq 3 | tac | env cat"], b""), ("3\n2\n1\n".into(), String::new(), 0));
    assert_eq!(run(&["--progress", "false || exit 3"], b""), (String::new(), String::new(), 3));
    assert_eq!(run(&["--progress", "true; sh -c 'kill -9 $$' | cat"], b"").2, 0);
    let (_, words, status) = run(&["--progress", "--stats", "true"], b"");
    assert_eq!(status, 2);
    says(&words, &["--progress", "cannot be used with", "--stats"]);
}

#[test]
fn time_does_not_say_how_long_run_would_take_where_that_is_not_sure() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let advice = |text: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pelton"));
        command.args(["time", "--json", "-o", "report", text]).current_dir(dir.path()).env("LC_ALL", "C");
        assert!(command.stdout(std::process::Stdio::null()).status().expect("it runs").success());
        let record = std::fs::read(dir.path().join("report")).expect("a report");
        let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
        record["verdict"]["advice"].as_str().unwrap_or_default().to_owned()
    };
    let says = |text: &str| {
        let advice = advice(text);
        (advice.contains("`pelton run`") && advice.contains("or less instead of"), advice)
    };
    let lines: String = (0..400_000_u64).map(|i| format!("{} {}\n", i * 7919 % 1_000_003, i % 97)).collect();
    std::fs::write(dir.path().join("f"), lines).expect("written");
    for text in ["sleep 0.3 | cat", "sort f | perl -ne 'print if /9/' | sort | wc -l", "seq 9 | sort"] {
        let (said, advice) = says(text);
        assert!(!said, "{text}: {advice}");
    }
}
