//! A lightweight run, for campaigns of a hundred thousand pipelines.
//!
//! Unlike [`crate::Launch`], it uses one thread and no extra process, and does not check for processes left
//! behind. The command leads a process group, all of which is killed at the timeout.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process_group, pidfd_open, setrlimit,
};

use crate::{Ended, Ending, Result};

/// The standard input of a run.
pub enum BriefStdin<'a> {
    /// /dev/null.
    Null,
    /// A pipe that carries these bytes and then ends.
    Pipe(&'a [u8]),
    /// This file.
    File(&'a Path),
}

/// Always fits into a pipe without a reader.
const PIPE_BYTES: usize = 64 * 1024;

/// Limits the size of files that this process and its children can write. A random pipeline may read the file
/// that it writes (`awk 1 - b > b`), and fill a temporary directory in memory before the timeout.
pub fn limit_files(bytes: u64) -> Result<()> {
    let limit = Rlimit { current: Some(bytes), maximum: getrlimit(Resource::Fsize).maximum };
    Ok(setrlimit(Resource::Fsize, limit)?)
}

/// Runs a command to its end, or kills it at the timeout.
pub fn run_briefly(
    argv: &[OsString],
    dir: &Path,
    env: &[(OsString, OsString)],
    stdin: &BriefStdin<'_>,
    timeout: Duration,
) -> Result<Ended> {
    let deadline = Instant::now() + timeout;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir(dir).env_clear().envs(env.iter().cloned()).process_group(0);
    command.stdin(match stdin {
        BriefStdin::Null => Stdio::null(),
        BriefStdin::Pipe(_) => Stdio::piped(),
        BriefStdin::File(path) => Stdio::from(std::fs::File::open(path)?),
    });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let (BriefStdin::Pipe(bytes), Some(mut pipe)) = (stdin, child.stdin.take()) {
        // The reader may leave early, which is no error of the writer.
        if bytes.len() <= PIPE_BYTES {
            let _ = pipe.write_all(bytes);
        } else {
            let bytes = bytes.to_vec();
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
    }
    watch(&mut child, deadline)
}

/// Reads both outputs until they and the command have ended.
fn watch(child: &mut Child, deadline: Instant) -> Result<Ended> {
    let pid = Pid::from_child(child);
    let mut exit = Some(pidfd_open(pid, PidfdFlags::empty())?);
    let mut stdout = Reader::of(child.stdout.take().map(OwnedFd::from));
    let mut stderr = Reader::of(child.stderr.take().map(OwnedFd::from));
    let mut late = false;
    while exit.is_some() || stdout.pipe.is_some() || stderr.pipe.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() && late && exit.is_none() {
            // A process that left the group holds an output open.
            break;
        }
        if left.is_zero() && !late {
            late = true;
            // The leader is not reaped yet: the group's id cannot have been reused.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let fds = [exit.as_ref(), stdout.fd(), stderr.fd()];
        let [ended, said, complained] = ready(fds, if late { GRACE } else { left })?;
        exit = exit.filter(|_| !ended);
        stdout.read_if(said);
        stderr.read_if(complained);
    }
    let status = child.wait()?;
    Ok(Ended {
        ending: if late { Ending::TimedOut } else { Ending::from(status) },
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        alive_at_exit: vec![],
        left_behind: vec![],
    })
}

/// Time for killed processes to end.
const GRACE: Duration = Duration::from_millis(200);

/// Waits until one of the descriptors is readable. Returns which ones are.
fn ready(fds: [Option<&OwnedFd>; 3], timeout: Duration) -> Result<[bool; 3]> {
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
    let mut waiting: Vec<PollFd<'_>> =
        fds.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    match poll(&mut waiting, Some(&timeout)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok([false; 3]),
        Err(error) => return Err(error.into()),
    }
    let mut answers = waiting.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && answers.next().unwrap_or(false)))
}

/// Collects an output until its end.
struct Reader {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Reader {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Reader { pipe, bytes: Vec::new() }
    }

    fn fd(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    /// Reads once, if ready; a read error counts as the end.
    fn read_if(&mut self, ready: bool) {
        let Some(pipe) = self.pipe.as_ref().filter(|_| ready) else { return };
        let mut buffer = [0; PIPE_BYTES];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(size @ 1..) => self.bytes.extend_from_slice(&buffer[..size]),
            Err(rustix::io::Errno::INTR) => {}
            _ => self.pipe = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str, stdin: &BriefStdin<'_>, timeout: Duration) -> Ended {
        let argv = ["/bin/sh", "-c", text].map(OsString::from);
        run_briefly(&argv, &std::env::temp_dir(), &[], stdin, timeout).expect("a run")
    }

    #[test]
    fn streams_status_and_input_come_through() {
        let long = Duration::from_secs(30);
        let ended = sh("/bin/cat; echo err >&2; exit 3", &BriefStdin::Pipe(&[b'x'; 300_000]), long);
        assert_eq!((ended.ending, ended.stdout.len()), (Ending::Exit(3), 300_000));
        assert_eq!(ended.stderr, b"err\n");
        assert_eq!(sh("kill -TERM $$", &BriefStdin::Null, long).ending, Ending::Signal(15));
        assert_eq!(sh(":", &BriefStdin::Pipe(&[b'x'; 300_000]), long).ending, Ending::Exit(0));
    }

    #[test]
    fn whoever_takes_too_long_is_ended_with_all_that_it_started() {
        let ended = sh("echo a; /bin/sleep 300 | /bin/cat", &BriefStdin::Null, Duration::from_millis(100));
        assert_eq!((ended.ending, ended.stdout.as_slice()), (Ending::TimedOut, &b"a\n"[..]));
    }
}
