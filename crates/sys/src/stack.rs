//! Provides enough stack, whatever the main thread's limit (`ulimit -s 64`).

use std::sync::atomic::{AtomicU64, Ordering};

/// Below this limit, a separate stack is used.
const SMALL_BYTES: u64 = 4 << 20;
/// The usual limit.
const OWN_BYTES: usize = 8 << 20;

/// How many threads only wait for the working thread, and hold no lock.
static PARKED: AtomicU64 = AtomicU64::new(0);

/// How many threads an emulator has beside the first one: QEMU shows its own among those of the program.
static OF_EMULATOR: AtomicU64 = AtomicU64::new(0);

/// Returns the number of threads when only one works.
pub(crate) fn threads_at_rest() -> u64 {
    1 + PARKED.load(Ordering::Relaxed) + OF_EMULATOR.load(Ordering::Relaxed)
}

/// Returns the number of this process's threads.
///
/// # Errors
/// Without /proc.
pub(crate) fn threads() -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    const THREADS: &str = "/proc/self/task";
    // Each thread is a directory in this one, and so a link to it; the other two links are its own. Linux emulations
    // may not count links there.
    match std::fs::metadata(THREADS)?.nlink() {
        links @ 3.. => Ok(links - 2),
        _ => Ok(std::fs::read_dir(THREADS)?.count() as u64),
    }
}

/// Resets the count in a fork, which has only the thread that forked.
pub(crate) fn nobody_is_parked() {
    PARKED.store(0, Ordering::Relaxed);
}

/// Runs `work`: here, or if the stack limit is small, on a thread with a larger stack, while this one waits.
/// The limit itself stays, and applies to all children. If no thread can be created, `work` runs with the
/// stack there is. To be called first: the threads that there are by then are not this program's.
pub fn with_room<T: Send + 'static>(work: fn() -> T) -> T {
    OF_EMULATOR.store(threads().unwrap_or(1).saturating_sub(1), Ordering::Relaxed);
    if crate::limits::stack_bytes().is_none_or(|limit| limit >= SMALL_BYTES) {
        return work();
    }
    // This thread takes no signals.
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
