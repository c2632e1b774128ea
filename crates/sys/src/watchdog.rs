//! Ends processes at a timeout, without a process or a thread for each.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};

use crate::pidfd;

/// Watches one process at a time.
#[derive(Debug)]
pub struct Watchdog {
    patience: Duration,
    watched: Arc<Mutex<Watched>>,
    /// Dropping it ends the thread.
    _alive: Sender<()>,
}

#[derive(Debug, Default)]
struct Watched {
    /// A pidfd: a process id could be reused.
    process: Option<OwnedFd>,
    until: Option<Instant>,
    has_timed_out: bool,
}

/// The process is watched until this is dropped.
#[derive(Debug)]
pub struct Guard<'a>(&'a Watchdog);

impl Watchdog {
    /// Makes a watchdog with this timeout.
    pub fn new(patience: Duration) -> Self {
        let (alive, ended) = channel();
        let watched = Arc::new(Mutex::new(Watched::default()));
        let shared = Arc::clone(&watched);
        std::thread::spawn(move || watch(&shared, &ended, patience / 4));
        Watchdog { patience, watched, _alive: alive }
    }

    /// Starts watching a process.
    pub fn over(&self, process: u32) -> Guard<'_> {
        let process = pidfd::open(process);
        *lock(&self.watched) =
            Watched { process, until: Some(Instant::now() + self.patience), has_timed_out: false };
        Guard(self)
    }
}

impl Guard<'_> {
    /// Whether the process was killed.
    pub fn has_timed_out(&self) -> bool {
        lock(&self.0.watched).has_timed_out
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.watched) = Watched::default();
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(watched: &Mutex<Watched>, ended: &Receiver<()>, pause: Duration) {
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let mut watched = lock(watched);
        if watched.until.is_none_or(|until| Instant::now() < until) {
            continue;
        }
        watched.until = None;
        let killed = watched.process.as_ref().map(|process| pidfd_send_signal(process, Signal::KILL));
        watched.has_timed_out = matches!(killed, Some(Ok(())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_never_ends_is_ended_and_nothing_else() {
        let watchdog = Watchdog::new(Duration::from_millis(200));
        for (seconds, barks) in [("1000", true), ("0", false)] {
            let mut child = Command::new("sleep").arg(seconds).spawn().unwrap();
            let guard = watchdog.over(child.id());
            let status = child.wait().unwrap();
            assert_eq!(guard.has_timed_out(), barks && !status.success());
            assert!(guard.has_timed_out() || !barks);
        }
    }
}
