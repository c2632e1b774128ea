//! One process of several.

use pelton_sys::spawn::{self, Action, Child, Exec, Redirection};
use pelton_sys::wait::{self, Ended, Usage};
use pelton_sys::{pipe, read, signals};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A process of the command, what it is to be given, and what it printed that nobody has taken yet.
pub struct PartProcess {
    pid: u32,
    /// `None`: it has been given everything, and the end.
    stdin: Option<File>,
    /// The other end of that: what the process leaves in it, it has not read.
    left: OwnedFd,
    /// Not given yet, from `sent` on.
    backlog: Vec<u8>,
    sent: usize,
    /// Nothing comes behind that.
    closed: bool,
    /// How many bytes it was to be given so far.
    pub given: u64,
    /// All of them, if another one may have to be given the same.
    kept: Option<Vec<u8>>,
    /// Its standard output.
    pub out: Gathered,
    /// Its standard error.
    pub err: Gathered,
    /// How it ended, and what it used.
    pub ended: Option<(Ended, Usage)>,
}

/// What comes out of a pipe.
pub struct Gathered {
    /// `None`: it has ended.
    file: Option<File>,
    /// What came and was not taken.
    pub bytes: Vec<u8>,
}

/// Room in its pipes: enough for some milliseconds of a command that is worth it, and no more, since the system limits
/// the sum for each user.
const PIPE_BYTES: usize = 256 * 1024;
/// What it prints is kept up to here; then it waits for its turn.
const KEPT_BYTES: usize = 16 << 20;
const READ_BYTES: usize = 64 * 1024;
const SIGKILL: i32 = 9;

impl Gathered {
    /// Takes what there is; whether anything happened.
    fn pull(&mut self) -> bool {
        let mut any = false;
        while let Some(file) = &self.file
            && self.bytes.len() < KEPT_BYTES
        {
            match read::append(file, &mut self.bytes, READ_BYTES) {
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

    /// For who waits for more.
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().filter(|_| self.bytes.len() < KEPT_BYTES).map(|file| file.as_fd())
    }
}

impl PartProcess {
    /// Starts it.
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
        // The child has its own.
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

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it is given is kept from now on.
    pub fn keep(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// What was kept.
    pub fn kept(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// More for it, when it can take it.
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

    /// Nothing more for it.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// It will be given more.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// Sends what it can take now; whether anything was.
    pub fn push(&mut self) -> bool {
        let mut any = false;
        while let Some(stdin) = &mut self.stdin
            && self.sent < self.backlog.len()
        {
            match stdin.write(&self.backlog[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return any,
                // Its other end is here, so nothing else can be wrong with a pipe.
                Err(_) => return any,
            }
            any = true;
        }
        if self.closed {
            self.stdin = None;
        }
        any
    }

    /// Takes what it printed, and sees whether it has ended; whether anything happened.
    pub fn pull(&mut self) -> bool {
        let mut any = self.out.pull();
        any |= self.err.pull();
        if self.ended.is_none() && self.out.file.is_none() && self.err.file.is_none() {
            // Another parent cannot have waited for it.
            self.ended = wait::try_reap(self.pid).ok().flatten();
            any |= self.ended.is_some();
        }
        any
    }

    /// It has said something, or ended with another status than 0. One that was ended by a signal has not.
    pub fn has_failed(&self) -> bool {
        let failed = |(ended, _): &(Ended, Usage)| matches!(ended, Ended::Exited(status) if *status != 0);
        !self.err.bytes.is_empty() || self.ended.as_ref().is_some_and(failed)
    }

    /// It has ended, and all that it printed was gathered.
    pub fn is_done(&self) -> bool {
        self.ended.is_some()
    }

    /// It has ended, or closed what it prints to.
    pub fn is_ending(&self) -> bool {
        self.ended.is_none() && self.out.file.is_none() && self.err.file.is_none()
    }

    /// It printed as much as may be kept.
    pub fn is_full(&self) -> bool {
        self.out.bytes.len().max(self.err.bytes.len()) >= KEPT_BYTES
    }

    /// It ended before it had read all that was for it, or before it was told that there is no more.
    pub fn left_early(&self) -> bool {
        self.stdin.is_some() || self.load() > 0
    }

    /// How many bytes it has taken so far.
    pub fn taken(&self) -> u64 {
        self.given - (self.load() as u64).min(self.given)
    }

    /// How much lies ready for it.
    pub fn load(&self) -> usize {
        self.backlog.len() - self.sent + pipe::unread(self.left.as_fd()).unwrap_or(0)
    }

    /// It has enough to read for a while, and room for what it prints.
    pub fn is_comfortable(&self) -> bool {
        let printed = self.out.file.as_ref().map_or(0, |file| pipe::unread(file.as_fd()).unwrap_or(0));
        self.is_done() || self.load() >= PIPE_BYTES / 2 && printed <= PIPE_BYTES / 2
    }

    /// What to wait for: to read from, and to write to.
    pub fn waits_for<'a>(&'a self, reads: &mut Vec<BorrowedFd<'a>>, writes: &mut Vec<BorrowedFd<'a>>) {
        reads.extend(self.out.fd().into_iter().chain(self.err.fd()));
        if self.sent < self.backlog.len() {
            writes.extend(self.stdin.as_ref().map(|stdin| stdin.as_fd()));
        }
    }

    /// Waits until it goes on.
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
