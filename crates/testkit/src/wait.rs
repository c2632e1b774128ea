//! Waits for conditions in other processes.

use std::time::{Duration, Instant};

/// Timeout of a wait: far longer than necessary, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until `is_so` holds.
///
/// # Panics
/// If the condition does not hold within a minute; `what` names it in the message.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came about that {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
