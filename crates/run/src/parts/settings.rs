//! Command line settings for parts, for everything that this process starts.

use pelton_commands::stateless::Declared;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

static DECLARED: OnceLock<Declared> = OnceLock::new();
static NONE: OnceLock<Declared> = OnceLock::new();

/// Sets the commands that the user declares to treat lines independently. Call it once, before anything is
/// planned.
pub fn set_declared(declared: Declared) {
    let _ = DECLARED.set(declared);
}

pub(super) fn declared() -> &'static Declared {
    DECLARED.get().unwrap_or_else(|| NONE.get_or_init(Declared::default))
}

/// 0: by cost.
static PART_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Splits every stage that may be split into parts of about this many bytes, whether it pays or not. For
/// tests.
pub fn set_part_bytes(bytes: usize) {
    PART_BYTES.store(bytes, Ordering::Relaxed);
}

pub(super) fn part_bytes() -> Option<usize> {
    match PART_BYTES.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(bytes),
    }
}
