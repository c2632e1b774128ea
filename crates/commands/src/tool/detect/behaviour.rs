//! Whether a program behaves as the implementation it says it is.
//!
//! Some distributions patch coreutils so that characters count where the original counts bytes (Fedora, SUSE), and
//! leave the version as it is. So a program with a kernel is run once over a few bytes whose answer tells: where the
//! two differ, that; elsewhere, something that only this implementation prints in this way.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::Family;

/// One run, and its answer.
pub(super) struct Behaviour {
    family: Family,
    program: &'static str,
    args: &'static [&'static str],
    stdin: &'static str,
    stdout: &'static [u8],
    /// It ends with status 0.
    succeeds: bool,
}

const fn coreutils(
    program: &'static str,
    args: &'static [&'static str],
    stdin: &'static str,
    stdout: &'static [u8],
) -> Behaviour {
    Behaviour { family: Family::GnuCoreutils, program, args, stdin, stdout, succeeds: true }
}

const fn refuses(behaviour: Behaviour) -> Behaviour {
    Behaviour { succeeds: false, ..behaviour }
}

/// The originals' answers, in UTF-8. Patched ones differ in cut, expand, fold, join, sort, unexpand and uniq.
const BEHAVIOURS: &[Behaviour] = &[
    coreutils("cat", &["-A"], "é\t\n", b"M-CM-)^I$\n"),
    refuses(coreutils("comm", &["--total", "-", "/dev/null"], "b\na\n", b"b\na\n2\t0\t0\ttotal\n")),
    coreutils("cut", &["-c1"], "é\n", b"\xc3\n"),
    coreutils("expand", &["-t4"], "é\tx\n", "é  x\n".as_bytes()),
    coreutils("fold", &["-w2"], "éé\n", "é\né\n".as_bytes()),
    coreutils("head", &["-n", "-1"], "a\nb\n", b"a\n"),
    refuses(coreutils("join", &["-té", "-", "/dev/null"], "éa\n", b"")),
    coreutils("nl", &[], "é\n", "     1\té\n".as_bytes()),
    coreutils("paste", &["-sd,"], "a\nb\n", b"a,b\n"),
    coreutils("seq", &["-w", "9", "10"], "", b"09\n10\n"),
    coreutils("sort", &["-fu"], "É\né\n", "É\né\n".as_bytes()),
    refuses(coreutils("sort", &["-té", "-k2"], "aéb\n", b"")),
    coreutils("tac", &[], "a\nb", b"ba\n"),
    coreutils("tail", &["-n", "+2"], "a\nb\n", b"b\n"),
    coreutils("tee", &[], "a\n", b"a\n"),
    coreutils("tr", &["é", "xy"], "é\n", b"xy\n"),
    coreutils("unexpand", &["-at4"], "é  x\n", "é\tx\n".as_bytes()),
    coreutils("uniq", &["-i"], "É\né\n", "É\né\n".as_bytes()),
    coreutils("uniq", &["-w1"], "éa\nèa\n", "éa\n".as_bytes()),
    coreutils("wc", &["-wmcL"], "é\tb\n", b"      2       4       5       9\n"),
];

/// What is run with a program of this family and name.
pub(super) fn of(family: Family, program: &str) -> impl Iterator<Item = &'static Behaviour> {
    BEHAVIOURS.iter().filter(move |behaviour| behaviour.family == family && behaviour.program == program)
}

impl Behaviour {
    /// In words, for a reason: `cut -c1`.
    pub(super) fn describe(&self) -> String {
        format!("{} {}", self.program, self.args.join(" ")).trim_end().to_owned()
    }

    /// Does the program at this path answer so?
    pub(super) fn is_shown_by(&self, path: &Path) -> bool {
        let answer = ask(path, self.args, self.stdin, "C.UTF-8");
        answer.is_some_and(|(stdout, succeeded)| stdout == self.stdout && succeeded == self.succeeds)
    }
}

/// How long a program may take to answer. They take a millisecond or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// More of an answer is not read.
const ANSWER_BYTES_MAX: u64 = 1 << 16;

/// What a program prints, and whether it ends well; `None` if it cannot be run or does not end in time.
pub(super) fn ask(path: &Path, args: &[&str], stdin: &str, locale: &str) -> Option<(Vec<u8>, bool)> {
    // sed shows the name that it was called by before its version.
    let mut child = Command::new(path)
        .arg0(path.file_name()?)
        .args(args)
        .env("LC_ALL", locale)
        .env_remove("LANGUAGE")
        .env_remove("POSIXLY_CORRECT")
        .env_remove("_POSIX2_VERSION")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A few bytes fit in any pipe. Whoever does not read them broke it: that shows in the answer.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(stdin.as_bytes()));
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        let _ = sender.send(read.is_ok().then_some(answer));
    });
    let answer = receiver.recv_timeout(ANSWER_WITHIN).ok().flatten();
    // Workers are forked from this process: no thread may be left, unless one waits for what will not end.
    match answer {
        Some(_) => _ = reader.join(),
        None => _ = child.kill(),
    }
    let status = child.wait().ok()?;
    Some((answer?, status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COMMANDS;

    #[test]
    fn every_kernel_of_coreutils_has_a_behaviour_to_be_told_by() {
        for entry in COMMANDS.iter().filter(|entry| entry.family == Family::GnuCoreutils) {
            assert!(of(entry.family, entry.name).next().is_some(), "{}", entry.name);
        }
    }

    #[test]
    fn a_program_that_does_not_answer_so_is_told_apart() {
        let cut = of(Family::GnuCoreutils, "cut").next().unwrap();
        // It prints the whole line, as a patched cut does.
        assert!(!cut.is_shown_by(Path::new("/bin/echo")));
        assert!(!cut.is_shown_by(Path::new("/nowhere/cut")));
        assert_eq!(cut.describe(), "cut -c1");
    }

    #[test]
    fn answers_and_statuses_are_seen() {
        assert_eq!(ask(Path::new("/bin/cat"), &[], "a\n", "C"), Some((b"a\n".to_vec(), true)));
        assert_eq!(ask(Path::new("/bin/false"), &[], "a\n", "C"), Some((Vec::new(), false)));
        assert_eq!(ask(Path::new("/nowhere/cat"), &[], "", "C"), None);
    }
}
