//! Tasks that wait for a worker, and workers that wait for a task.

use super::NameStorage;
use super::bound::Slot;
use super::sequence::SequenceSlot;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A part of a tree: a directory, and what is left to do in it.
pub(super) struct Task {
    /// What is left to do, packed.
    pub items: Vec<u8>,
    /// Whether the directory has not been read to its end.
    pub more: bool,
    pub place: NameStorage,
    /// Its path, with what separates it from names.
    pub path: Vec<u8>,
    /// How much of that is the starting point.
    pub start: usize,
    /// The device of the starting point, if that matters.
    pub device: u64,
    /// How far below the starting point entries in it are.
    pub depth: u32,
    /// The directories it is in, itself included, if loops are possible.
    pub ancestors: Vec<Ancestor>,
    /// Where its output belongs, if that matters.
    pub part: Option<SequenceSlot>,
    /// What is given back at its end.
    pub slot: Slot,
}

/// A directory on the way to where one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ancestor {
    pub device: u64,
    pub inode: u64,
    /// How much of the path is its path.
    pub path: usize,
}

pub(super) struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    /// Workers that wait, less tasks that wait: who has work gives some away while it is not 0.
    hungry: AtomicUsize,
    waiting: AtomicUsize,
    /// Output was lost, which is said once.
    pub lost: AtomicBool,
}

struct State {
    tasks: VecDeque<Task>,
    workers: usize,
    idle: usize,
    done: bool,
}

/// How often a worker looks for a task before it sleeps: about as long as it takes to be woken.
const LOOKS: u32 = 2_000;

impl Pool {
    /// With one worker; more may [`join`](Self::join).
    pub fn new() -> Self {
        Pool {
            state: Mutex::new(State { tasks: VecDeque::new(), workers: 1, idle: 0, done: false }),
            wake: Condvar::new(),
            hungry: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: &State) {
        self.hungry.store(state.idle.saturating_sub(state.tasks.len()), Ordering::Relaxed);
        self.waiting.store(state.tasks.len(), Ordering::Relaxed);
    }

    /// One more worker, which has not asked for a task yet.
    pub fn join(&self) {
        self.lock().workers += 1;
    }

    /// Whether somebody has nothing to do, and will not have.
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// How many tasks have not begun.
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

    /// The oldest task, if one waits.
    pub fn try_next(&self) -> Option<Task> {
        if self.waiting() == 0 {
            return None;
        }
        let mut state = self.lock();
        let task = state.tasks.pop_front();
        self.tell(&state);
        task
    }

    /// The oldest task, waited for; `None` once all workers wait, or `stop` is set.
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
        // Under the lock, so that nobody is between looking at what it waits for and sleeping.
        let _state = self.lock();
        self.wake.notify_all();
    }

    /// Drops what waits: nobody will take it.
    pub fn clear(&self) {
        let tasks = std::mem::take(&mut self.lock().tasks);
        drop(tasks);
    }
}
