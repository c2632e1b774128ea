//! Checks that a program behaves like the implementation it claims to be.
//!
//! Some distributions patch coreutils to count characters where the original counts bytes (Fedora, SUSE), and
//! keep the version. So a program with a kernel is run once on a few bytes whose output tells them apart:
//! where the two differ, that output; otherwise output that only this implementation prints.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A run of a program on a few bytes, in C.UTF-8, and the output of the implementation that a kernel equals.
#[derive(Debug)]
pub struct Probe {
    args: &'static [&'static str],
    stdin: &'static str,
    stdout: &'static [u8],
    /// Whether the status is 0.
    succeeds: bool,
}

impl Probe {
    /// Makes a probe that prints this and succeeds.
    pub(crate) const fn prints(
        args: &'static [&'static str],
        stdin: &'static str,
        stdout: &'static [u8],
    ) -> Probe {
        Probe { args, stdin, stdout, succeeds: true }
    }

    /// Makes a probe that prints this and fails.
    pub(crate) const fn refuses(
        args: &'static [&'static str],
        stdin: &'static str,
        stdout: &'static [u8],
    ) -> Probe {
        Probe { args, stdin, stdout, succeeds: false }
    }

    /// Returns the call in words, for a reason: `cut -c1`.
    pub(super) fn describe(&self, program: &str) -> String {
        format!("{program} {}", self.args.join(" ")).trim_end().to_owned()
    }

    /// Whether the program at this path gives this output.
    pub(super) fn is_shown_by(&self, path: &Path) -> bool {
        let answer = ask(path, self.args, self.stdin, "C.UTF-8");
        answer.is_some_and(|(stdout, succeeded)| stdout == self.stdout && succeeded == self.succeeds)
    }
}

/// Time limit for an answer. Programs take a millisecond or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Limit for the answer's size in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 16;

/// Runs a program. Returns its output and whether the status is 0; `None` if it cannot be run or does not end
/// in time.
pub(super) fn ask(path: &Path, args: &[&str], stdin: &str, locale: &str) -> Option<(Vec<u8>, bool)> {
    // sed prints the name it was called by before its version.
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
    // A few bytes fit in any pipe. A program that does not read them fails the probe.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(stdin.as_bytes()));
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        let _ = sender.send(read.is_ok().then_some(answer));
    });
    let answer = receiver.recv_timeout(ANSWER_WITHIN).ok().flatten();
    // Workers are forked from this process: no thread may be left, except one that waits for a hung program.
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
    use crate::{Family, TOOLS};

    #[test]
    fn every_kernel_of_coreutils_has_a_probe() {
        for tool in TOOLS.iter().filter(|tool| tool.family == Family::GnuCoreutils) {
            assert!(!tool.probes.is_empty(), "{}", tool.name);
        }
    }

    #[test]
    fn a_program_that_does_not_answer_so_is_told_apart() {
        let cut = &crate::lookup(b"cut").unwrap().probes[0];
        // echo prints the whole line, as a patched cut does.
        assert!(!cut.is_shown_by(Path::new("/bin/echo")));
        assert!(!cut.is_shown_by(Path::new("/nowhere/cut")));
        assert_eq!(cut.describe("cut"), "cut -c1");
    }

    #[test]
    fn answers_and_statuses_are_seen() {
        assert_eq!(ask(Path::new("/bin/cat"), &[], "a\n", "C"), Some((b"a\n".to_vec(), true)));
        assert_eq!(ask(Path::new("/bin/false"), &[], "a\n", "C"), Some((Vec::new(), false)));
        assert_eq!(ask(Path::new("/nowhere/cat"), &[], "", "C"), None);
    }
}
