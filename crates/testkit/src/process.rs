//! Runs one command in a session of its own, bounded in time, and says how it ended and what it left behind.
//!
//! ```text
//! spawn ──> leader runs ──> leader ends (still unreaped) ──> who is alive? ──> settle ──> who is left? kill ──> reap
//! ```
//! The leader is reaped last: until then its process id, which is the session's number, cannot be given to anyone
//! else, so that nothing foreign is ever signalled.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::collect::Collector;
use crate::{Error, Result, SessionProcess, session};

/// A command and the circumstances it starts in.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments. The program is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// Working directory.
    pub dir: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdin,
    /// When to give up.
    pub timeout: Duration,
    /// How long the background may go on after the leader's end.
    pub settle: Duration,
}

/// What is connected to standard input.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// /dev/null.
    Null,
    /// A pipe that carries these bytes and then ends.
    Pipe(Vec<u8>),
    /// This file.
    File(PathBuf),
    /// A socket that gives these bytes, and then an error.
    Torn(Vec<u8>),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By exit with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Not within the time: it was killed by us.
    TimedOut,
}

/// Everything that can be said about a run.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How the leader ended.
    pub ending: Ending,
    /// All that was written to standard output (in a [`crate::Terminal`]: to the terminal).
    pub stdout: Vec<u8>,
    /// All that was written to standard error.
    pub stderr: Vec<u8>,
    /// Names of the processes alive at the moment when the leader ended.
    pub alive_at_exit: Vec<String>,
    /// Names of those that had to be killed after the settling time.
    pub left_behind: Vec<String>,
}

/// A started command.
pub struct Running {
    child: Child,
    pid: Pid,
    deadline: Instant,
    settle: Duration,
    stdout: Collector,
    stderr: Collector,
    done: bool,
}

/// What stands before a command that starts through this sh text, which ends in `exec "$@"`.
pub(crate) fn shell_before(sh_text: &str) -> [OsString; 4] {
    ["sh", "-c", sh_text, "sh"].map(OsString::from)
}

impl Launch {
    /// This command in this directory, with the [`crate::base_environment`], no input and generous limits.
    pub fn new<I: IntoIterator<Item = S>, S: Into<OsString>>(argv: I, dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Launch {
            argv: argv.into_iter().map(Into::into).collect(),
            env: crate::base_environment(&dir),
            dir,
            stdin: Stdin::Null,
            timeout: Duration::from_secs(30),
            settle: Duration::from_secs(2),
        }
    }

    /// Starts it through this sh text, which ends in `exec "$@"`: the way to close descriptors, ignore signals and
    /// set limits without unsafe code.
    pub fn through(mut self, sh_text: &str) -> Self {
        self.argv.splice(0..0, shell_before(sh_text));
        self
    }

    /// With this standard input.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Starts it.
    pub fn spawn(&self) -> Result<Running> {
        let mut command = self.command(&["setsid"]);
        match &self.stdin {
            Stdin::Null => command.stdin(Stdio::null()),
            Stdin::Pipe(_) => command.stdin(Stdio::piped()),
            Stdin::File(path) => command.stdin(File::open(path)?),
            Stdin::Torn(bytes) => command.stdin(torn(bytes)?),
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        drop(command);
        if let (Stdin::Pipe(bytes), Some(mut pipe)) = (&self.stdin, child.stdin.take()) {
            let bytes = bytes.clone();
            // The reader may leave early, which is no fault of the feeder.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let stdout = Collector::start(child.stdout.take().ok_or("no standard output")?);
        let stderr = Collector::start(child.stderr.take().ok_or("no standard error")?);
        Ok(self.running(child, stdout, stderr))
    }

    /// Starts it and waits for its end.
    pub fn run(&self) -> Result<Ended> {
        self.spawn()?.finish()
    }

    /// The command behind `setsid`, which makes the session and becomes the command without a fork: it only forks
    /// where it leads a process group, and a child of ours never does.
    pub(crate) fn command(&self, setsid: &[&str]) -> Command {
        let mut command = Command::new(setsid[0]);
        command.args(&setsid[1..]).args(&self.argv).current_dir(&self.dir);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn running(&self, child: Child, stdout: Collector, stderr: Collector) -> Running {
        let pid = Pid::from_child(&child);
        let deadline = Instant::now() + self.timeout;
        Running { child, pid, deadline, settle: self.settle, stdout, stderr, done: false }
    }
}

impl Running {
    /// The leader's process id, which is the session's too.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until standard output has said this; an error, with what was said instead, if it never does.
    pub fn await_words(&self, words: &str) -> Result<()> {
        if self.stdout.await_words(words, self.deadline) { Ok(()) } else { Err(self.silence(words)) }
    }

    /// Like [`Running::await_words`], for standard error.
    pub fn await_message(&self, words: &str) -> Result<()> {
        if self.stderr.await_words(words, self.deadline) { Ok(()) } else { Err(self.silence(words)) }
    }

    /// Waits until the processes of the session are as wished; an error, with how they are, if they never are.
    pub fn await_members(&self, wish: impl Fn(&[SessionProcess]) -> bool) -> Result<()> {
        loop {
            let members = session::members(self.pid);
            if wish(&members) {
                return Ok(());
            }
            if Instant::now() > self.deadline {
                return Err(format!("the processes never became as wished: {members:?}").into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until nothing happens any more: in two looks in a row, every process of the session sleeps.
    pub fn await_quiet(&self) -> Result<()> {
        let quiet =
            |members: &[SessionProcess]| members.iter().all(|member| matches!(member.state, 'S' | 'Z'));
        loop {
            self.await_members(quiet)?;
            std::thread::sleep(Duration::from_millis(10));
            if quiet(&session::members(self.pid)) {
                return Ok(());
            }
        }
    }

    fn silence(&self, words: &str) -> Error {
        let said = [self.stdout.bytes(), self.stderr.bytes()].map(|bytes| bytes.escape_ascii().to_string());
        format!("never said {words:?}; stdout: {}; stderr: {}", said[0], said[1]).into()
    }

    /// Sends a signal to the leader alone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Waits for the leader's end without reaping it; false if the time ran out.
    pub fn await_exit(&self) -> Result<bool> {
        let pidfd = pidfd_open(self.pid, PidfdFlags::empty())?;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                other => return Ok(other? > 0),
            }
        }
    }

    /// Waits for the end, lets the background settle, kills what is left, and reaps.
    pub fn finish(mut self) -> Result<Ended> {
        let in_time = self.await_exit()?;
        let alive_at_exit = session::alive(self.pid);
        if in_time {
            self.settle();
        }
        let left_behind = session::alive(self.pid);
        let status = self.end()?;
        let ending = if in_time { Ending::from(status) } else { Ending::TimedOut };
        let (stdout, stderr) = (self.stdout.bytes(), self.stderr.bytes());
        Ok(Ended { ending, stdout, stderr, alive_at_exit, left_behind })
    }

    /// Waits until nobody holds the outputs and nobody is alive, within the settling time.
    fn settle(&self) {
        let until = Instant::now() + self.settle;
        self.stdout.await_end(until);
        self.stderr.await_end(until);
        while Instant::now() < until && !session::alive(self.pid).is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(&mut self) -> Result<ExitStatus> {
        session::kill_all(self.pid);
        // Whatever is still in the pipes arrives before the end of file.
        let soon = Instant::now() + Duration::from_secs(2);
        self.stdout.await_end(soon);
        self.stderr.await_end(soon);
        self.done = true;
        Ok(self.child.wait()?)
    }
}

impl Drop for Running {
    /// A test that gave up half way leaves nothing running.
    fn drop(&mut self) {
        if !self.done {
            let _ = self.end();
        }
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exit(code),
            (None, signal) => Ending::Signal(signal.unwrap_or(0)),
        }
    }
}

/// The other end is closed with something unread, so what comes after these bytes is a reset connection.
fn torn(bytes: &[u8]) -> Result<Stdio> {
    let (mut theirs, ours) = UnixStream::pair()?;
    theirs.write_all(bytes)?;
    (&ours).write_all(b"never read")?;
    Ok(OwnedFd::from(ours).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str) -> Launch {
        Launch::new(["sh", "-c", text], std::env::temp_dir())
    }

    #[test]
    fn status_and_both_streams_come_back() {
        let ended = sh("echo out; echo err >&2; exit 3").run().expect("a run");
        assert_eq!(ended.ending, Ending::Exit(3));
        assert_eq!((ended.stdout.as_slice(), ended.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(sh("kill -TERM $$").run().expect("a run").ending, Ending::Signal(15));
    }

    #[test]
    fn a_run_that_hangs_is_ended_and_reported() {
        let launch = Launch { timeout: Duration::from_millis(300), ..sh("echo begun; sleep 300 | cat") };
        let ended = launch.run().expect("a run");
        assert_eq!(ended.ending, Ending::TimedOut);
        assert_eq!(ended.stdout, b"begun\n");
        assert_eq!(ended.left_behind, ["cat", "sh", "sleep"]);
    }

    #[test]
    fn what_stays_behind_is_named_and_killed() {
        let launch = Launch { settle: Duration::from_millis(50), ..sh("sleep 300 & echo $!") };
        let ended = launch.run().expect("a run");
        assert_eq!((ended.ending, ended.left_behind), (Ending::Exit(0), vec!["sleep".to_string()]));
        let pid = String::from_utf8(ended.stdout).expect("a number");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or(") Z".into());
        assert!(stat.contains(") Z"), "it must not live on: {stat}");
    }

    #[test]
    fn input_arrives_and_an_early_reader_is_fine() {
        let launch = sh("head -c 3").stdin(Stdin::Pipe(vec![b'x'; 1 << 20]));
        assert_eq!(launch.run().expect("a run").stdout, b"xxx");
        let launch =
            sh("cat <&7").stdin(Stdin::Pipe(b"seven".into())).through("exec 7<&0 </dev/null; exec \"$@\"");
        assert_eq!(launch.run().expect("a run").stdout, b"seven");
    }
}
