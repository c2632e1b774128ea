//! Jobs done by several threads, with results in order.
//!
//! ```text
//!   work ── cut (under a lock) ──▶ job 4: a helper   job 5: a helper   job 6: the caller of output
//!                                    └──── done, kept until its turn ────▶ out
//! ```
//! Helpers persist between calls, so that they work while the output is written: they must be detached before
//! the process forks.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pelton_stream::team::Helpers;

/// Jobs per worker that may be done or in progress before the first of them is requested.
const AHEAD: usize = 3;

/// The work.
pub(super) trait Work: Debug + Send + Sync + 'static {
    /// The state of cutting.
    type Cutter: Debug + Default + Send;
    /// A piece of it, independent of the others.
    type Job: Send;

    /// Returns the next job.
    fn cut(&self, cutter: &mut Self::Cutter) -> Option<Self::Job>;

    /// Does a job, appending its result to `out`.
    fn work(&self, job: Self::Job, out: &mut Vec<u8>);
}

/// The work and its threads.
#[derive(Debug)]
pub(super) struct Ordered<W: Work> {
    shared: Arc<Shared<W>>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<W: Work> {
    work: W,
    helpers: Helpers,
    board: Mutex<Board<W::Cutter>>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Board<C> {
    cutter: C,
    /// The number of jobs cut, and of results output.
    cut: usize,
    left: usize,
    done: BTreeMap<usize, Vec<u8>>,
    /// Whether nothing more can be cut.
    ended: bool,
    helpers: usize,
    /// The wanted number of helpers.
    target: usize,
    /// Buffers for reuse.
    pool: Vec<Vec<u8>>,
}

impl<W: Work> Ordered<W> {
    /// Starts with nothing done; threads of `helpers` may help.
    pub(super) fn new(work: W, helpers: &Helpers) -> Self {
        let (board, moved) = (Mutex::default(), Condvar::new());
        Ordered {
            shared: Arc::new(Shared { work, helpers: helpers.clone(), board, moved }),
            helpers: Vec::new(),
        }
    }

    /// Returns the work.
    pub(super) fn work(&self) -> &W {
        &self.shared.work
    }

    /// Appends the next result. Returns `false` if there is none.
    pub(super) fn next(&mut self, out: &mut Vec<u8>) -> bool {
        self.hire();
        let shared = &*self.shared;
        let mut board = shared.lock();
        loop {
            let turn = board.left;
            if let Some(done) = board.done.remove(&turn) {
                board.left += 1;
                drop(board);
                shared.moved.notify_all();
                shared.hand_out(done, out);
                return true;
            }
            if let Some((number, job)) = shared.take(&mut board) {
                board.left += usize::from(number == turn);
                drop(board);
                if number == turn {
                    shared.work.work(job, out);
                    return true;
                }
                board = shared.ahead_of_turn(number, job);
            } else if board.left == board.cut {
                return false;
            } else {
                board = shared.moved.wait(board).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Starts as many helpers as are wanted now.
    fn hire(&mut self) {
        let mut board = self.shared.lock();
        if board.ended || !self.shared.helpers.may_help() {
            return;
        }
        board.target = self.shared.helpers.wanted(1 + board.helpers) - 1;
        for _ in board.helpers..board.target {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("pelton worker".to_owned());
            let Ok(helper) = thread.spawn(move || shared.helpers.as_hired(|| shared.help())) else {
                // No more threads are available.
                break;
            };
            board.helpers += 1;
            self.helpers.push(helper);
        }
        drop(board);
        self.shared.moved.notify_all();
    }

    /// Stops all helpers.
    pub(super) fn detach(&mut self) {
        self.shared.lock().target = 0;
        self.shared.moved.notify_all();
        for helper in self.helpers.drain(..) {
            // A panicking helper has ended the process, or the test that it belongs to.
            let _ = helper.join();
        }
    }
}

impl<W: Work> Drop for Ordered<W> {
    fn drop(&mut self) {
        self.detach();
    }
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, Board<W::Cutter>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job and its number; `None` if there is none, or enough are in flight.
    fn take(&self, board: &mut Board<W::Cutter>) -> Option<(usize, W::Job)> {
        if board.ended || board.cut - board.left >= AHEAD * (1 + board.helpers) {
            return None;
        }
        let job = self.work.cut(&mut board.cutter);
        board.ended = job.is_none();
        let job = job?;
        board.cut += 1;
        Some((board.cut - 1, job))
    }

    /// Runs a helper, until it is dismissed or nothing is left.
    fn help(&self) {
        let mut board = self.lock();
        while board.helpers <= board.target && !board.ended {
            board = match self.take(&mut board) {
                Some((number, job)) => {
                    drop(board);
                    self.ahead_of_turn(number, job)
                }
                None if board.ended => break,
                None => self.moved.wait(board).unwrap_or_else(PoisonError::into_inner),
            };
        }
        board.helpers -= 1;
        // A waiting thread may need this to notice the end.
        self.moved.notify_all();
    }

    /// Does a job before its turn.
    fn ahead_of_turn(&self, number: usize, job: W::Job) -> MutexGuard<'_, Board<W::Cutter>> {
        let mut done = self.lock().pool.pop().unwrap_or_default();
        self.work.work(job, &mut done);
        let mut board = self.lock();
        board.done.insert(number, done);
        self.moved.notify_all();
        board
    }

    fn hand_out(&self, mut done: Vec<u8>, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut done);
        } else {
            out.extend_from_slice(&done);
        }
        done.clear();
        self.lock().pool.push(done);
    }
}
