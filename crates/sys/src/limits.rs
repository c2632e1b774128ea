//! The limit on open descriptors, raised for this process, which needs several per stage, and restored for
//! children; and the limit on the stack.

use crate::startup::LOW_DESCRIPTORS;
use std::sync::atomic::{AtomicU64, Ordering};

/// The inherited soft limit; 0 if not raised.
static INHERITED: AtomicU64 = AtomicU64::new(0);

fn get() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    (answer == 0).then_some(limit)
}

/// Returns the soft limit on open descriptors; `None` if unknown.
pub fn descriptors() -> Option<u64> {
    get().map(|limit| limit.rlim_cur)
}

/// Whether this many more descriptors can be opened above those that users may name.
pub fn has_room_for(descriptors: usize) -> bool {
    const WINDOW: usize = 128;
    let Some(limit) = get() else { return true };
    let limit = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(libc::c_int::MAX as usize);
    let mut free = 0;
    let mut start = LOW_DESCRIPTORS;
    while free < descriptors && start < limit {
        let end = limit.min(start + WINDOW);
        let watch = |fd| libc::pollfd { fd: fd as libc::c_int, events: 0, revents: 0 };
        let mut window: Vec<libc::pollfd> = (start..end).map(watch).collect();
        // SAFETY: the pointer and the length are those of one vector; with no time to wait, poll only looks.
        let answer = unsafe { libc::poll(window.as_mut_ptr(), window.len() as libc::nfds_t, 0) };
        if answer < 0 {
            // The window exceeds the limit.
            return false;
        }
        free += window.iter().filter(|one| one.revents & libc::POLLNVAL != 0).count();
        start = end;
    }
    free >= descriptors
}

/// Returns the soft limit on the stack, in bytes; arguments and environment of a program may take a quarter
/// of it. The greatest number if unlimited; `None` if unknown.
pub fn stack_bytes() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    (answer == 0).then_some(limit.rlim_cur)
}

/// Returns the soft limit on the size of written files, in bytes, if there is one.
pub fn file_bytes() -> Option<u64> {
    soft_bytes(libc::RLIMIT_FSIZE)
}

/// Whether files may not grow to this many bytes (RLIMIT_FSIZE).
pub fn has_file_limit_below(bytes: u64) -> bool {
    file_bytes().is_some_and(|limit| limit < bytes)
}

/// Returns the soft limit on a resource, if there is one.
pub(crate) fn soft_bytes(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(resource, &mut limit) };
    (answer == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

fn set(limit: libc::rlimit) -> bool {
    // SAFETY: `limit` is a valid limit.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 }
}

/// Raises the soft limit to the hard one.
pub fn raise_descriptors() {
    let Some(limit) = get() else { return };
    if limit.rlim_cur < limit.rlim_max && set(libc::rlimit { rlim_cur: limit.rlim_max, ..limit }) {
        INHERITED.store(limit.rlim_cur, Ordering::Relaxed);
    }
}

/// Returns how many files a child can open: the soft limit that it gets, less the standard streams and what it
/// inherits besides. `None` if unknown.
pub fn descriptors_of_a_child() -> Option<u64> {
    /// No program is counted on to find more.
    const MAX: u64 = 1 << 16;
    let limit = get()?.rlim_cur;
    let inherited = INHERITED.load(Ordering::Relaxed);
    let limit = if inherited == 0 { limit } else { inherited }.min(MAX);
    let is_inherited = |fd: &u64| {
        // SAFETY: F_GETFD takes no pointer and changes nothing.
        let flags = unsafe { libc::fcntl(*fd as libc::c_int, libc::F_GETFD) };
        flags >= 0 && flags & libc::FD_CLOEXEC == 0
    };
    Some((3..limit).filter(|fd| !is_inherited(fd)).count() as u64)
}

/// Restores the soft limit. Async-signal-safe: it runs in forked children.
pub(crate) fn restore_descriptors() {
    let inherited = INHERITED.load(Ordering::Relaxed);
    if inherited == 0 {
        return;
    }
    if let Some(limit) = get() {
        set(libc::rlimit { rlim_cur: inherited, ..limit });
    }
}
