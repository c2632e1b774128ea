//! Enough stack, whatever the limit on the main thread's (`ulimit -s 64`) is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Under a smaller limit, a stack of our own is taken.
const SMALL_BYTES: u64 = 4 << 20;
/// As large as the usual limit.
const OWN_BYTES: usize = 8 << 20;

/// How many threads only wait for the one that works, and hold no lock.
static PARKED: AtomicU64 = AtomicU64::new(0);

/// How many threads there are when one works.
pub(crate) fn threads_at_rest() -> u64 {
    1 + PARKED.load(Ordering::Relaxed)
}

/// A copy of the process has the thread that made it, and no other.
pub(crate) fn nobody_is_parked() {
    PARKED.store(0, Ordering::Relaxed);
}

/// Does `work`: here, or where the limit on the stack is small, on a thread with a stack of its own, while this one waits.
/// The limit itself stays, and holds for all that is started. If there can be no such thread, `work` has to do with what
/// there is.
pub fn with_room<T: Send + 'static>(work: fn() -> T) -> T {
    if crate::limits::stack_bytes().is_none_or(|limit| limit >= SMALL_BYTES) {
        return work();
    }
    // No signal is for this thread.
    let inherited = crate::signals::block_all();
    PARKED.store(1, Ordering::Relaxed);
    let thread = std::thread::Builder::new().stack_size(OWN_BYTES).spawn(move || {
        crate::signals::set_mask(&inherited);
        work()
    });
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(done)) => done,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => {
            nobody_is_parked();
            crate::signals::set_mask(&inherited);
            work()
        }
    }
}
