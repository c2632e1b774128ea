//! Runs one command in a new session with a timeout. Reports how it ended and which processes it left behind.
//!
//! ```text
//! spawn ──> leader runs ──> leader ends (still unreaped) ──> who is alive? ──> settle ──> who is left? kill ──> reap
//! ```
//! The leader is reaped last: until then its process id, which is also the session's id, cannot be reused, so
//! no foreign process is ever signalled.

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
use crate::{Error, Result, SessionProcess, session_processes};

/// A command and its settings.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments. The program is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    /// Working directory.
    pub dir: PathBuf,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdin,
    /// Timeout.
    pub timeout: Duration,
    /// How long background processes may take after the leader's end.
    pub settle: Duration,
}

/// The standard input of a command.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// /dev/null.
    Null,
    /// A pipe that carries these bytes and then ends.
    Pipe(Vec<u8>),
    /// This file.
    File(PathBuf),
    /// A socket that delivers these bytes, and then an error.
    Torn(Vec<u8>),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By exit with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Killed at the timeout.
    TimedOut,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How the leader ended.
    pub ending: Ending,
    /// All output on standard output (in a [`crate::Terminal`]: on the terminal).
    pub stdout: Vec<u8>,
    /// All output on standard error.
    pub stderr: Vec<u8>,
    /// Names of the processes alive when the leader ended.
    pub alive_at_exit: Vec<String>,
    /// Names of the processes that were killed after the settling time.
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

/// Returns the words before a command that starts through this sh text, which ends in `exec "$@"`.
pub(crate) fn shell_before(sh_text: &str) -> [OsString; 4] {
    ["sh", "-c", sh_text, "sh"].map(OsString::from)
}

impl Launch {
    /// Makes a launch of this command in this directory, with the [`crate::base_environment`], no input and
    /// generous limits.
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

    /// Starts the command through this sh text, which ends in `exec "$@"`: it can close descriptors, ignore
    /// signals and set limits without unsafe code.
    pub fn through(mut self, sh_text: &str) -> Self {
        self.argv.splice(0..0, shell_before(sh_text));
        self
    }

    /// Sets the standard input.
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Starts the command.
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
            // The reader may leave early, which is no error of the writer.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let stdout = Collector::start(child.stdout.take().ok_or("no standard output")?);
        let stderr = Collector::start(child.stderr.take().ok_or("no standard error")?);
        Ok(self.running(child, stdout, stderr))
    }

    /// Starts the command and waits for its end.
    pub fn run(&self) -> Result<Ended> {
        self.spawn()?.finish()
    }

    /// Builds the command with `setsid`, which creates the session and executes the command. It forks only if
    /// it leads a process group, which a child of this process never does.
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
    /// Returns the leader's process id, which is also the session's id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until standard output contains these words. Otherwise the error shows the output.
    pub fn await_words(&self, words: &str) -> Result<()> {
        if self.stdout.await_words(words, self.deadline) { Ok(()) } else { Err(self.silence(words)) }
    }

    /// Returns what it has printed on standard output so far.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes()).into_owned()
    }

    /// Like [`Running::await_words`], for standard error.
    pub fn await_message(&self, words: &str) -> Result<()> {
        if self.stderr.await_words(words, self.deadline) { Ok(()) } else { Err(self.silence(words)) }
    }

    /// Waits until the processes of the session satisfy `wish`. Otherwise the error lists them.
    pub fn await_members(&self, wish: impl Fn(&[SessionProcess]) -> bool) -> Result<()> {
        loop {
            let members = session_processes::members(self.pid);
            if wish(&members) {
                return Ok(());
            }
            if Instant::now() > self.deadline {
                return Err(
                    format!("timeout: the processes never reached the expected state: {members:?}").into()
                );
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until nothing happens any more: every process of the session sleeps in two successive polls.
    pub fn await_quiet(&self) -> Result<()> {
        let quiet =
            |members: &[SessionProcess]| members.iter().all(|member| matches!(member.state, 'S' | 'Z'));
        loop {
            self.await_members(quiet)?;
            std::thread::sleep(Duration::from_millis(10));
            if quiet(&session_processes::members(self.pid)) {
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

    /// Waits for the leader's end without reaping it. Returns false at the timeout.
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

    /// Waits for the end and for background processes, kills the remaining ones, and reaps the leader.
    pub fn finish(mut self) -> Result<Ended> {
        let in_time = self.await_exit()?;
        let alive_at_exit = session_processes::alive(self.pid);
        if in_time {
            self.settle();
        }
        let left_behind = session_processes::alive(self.pid);
        let status = self.end()?;
        let ending = if in_time { Ending::from(status) } else { Ending::TimedOut };
        let (stdout, stderr) = (self.stdout.bytes(), self.stderr.bytes());
        Ok(Ended { ending, stdout, stderr, alive_at_exit, left_behind })
    }

    /// Waits until the outputs are closed and no process is alive, within the settling time.
    fn settle(&self) {
        let until = Instant::now() + self.settle;
        self.stdout.await_end(until);
        self.stderr.await_end(until);
        while Instant::now() < until && !session_processes::alive(self.pid).is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(&mut self) -> Result<ExitStatus> {
        session_processes::kill_all(self.pid);
        // Data still in the pipes arrives before the end of file.
        let soon = Instant::now() + Duration::from_secs(2);
        self.stdout.await_end(soon);
        self.stderr.await_end(soon);
        self.done = true;
        Ok(self.child.wait()?)
    }
}

impl Drop for Running {
    /// A failed test leaves nothing running.
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

/// Makes a socket whose other end is closed with unread data: after these bytes, reads fail with a reset
/// connection.
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
