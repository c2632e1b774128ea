//! Reads a stream in a separate thread, so that tests can wait for its output or its end, up to a deadline.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    ended: bool,
}

/// The output of a stream so far.
#[derive(Clone, Default)]
pub(crate) struct Collector {
    shared: Arc<(Mutex<Seen>, Condvar)>,
}

impl Collector {
    /// Starts reading. A read error counts as the end: a terminal reports its last close that way.
    pub(crate) fn start(mut source: impl Read + Send + 'static) -> Self {
        let collector = Collector::default();
        let thread = collector.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(size @ 1..) = source.read(&mut buffer) {
                thread.lock().bytes.extend_from_slice(&buffer[..size]);
                thread.shared.1.notify_all();
            }
            thread.lock().ended = true;
            thread.shared.1.notify_all();
        });
        collector
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.shared.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns all bytes so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// Waits for the end of the stream. Returns false at the deadline.
    pub(crate) fn await_end(&self, deadline: Instant) -> bool {
        self.await_that(deadline, |_| false)
    }

    /// Waits until the stream contains these words. Returns false if it ended without them, or at the
    /// deadline.
    pub(crate) fn await_words(&self, words: &str, deadline: Instant) -> bool {
        let words = words.as_bytes();
        let said = |bytes: &[u8]| bytes.windows(words.len()).any(|window| window == words);
        self.await_that(deadline, said);
        said(&self.lock().bytes)
    }

    fn await_that(&self, deadline: Instant, enough: impl Fn(&[u8]) -> bool) -> bool {
        let mut seen = self.lock();
        while !seen.ended && !enough(&seen.bytes) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.shared.1.wait_timeout(seen, left);
            seen = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        seen.ended
    }
}
