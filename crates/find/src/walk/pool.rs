//! A queue of tasks, and workers waiting for them.

use super::listed_directory::ListedDirectory;
use super::sequence::SequenceSlot;
use super::task_limit::Slot;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A part of a tree: a directory, and the remaining work in it.
pub(super) struct Task {
    /// The remaining work, packed.
    pub items: Vec<u8>,
    /// Whether the directory has not been read to its end.
    pub more: bool,
    pub place: ListedDirectory,
    /// Its path, with a trailing separator.
    pub path: Vec<u8>,
    /// Length of the part that is the starting point.
    pub start: usize,
    /// The device of the starting point, if it matters.
    pub device: u64,
    /// Depth of its entries below the starting point.
    pub depth: u32,
    /// The directory and its ancestors, if loops are possible.
    pub ancestors: Vec<Ancestor>,
    /// The place of its output in the sequence, if order matters.
    pub part: Option<SequenceSlot>,
    /// The slot to return at its end.
    pub slot: Slot,
}

/// An ancestor of the current directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ancestor {
    pub device: u64,
    pub inode: u64,
    /// Length of its part of the path.
    pub path: usize,
}

pub(super) struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    /// Number of idle workers less number of queued tasks: while it is above 0, busy workers give work away.
    idle_without_task: AtomicUsize,
    waiting: AtomicUsize,
    /// Whether a failed write was reported.
    pub lost: AtomicBool,
}

struct State {
    tasks: VecDeque<Task>,
    workers: usize,
    idle: usize,
    done: bool,
}

/// How often a worker polls for a task before it sleeps: about as long as a wake-up takes.
const LOOKS: u32 = 2_000;

impl Pool {
    /// Makes a pool with one worker; more may [`join`](Self::join).
    pub fn new() -> Self {
        Pool {
            state: Mutex::new(State { tasks: VecDeque::new(), workers: 1, idle: 0, done: false }),
            wake: Condvar::new(),
            idle_without_task: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: &State) {
        self.idle_without_task.store(state.idle.saturating_sub(state.tasks.len()), Ordering::Relaxed);
        self.waiting.store(state.tasks.len(), Ordering::Relaxed);
    }

    /// Adds a worker, which has not asked for a task yet.
    pub fn join(&self) {
        self.lock().workers += 1;
    }

    /// Whether an idle worker has no queued task.
    pub fn has_idle_worker(&self) -> bool {
        self.idle_without_task.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of queued tasks.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub fn push(&self, task: Task) {
        let mut state = self.lock();
        state.tasks.push_back(task);
        self.tell(&state);
        let wanted = state.idle > 0;
        drop(state);
        if wanted {
            self.wake.notify_one();
        }
    }

    /// Returns the oldest task, if one is queued.
    pub fn try_next(&self) -> Option<Task> {
        if self.waiting() == 0 {
            return None;
        }
        let mut state = self.lock();
        let task = state.tasks.pop_front();
        self.tell(&state);
        task
    }

    /// Waits for the oldest task. `None` once all workers wait, or `stop` is set.
    pub fn next(&self, stop: &AtomicBool) -> Option<Task> {
        let mut state = self.lock();
        let mut looked = false;
        loop {
            if state.done || stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(task) = state.tasks.pop_front() {
                self.tell(&state);
                return Some(task);
            }
            if state.idle + 1 == state.workers {
                state.done = true;
                self.wake.notify_all();
                return None;
            }
            state.idle += 1;
            self.tell(&state);
            state = if looked {
                self.wake.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                drop(state);
                self.look();
                self.lock()
            };
            looked = !looked;
            state.idle -= 1;
            self.tell(&state);
        }
    }

    fn look(&self) {
        for _ in 0..LOOKS {
            if self.waiting() > 0 {
                return;
            }
            std::hint::spin_loop();
        }
    }

    pub fn wake_all(&self) {
        // With the lock held, no worker is between checking its condition and sleeping.
        let _state = self.lock();
        self.wake.notify_all();
    }

    /// Drops queued tasks: no worker will take them.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut self.lock().tasks);
        drop(tasks);
    }
}
