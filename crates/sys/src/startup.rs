//! The state that the process inherited, read before Rust's start-up code changes it.
//!
//! Before `main`, Rust ignores SIGPIPE and opens /dev/null on closed standard descriptors. A shell does
//! neither, and its children can tell. So a constructor records the inherited state, and [`crate::spawn`]
//! restores exactly that in every child.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// Signals whose disposition a shell, or Rust, changes for itself but not for its children.
const SIGNALS: [libc::c_int; 7] =
    [libc::SIGPIPE, libc::SIGINT, libc::SIGQUIT, libc::SIGCHLD, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ];
static IGNORED: [AtomicBool; SIGNALS.len()] = [const { AtomicBool::new(false) }; SIGNALS.len()];
static LOW_DESCRIPTORS_OPEN: AtomicU16 = AtomicU16::new(0b111);

/// Descriptors below this number can be named by users in redirections (`3>&1`); pelton tracks them.
pub const LOW_DESCRIPTORS: usize = 10;

/// Whether SIGPIPE was ignored when the process started (a parent such as Python does that).
pub fn sigpipe_was_ignored() -> bool {
    was_ignored(libc::SIGPIPE)
}

/// Whether `signal`, a recorded one, was ignored when the process started.
pub(crate) fn was_ignored(signal: libc::c_int) -> bool {
    SIGNALS.iter().zip(&IGNORED).any(|(s, ignored)| *s == signal && ignored.load(Ordering::Relaxed))
}

/// Returns every recorded signal, and whether it was ignored.
pub(crate) fn dispositions() -> impl Iterator<Item = (libc::c_int, bool)> {
    SIGNALS.iter().zip(&IGNORED).map(|(signal, ignored)| (*signal, ignored.load(Ordering::Relaxed)))
}

/// Whether descriptor `fd` (below [`LOW_DESCRIPTORS`]) was open when the process started.
pub fn was_open(fd: usize) -> bool {
    fd < LOW_DESCRIPTORS && LOW_DESCRIPTORS_OPEN.load(Ordering::Relaxed) & (1 << fd) != 0
}

extern "C" fn note_inherited_state() {
    for (signal, ignored) in SIGNALS.iter().zip(&IGNORED) {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: a null `act` only queries; `oldact` points to a writable sigaction.
        let answer = unsafe { libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr()) };
        if answer == 0 {
            // SAFETY: sigaction returned 0, so it filled the struct.
            let action = unsafe { action.assume_init() };
            ignored.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
        }
    }
    let mut open = 0u16;
    for fd in 0..LOW_DESCRIPTORS {
        // SAFETY: F_GETFD takes no pointer and changes nothing.
        if unsafe { libc::fcntl(fd as libc::c_int, libc::F_GETFD) } >= 0 {
            open |= 1 << fd;
        }
    }
    LOW_DESCRIPTORS_OPEN.store(open, Ordering::Relaxed);
}

// SAFETY: the section holds pointers to `extern "C" fn()`, which the C runtime calls once, before main and
// before any thread exists. The function touches only libc and atomics, which need no Rust runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = note_inherited_state;
