//! Real commands as several processes: the same bytes, statuses and messages as from one, for all part
//! lengths, however one of them ends.

use pelton_testkit::{Random, wait_until, without_pids};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");
/// No kernel supports a back-reference.
const HEAVY: &str = r"sed -E 's/([a-z])([0-9])(.*)\1/<\2>\3/'";

/// A directory with an input, and the test's commands in PATH.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new(input: &[u8]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("in"), input).expect("written");
        Place { dir }
    }

    /// Adds a command, an sh script.
    fn with(self, name: &str, script: &str) -> Self {
        let path = self.path().join("bin").join(name);
        std::fs::create_dir_all(path.parent().expect("bin")).expect("made");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("may be executed");
        self
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(args)
            .current_dir(self.path())
            .env("PATH", format!("{}:{path}", self.path().join("bin").display()))
            .env("LC_ALL", "C.UTF-8")
            .env("XDG_CACHE_HOME", self.path().join(".cache"))
            .env("XDG_CONFIG_HOME", self.path().join(".config"))
            .env("TMPDIR", self.path())
            .stdin(Stdio::null());
        command
    }

    /// Returns output, messages, status.
    fn run(&self, program: &str, args: &[&str]) -> (String, String, Option<i32>) {
        let output = self.command(program, args).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // The shell prints and aligns process ids, which differ from run to run.
        let mut words = text(&without_pids(&output.stderr)).replace(|c: char| c.is_ascii_digit(), "0");
        while words.contains("00") {
            words = words.replace("00", "0");
        }
        (text(&output.stdout), words, output.status.code())
    }

    /// Compares pelton with bash for each of these part lengths, with one process at a time and with several.
    fn compare(&self, text: &str, declared: &[&str], part_bytes: &[&str]) {
        let expected = self.run("bash", &["-c", text]);
        for bytes in part_bytes {
            for jobs in ["1", "2", "8"] {
                let mut args = vec!["run", "--jobs", jobs, "--part-bytes", bytes];
                args.extend(declared.iter().flat_map(|command| ["--stateless", command]));
                args.push(text);
                let found = self.run(PELTON, &args);
                assert!(found == expected, "{args:?}\n{}", difference(&found, &expected));
            }
        }
    }
}

fn difference(found: &(String, String, Option<i32>), expected: &(String, String, Option<i32>)) -> String {
    let at = found.0.bytes().zip(expected.0.bytes()).take_while(|(a, b)| a == b).count();
    let (printed, wanted) = (found.0.len(), expected.0.len());
    format!(
        "{printed} bytes instead of {wanted}, the same up to {at}\n{:?}\ninstead of\n{:?}",
        (&found.1, found.2),
        (&expected.1, expected.2)
    )
}

/// Lines of letters and digits, some of them empty.
fn lines(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = String::new();
    while text.len() < bytes {
        for _ in 0..random.below(12) {
            let _ = write!(text, "{}{}", random.pick(&["a", "b", "xy", "é", " ", "-"]), random.below(30));
        }
        text.push('\n');
    }
    text.into_bytes()
}

#[test]
fn the_same_in_parts_of_any_length() {
    let place = Place::new(&lines(1, 3000));
    for text in [
        HEAVY.to_owned() + " in",
        HEAVY.to_owned() + " < in | cat -A",
        format!("cat in | {HEAVY} | sort | uniq -c | tail -n 3"),
        "sed -n ':a;s/\\(a\\)\\(.*\\)\\1/\\2/;ta;/b/{G;P;D};p' in".to_owned(),
        "grep -P '(?<=a)1' in".to_owned(),
        "cat in | grep -oP 'a.(?!2)'".to_owned(),
        "grep -P 'none(?=x)' < in".to_owned(),
        "grep -P 'none(?=x)' < in || echo none".to_owned(),
        "grep -vP '^(?=a)' in > out; cat out; rm out".to_owned(),
        format!("{HEAVY} /dev/null; {HEAVY} < /dev/null | wc -c"),
    ] {
        place.compare(&text, &[], &["40", "700", "100000"]);
    }
}

/// A document per line, some of them empty, some with a name that others lack.
fn documents(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for at in 0..count {
        let _ = match random.below(12) {
            0 => writeln!(text),
            1 => writeln!(text, "[{at}, {{\"a\": \"é\\n{at}\"}}, null]"),
            2 => writeln!(text, "{at} \"text\""),
            _ => writeln!(text, "{{\"a\": {}, \"b\": [{at}, \"x y\"], \"c\": null}}", random.below(100)),
        };
    }
    text.into_bytes()
}

#[test]
fn documents_in_parts_of_any_length() {
    let fine = documents(4, 60);
    let pretty = b"{\n  \"a\": [\n    1,\n    2\n  ]\n}\n".repeat(6);
    let broken = [&fine[..900], b"\n{\"a\": x}\n", &fine[..300]].concat();
    let unfinished = [&fine[..], b"[1,\n2"].concat();
    let odd = [&fine[..700], b"\n\"\xff\"\n\xef\xbb\xbf1\n"].concat();
    let nul = [&fine[..700], b"\n[1]\n\x00[2]\n", &fine[..500]].concat();
    let no_end = b"{\"a\": 1}\n".repeat(40).into_iter().chain(*b"{\"a\": 2}").collect::<Vec<u8>>();
    for input in [fine, pretty, broken, unfinished, odd, nul, no_end, Vec::new()] {
        let place = Place::new(&input);
        for text in [
            // Arrays and text: errors that name their lines, and a status that is that of the last document.
            "jq -c .a in; echo $?",
            "cat in | jq '.[0] + 1'; echo ${PIPESTATUS[@]}",
            "cat in | jq -c 'select(type == \"object\") | .b[]' | cat -A",
        ] {
            place.compare(text, &[], &["250", "100000"]);
        }
    }
}

#[test]
fn awks_in_parts_of_any_length() {
    let place = Place::new(&lines(5, 3000));
    let odd = Place::new(b"a b\n1 0\n\xff\xc3 2\nx\x00y z\n4 5".repeat(20).as_slice());
    for awk in ["gawk", "mawk", "original-awk"] {
        for text in [
            format!("{awk} '{{print $1 * 2 + length($2)}}' in"),
            format!("cat in | {awk} '{{s = $1; if ($2 > s) s = $2; print s, length($3)}}' | uniq -c"),
            // Some lines end awk by a division by zero.
            format!("{awk} '{{printf \"%.2f %s\\n\", $1 / $2, $1}}' in; echo $?"),
            format!("{awk} -F- '{{gsub(/[a-z]+/, \"<&>\"); print $2 + 0, $1}}' in"),
        ] {
            place.compare(&text, &[], &["700"]);
            odd.compare(&text, &[], &["100"]);
        }
    }
}

#[test]
fn last_lines_and_long_lines() {
    for input in
        [&b"a1a"[..], b"\n", b"a1a\n\nb2b", &[b'a'; 200_000], &b"x\n".repeat(40_000), b"\xff\na1\xffa\n"]
    {
        let place = Place::new(input);
        place.compare(&format!("{HEAVY} in"), &[], &["5000"]);
        place.compare(&format!("cat in | {HEAVY} | od -c | tail"), &[], &["100000"]);
        place.compare("cat in | grep -P 'a(?=1)|x(?!y)' | wc", &[], &["5000"]);
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let place = Place::new(&lines(2, 2000));
    for text in [
        "sed -E 's/(/x/' in".to_owned(),
        "grep -P '(' in".to_owned(),
        "set -o pipefail; cat in | grep -P '(' | wc -l".to_owned(),
        format!("{HEAVY} < nofile"),
        format!("{HEAVY} nofile"),
        format!("{HEAVY} in > /dev/full"),
    ] {
        place.compare(&text, &[], &["100"]);
    }
}

#[test]
fn commands_that_the_user_declares() {
    let place = Place::new(&lines(3, 4000))
        .with("upper", "tr a-z A-Z")
        .with("warns", "while read -r line; do echo \"$line\"; case $line in *7*) echo \"7 in $line\" >&2;; esac; done; true")
        .with("fails", "cat; exit 3");
    place.compare("upper < in; upper < /dev/null", &["upper"], &["200", "3000"]);
    place.compare("cat in | warns | wc -l", &["warns"], &["900"]);
    place.compare("cat in | fails", &["fails"], &["900"]);
    std::fs::create_dir_all(place.path().join(".config/pelton")).expect("made");
    let file = place.path().join(".config/pelton/stateless.toml");
    std::fs::write(&file, "commands = [\"upper\"]\n").expect("written");
    let explained = place.run(PELTON, &["explain", "cat in | upper | sort"]).0;
    assert!(explained.contains("split-stateless"), "{explained}");
    std::fs::write(&file, "comands = []\n").expect("written");
    let (_, words, status) = place.run(PELTON, &["run", "upper < in"]);
    assert!(
        status == Some(2) && words.contains("stateless.toml") && words.contains("try: commands"),
        "{words}"
    );
    let (_, words, status) = place.run(PELTON, &["run", "--stateless", "/bin/x", "true"]);
    assert!(status == Some(2) && words.contains("without a path"), "{words}");
}

#[test]
fn one_that_leaves_early_ends_all() {
    let place = Place::new(&lines(4, 60_000))
        .with("three", "head -n 3; echo three >&2; exit 3")
        .with("dies", "head -n 3; kill -9 $$");
    // What it leaves unread would stay unread if it ran alone.
    for text in ["three < in", "set -o pipefail; cat in | three | wc -l"] {
        place.compare(text, &["three"], &["20000", "30000"]);
    }
    place.compare("set -o pipefail; cat in | dies | wc -l", &["dies"], &["20000"]);
    let script = format!(
        "'{PELTON}' run --jobs 2 --part-bytes 5000 \"yes a1a | {HEAVY}\" | head -n 2; echo ${{PIPESTATUS[0]}}"
    );
    let (printed, words, _) = place.run("bash", &["-c", &script]);
    assert_eq!((printed.as_str(), words.as_str()), ("<1>\n<1>\n141\n", ""));
}

#[test]
fn random_scripts_of_sed() {
    let mut random = Random::new(5);
    let place = Place::new(&lines(6, 1500));
    for _ in 0..12 {
        let mut script = String::new();
        for i in 0..=random.below(3) {
            let address = random.pick(&["", "", "/a/", "/^$/!", "/[0-9]\\{2\\}/", "/\\(a\\).*\\1/"]);
            let what = random.pick(&[
                "s/\\(.\\)\\(.*\\)\\1/\\2\\1/",
                "s/a*/x/2",
                "s/x*\\(y*\\)/[&]/g",
                "y/ab/ba/",
                "d",
                "p",
                "G",
                "P",
                "D",
                "i\\\ntext",
                "a\\\ntext",
                "c\\\ntext",
                "s/[0-9]/\\n/2;P",
                "t",
                "b",
                "s/é/e/gp",
                "s/-/_/;ta;s/^/+/;:a",
                "l",
                "z",
            ]);
            let what = what.replace(":a", &format!(":a{i}")).replace("ta", &format!("ta{i}"));
            let _ = writeln!(script, "{address}{{\n{what}\n}}");
        }
        let quiet = random.pick(&["", "-n "]);
        std::fs::write(place.path().join("script"), &script).expect("written");
        place.compare(&format!("sed {quiet}'{script}' in"), &[], &["90", "600"]);
    }
}

/// What is done to a run at a random moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// One of the processes that share the lines is killed.
    KillMember,
    /// The process that deals the lines out is killed.
    KillDealer,
    /// Ctrl-C.
    Interrupt,
    /// The reader leaves.
    CloseReader,
}

/// A run in a process group of its own.
struct Victim {
    child: std::process::Child,
    out: PathBuf,
}

impl Victim {
    fn start(place: &Place, harm: Harm) -> Self {
        let out = place.path().join("out");
        let text = format!("cat in | {HEAVY} | cat");
        let mut command = place.command(PELTON, &["run", "--jobs", "2", "--part-bytes", "20000", &text]);
        let stdout = match harm {
            Harm::CloseReader => Stdio::piped(),
            _ => Stdio::from(std::fs::File::create(&out).expect("made")),
        };
        let child = command.process_group(0).stdout(stdout).stderr(Stdio::null()).spawn().expect("it starts");
        Victim { child, out }
    }

    fn harm(&mut self, harm: Harm, random: &mut Random) {
        let dealer = children(self.child.id()).into_iter().find(|pid| name(*pid) == "pelton");
        let target = match harm {
            Harm::Interrupt => Some(format!("-{}", self.child.id())),
            Harm::CloseReader => {
                drop(self.child.stdout.take());
                return;
            }
            Harm::KillDealer => dealer.map(|pid| pid.to_string()),
            Harm::KillMember => {
                let members = dealer.map(children).unwrap_or_default();
                (!members.is_empty()).then(|| members[random.below(members.len())].to_string())
            }
        };
        let signal = if harm == Harm::Interrupt { "-INT" } else { "-KILL" };
        if let Some(target) = target {
            // It may be gone by now.
            let _ = Command::new("kill").args([signal, "--", &target]).stderr(Stdio::null()).status();
        }
    }

    /// Asserts that its group empties.
    fn leaves_nobody(&self) {
        let group = self.child.id().to_string();
        wait_until(&format!("no process of {group} is left"), || !in_group(&group));
    }
}

fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn in_group(group: &str) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    entries.flatten().any(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // state, parent, group
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
        fields.get(2) == Some(&group) && fields.first() != Some(&"Z")
    })
}

/// Asserts right output, or a prefix and a telling status, and nothing left behind.
fn harm_at_random(seed: u64, points: usize) {
    let place = Place::new(&lines(seed, 400_000));
    let expected = place.run("bash", &["-c", &format!("{HEAVY} in")]).0;
    let mut random = Random::new(seed);
    let begun = Instant::now();
    place.run(PELTON, &["run", "--jobs", "2", "--part-bytes", "20000", &format!("cat in | {HEAVY} | cat")]);
    let lasts_ms = begun.elapsed().as_millis() as usize;
    for point in 0..points {
        let harm = [Harm::KillMember, Harm::KillDealer, Harm::Interrupt, Harm::CloseReader][random.below(4)];
        let mut victim = Victim::start(&place, harm);
        std::thread::sleep(Duration::from_millis(random.below(lasts_ms) as u64));
        victim.harm(harm, &mut random);
        let status = victim.child.wait().expect("it ends");
        victim.leaves_nobody();
        let left: Vec<_> = std::fs::read_dir(place.path()).expect("readable").flatten().collect();
        let known = ["in", "out", ".cache"];
        assert!(left.iter().all(|file| known.iter().any(|name| file.file_name() == *name)), "{left:?}");
        if harm == Harm::CloseReader {
            continue;
        }
        // A process killed while writing may leave half a character.
        let printed = std::fs::read(&victim.out).expect("readable");
        let whole = printed == expected.as_bytes();
        assert!(expected.as_bytes().starts_with(&printed), "{harm:?} at point {point}: wrong bytes");
        // As in a shell: death by the signal if every stage died of it, else a status.
        let interrupted =
            harm == Harm::Interrupt && (status.signal() == Some(2) || status.code() == Some(130));
        // As in a shell without pipefail, a killed stage that is not the last does not show in the status.
        let killed = matches!(harm, Harm::KillMember | Harm::KillDealer) && status.code() == Some(0);
        assert!(
            whole && status.code() == Some(0) || interrupted || killed,
            "{harm:?} at point {point}: {status:?}"
        );
    }
}

#[test]
fn a_few_points_of_harm() {
    harm_at_random(7, 10);
}

/// Takes minutes: `cargo test -p pelton --test parts -- --ignored`.
#[test]
#[ignore = "some minutes"]
fn five_hundred_points_of_harm() {
    harm_at_random(8, 500);
}

#[test]
fn a_killed_part_is_a_killed_stage() {
    let place = Place::new(&lines(9, 400_000));
    let text = format!("set -o pipefail; cat in | {HEAVY} | wc -c > size");
    for _ in 0..3 {
        let mut child = place
            .command(PELTON, &["run", "--jobs", "2", "--part-bytes", "400000", &text])
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let member = loop {
            let dealers = children(child.id()).into_iter().filter(|pid| name(*pid) == "pelton");
            if let Some(member) = dealers.flat_map(children).next() {
                break Some(member);
            }
            if child.try_wait().expect("asked").is_some() {
                break None;
            }
        };
        let Some(member) = member else { continue };
        let _ = Command::new("kill").args(["-KILL", &member.to_string()]).stderr(Stdio::null()).status();
        assert_eq!(child.wait().expect("it ends").code(), Some(137));
    }
}

#[test]
fn a_stream_that_trickles_is_passed_on() {
    let place = Place::new(b"");
    let args =
        ["run", "--part-bytes", "1000000", "--jobs", "2", "--stateless", "trickle", "cat | trickle | cat"];
    let place = place.with("trickle", "exec sed -u s/a/b/");
    let mut child =
        place.command(PELTON, &args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("piped")));
    for word in ["a", "ca", "a a"] {
        writeln!(stdin, "{word}").expect("it reads");
        let line = lines.next().expect("it prints before its input ends").expect("readable");
        assert_eq!(line, word.replacen('a', "b", 1));
    }
    drop(stdin);
    assert!(lines.next().is_none() && child.wait().expect("it ends").success());
}
