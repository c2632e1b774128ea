//! Finds where a shell stores its current line number: by experiment, without knowledge of its internals.
//!
//! A shell tracks its line for `$LINENO` and for its messages. The experiment runs a script with commands in
//! known lines, and stops the shell at each: the address that held the right number every time is the one.
//!
//! ```text
//!   line 31:  /dev/null/0         at the fork, or at the exec: who holds a 31?
//!   line 42:  f() { /dev/null/1   … and of these, who holds a 42 now?
//! ```
//!
//! The commands do not exist: their exec fails, but is seen. A shell that forks the stages of a pipeline
//! before it evaluates them (dash) is right only at the exec; others are right at the fork, where no further
//! stop is needed.

use super::calls;
use super::event::{OPTIONS, tell};
use crate::spawn::{self, Action, Child, Exec, OpenMode, Redirection};
use crate::trace::{self, Next};
use crate::{other_process, pipe};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An address in the memory of processes that run a certain program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlace {
    /// The program: device and inode of its file.
    program: (u64, u64),
    /// Offset from the first mapping of its file.
    offset: u64,
    /// Whether it is right only before a command's exec, and not yet at the fork.
    pub(super) before_exec: bool,
}

impl LinePlace {
    /// Examines the shell at `path`. `None` if it has no such address, or tracing is not permitted.
    pub fn find(path: &Path) -> Option<LinePlace> {
        let file = std::fs::metadata(path).ok()?;
        let shell = CString::new(path.as_os_str().as_bytes()).ok()?;
        let answer = pipe::pipe().ok()?;
        let Some(tracer) = spawn::fork_copy().ok()? else {
            if trace::alone(&[answer.write.as_raw_fd()]).is_ok()
                && let Some((offset, before_exec)) = experiment(shell)
            {
                // Without a reader the result is lost.
                let _ = tell(&[offset.to_ne_bytes(), u64::from(before_exec).to_ne_bytes()].concat());
            }
            spawn::exit_now(0);
        };
        drop(answer.write);
        let mut told = Vec::new();
        let read = io::Read::read_to_end(&mut std::fs::File::from(answer.read), &mut told);
        crate::wait::reap(tracer).and(read).ok()?;
        let (numbers, _) = told.as_chunks::<8>();
        let &[offset, before_exec] = numbers else { return None };
        let before_exec = u64::from_ne_bytes(before_exec) != 0;
        Some(LinePlace { program: (file.dev(), file.ino()), offset: u64::from_ne_bytes(offset), before_exec })
    }

    /// Returns the address in `pid`, if that runs the program.
    pub(super) fn address(&self, pid: u32) -> Option<u64> {
        let file = std::fs::metadata(format!("/proc/{pid}/exe")).ok()?;
        let same = (file.dev(), file.ino()) == self.program;
        same.then(|| Some(Maps::read(pid)?.base + self.offset)).flatten()
    }
}

/// Returns the line number at `address` of `pid`; `None` if it is not plausible.
pub(super) fn line(pid: u32, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    let number = u32::from_ne_bytes(other_process::memory(pid, address, &mut bytes)?.try_into().ok()?);
    (1..=10_000_000).contains(&number).then_some(number)
}

/// Where a program's file is mapped, and its writable mappings, including the anonymous ones after them.
struct Maps {
    base: u64,
    writable: Vec<(u64, u64)>,
}

impl Maps {
    fn read(pid: u32) -> Option<Maps> {
        let inode = std::fs::metadata(format!("/proc/{pid}/exe")).ok()?.ino().to_string();
        Maps::parse(&crate::processes::file(pid, "maps")?, &inode)
    }

    fn parse(text: &str, inode: &str) -> Option<Maps> {
        let mut maps: Option<Maps> = None;
        let mut end_before = 0;
        for line in text.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [range, rights, _, _, of, rest @ ..] = fields.as_slice() else { continue };
            let (start, end) = range.split_once('-')?;
            let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
            let programs = *of == inode;
            if programs && maps.is_none() {
                maps = Some(Maps { base: start, writable: Vec::new() });
            }
            // Zero-initialised data has no name, and follows the file's mapping.
            let zeros = rest.is_empty() && start == end_before;
            if let Some(maps) = maps.as_mut().filter(|_| rights.contains('w') && (programs || zeros)) {
                maps.writable.push((start, end));
            }
            end_before = if programs || zeros { end } else { 0 };
        }
        maps
    }
}

/// Returns a script whose command `/dev/null/N` is in the N-th of these lines: in a function, a condition, a
/// loop, pipelines, a group, a subshell and a substitution, far apart.
fn probes() -> (String, Vec<u32>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut at = 1;
    let mut add = |blank: usize, pieces: &str| {
        text.push_str(&"\n".repeat(blank));
        at += blank as u32;
        for line in pieces.split_inclusive('\n') {
            for (number, _) in line.match_indices("/dev/null/") {
                let digits = &line[number + 10..];
                let number = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
                lines.push((number.parse().unwrap_or(usize::MAX), at));
            }
            text.push_str(line);
            at += 1;
        }
    };
    add(22, "f() {\n:\n/dev/null/0\n:\n}\n");
    add(31, "/dev/null/1\n");
    add(101, "if :; then\n:\n/dev/null/2 | /dev/null/3\nfi\n");
    add(57, "f | /dev/null/4\n");
    add(203, "for i in 1; do\n/dev/null/5 |\n/dev/null/6\ndone\n");
    add(76, "x=$(/dev/null/7; :)\n( /dev/null/8; : )\n:\n");
    add(390, "{ /dev/null/9; : ; }\n:\n");
    lines.sort_unstable();
    (text, lines.into_iter().map(|(_, line)| line).collect())
}

/// The state of the experiment.
struct Experiment {
    shell: u32,
    lines: Vec<u32>,
    /// The candidate addresses in a parent's memory when it forked.
    made: HashMap<libc::pid_t, Vec<(u64, u32)>>,
    /// Processes whose fork was not reported yet: they must wait.
    held: HashSet<libc::pid_t>,
    /// Addresses that were right so far: at the fork, before the exec. `None` before the first try.
    right: [Option<Vec<u64>>; 2],
    tried: usize,
}

fn experiment(shell: CString) -> Option<(u64, bool)> {
    let (text, lines) = probes();
    let arguments = [c"-c".to_owned(), CString::new(text).ok()?];
    let argv = std::iter::once(shell.clone()).chain(arguments).collect();
    let flags = spawn::open_flags(OpenMode::ReadWrite);
    let null = |fd| Redirection::Open { fd, path: c"/dev/null".to_owned(), flags };
    let child = Child {
        action: Action::Exec(Exec { path: shell, argv, envp: vec![c"PATH=/nonexistent".to_owned()] }),
        fallback: None,
        stdin: None,
        stdout: None,
        redirections: [0, 1, 2].map(null).into(),
        not_mine: None,
    };
    let (pid, gate) = spawn::spawn_gated(&child, spawn::Tie::None).ok()?;
    trace::request(libc::PTRACE_SEIZE, pid as libc::pid_t, OPTIONS).ok()?;
    trace::request(libc::PTRACE_INTERRUPT, pid as libc::pid_t, 0).ok()?;
    gate.open();
    let count = lines.len();
    let mut experiment = Experiment {
        shell: pid,
        lines,
        made: HashMap::new(),
        held: HashSet::new(),
        right: [None, None],
        tried: 0,
    };
    experiment.run();
    let tried_all = experiment.tried == count;
    let [at_fork, before_exec] = std::mem::take(&mut experiment.right);
    let first = |places: Option<Vec<u64>>| places.filter(|_| tried_all)?.first().copied();
    first(at_fork).map(|place| (place, false)).or_else(|| Some((first(before_exec)?, true)))
}

impl Experiment {
    fn run(&mut self) {
        loop {
            match trace::next() {
                Next::None => return,
                Next::Ended(pid) => {
                    if crate::wait::reap(pid as u32).is_err() {
                        return;
                    }
                }
                Next::Stopped(pid, status) => self.stopped(pid, status),
            }
        }
    }

    fn stopped(&mut self, pid: libc::pid_t, status: libc::c_int) {
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Some(child) = trace::event_message(pid) {
                    self.made(pid, child as libc::pid_t);
                }
            }
            libc::PTRACE_EVENT_STOP if pid != self.shell as libc::pid_t && !self.made.contains_key(&pid) => {
                self.held.insert(pid);
                return;
            }
            0 if signal == calls::STOP => self.called(pid),
            _ => {}
        }
        let signal = if event != 0 || signal == calls::STOP { 0 } else { signal };
        // One that was killed meanwhile cannot be resumed; its end is seen next.
        let _ = trace::request(libc::PTRACE_SYSCALL, pid, signal);
    }

    fn made(&mut self, pid: libc::pid_t, child: libc::pid_t) {
        self.made.insert(child, self.numbers(pid));
        if self.held.remove(&child) {
            // One that was killed meanwhile: its end is seen next.
            let _ = trace::request(libc::PTRACE_SYSCALL, child, 0);
        }
    }

    /// Records the exec of one of the nonexistent commands.
    fn called(&mut self, pid: libc::pid_t) {
        let Some(path) = calls::exec_path(pid) else { return };
        let number = || std::str::from_utf8(path.strip_prefix(b"/dev/null/")?).ok()?.parse::<usize>().ok();
        let Some(&line) = number().and_then(|number| self.lines.get(number)) else { return };
        let here = self.numbers(pid);
        let before = self.made.get(&pid).cloned().unwrap_or_default();
        self.tried += 1;
        for (right, held) in self.right.iter_mut().zip([before, here]) {
            let now: Vec<u64> =
                held.into_iter().filter(|(_, number)| *number == line).map(|(place, _)| place).collect();
            match right {
                Some(right) => right.retain(|place| now.binary_search(place).is_ok()),
                None => *right = Some(now),
            }
        }
    }

    /// Returns the small numbers in its memory, by address.
    fn numbers(&self, pid: libc::pid_t) -> Vec<(u64, u32)> {
        let Some(maps) = Maps::read(pid as u32) else { return Vec::new() };
        let most = self.lines.iter().max().copied().unwrap_or(0);
        let mut found = Vec::new();
        for (start, end) in maps.writable {
            let mut bytes = vec![0; (end - start) as usize];
            let Some(bytes) = other_process::memory(pid as u32, start, &mut bytes) else { continue };
            let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
            let places = words.enumerate().filter(|(_, word)| (1..=most).contains(word));
            found.extend(places.map(|(at, word)| (start - maps.base + 4 * at as u64, word)));
        }
        found
    }
}

impl Drop for Experiment {
    /// If it was aborted, all its processes are killed.
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.shell as i32) {
            // Usually it has ended already.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_stand_in_their_lines() {
        let (text, lines) = probes();
        let all: Vec<&str> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            assert!(all[*line as usize - 1].contains(&format!("/dev/null/{number}")), "{number}");
        }
        assert_eq!(lines.len(), 10);
    }

    #[test]
    fn finds_the_mappings_of_a_program() {
        let text = "5500-5600 r--p 00000000 08:01 77 /bin/dash\n5600-5700 r-xp 00001000 08:01 77 /bin/dash\n\
                    5700-5800 rw-p 00002000 08:01 77 /bin/dash\n5800-5900 rw-p 00000000 00:00 0\n\
                    6000-6100 rw-p 00000000 00:00 0 [heap]\n7000-7100 rw-p 00000000 00:00 0\n";
        let maps = Maps::parse(text, "77").expect("mapped");
        assert_eq!((maps.base, maps.writable), (0x5500, vec![(0x5700, 0x5800), (0x5800, 0x5900)]));
        assert!(Maps::parse(text, "78").is_none());
    }
}
