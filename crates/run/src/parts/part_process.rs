//! One process of several.

use pelton_sys::spawn::{self, Action, Child, Exec, Redirection};
use pelton_sys::wait::{self, Ended, Usage};
use pelton_sys::{pipe, signals, spare_capacity};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A process of the command, its queued input, and its buffered output.
pub struct PartProcess {
    pid: u32,
    /// `None`: it has got all input and EOF.
    stdin: Option<File>,
    /// The read end of that pipe: shows what the process has not read.
    left: OwnedFd,
    /// Input not sent yet, from `sent` on.
    backlog: Vec<u8>,
    sent: usize,
    /// Whether no more input follows.
    closed: bool,
    /// Input bytes queued so far.
    pub given: u64,
    /// All its input, if another process may have to get it again.
    kept: Option<Vec<u8>>,
    /// Its standard output.
    pub out: Gathered,
    /// Its standard error.
    pub err: Gathered,
    /// How it ended, and its resource usage.
    pub ended: Option<(Ended, Usage)>,
}

/// The output from a pipe.
pub struct Gathered {
    /// `None`: it has ended.
    file: Option<File>,
    /// Bytes read and not taken.
    pub bytes: Vec<u8>,
}

/// Size of its pipes: enough for some milliseconds of a command worth splitting, and no more, since the
/// system limits the total per user.
const PIPE_BYTES: usize = 256 * 1024;
/// The most output that is buffered; then it blocks until its turn.
const KEPT_BYTES: usize = 16 << 20;
const READ_BYTES: usize = 64 * 1024;
const SIGKILL: i32 = 9;

impl Gathered {
    /// Reads what is available. Returns whether anything happened.
    fn pull(&mut self) -> bool {
        let mut any = false;
        while let Some(file) = &self.file
            && self.bytes.len() < KEPT_BYTES
        {
            match spare_capacity::append(file, &mut self.bytes, READ_BYTES) {
                Ok(0) => self.file = None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.file = None,
            }
            any = true;
        }
        any
    }

    /// Returns the descriptor to poll, unless the buffer is full.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().filter(|_| self.bytes.len() < KEPT_BYTES).map(|file| file.as_fd())
    }
}

impl PartProcess {
    /// Starts a process.
    ///
    /// # Errors
    /// If the system lacks processes or descriptors.
    pub fn start(exec: &Exec) -> std::io::Result<Self> {
        let (input, output, errors) = (pipe::pipe()?, pipe::pipe()?, pipe::pipe()?);
        pipe::enlarge(input.write.as_fd(), PIPE_BYTES);
        pipe::enlarge(output.read.as_fd(), PIPE_BYTES);
        for own in [&input.write, &output.read, &errors.read] {
            pipe::never_wait(own.as_fd())?;
        }
        let child = Child {
            action: Action::Exec(exec.clone()),
            fallback: None,
            stdin: Some(input.read.as_fd()),
            stdout: Some(output.write.as_fd()),
            redirections: vec![Redirection::Given { fd: 2, source: errors.write }],
            not_mine: None,
        };
        let pid = spawn::spawn_tied(&child)?;
        // The child has its own descriptors.
        drop(child);
        let gathered = |fd| Gathered { file: Some(File::from(fd)), bytes: Vec::new() };
        Ok(PartProcess {
            pid,
            stdin: Some(File::from(input.write)),
            backlog: Vec::new(),
            sent: 0,
            closed: false,
            given: 0,
            kept: None,
            left: input.read,
            out: gathered(output.read),
            err: gathered(errors.read),
            ended: None,
        })
    }

    /// Returns its process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Keeps its input from now on.
    pub fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// Returns the kept input.
    pub fn kept(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Queues more input.
    pub fn give(&mut self, bytes: &[u8]) {
        self.given += bytes.len() as u64;
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
        }
        if self.sent == self.backlog.len() {
            self.backlog.clear();
            self.sent = 0;
        }
        self.backlog.extend_from_slice(bytes);
    }

    /// Marks the end of its input.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether it will get more input.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// Sends what it can take now. Returns whether anything was sent.
    pub fn push(&mut self) -> bool {
        let mut any = false;
        while let Some(stdin) = &mut self.stdin
            && self.sent < self.backlog.len()
        {
            match stdin.write(&self.backlog[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return any,
                // Its read end is open here, so a pipe has no other error.
                Err(_) => return any,
            }
            any = true;
        }
        if self.closed {
            self.stdin = None;
        }
        any
    }

    /// Reads its output, and checks whether it has ended. Returns whether anything happened.
    pub fn pull(&mut self) -> bool {
        let mut any = self.out.pull();
        any |= self.err.pull();
        if self.ended.is_none() && self.out.file.is_none() && self.err.file.is_none() {
            // No other parent can have waited for it.
            self.ended = wait::try_reap(self.pid).ok().flatten();
            any |= self.ended.is_some();
        }
        any
    }

    /// Whether it printed an error, or exited with a status other than 0. A signal does not count.
    pub fn has_failed(&self) -> bool {
        let failed = |(ended, _): &(Ended, Usage)| matches!(ended, Ended::Exited(status) if *status != 0);
        !self.err.bytes.is_empty() || self.ended.as_ref().is_some_and(failed)
    }

    /// Whether it has ended, and all its output was read.
    pub fn is_done(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether it has closed its output, but not been reaped.
    pub fn is_ending(&self) -> bool {
        self.ended.is_none() && self.out.file.is_none() && self.err.file.is_none()
    }

    /// Whether its output buffer is full.
    pub fn is_full(&self) -> bool {
        self.out.bytes.len().max(self.err.bytes.len()) >= KEPT_BYTES
    }

    /// Whether it ended before it had read all its input, or before EOF.
    pub fn left_early(&self) -> bool {
        self.stdin.is_some() || self.load() > 0
    }

    /// Returns how many bytes it has read so far.
    pub fn taken(&self) -> u64 {
        self.given - (self.load() as u64).min(self.given)
    }

    /// Returns how many bytes are queued for it.
    pub fn load(&self) -> usize {
        self.backlog.len() - self.sent + pipe::unread(self.left.as_fd()).unwrap_or(0)
    }

    /// Whether it has enough input for a while, and capacity for its output.
    pub fn is_comfortable(&self) -> bool {
        let printed = self.out.file.as_ref().map_or(0, |file| pipe::unread(file.as_fd()).unwrap_or(0));
        self.is_done() || self.load() >= PIPE_BYTES / 2 && printed <= PIPE_BYTES / 2
    }

    /// Adds the descriptors to poll, for reading and for writing.
    pub fn waits_for<'a>(&'a self, reads: &mut Vec<BorrowedFd<'a>>, writes: &mut Vec<BorrowedFd<'a>>) {
        reads.extend(self.out.fd().into_iter().chain(self.err.fd()));
        if self.sent < self.backlog.len() {
            writes.extend(self.stdin.as_ref().map(|stdin| stdin.as_fd()));
        }
    }

    /// Waits until it can continue.
    pub fn wait(&self) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        self.waits_for(&mut reads, &mut writes);
        let patience = if self.is_ending() { Duration::from_millis(1) } else { Duration::from_millis(50) };
        pipe::wait_ready_within(&reads, &writes, patience);
    }
}

impl Drop for PartProcess {
    fn drop(&mut self) {
        if self.ended.is_none() {
            signals::send(self.pid, SIGKILL);
            let _ = wait::reap(self.pid);
        }
    }
}
