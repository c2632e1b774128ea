//! NULs far into text files: which lines grep prints before a NUL depends on where its reads end, and thus on
//! the address of its buffer.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pelton_testkit::Random;

const LOCALES: [&str; 2] = ["C", "C.UTF-8"];
const EXPRESSIONS: [&str; 7] = ["foo", "-v foo", "-n o", "-e foo -e bar", "-o a", "-m 900 a", "-o '^$'"];
/// One text per way of giving grep its input.
const TEXTS: [&str; 9] = [
    "grep {} f0",
    "grep {} f0 f1 f2 | cksum",
    "grep {} < f1 | wc -l",
    "grep {} f0 missing - < f1",
    "grep {} - f0 f0 < f0",
    "echo f1 f0 | xargs grep {}",
    "{ head -n 3 > /dev/null; grep {}; } < f0",
    "printf '%s\\n' f0 f1 | xargs grep {} | wc",
    "find f0 f1 f2 -exec grep {} '{}' + | cksum",
];
/// Pipelines whose first stages write the file `forward` faster than grep reads it.
const FILL_THE_PIPE: [&str; 7] = [
    "sort forward | grep w",
    "tac backward | grep w",
    "cat forward forward | grep w",
    "cut -c1-99 forward | grep w",
    "head -n 19999 < forward | grep w",
    "expand forward | grep w",
    "awk '{ print }' forward | grep w",
];
/// Lines of context, of few lines and of many.
const CONTEXTS: [&str; 9] = [
    "grep -A1 foo f0",
    "grep -n -C9 foo f0 f1 | cksum",
    "grep -A3 foo f0 f1 f2",
    "grep -A0 foo f0 f0",
    "grep -B50 foo f0",
    "grep -B2500 foo f0 f1 f2 | cat",
    "grep -v -A2 '^[yzq]*$' f0 missing f1",
    "grep -h -B3 bar f0 f1",
    "grep -b -A500 foo f1 | wc -c",
];
/// How long grep's first read of a file is.
const FIRST_READ: usize = 98_304;
/// How often files are made anew for each text.
const ROUNDS: u64 = 5;

/// Makes lines of up to `longest` bytes, with a NUL after grep's first read.
fn file(random: &mut Random, longest: usize) -> Vec<u8> {
    let length = 110_000 + random.below(300_000);
    let mut text = Vec::new();
    while text.len() < length {
        let word = random.pick(&[&b"foo"[..], b"bar", b"ab", b"x"]);
        let bytes = 1 + random.below(longest);
        text.extend(word.iter().cycle().take(bytes));
        text.push(b'\n');
    }
    let nul = 100_000 + random.below(length - 100_000);
    text[nul] = 0;
    text
}

/// Makes a text of few lines that match, some of them where grep's first read ends, with a NUL somewhere.
fn sparse_file(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if random.chance(40) {
        text.resize(FIRST_READ - random.below(12), b'\n');
        text.extend(b"foo\n");
    }
    for _ in 0..random.below(8) {
        let length = random.pick(&[200, 20_000, 98_304, 130_000]);
        let line = match random.below(4) {
            0 => Vec::new(),
            1 => vec![b'y'; 30],
            2 => vec![b'z'; 9999],
            _ => vec![b'q'; random.pick(&[60_000, 91_000, 98_300])],
        };
        text.extend([&line[..], b"\n"].concat().iter().cycle().take(length));
        text.extend(random.pick(&[&b""[..], b"\nfoo\n", b"\nfoo\nbar\nfoo\n", b"\na\0b\ncd\n", b"\0foo\n"]));
    }
    text.extend(random.pick(&[&b"\n"[..], b"\na\0b\ncd\nef\n", b"\nfoo\n\0\n", b"foo"]));
    text
}

fn output(program: &str, args: &[&str], dir: &Path, locale: &str) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60", program]).args(args).current_dir(dir).env("LC_ALL", locale);
    command.output().expect("timeout runs")
}

#[test]
fn what_grep_prints_before_a_nul_is_what_it_prints_here() {
    let dir = tempfile::tempdir().expect("a directory");
    for (at, text) in TEXTS.iter().enumerate() {
        for round in 0..ROUNDS {
            let mut random = Random::new(at as u64 * ROUNDS + round);
            for name in ["f0", "f1", "f2"] {
                let longest = random.pick(&[30, 300, 3000, 30_000, 150_000, 190_000]);
                fs::write(dir.path().join(name), file(&mut random, longest)).expect("written");
            }
            let text = text.replacen("{}", random.pick(&EXPRESSIONS), 1);
            assert_same_as_bash(&text, dir.path(), random.pick(&LOCALES), round);
        }
    }
}

#[test]
fn what_grep_prints_around_a_line_before_a_nul_is_what_it_prints_here() {
    let dir = tempfile::tempdir().expect("a directory");
    for (at, text) in CONTEXTS.iter().enumerate() {
        for round in 0..ROUNDS {
            let mut random = Random::new(at as u64 * ROUNDS + round);
            for name in ["f0", "f1", "f2"] {
                fs::write(dir.path().join(name), sparse_file(&mut random)).expect("written");
            }
            assert_same_as_bash(text, dir.path(), random.pick(&LOCALES), round);
        }
    }
}

fn assert_same_as_bash(text: &str, dir: &Path, locale: &str, round: u64) {
    let expected = output("bash", &["-c", text], dir, locale);
    let found = output(env!("CARGO_BIN_EXE_pelton"), &["run", "--", text], dir, locale);
    let shown = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (found.status, shown(&found), found.stdout.len()),
        (expected.status, shown(&expected), expected.stdout.len()),
        "{text}, round {round}, {locale}"
    );
    assert!(found.stdout == expected.stdout, "{text}, round {round}, {locale}");
}

#[test]
fn what_fills_the_pipe_is_read_in_the_sizes_of_a_full_pipe() {
    const READS: [usize; 5] = [0, 65_536, 98_304, 163_840, 196_608];
    let dir = tempfile::tempdir().expect("a directory");
    // In order, so that each of the commands prints the same or the reverse.
    let line = |number: usize| format!("{number:07} water\n");
    for nul_line in [1_000, 5_000, 7_500, 13_000, 15_000] {
        let text: String = (0..20_000).map(line).collect();
        let (length, at) = (text.len(), line(0).len());
        let nul = nul_line * at + 5;
        let (mut forward, mut backward) = (text.clone().into_bytes(), text.into_bytes());
        forward[nul] = 0;
        // After tac, the NUL lies in the same line.
        backward[length - (nul_line + 1) * at + 5] = 0;
        fs::write(dir.path().join("forward"), forward).expect("written");
        fs::write(dir.path().join("backward"), backward).expect("written");
        let end = READS.iter().rev().find(|end| **end <= nul).expect("0 is the first");
        let whole_lines = end / at * at;
        for text in FILL_THE_PIPE {
            let found = output(env!("CARGO_BIN_EXE_pelton"), &["run", "--", text], dir.path(), "C");
            assert_eq!(found.stdout.len(), whole_lines, "{text}, a NUL at {nul}");
        }
    }
}
