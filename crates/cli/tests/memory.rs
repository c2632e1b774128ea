//! `--memory` shared by processes: if one holds memory, another one spills.

use pelton_testkit::{has_file_in, wait_until};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const LINE_BYTES: usize = 1000;
const LINES: usize = 5000;

/// Starts a call as in a script, with 8 MiB for all calls of this key, gives it 5 MB of lines, and keeps its
/// input open.
fn call(dir: &Path, key: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pelton"));
    command.args(["pipe", "--memory=8M", key, ":::", "sort", ":::", "tr", "x", "y"]).current_dir(dir);
    command.env("LC_ALL", "C").env("TMPDIR", dir).env("XDG_CACHE_HOME", dir.join("cache"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("pelton starts");
    let lines: String = numbers().map(|n| line(n, "x")).collect();
    child.stdin.as_mut().expect("piped").write_all(lines.as_bytes()).expect("it reads");
    child
}

fn numbers() -> impl Iterator<Item = usize> {
    (0..LINES).map(|n| n * 7919 % 100_003)
}

fn line(number: usize, filler: &str) -> String {
    format!("{number:07}{}\n", filler.repeat(LINE_BYTES - 8))
}

fn printed(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    text
}

#[test]
fn calls_of_a_script_share_the_memory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = dir.path().canonicalize().expect("a directory");
    let key =
        |number: u32| format!("--memory-key={}", u64::from(std::process::id()) << 8 | u64::from(number));
    let (first, other) = (call(dir.path(), &key(1)), call(dir.path(), &key(2)));
    // The first call has read all but a pipe's content, and leaves too little memory for another.
    let second = call(dir.path(), &key(1));
    wait_until("the second call stores lines, since the first one holds memory", || {
        has_file_in(second.id(), &place)
    });
    assert!(!has_file_in(other.id(), &place));
    let mut sorted: Vec<usize> = numbers().collect();
    sorted.sort_unstable();
    let expected: String = sorted.into_iter().map(|n| line(n, "y")).collect();
    for child in [first, second, other] {
        assert!(printed(child) == expected);
    }
}
