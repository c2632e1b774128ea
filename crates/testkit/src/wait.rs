//! Waiting for what another process does.

use std::time::{Duration, Instant};

/// How long a test waits before it fails: far longer than anything takes, even on a crowded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until `is_so` holds.
///
/// # Panics
/// If it does not within a minute; `what` says in the message what was waited for.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came about that {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
