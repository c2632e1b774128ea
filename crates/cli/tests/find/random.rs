//! Random trees and random expressions. Few here; as many as you like with
//!
//! ```sh
//! PELTON_FUZZ_CASES=20000 PELTON_SEED=7 cargo test -p pelton --test find random
//! ```

use super::tree;
use super::{Said, ours, real};
use pelton_testkit::{Campaign, Random, campaign_settings};
use std::path::Path;

/// Expressions per tree.
const PER_TREE: u64 = 40;

const PATTERNS: &[&str] = &[
    "*",
    "a*",
    "*.c",
    "?",
    "*a*",
    "[a-c]*",
    "[!a]*",
    "caf?",
    "CAF*",
    "*\\*",
    "\\[x]",
    "*'*",
    "a",
    "x",
    "*é",
    ".*",
    "nosuch",
    "*\u{2019}",
    "",
    "[[:upper:]]*",
    "*[",
    "A.C",
    "with space",
];
const PATHS: &[&str] = &["*a*", "*/a", "./*", "*/*/*", "a*", "*/.*", "t*/b", "*caf*", "./a/*"];
const REGEXES: &[&str] = &[
    ".*a",
    ".*/[ab]",
    "\\./.*\\.c",
    "[^x]*",
    ".*\\(a\\|b\\)",
    ".*(a|b)",
    ".*/.",
    "a+",
    ".*é",
    ".*\n.*",
    "\\.",
    "",
];
const FORMATS: &[&str] = &[
    "%p\\n",
    "%f|%h|%P|%H|%d\\n",
    "%s %m %M %n\\n",
    "%y %l\\n",
    "%-6s|%5s|\\n",
    "%u %g %U %G\\n",
    "%i %k %b\\n",
    "%T@ %p\\0",
    "%%\\t%d\\101\\n",
];
const COMMANDS: &[&str] = &[
    "echo {} ;",
    "test -f {} ;",
    "echo x{}y {} ;",
    "echo {} +",
    "false ;",
    "false {} +",
    "nosuch-command {} ;",
];

/// Words of a random query.
fn query(random: &mut Random) -> Vec<Vec<u8>> {
    let mut words: Vec<String> = Vec::new();
    if random.below(3) == 0 {
        words.push((*random.of(&["-P", "-H", "-L"])).into());
    }
    for _ in 0..*random.of(&[0, 1, 1, 1, 2, 3]) {
        words.push(
            (*random.of(&[".", "a", "a/", "./b", "self", "nosuch", "ab//", "x", "..//.", "./."])).into(),
        );
    }
    if words.iter().any(|word| word == "..//.") {
        // Files beside the tree do not matter.
        words.retain(|word| word != "..//.");
    }
    for _ in 0..random.below(3) {
        option(&mut words, random);
    }
    if random.below(16) == 0 {
        // Whether -prune needs the status of an entry depends on a -depth before it.
        words.insert(0, "-L".into());
        words.extend(
            random
                .of::<&[&str]>(&[
                    &["-depth", "-prune"],
                    &["-prune"],
                    &["-depth", "-name", "a", "-o", "-prune", "-name", ".*"],
                ])
                .iter()
                .map(|&word| word.into()),
        );
    }
    if random.below(12) == 0 {
        tests_behind_an_action(&mut words, random);
    } else if random.below(12) != 0 {
        expression(&mut words, random, 3);
    }
    words.into_iter().map(String::into_bytes).collect()
}

fn option(words: &mut Vec<String>, random: &mut Random) {
    match random.below(6) {
        0 => words.extend(["-maxdepth".into(), random.below(4).to_string()]),
        1 => words.extend(["-mindepth".into(), random.below(4).to_string()]),
        2 => words.push("-depth".into()),
        3 => words.push("-xdev".into()),
        4 => words.push("-noleaf".into()),
        _ => {
            let syntaxes = ["posix-extended", "posix-basic", "egrep", "grep", "emacs", "sed", "posix-egrep"];
            words.extend(["-regextype".into(), (*random.of(&syntaxes)).into()]);
        }
    }
}

/// A row of cheap and dear tests with an action among them, which find may put in another order, beside something else.
fn tests_behind_an_action(words: &mut Vec<String>, random: &mut Random) {
    const ANY: &[&[&str]] = &[
        &["-prune"],
        &["-prune"],
        &["-print"],
        &["-empty"],
        &["-name", "*a*"],
        &["-type", "d"],
        &["-size", "1"],
        &["-path", "*/a*"],
        &["-links", "1"],
        &["-true"],
        &["-false"],
        &["-mindepth", "1"],
        &["-maxdepth", "3"],
    ];
    const BESIDE: &[&[&str]] = &[
        &[],
        &["-o", "-true"],
        &["-o", "-type", "d"],
        &["-o", "-print"],
        &[",", "-true"],
        &["-o", "-size", "1"],
    ];
    let mut row: Vec<&str> =
        (0..1 + random.below(5)).flat_map(|_| *random.of::<&[&str]>(ANY)).copied().collect();
    let beside = *random.of::<&[&str]>(BESIDE);
    match random.below(4) {
        0 => row = [&["("], row.as_slice(), beside, &[")"]].concat(),
        1 => row = [&["!", "("], row.as_slice(), &[")"], beside].concat(),
        _ => row.extend(beside),
    }
    words.extend(row.into_iter().map(str::to_owned));
}

fn expression(words: &mut Vec<String>, random: &mut Random, depth: usize) {
    primary(words, random, depth);
    for _ in 0..*random.of(&[0, 1, 1, 2, 2, 4]) {
        match random.below(8) {
            0 | 1 => words.push("-o".into()),
            2 => words.push("-a".into()),
            3 => words.push(",".into()),
            _ => {}
        }
        primary(words, random, depth);
    }
}

fn primary(words: &mut Vec<String>, random: &mut Random, depth: usize) {
    if random.below(6) == 0 {
        words.push((*random.of(&["!", "-not"])).into());
    }
    if random.below(30) == 0 {
        return option(words, random);
    }
    match random.below(if depth == 0 { 9 } else { 11 }) {
        0..7 => test(words, random),
        7 | 8 => action(words, random),
        _ => {
            words.push("(".into());
            expression(words, random, depth - 1);
            words.push(")".into());
        }
    }
}

fn number(random: &mut Random, all: &[u64]) -> String {
    let sign = random.of(&["", "+", "-"]);
    format!("{sign}{}", random.of(all))
}

fn test(words: &mut Vec<String>, random: &mut Random) {
    let mut with = |name: &str, argument: String| words.extend([name.to_owned(), argument]);
    match random.below(20) {
        0 | 1 => with("-name", (*random.of(PATTERNS)).into()),
        2 => with("-iname", (*random.of(PATTERNS)).into()),
        3 => with(random.of::<&str>(&["-path", "-wholename"]), (*random.of(PATHS)).into()),
        4 => with("-ipath", (*random.of(PATHS)).into()),
        5 => with(random.of::<&str>(&["-regex", "-iregex"]), (*random.of(REGEXES)).into()),
        6 | 7 => with("-type", (*random.of(&["f", "d", "l", "p", "f,l", "d,p", "s", "b,c"])).into()),
        8 | 9 => {
            let unit = *random.of(&["", "c", "w", "b", "k", "M", "G"]);
            with("-size", number(random, &[0, 1, 2, 3, 512, 1024]) + unit);
        }
        10 => {
            // Not -0: the last second may be over before the second find looks.
            let days = ["0", "+0", "1", "-1", "+1", "2", "-2", "+2", "-3", "7", "+7"];
            with(random.of::<&str>(&["-mtime", "-atime"]), (*random.of(&days)).into());
        }
        11 => with(random.of::<&str>(&["-mmin", "-amin"]), number(random, &[0, 1, 2, 3, 6, 60, 721])),
        12 => with(
            random.of::<&str>(&["-newer", "-anewer", "-cnewer", "-newerma"]),
            (*random.of(&["a", "b", "self", "."])).into(),
        ),
        13 => words.push("-empty".into()),
        14 => {
            let mode = random.of(&["644", "-444", "/222", "-4000", "/7000", "0", "-0", "755"]);
            with("-perm", (*mode).into());
        }
        15 => with(random.of::<&str>(&["-links", "-uid", "-gid"]), number(random, &[0, 1, 2, 3])),
        16 => with(
            random.of::<&str>(&["-user", "-group"]),
            (*random.of(&["root", "0", "nobody", "12345"])).into(),
        ),
        17 => with(random.of::<&str>(&["-lname", "-ilname"]), (*random.of(PATTERNS)).into()),
        // GNU find opens the file, and would block on a FIFO.
        18 => with("-samefile", (*random.of(&[".", "..", "self"])).into()),
        _ => words.push((*random.of(&["-true", "-false"])).into()),
    }
}

fn action(words: &mut Vec<String>, random: &mut Random) {
    match random.below(12) {
        0..3 => words.push("-print".into()),
        3 => words.push("-print0".into()),
        4 | 5 => words.push("-prune".into()),
        6 => words.push("-quit".into()),
        7 => {
            words.push("-exec".into());
            words.extend(random.of(COMMANDS).split(' ').map(str::to_owned));
        }
        _ => words.extend(["-printf".into(), (*random.of(FORMATS)).into()]),
    }
}

fn shown(words: &[Vec<u8>]) -> String {
    words.iter().map(|word| format!("'{}' ", word.escape_ascii())).collect()
}

/// Asserts equal results: in order, and, unless the search may end early, as a set with `--unordered`.
fn compare(dir: &Path, words: &[Vec<u8>], random: &mut Random) -> u64 {
    let locale = *random.of(&["C", "C.UTF-8", "C.UTF-8", "en_US.UTF-8"]);
    // GNU find orders tests by estimated cost, so whether it opens an unreadable entry to see if it is empty
    // may differ.
    let once = |mut said: Said| {
        if words.iter().any(|word| word == b"-empty") {
            (said.stderr, said.status) = (Vec::new(), None);
        }
        said
    };
    let expected = once(real(words, dir, locale));
    let jobs = *random.of(&["1", "2", "4"]);
    let walk = *random.of(&[
        "sequential",
        "per-directory",
        "semaphore",
        "atomic",
        "stealing",
        "stealing",
        "stealing",
    ]);
    let options = ["--walk", walk, "--jobs", jobs, "--alone", "0"];
    let told = |expected: &Said, found: &Said, how: &str| {
        format!("find {}in {locale}, {how} {options:?}\n{}", shown(words), difference(expected, found))
    };
    let found = once(ours(&options, words, dir, locale));
    assert!(expected == found, "{}", told(&expected, &found, "in order"));
    if words.iter().any(|word| word == b"-quit") {
        return 1;
    }
    let unordered: Vec<&str> = options.into_iter().chain(["--unordered"]).collect();
    let (expected, found) = (once(expected.sorted()), once(ours(&unordered, words, dir, locale).sorted()));
    assert!(expected == found, "{}", told(&expected, &found, "as found"));
    2
}

/// Returns lines that only one has, and the first line that differs.
fn difference(expected: &Said, found: &Said) -> String {
    let mut told = format!("status {:?}, ours {:?}\n", expected.status, found.status);
    for (name, a, b) in
        [("output", &expected.stdout, &found.stdout), ("messages", &expected.stderr, &found.stderr)]
    {
        let lines = |text: &[u8]| -> Vec<String> {
            text.split_inclusive(|byte| *byte == b'\n').map(|line| line.escape_ascii().to_string()).collect()
        };
        let (a, b) = (lines(a), lines(b));
        let mut only = |which: &str, lines: &[String], others: &[String]| {
            for line in lines.iter().filter(|line| !others.contains(line)).take(5) {
                told.push_str(&format!("{name}, {which}: {line}\n"));
            }
        };
        only("real", &a, &b);
        only("ours", &b, &a);
        if let Some(at) = (0..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at)) {
            told.push_str(&format!("{name}, line {at}: {:?} {:?}\n", a.get(at), b.get(at)));
        }
    }
    told
}

#[test]
#[allow(clippy::print_stdout, clippy::print_stderr)] // a test tells what it did, and where it failed
fn random_queries_of_random_trees() {
    let campaign = Campaign::from_env();
    let wanted = campaign.cases.unwrap_or(400);
    let (mut done, mut seed) = (0, campaign.seed << 32);
    while done < wanted {
        let mut random = Random::new(seed);
        let dir = tree::place();
        // Links may lead to the directory around it.
        let root = dir.path().join("root");
        std::fs::create_dir(&root).expect("made");
        tree::fill(&root, &mut random);
        // The first read of a directory or link changes its access time; the next ones do not, if that is later than
        // all changes.
        tree::await_later_time(dir.path());
        real(&super::words("-lname nosuch"), &root, "C");
        for _ in 0..PER_TREE.min(wanted - done) {
            let words = query(&mut random);
            let compared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                compare(&root, &words, &mut random)
            }));
            match compared {
                Ok(count) => done += count,
                Err(reason) => {
                    // Keep the tree for inspection.
                    let kept = dir.keep();
                    eprintln!("seed {seed}; the tree is {}", kept.display());
                    std::panic::resume_unwind(reason);
                }
            }
        }
        open_up(dir.path());
        seed += 1;
    }
    println!("{}", campaign_settings::tally("find", &[("compared", done)]));
}

/// Makes it removable without root.
fn open_up(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755));
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
