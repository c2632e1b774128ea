//! The signals a shell treats specially while it waits for its children.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_interrupt(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: an all-zero sigaction is a valid value: default handler, empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action
}

fn disposition(signal: libc::c_int) -> libc::sighandler_t {
    let mut old = action(libc::SIG_DFL);
    // SAFETY: a null `act` only queries; `old` is writable.
    unsafe { libc::sigaction(signal, std::ptr::null(), &mut old) };
    old.sa_sigaction
}

/// The dispositions to give back to a child, as they were before [`Waiting::begin`] or Rust changed them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inherited {
    int_ignored: bool,
    quit_ignored: bool,
    child_ignored: bool,
}

static CHILD_IGNORED: AtomicBool = AtomicBool::new(false);
static INT_IGNORED: AtomicBool = AtomicBool::new(false);
static QUIT_IGNORED: AtomicBool = AtomicBool::new(false);
static WAITING: AtomicBool = AtomicBool::new(false);

impl Inherited {
    pub(crate) fn now() -> Self {
        if WAITING.load(Ordering::Relaxed) {
            return Inherited {
                int_ignored: INT_IGNORED.load(Ordering::Relaxed),
                quit_ignored: QUIT_IGNORED.load(Ordering::Relaxed),
                child_ignored: CHILD_IGNORED.load(Ordering::Relaxed),
            };
        }
        Inherited {
            int_ignored: disposition(libc::SIGINT) == libc::SIG_IGN,
            quit_ignored: disposition(libc::SIGQUIT) == libc::SIG_IGN,
            child_ignored: disposition(libc::SIGCHLD) == libc::SIG_IGN,
        }
    }

    /// Restores them. Async-signal-safe: runs in a forked child, and before an exec.
    pub(crate) fn restore(self) {
        let set = |signal, ignored| {
            let action = action(if ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            // SAFETY: `action` is a valid sigaction with a standard disposition; the old one is not asked for.
            unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        };
        set(libc::SIGINT, self.int_ignored);
        set(libc::SIGQUIT, self.quit_ignored);
        set(libc::SIGCHLD, self.child_ignored);
        set(libc::SIGPIPE, crate::startup::sigpipe_was_ignored());
    }
}

/// While it lives, SIGINT is noted instead of ending the process and SIGQUIT is ignored, as in a shell that waits
/// for a foreground pipeline: the terminal sends both to the children too, and what they make of it decides.
/// A signal that was ignored from the start stays so.
pub struct Waiting {
    inherited: Inherited,
}

impl Waiting {
    /// Starts to wait.
    pub fn begin() -> Self {
        let inherited = Inherited::now();
        INT_IGNORED.store(inherited.int_ignored, Ordering::Relaxed);
        QUIT_IGNORED.store(inherited.quit_ignored, Ordering::Relaxed);
        CHILD_IGNORED.store(inherited.child_ignored, Ordering::Relaxed);
        WAITING.store(true, Ordering::Relaxed);
        INTERRUPTED.store(false, Ordering::Relaxed);
        if !inherited.int_ignored {
            let note = action(note_interrupt as extern "C" fn(libc::c_int) as libc::sighandler_t);
            // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
            unsafe { libc::sigaction(libc::SIGINT, &note, std::ptr::null_mut()) };
        }
        let ignore = action(libc::SIG_IGN);
        // SAFETY: SIG_IGN is a valid disposition.
        unsafe { libc::sigaction(libc::SIGQUIT, &ignore, std::ptr::null_mut()) };
        let default = action(libc::SIG_DFL);
        // Were SIGCHLD ignored, as a parent may have left it, children would vanish without a status.
        // SAFETY: SIG_DFL is a valid disposition.
        unsafe { libc::sigaction(libc::SIGCHLD, &default, std::ptr::null_mut()) };
        Waiting { inherited }
    }

    /// Whether SIGINT came since the beginning.
    pub fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let set = |signal, ignored| {
            let action = action(if ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            // SAFETY: `action` is a valid sigaction with a standard disposition.
            unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        };
        set(libc::SIGINT, self.inherited.int_ignored);
        set(libc::SIGQUIT, self.inherited.quit_ignored);
        set(libc::SIGCHLD, self.inherited.child_ignored);
        WAITING.store(false, Ordering::Relaxed);
    }
}

/// Ends this process by `signal`, with its default action, so that the parent sees what killed it.
pub fn die_by(signal: i32) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // The core that matters was the child's.
    // SAFETY: `none` is a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    let default = action(libc::SIG_DFL);
    // SAFETY: SIG_DFL is a valid disposition.
    unsafe { libc::sigaction(signal, &default, std::ptr::null_mut()) };
    // SAFETY: raise has no memory preconditions.
    unsafe { libc::raise(signal) };
    // Reached only if the signal is blocked or harmless by default.
    std::process::exit(128 + signal)
}

/// Makes writing to a closed pipe end this process silently, as it does any other filter.
pub fn default_sigpipe() {
    if !crate::startup::sigpipe_was_ignored() {
        let default = action(libc::SIG_DFL);
        // SAFETY: SIG_DFL is a valid disposition.
        unsafe { libc::sigaction(libc::SIGPIPE, &default, std::ptr::null_mut()) };
    }
}

/// Makes writing to a closed pipe an error of the write, for a process that has more to do than write.
pub fn ignore_sigpipe() {
    let ignore = action(libc::SIG_IGN);
    // SAFETY: SIG_IGN is a valid disposition.
    unsafe { libc::sigaction(libc::SIGPIPE, &ignore, std::ptr::null_mut()) };
}

/// A signal's name, `SIGKILL`; `SIG34` and the like for those without one.
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

/// What the C library calls a signal: 'Killed', 'Segmentation fault'.
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
    fn names() {
        assert_eq!(super::name(libc::SIGPIPE), "SIGPIPE");
        assert_eq!(super::name(libc::SIGSYS), "SIGSYS");
        assert_eq!(super::name(40), "SIG40");
        assert_eq!(super::description(9), "Killed");
    }
}
