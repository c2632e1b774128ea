//! The signals a shell treats specially while it waits for its children.

use crate::startup;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The last signal that asked this process to end and was recorded or forwarded; 0 for none.
static ASKED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note_interrupt(signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    ASKED.store(signal, Ordering::Relaxed);
}

/// Returns the last signal that asked this process to end while [`Interrupts`] or [`Forwarded`] lived, if one did.
pub fn asked_to_end() -> Option<i32> {
    match ASKED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

pub(crate) fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: an all-zero sigaction is a valid value: default handler, empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action
}

fn set(signal: libc::c_int, handler: libc::sighandler_t) {
    let action = action(handler);
    // SAFETY: `action` is a valid sigaction whose handler is a standard disposition or `note_interrupt`,
    // which only stores to an atomic; the old one is not requested.
    unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
}

fn set_ignored(signal: libc::c_int, ignored: bool) {
    set(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL });
}

/// Sets the default disposition.
pub(crate) fn set_default(signal: i32) {
    set_ignored(signal, false);
}

/// Restores the dispositions that this process inherited. Async-signal-safe: it runs in forked children.
pub(crate) fn restore_inherited() {
    for (signal, ignored) in startup::dispositions() {
        set_ignored(signal, ignored);
    }
}

/// Blocks every signal for the calling thread, and returns the previous mask. Async-signal-safe.
pub(crate) fn block_all() -> libc::sigset_t {
    // SAFETY: an all-zero set is a valid value for sigfillset to fill.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: `all` is writable.
    unsafe { libc::sigfillset(&mut all) };
    // SAFETY: `all` was filled; `before` is writable.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &all, &mut before) };
    before
}

/// Sets which signals are blocked for the calling thread.
pub(crate) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the mask is a whole set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Sets dispositions as a shell that runs pipelines: SIGQUIT is for the children alone, and SIGCHLD is not
/// ignored even if the parent left it so, since children would then vanish without a status.
pub fn behave_as_a_shell() {
    set(libc::SIGQUIT, libc::SIG_IGN);
    set(libc::SIGCHLD, libc::SIG_DFL);
}

/// While it lives, SIGINT is recorded instead of ending the process, as in a shell that waits for a
/// foreground pipeline: the terminal sends it to the children too, and their reaction decides. Before and
/// after, it ends this process as usual. If SIGINT was ignored from the start, it stays so.
pub struct Interrupts(());

impl Interrupts {
    /// Starts recording; clears earlier interrupts.
    pub fn watch() -> Self {
        INTERRUPTED.store(false, Ordering::Relaxed);
        if !startup::was_ignored(libc::SIGINT) {
            set(libc::SIGINT, note_interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t);
        }
        Interrupts(())
    }

    /// Whether SIGINT has arrived.
    pub fn came(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        set_ignored(libc::SIGINT, startup::was_ignored(libc::SIGINT));
    }
}

/// Pidfd of the child that termination signals are forwarded to; -1 for none.
static HEIR: AtomicI32 = AtomicI32::new(-1);

extern "C" fn forward(signal: libc::c_int) {
    ASKED.store(signal, Ordering::Relaxed);
    let heir = HEIR.load(Ordering::Relaxed);
    if heir >= 0 {
        send_through(heir, signal);
    }
}

/// Runs `work` and leaves errno as it was: what a handler interrupts may be about to read it.
fn keep_errno(work: impl FnOnce()) {
    // SAFETY: it has no preconditions.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the C library gives every thread an errno, at a fixed address.
    let before = unsafe { *errno };
    work();
    // SAFETY: as above; no reference to it is kept.
    unsafe { *errno = before };
}

/// Sends `signal` to the process of a pidfd, and leaves errno as it was. Async-signal-safe.
pub(crate) fn send_through(pidfd: i32, signal: i32) {
    let nothing = std::ptr::null::<libc::siginfo_t>();
    keep_errno(|| {
        // SAFETY: a bare system call, safe in a handler; with no siginfo it touches no memory. A pidfd is
        // never reused for another process.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd, signal, nothing, 0) };
    });
}

/// While it lives, SIGTERM and SIGHUP are forwarded to the child that does this process's work: the child's
/// reaction decides. If they were ignored from the start, they stay so.
pub struct Forwarded {
    _child: OwnedFd,
}

impl Forwarded {
    const SIGNALS: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];

    /// Starts forwarding to this child. `None` if the kernel has no pidfds: the signals then end this
    /// process, as usual.
    pub fn to(pid: u32) -> Option<Self> {
        let child = crate::pidfd::open(pid)?;
        HEIR.store(child.as_raw_fd(), Ordering::Relaxed);
        for signal in Self::SIGNALS.into_iter().filter(|signal| !startup::was_ignored(*signal)) {
            set(signal, forward as extern "C" fn(libc::c_int) as libc::sighandler_t);
        }
        Some(Forwarded { _child: child })
    }
}

impl Drop for Forwarded {
    fn drop(&mut self) {
        for signal in Self::SIGNALS {
            set_ignored(signal, startup::was_ignored(signal));
        }
        // Before the pidfd is closed.
        HEIR.store(-1, Ordering::Relaxed);
    }
}

/// Makes writing beyond the file size limit an error of the write.
pub fn ignore_file_size_signal() {
    set(libc::SIGXFSZ, libc::SIG_IGN);
}

/// Asks a process to end.
pub const TERM: i32 = libc::SIGTERM;
/// What Ctrl-C sends.
pub const INTERRUPT: i32 = libc::SIGINT;
/// Ends a process at once.
pub const KILL: i32 = libc::SIGKILL;
/// Stops a process.
pub const STOP: i32 = libc::SIGSTOP;
/// Continues a stopped process.
pub const CONT: i32 = libc::SIGCONT;
/// The signal that ends a writer without a reader.
pub const PIPE: i32 = libc::SIGPIPE;

/// The signals that ask a process to end.
pub const ENDING: [i32; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

/// The signals that come from outside: from a user, a machine that shuts down or lacks memory, a limit.
pub const FROM_OUTSIDE: [i32; 6] =
    [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGKILL, libc::SIGXCPU];

/// The descriptor that the handler below writes to.
static REQUESTS: AtomicI32 = AtomicI32::new(-1);

extern "C" fn pass_on(signal: libc::c_int) {
    let byte = signal as u8;
    keep_errno(|| {
        // SAFETY: write is async-signal-safe, one byte is readable, and the descriptor is non-blocking.
        unsafe { libc::write(REQUESTS.load(Ordering::Relaxed), (&raw const byte).cast(), 1) };
    });
}

/// While it lives, signals that ask this process to end can be polled like input (D. J. Bernstein's self-pipe
/// trick). Those that were ignored from the start, as under nohup, stay so.
pub struct Requests(crate::pipe::Pipe);

impl Requests {
    /// Starts recording. Only one such value may live at a time.
    ///
    /// # Errors
    /// If no pipe can be made.
    pub fn watch() -> io::Result<Self> {
        let pipe = crate::pipe::pipe()?;
        crate::pipe::never_wait(pipe.write.as_fd())?;
        crate::pipe::never_wait(pipe.read.as_fd())?;
        // Above the descriptors that users may name: no redirection closes them, and exec does.
        let aside = |fd: OwnedFd| rustix::io::fcntl_dupfd_cloexec(fd, startup::LOW_DESCRIPTORS as i32);
        let pipe = crate::pipe::Pipe { read: aside(pipe.read)?, write: aside(pipe.write)?, ..pipe };
        REQUESTS.store(pipe.write.as_raw_fd(), Ordering::Relaxed);
        for signal in ENDING.into_iter().filter(|signal| !startup::was_ignored(*signal)) {
            set(signal, pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t);
        }
        Ok(Requests(pipe))
    }

    /// Returns a descriptor that is readable when a signal has arrived.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.read.as_fd()
    }

    /// Whether a signal has arrived that [`taken`](Self::taken) has not returned.
    pub fn has_any(&self) -> bool {
        crate::pipe::is_readable_within(self.as_fd(), std::time::Duration::ZERO)
    }

    /// Returns the signals that arrived since the last call.
    pub fn taken(&self) -> Vec<i32> {
        let mut bytes = [0; 64];
        let count = rustix::io::read(&self.0.read, &mut bytes).unwrap_or(0);
        bytes[..count].iter().map(|byte| i32::from(*byte)).collect()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        for signal in ENDING {
            set_ignored(signal, startup::was_ignored(signal));
        }
        REQUESTS.store(-1, Ordering::Relaxed);
    }
}

/// Sends `signal` to process `pid`, which must be a child that has not been reaped.
pub fn send(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// Sends `signal` to the process group of `leader`, which must be a child that has not been reaped.
pub fn send_to_group(leader: u32, signal: i32) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(-(leader as libc::pid_t), signal) };
}

/// Kills this process and all others of its process group.
pub fn kill_own_group() {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(0, libc::SIGKILL) };
}

/// Ends this process by `signal`, with its default action, so that the parent sees what killed it.
pub fn die_by(signal: i32) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // The relevant core dump was the child's.
    // SAFETY: `none` is a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    set(signal, libc::SIG_DFL);
    // SAFETY: raise has no memory preconditions.
    unsafe { libc::raise(signal) };
    // Reached only if the signal is blocked or ignored by default.
    std::process::exit(128 + signal)
}

/// Makes writing to a closed pipe end this process silently, like any other filter.
pub fn default_sigpipe() {
    set_ignored(libc::SIGPIPE, startup::sigpipe_was_ignored());
}

/// Makes writing to a closed pipe an error of the write, for a process that has other work to finish.
pub fn ignore_sigpipe() {
    set(libc::SIGPIPE, libc::SIG_IGN);
}

/// Returns a signal's name such as `SIGKILL`; `SIG34` and so on for signals without one.
pub fn name(signal: i32) -> String {
    const NAMES: [&str; 32] = [
        "0", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU",
        "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match usize::try_from(signal).ok().and_then(|n| NAMES.get(n)) {
        Some(name) => format!("SIG{name}"),
        None => format!("SIG{signal}"),
    }
}

/// Returns the number of the signal called `text`: `TERM`, `SIGTERM` or `15`.
pub fn number(text: &str) -> Option<i32> {
    let upper = text.to_ascii_uppercase();
    let full = if upper.starts_with("SIG") { upper.clone() } else { format!("SIG{upper}") };
    (1..32).find(|&signal| name(signal) == full || signal.to_string() == upper)
}

/// Returns the C library's description of a signal: 'Killed', 'Segmentation fault'.
pub fn description(signal: i32) -> String {
    // SAFETY: strsignal accepts any number and returns a string or null.
    let text = unsafe { libc::strsignal(signal) };
    if text.is_null() {
        return format!("Unknown signal {signal}");
    }
    // SAFETY: not null, and a NUL-terminated string that lives until the next call on this thread.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn requests_can_be_waited_for() {
        let requests = super::Requests::watch().expect("a pipe");
        assert!(requests.taken().is_empty());
        super::send(std::process::id(), libc::SIGHUP);
        assert!(crate::pipe::is_readable_within(requests.as_fd(), std::time::Duration::from_secs(10)));
        assert_eq!(requests.taken(), [libc::SIGHUP]);
    }

    #[test]
    fn signals_are_called_by_name_or_number() {
        assert_eq!(super::number("TERM"), Some(15));
        assert_eq!(super::number("sigquit"), Some(3));
        assert_eq!(super::number("9"), Some(9));
        assert_eq!(super::number("0"), None);
        assert_eq!(super::number("nonsense"), None);
    }

    #[test]
    fn names() {
        assert_eq!(super::name(libc::SIGPIPE), "SIGPIPE");
        assert_eq!(super::name(libc::SIGSYS), "SIGSYS");
        assert_eq!(super::name(40), "SIG40");
        assert_eq!(super::description(9), "Killed");
    }
}
