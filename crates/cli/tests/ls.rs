//! `ls` before other native stages, against the real one: random directories, options and operands, in several
//! locales.

use pelton_testkit::campaign_settings::tally;
use pelton_testkit::{Campaign, Random};
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");
/// Command lines, unless `PELTON_FUZZ_CASES` is set.
const CASES: u64 = 120;
/// Command lines for each directory.
const PER_TREE: u64 = 12;
const LOCALES: [&str; 4] = ["C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8"];
const NAMES: [&[u8]; 26] = [
    b"a",
    b"A",
    b"b",
    b"B.txt",
    b"a.txt",
    b"a-b",
    b"ab",
    b"a b",
    b".h",
    b"..x",
    b"-x",
    b"10",
    b"9",
    b"09",
    b"a:b",
    "é".as_bytes(),
    "Éa".as_bytes(),
    "ß".as_bytes(),
    "日".as_bytes(),
    b"x\ny",
    b"_",
    b"~",
    b"a'b",
    b"z\\",
    b"\xff",
    b"a\xc3",
];
const WORDS: [&str; 31] = [
    "-1", "-a", "-A", "-r", "-t", "-S", "-d", "-1rt", "-Sr", "-tS", "-aA", "--", ".", "d", "d/", "l", "l/",
    "dead", "nosuch", "./d", "empty", "d/..", "a", "[a-d]*", "/dev/fd", "own", "own/fd", "loop", "loop/x",
    "f/x", "notdir",
];

/// Fills a directory with files, directories and links of all kinds.
fn fill(random: &mut Random, dir: &Path) {
    for name in NAMES {
        if random.below(3) == 0 {
            continue;
        }
        let path = dir.join(OsStr::from_bytes(name));
        match random.below(8) {
            0 => fs::create_dir(&path).expect("made"),
            1 => symlink("nowhere", &path).expect("linked"),
            _ => {
                fs::write(&path, vec![b'x'; random.below(4)]).expect("written");
                let age = Duration::new(random.below(3) as u64, random.below(2) as u32);
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + age;
                let file = File::options().append(true).open(&path).expect("opened");
                file.set_times(FileTimes::new().set_modified(time)).expect("set");
            }
        }
    }
}

/// The tree lies in a directory of its own: `ls -at` tells how old `..` is, in which other tests make theirs.
fn tree(random: &mut Random) -> (tempfile::TempDir, tempfile::TempDir) {
    let around = tempfile::tempdir().expect("a directory");
    let dir = tempfile::tempdir_in(around.path()).expect("a directory");
    fs::create_dir(dir.path().join("d")).expect("made");
    fs::create_dir(dir.path().join("empty")).expect("made");
    for (to, name) in
        [("d", "l"), ("nowhere", "dead"), ("/proc/self", "own"), ("loop", "loop"), ("f/x", "notdir")]
    {
        symlink(to, dir.path().join(name)).expect("linked");
    }
    fs::write(dir.path().join("f"), "").expect("written");
    fill(random, dir.path());
    fill(random, &dir.path().join("d"));
    (dir, around)
}

fn run(argv: &[&str], dir: &Path, locale: &str) -> Output {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).current_dir(dir).env("LC_ALL", locale).stdin(Stdio::null());
    command.output().expect("it runs")
}

#[test]
fn random_lists_are_those_of_the_real_one() {
    let campaign = Campaign::from_env();
    let mut random = Random::new(campaign.seed);
    let cases = campaign.cases.unwrap_or(CASES);
    let mut faults = Vec::new();
    for _ in 0..cases.div_ceil(PER_TREE) {
        let (dir, _around) = tree(&mut random);
        for _ in 0..PER_TREE {
            let mut words: Vec<&str> =
                (0..random.below(5)).map(|_| WORDS[random.below(WORDS.len())]).collect();
            if words.iter().any(|word| word.starts_with('-') && word.contains('t')) {
                // What lies in /proc is as old as the process, and so as the tree, up to a tick of the clock.
                words.retain(|word| !word.starts_with("/dev/fd") && !word.starts_with("own"));
            }
            let locale = LOCALES[random.below(LOCALES.len())];
            let after = ["", "; echo $?", "; set -o pipefail; ls notdir | cat; echo $?"][random.below(3)];
            let text = format!("ls {} | cat{after}", words.join(" "));
            let expected = run(&["bash", "-c", &text], dir.path(), locale);
            let actual = run(&[PELTON, "run", &text], dir.path(), locale);
            let of = |one: &Output| (one.stdout.clone(), one.stderr.clone(), one.status.code());
            if of(&expected) != of(&actual) {
                faults.push(format!("{locale}: {text}\n  expected {expected:?}\n  got      {actual:?}"));
            }
        }
    }
    let _ = writeln!(
        std::io::stderr(),
        "{}",
        tally("ls", &[("comparisons", cases), ("different", faults.len() as u64)])
    );
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// Otherwise the comparisons above would compare the real one with itself.
#[test]
fn names_come_from_a_native_stage() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, is_native) in [("-1rt d", true), ("-Sa .", true), ("", true), ("-l", false), ("-R", false)] {
        let text = format!("ls {args} | sort");
        let out = run(&[PELTON, "explain", &text], dir.path(), "C.UTF-8");
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(said.contains("one native pass, in place of 2 processes"), is_native, "{text}: {said}");
    }
}
