//! The limit on open descriptors: raised for this process, which keeps several per stage; as inherited for children.
//! The limit on the stack, as it is.

use std::sync::atomic::{AtomicU64, Ordering};

/// The inherited soft limit; 0 if it was not raised.
static INHERITED: AtomicU64 = AtomicU64::new(0);

fn get() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    (answer == 0).then_some(limit)
}

/// The soft limit on open descriptors. `None` if it cannot be had.
pub fn descriptors() -> Option<u64> {
    get().map(|limit| limit.rlim_cur)
}

/// The soft limit on the stack, in bytes, a quarter of which a program's arguments and environment may take. The
/// greatest number if there is none. `None` if it cannot be had.
pub fn stack_bytes() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) };
    (answer == 0).then_some(limit.rlim_cur)
}

/// The soft limit on a resource, if there is one.
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

/// Puts the soft limit back. Async-signal-safe: it runs in forked children.
pub(crate) fn restore_descriptors() {
    let inherited = INHERITED.load(Ordering::Relaxed);
    if inherited == 0 {
        return;
    }
    if let Some(limit) = get() {
        set(libc::rlimit { rlim_cur: inherited, ..limit });
    }
}
