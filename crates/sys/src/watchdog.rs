//! Ends process groups at a timeout, without a process or a thread for each.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::wait;

/// Watches one process group at a time.
#[derive(Debug)]
pub struct Watchdog {
    patience: Duration,
    watched: Arc<Mutex<Watched>>,
    /// Dropping it ends the thread.
    _alive: Sender<()>,
}

#[derive(Debug, Default)]
struct Watched {
    group: Option<Pid>,
    until: Option<Instant>,
    has_timed_out: bool,
}

/// The group is watched until this is dropped.
#[derive(Debug)]
pub struct Guard<'a> {
    watchdog: &'a Watchdog,
    leader: u32,
}

impl Watchdog {
    /// Makes a watchdog with this timeout.
    pub fn new(patience: Duration) -> Self {
        let (alive, ended) = channel();
        let watched = Arc::new(Mutex::new(Watched::default()));
        let shared = Arc::clone(&watched);
        std::thread::spawn(move || watch(&shared, &ended, patience / 4));
        Watchdog { patience, watched, _alive: alive }
    }

    /// Starts watching the group of a child that leads one. The child must not be waited for while the guard lives: its
    /// id could be reused.
    pub fn over(&self, leader: u32) -> Guard<'_> {
        let group = i32::try_from(leader).ok().and_then(Pid::from_raw);
        let until = Some(Instant::now() + self.patience);
        *lock(&self.watched) = Watched { group, until, has_timed_out: false };
        Guard { watchdog: self, leader }
    }
}

impl Guard<'_> {
    /// Waits until the leader has ended, without waiting for it as a parent does. Returns whether the group was killed.
    pub fn until_ended(self) -> bool {
        wait::until_ended(self.leader);
        lock(&self.watchdog.watched).has_timed_out
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *lock(&self.watchdog.watched) = Watched::default();
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
        let killed = watched.group.map(|group| kill_process_group(group, Signal::KILL));
        watched.has_timed_out = matches!(killed, Some(Ok(())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn what_never_ends_is_ended_and_nothing_else() {
        let watchdog = Watchdog::new(Duration::from_millis(200));
        // Of the last one, only a child of the leader goes on.
        for (script, times_out) in
            [("exec sleep 1000", true), ("exit 0", false), ("sleep 1000 & exit 0", true)]
        {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).process_group(0).stdout(Stdio::piped());
            let mut child = shell.spawn().unwrap();
            let guard = watchdog.over(child.id());
            child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
            let timed_out = guard.until_ended();
            assert!(timed_out || !times_out, "{script}");
            child.wait().unwrap();
        }
    }
}
