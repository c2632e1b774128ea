//! Starts a child exactly as a shell would: fork, connect pipes, redirect in the order written, exec.
//!
//! ```text
//!   parent                         child
//!   fork ───────────────────────►  default signals as inherited
//!   open /proc/PID/io, schedstat…  wait at the gate (only if observed)
//!   open the gate ──────────────►  close what is not its own, wire pipes to 0 and 1
//!                                  open redirections aside, then move them into place
//!                                  exec ── fails? put descriptors back, exec the fallback (the user's shell)
//! ```
//!
//! A child that execs at once runs in the parent's memory until then, instead of in a copy (see [`borrow`]).
//!
//! Redirections are opened in the child: opening a FIFO may block, and must then block only its own stage.
//! They are first opened at descriptors from 10 up, so that a failure leaves the child unchanged, and the
//! fallback (the shell, with the stage's text) can redo everything and report its own error.

use crate::borrow;
use crate::startup::{self, LOW_DESCRIPTORS};
use std::ffi::{CString, c_char};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A program to exec, fully expanded and resolved.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Path of the program.
    pub path: CString,
    /// Its arguments, including `argv[0]`.
    pub argv: Vec<CString>,
    /// Its environment, as `NAME=value`.
    pub envp: Vec<CString>,
}

/// What a child does once its descriptors are set up.
#[derive(Clone, Debug)]
pub enum Action {
    /// Becomes a program.
    Exec(Exec),
    /// Exits with this code at once: a builtin such as `true`.
    Exit(i32),
}

/// A redirection, performed in the child. Descriptors are below [`LOW_DESCRIPTORS`].
#[derive(Debug)]
pub enum Redirection {
    /// Open `path` with `flags` (from [`open_flags`]) as descriptor `fd`.
    Open {
        /// Descriptor to set.
        fd: usize,
        /// Path of the file.
        path: CString,
        /// Flags of open(2).
        flags: i32,
    },
    /// Make `fd` a copy of `from` as it is at this point.
    Duplicate {
        /// Descriptor to set.
        fd: usize,
        /// Descriptor to copy.
        from: usize,
    },
    /// Close `fd`.
    Close {
        /// Descriptor to close.
        fd: usize,
    },
    /// Make `fd` a descriptor that the parent has prepared (a here-document).
    Given {
        /// Descriptor to set.
        fd: usize,
        /// The prepared descriptor.
        source: OwnedFd,
    },
}

/// How a redirection opens its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
}

/// Returns the open(2) flags that a shell uses for `mode`.
pub fn open_flags(mode: OpenMode) -> i32 {
    match mode {
        OpenMode::Read => libc::O_RDONLY,
        OpenMode::Write => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        OpenMode::Append => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
        OpenMode::ReadWrite => libc::O_RDWR | libc::O_CREAT,
    }
}

/// The program that a child execs if it cannot do its work.
pub enum Fallback<'a> {
    /// Ready for any child.
    Program(Exec),
    /// Made in a worker, which may allocate; other children have none then.
    Made(&'a dyn Fn() -> Option<Exec>),
}

/// A child to start.
pub struct Child<'a> {
    /// Its action.
    pub action: Action,
    /// Program to exec if a redirection or the exec fails.
    pub fallback: Option<Fallback<'a>>,
    /// Becomes its standard input.
    pub stdin: Option<BorrowedFd<'a>>,
    /// Becomes its standard output.
    pub stdout: Option<BorrowedFd<'a>>,
    /// Redirections in the order written.
    pub redirections: Vec<Redirection>,
    /// Descriptor of the parent that a blocked child must not hold: the read end of the pipe it writes to.
    pub not_mine: Option<BorrowedFd<'a>>,
}

impl Child<'_> {
    /// Whether it may block before its exec: on the other end of a FIFO, say, or on a device.
    fn may_wait(&self) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let opens_at_once = |path: &CString| {
            let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
            path == std::path::Path::new("/dev/null")
                || std::fs::metadata(path).map_or_else(
                    |error| error.kind() == io::ErrorKind::NotFound,
                    |metadata| metadata.is_file(),
                )
        };
        self.redirections.iter().any(|redirection| match redirection {
            Redirection::Open { path, .. } => !opens_at_once(path),
            _ => false,
        })
    }
}

/// Whether a child that runs no program may outlive this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It may.
    None,
    /// The kernel kills it when the thread that starts it ends; this must be the main thread.
    ToParent,
}

/// A child waiting at its gate. Dropping it without [`open`](Gate::open) makes the child exit.
pub struct Gate(OwnedFd);

impl Gate {
    /// Lets the child continue.
    pub fn open(self) {
        // A child that was killed while waiting has closed its end: nothing to do.
        let _ = rustix::io::write(&self.0, b"g");
    }
}

/// Starts a child that runs at once.
pub fn spawn(child: &Child<'_>) -> io::Result<u32> {
    let image = Image::new(child);
    if !child.may_wait()
        && let Some(pid) = borrow::start(&mut || image.run(child, None))?
    {
        return Ok(pid);
    }
    fork(|| image.run(child, None))
}

/// Starts a child that runs at once, and that the kernel kills if this process, which must have one thread,
/// ends first.
pub fn spawn_tied(child: &Child<'_>) -> io::Result<u32> {
    let image = Image::new(child).tied(Tie::ToParent);
    let mut tied = || if image.may_live() { image.run(child, None) } else { 127 };
    match borrow::start(&mut tied)? {
        Some(pid) => Ok(pid),
        None => fork(tied),
    }
}

/// In a child: asks the kernel to kill it when `parent` ends; returns false if that has ended already.
/// Async-signal-safe.
#[cfg(target_os = "linux")]
pub fn dies_with(parent: u32) -> bool {
    is_told_of_end(parent, libc::SIGKILL)
}

/// In a child: asks the kernel to send it SIGTERM when `parent` ends; returns false if that has ended already.
/// Async-signal-safe.
#[cfg(target_os = "linux")]
pub fn terminates_with(parent: u32) -> bool {
    is_told_of_end(parent, libc::SIGTERM)
}

#[cfg(target_os = "linux")]
fn is_told_of_end(parent: u32, signal: libc::c_int) -> bool {
    // SAFETY: PR_SET_PDEATHSIG takes one integer; exec keeps it.
    let set = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
    // SAFETY: getppid has no preconditions.
    let now = unsafe { libc::getppid() } as u32;
    // 0: the parent is in another PID namespace, and cannot be distinguished from one that has ended.
    set == 0 && (now == parent || now == 0)
}

/// Not supported here: killing this process leaves its children running.
#[cfg(not(target_os = "linux"))]
pub fn terminates_with(_parent: u32) -> bool {
    true
}

/// Not supported here: killing this process leaves its children running.
#[cfg(not(target_os = "linux"))]
pub fn dies_with(_parent: u32) -> bool {
    true
}

/// Starts a child that waits until its gate is opened.
pub fn spawn_gated(child: &Child<'_>, tie: Tie) -> io::Result<(u32, Gate)> {
    let gate = crate::pipe::pipe()?;
    let image = Image::new(child).tied(tie);
    let ends = (gate.read.as_raw_fd(), gate.write.as_raw_fd());
    let pid = fork(|| if image.may_live() { image.run(child, Some(ends)) } else { 127 })?;
    Ok((pid, Gate(gate.write)))
}

/// Starts a child that runs `work` instead of a program, and exits with its return value. If its redirections
/// fail, it execs its fallback.
///
/// # Errors
/// Those of fork; and if this process has other threads. A fork of a multithreaded process may only exec,
/// since a lock held by another thread (the allocator's, say) stays locked in it for ever.
pub fn spawn_worker(child: &Child<'_>, tie: Tie, work: &mut dyn FnMut() -> i32) -> io::Result<u32> {
    check_single_thread()?;
    let image = Image::new(child).tied(tie);
    fork(|| if image.may_live() { image.work(child, None, work) } else { 127 })
}

/// Does the same in this process, which exits with the return value of `work`, or with 127 if a redirection
/// cannot be opened and there is no fallback.
pub fn become_worker(child: &Child<'_>, work: &mut dyn FnMut() -> i32) -> ! {
    let image = Image::new(child);
    exit_now(image.work(child, None, work))
}

/// Does the same, but the child waits until its gate is opened.
///
/// # Errors
/// As [`spawn_worker`].
pub fn spawn_worker_gated(
    child: &Child<'_>,
    tie: Tie,
    work: &mut dyn FnMut() -> i32,
) -> io::Result<(u32, Gate)> {
    check_single_thread()?;
    let gate = crate::pipe::pipe()?;
    let image = Image::new(child).tied(tie);
    let ends = (gate.read.as_raw_fd(), gate.write.as_raw_fd());
    let pid = fork(|| if image.may_live() { image.work(child, Some(ends), work) } else { 127 })?;
    Ok((pid, Gate(gate.write)))
}

/// Checks that this process has one thread. A joined thread may stay among the tasks until the kernel removes
/// it: it holds no lock any more, so the check waits for it. Parked threads are allowed.
fn check_single_thread() -> io::Result<()> {
    const PATIENCE: u32 = 1000;
    let at_rest = crate::stack::threads_at_rest();
    for _ in 0..PATIENCE {
        if crate::stack::threads()? == at_rest {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Err(io::Error::other("a process with several threads cannot be copied"))
}

/// Forks this process, which must have one thread; `Ok(None)` in the child.
///
/// # Errors
/// As [`spawn_worker`].
pub fn fork_copy() -> io::Result<Option<u32>> {
    check_single_thread()?;
    // SAFETY: this process has one thread, so the copy is whole: no lock is held by a thread that it lacks.
    unsafe { fork_here() }
}

/// Runs `work` in a copy of this process, which must have one thread. The copy exits after it, and is no child of this
/// process: the kernel reaps it.
///
/// # Errors
/// As [`spawn_worker`].
#[cfg(target_arch = "x86_64")]
pub(crate) fn fork_orphan(work: &mut dyn FnMut()) -> io::Result<()> {
    check_single_thread()?;
    let mut start = || {
        // SAFETY: only this thread runs: the one that it borrows memory of waits, and has no others. Nothing allocates
        // before the copy is made.
        match unsafe { fork_here() } {
            Ok(None) => {
                work();
                exit_now(0)
            }
            Ok(Some(_)) => 0,
            Err(error) => error.raw_os_error().unwrap_or(1),
        }
    };
    let between = match borrow::start(&mut start)? {
        Some(between) => between,
        None => fork(start)?,
    };
    match crate::wait::reap(between)?.0 {
        crate::wait::Ended::Exited(0) => Ok(()),
        crate::wait::Ended::Exited(code) => Err(io::Error::from_raw_os_error(code)),
        crate::wait::Ended::Signalled(..) => Err(io::ErrorKind::Other.into()),
    }
}

/// fork(2); `Ok(None)` in the child, which has one thread.
///
/// # Safety
/// If this process has other threads, the child may only run async-signal-safe code.
unsafe fn fork_here() -> io::Result<Option<u32>> {
    // SAFETY: as the caller promises.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            crate::stack::nobody_is_parked();
            Ok(None)
        }
        pid => Ok(Some(pid as u32)),
    }
}

/// Exits this process at once, without exit handlers of Rust or the C library: for forks of a process.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Replaces this process by `exec`, with signal dispositions as inherited. Returns only on failure.
pub fn replace(exec: &Exec) -> io::Error {
    crate::signals::restore_inherited();
    close_what_was_closed();
    let image = ExecImage::new(exec);
    image.exec();
    let error = io::Error::last_os_error();
    crate::signals::default_sigpipe();
    error
}

fn fork(child: impl FnOnce() -> i32) -> io::Result<u32> {
    // SAFETY: the child runs only `child`, which is async-signal-safe (no allocation, no locks, libc calls
    // only) as is required if the process has other threads, and then leaves by _exit without unwinding.
    match unsafe { fork_here() }? {
        None => exit_now(child()),
        Some(pid) => Ok(pid),
    }
}

/// Null-terminated pointer arrays for execve, built before the fork since the child must not allocate.
struct ExecImage<'a> {
    path: &'a CString,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl<'a> ExecImage<'a> {
    fn new(exec: &'a Exec) -> Self {
        let pointers = |strings: &[CString]| {
            strings.iter().map(|s| s.as_ptr()).chain(std::iter::once(std::ptr::null())).collect()
        };
        ExecImage { path: &exec.path, argv: pointers(&exec.argv), envp: pointers(&exec.envp) }
    }

    fn exec(&self) {
        // SAFETY: the path is NUL-terminated; both arrays end in a null pointer and point to strings that the
        // borrowed `Exec` keeps alive.
        unsafe { libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr()) };
    }
}

/// Data of the child, allocated before the fork.
struct Image<'a> {
    exec: Option<ExecImage<'a>>,
    fallback: Option<ExecImage<'a>>,
    /// The process whose end kills it.
    parent: Option<u32>,
}

impl<'a> Image<'a> {
    fn new(child: &'a Child<'_>) -> Self {
        let exec = match &child.action {
            Action::Exec(exec) => Some(ExecImage::new(exec)),
            Action::Exit(_) => None,
        };
        let fallback = match &child.fallback {
            Some(Fallback::Program(program)) => Some(ExecImage::new(program)),
            Some(Fallback::Made(_)) | None => None,
        };
        Image { exec, fallback, parent: None }
    }

    fn tied(self, tie: Tie) -> Self {
        Image { parent: (tie == Tie::ToParent).then(std::process::id), ..self }
    }

    /// In the child: returns false if it is tied to its parent, and that has ended.
    fn may_live(&self) -> bool {
        self.parent.is_none_or(dies_with)
    }

    /// Runs the child up to exec. Returns its exit code.
    fn run(&self, child: &Child<'_>, gate: Option<(RawFd, RawFd)>) -> i32 {
        let saved = match self.wire_up(child, gate) {
            Ok(saved) => saved,
            Err(Unwired::Redirections) => return self.fall_back(),
            Err(Unwired::Pipes(errno)) => return say_refused(errno),
        };
        match &child.action {
            Action::Exit(code) => return *code,
            Action::Exec(_) => {
                if let Some(exec) = &self.exec {
                    exec.exec();
                }
            }
        }
        match saved.restore() {
            Ok(()) => self.fall_back(),
            Err(errno) => say_refused(errno),
        }
    }

    /// Sets up signals and descriptors for the program.
    fn wire_up(&self, child: &Child<'_>, gate: Option<(RawFd, RawFd)>) -> Result<Saved, Unwired> {
        crate::signals::restore_inherited();
        crate::limits::restore_descriptors();
        if let Some(fd) = child.not_mine {
            close(fd.as_raw_fd());
        }
        if let Some((read, write)) = gate {
            close(write);
            if !gate_opens(read) {
                // SAFETY: _exit has no preconditions; the parent is gone, so the child is not needed.
                unsafe { libc::_exit(127) };
            }
        }
        close_what_was_closed();
        wire(child).map_err(Unwired::Pipes)?;
        let mut table = Table::new();
        if !child.redirections.iter().all(|redirection| table.apply(redirection)) {
            return Err(Unwired::Redirections);
        }
        table.realise()
    }

    fn work(&self, child: &Child<'_>, gate: Option<(RawFd, RawFd)>, work: &mut dyn FnMut() -> i32) -> i32 {
        match self.wire_up(child, gate) {
            Ok(_) => work(),
            Err(Unwired::Redirections) => match &child.fallback {
                Some(Fallback::Program(_)) => self.fall_back(),
                Some(Fallback::Made(make)) => {
                    if let Some(program) = make() {
                        ExecImage::new(&program).exec();
                    }
                    127
                }
                None => 127,
            },
            Err(Unwired::Pipes(errno)) => say_refused(errno),
        }
    }

    fn fall_back(&self) -> i32 {
        if let Some(fallback) = &self.fallback {
            fallback.exec();
        }
        say_refused(errno())
    }
}

/// Why a child's descriptors could not be set up.
enum Unwired {
    /// A redirection failed: only the pipes are in place, and the shell can do the rest again.
    Redirections,
    /// Descriptors could not be moved, with this errno: the child must not continue with them.
    Pipes(i32),
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Reports why a child can become neither its program nor the shell, and returns its exit status.
/// Async-signal-safe, so the errors that occur are spelled out here instead of requested from the C library.
fn say_refused(errno: i32) -> i32 {
    let reason: &[u8] = match errno {
        libc::E2BIG => b"Argument list too long",
        libc::ENOEXEC => b"Exec format error",
        libc::ENOENT => b"No such file or directory",
        libc::EACCES => b"Permission denied",
        libc::ENOMEM => b"Cannot allocate memory",
        // EINVAL: the limit on descriptors is not above pelton's first.
        libc::EMFILE | libc::ENFILE | libc::EINVAL => b"Too many open files",
        libc::ETXTBSY => b"Text file busy",
        _ => b"the system refused",
    };
    for part in [b"pelton: cannot execute a stage: ", reason, b"\n"] {
        // SAFETY: the pointer and the length are those of one slice. A failed write leaves nothing else to
        // do.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    126
}

/// Waits for the parent's byte; returns false if the parent is gone.
fn gate_opens(read: RawFd) -> bool {
    let mut byte = [0u8; 1];
    loop {
        // SAFETY: `byte` is writable and one byte long.
        match unsafe { libc::read(read, byte.as_mut_ptr().cast(), 1) } {
            1 => return true,
            0 => return false,
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            _ => return false,
        }
    }
}

/// Closes the standard descriptors that were closed at the start and that Rust opened on /dev/null.
fn close_what_was_closed() {
    for fd in 0..3 {
        if !startup::was_open(fd) {
            close(fd as RawFd);
        }
    }
}

/// Makes the pipe ends standard input and output; the error is an errno.
fn wire(child: &Child<'_>) -> Result<(), i32> {
    // Both are first copied out of the way: if descriptors 0 or 1 were closed at the start, a pipe end may be
    // 0 or 1.
    let aside = |fd: Option<BorrowedFd<'_>>| fd.map(|fd| duplicate_above(fd.as_raw_fd())).transpose();
    let (stdin, stdout) = (aside(child.stdin)?, aside(child.stdout)?);
    let place = |source: Option<RawFd>, fd: RawFd| source.map_or(Ok(()), |source| move_to(source, fd));
    place(stdin, 0)?;
    place(stdout, 1)?;
    // A child that runs no program keeps its descriptors. With these copies, it could not close its end of a pipe.
    let ends = [child.stdin, child.stdout].into_iter().flatten();
    ends.map(|end| end.as_raw_fd()).filter(|fd| *fd > 2).for_each(close);
    Ok(())
}

fn close(fd: RawFd) {
    // SAFETY: closing a descriptor has no memory effect; in the child all of them are ours to close.
    unsafe { libc::close(fd) };
}

/// Returns a close-on-exec copy of `fd` from [`LOW_DESCRIPTORS`] up, or an errno.
fn duplicate_above(fd: RawFd) -> Result<RawFd, i32> {
    // SAFETY: fcntl F_DUPFD_CLOEXEC takes an integer and touches no memory.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LOW_DESCRIPTORS as libc::c_int) };
    if copy < 0 { Err(errno()) } else { Ok(copy) }
}

/// Makes `fd` a copy of `source` without close-on-exec, and closes `source`. The error is an errno.
fn move_to(source: RawFd, fd: RawFd) -> Result<(), i32> {
    let moved = loop {
        // SAFETY: dup2 touches no memory.
        match unsafe { libc::dup2(source, fd) } {
            -1 if matches!(errno(), libc::EINTR | libc::EBUSY) => {}
            -1 => break Err(errno()),
            _ => break Ok(()),
        }
    };
    close(source);
    moved
}

/// The planned state of a low descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// As it is now.
    Unchanged,
    /// A copy of low descriptor N as it is now.
    CopyOf(usize),
    /// This descriptor, opened above the low ones.
    Aside(RawFd),
    /// Closed.
    Closed,
}

/// The redirections of one stage, simulated before any descriptor is touched.
struct Table([Slot; LOW_DESCRIPTORS]);

impl Table {
    fn new() -> Self {
        Table([Slot::Unchanged; LOW_DESCRIPTORS])
    }

    /// Applies one redirection; returns false if the shell would report an error.
    fn apply(&mut self, redirection: &Redirection) -> bool {
        match redirection {
            Redirection::Open { fd, path, flags } => match open_aside(path, *flags) {
                Some(aside) => self.set(*fd, Slot::Aside(aside)),
                None => false,
            },
            Redirection::Given { fd, source } => self.set(*fd, Slot::Aside(source.as_raw_fd())),
            Redirection::Close { fd } => self.set(*fd, Slot::Closed),
            Redirection::Duplicate { fd, from } => match self.current(*from) {
                Slot::Closed => false,
                slot => self.set(*fd, slot),
            },
        }
    }

    fn set(&mut self, fd: usize, slot: Slot) -> bool {
        match self.0.get_mut(fd) {
            Some(place) => *place = slot,
            None => return false,
        }
        true
    }

    /// Returns the state of `fd`, as seen by a redirection that copies it.
    fn current(&self, fd: usize) -> Slot {
        match self.0.get(fd) {
            Some(Slot::Unchanged) if fd < 3 || startup::was_open(fd) => {
                // 0, 1 and 2 may have been changed since the start: check.
                if is_open(fd as RawFd) { Slot::CopyOf(fd) } else { Slot::Closed }
            }
            Some(Slot::Unchanged) | None => Slot::Closed,
            Some(slot) => *slot,
        }
    }

    /// Moves everything into place and returns how to undo it. If that fails at its start, nothing has
    /// changed.
    fn realise(&self) -> Result<Saved, Unwired> {
        let mut saved = Saved([None; LOW_DESCRIPTORS]);
        let mut sources = [None; LOW_DESCRIPTORS];
        for (fd, slot) in self.0.iter().enumerate() {
            // All copies first, since their sources may be overwritten next.
            let from = match *slot {
                Slot::Unchanged => continue,
                Slot::Closed => None,
                Slot::CopyOf(from) => Some(from as RawFd),
                Slot::Aside(aside) => Some(aside),
            };
            sources[fd] = from.map(duplicate_above).transpose().map_err(|_| Unwired::Redirections)?;
            // A low descriptor that was not open at the start is pelton's own: nothing to restore.
            let theirs = (fd < 3 || startup::was_open(fd)) && is_open(fd as RawFd);
            let copy = theirs.then(|| duplicate_above(fd as RawFd)).transpose();
            saved.0[fd] = Some(copy.map_err(|_| Unwired::Redirections)?);
        }
        for (fd, source) in sources.into_iter().enumerate() {
            if saved.0[fd].is_none() {
                continue;
            }
            close(fd as RawFd);
            if let Some(source) = source {
                move_to(source, fd as RawFd).map_err(Unwired::Pipes)?;
            }
        }
        Ok(saved)
    }
}

/// Copies of the original low descriptors: `None` if unchanged, `Some(None)` if it was closed.
struct Saved([Option<Option<RawFd>>; LOW_DESCRIPTORS]);

impl Saved {
    /// Restores them; the error is an errno.
    fn restore(&self) -> Result<(), i32> {
        self.0.iter().enumerate().try_for_each(|(fd, saved)| match saved {
            None => Ok(()),
            Some(None) => {
                close(fd as RawFd);
                Ok(())
            }
            Some(Some(copy)) => move_to(*copy, fd as RawFd),
        })
    }
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: F_GETFD takes no pointer and changes nothing.
    unsafe { libc::fcntl(fd, libc::F_GETFD) >= 0 }
}

fn open_aside(path: &CString, flags: i32) -> Option<RawFd> {
    let opened = loop {
        // SAFETY: the path is NUL-terminated; the mode is passed since O_CREAT may be set.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o666) };
        if fd >= 0 || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            break fd;
        }
    };
    if opened < 0 {
        return None;
    }
    if opened as usize >= LOW_DESCRIPTORS {
        return Some(opened);
    }
    let aside = duplicate_above(opened);
    close(opened);
    aside.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::{Ended, Usage};
    use std::io::Read;

    fn c(text: &str) -> CString {
        CString::new(text).expect("no NUL")
    }

    fn exec(path: &str, args: &[&str]) -> Exec {
        let argv = std::iter::once(&path).chain(args).map(|a| c(a)).collect();
        Exec { path: c(path), argv, envp: vec![c("PATH=/usr/bin:/bin")] }
    }

    fn run(action: Action, fallback: Option<Exec>, redirections: Vec<Redirection>) -> (Vec<u8>, Ended) {
        let pipe = crate::pipe::pipe().expect("pipe");
        let child = Child {
            action,
            fallback: fallback.map(Fallback::Program),
            stdin: None,
            stdout: Some(std::os::fd::AsFd::as_fd(&pipe.write)),
            redirections,
            not_mine: Some(std::os::fd::AsFd::as_fd(&pipe.read)),
        };
        let (pid, gate) = spawn_gated(&child, Tie::None).expect("fork");
        gate.open();
        drop(child);
        drop(pipe.write);
        let mut bytes = Vec::new();
        std::fs::File::from(pipe.read).read_to_end(&mut bytes).expect("read");
        let (ended, usage) = crate::wait::reap(pid).expect("reap");
        assert_ne!(usage, Usage::default());
        (bytes, ended)
    }

    #[test]
    fn execs_with_arguments() {
        let (bytes, ended) = run(Action::Exec(exec("/bin/sh", &["-c", "echo hi; exit 3"])), None, vec![]);
        assert_eq!((bytes.as_slice(), ended), (&b"hi\n"[..], Ended::Exited(3)));
    }

    #[test]
    fn a_failing_exec_falls_back_with_the_wiring_intact() {
        let redirections = vec![Redirection::Duplicate { fd: 1, from: 2 }, Redirection::Close { fd: 0 }];
        let fallback = exec("/bin/sh", &["-c", "cat; echo fallback"]);
        let (bytes, ended) = run(Action::Exec(exec("/nonexistent", &[])), Some(fallback), redirections);
        assert!(String::from_utf8_lossy(&bytes).ends_with("fallback\n"), "{bytes:?}");
        assert_eq!(ended, Ended::Exited(0));
    }

    #[test]
    fn a_failing_redirection_falls_back_untouched() {
        let missing =
            Redirection::Open { fd: 0, path: c("/nonexistent/x"), flags: open_flags(OpenMode::Read) };
        let redirections = vec![Redirection::Close { fd: 1 }, missing];
        let (bytes, _) = run(Action::Exit(0), Some(exec("/bin/echo", &["shell"])), redirections);
        assert_eq!(bytes, b"shell\n");
    }

    #[test]
    fn swaps_descriptors_in_the_order_written() {
        // 3>&1 1>&2 2>&3: standard error ends up in the pipe.
        let swap = [(3, 1), (1, 2), (2, 3)].map(|(fd, from)| Redirection::Duplicate { fd, from });
        let (bytes, _) = run(Action::Exec(exec("/bin/sh", &["-c", "echo err >&2"])), None, swap.into());
        assert_eq!(bytes, b"err\n");
    }

    #[test]
    fn an_unopened_gate_ends_the_child() {
        let child = Child {
            action: Action::Exec(exec("/bin/sleep", &["100"])),
            fallback: None,
            stdin: None,
            stdout: None,
            redirections: vec![],
            not_mine: None,
        };
        let (pid, gate) = spawn_gated(&child, Tie::None).expect("fork");
        drop(gate);
        assert_eq!(crate::wait::reap(pid).expect("reap").0, Ended::Exited(127));
    }
}
