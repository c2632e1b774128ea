//! Jobs done by several threads, with results in order.
//!
//! ```text
//!   work ── cut (one at a time) ──▶ job 4: a helper   job 5: a helper   job 6: whoever asks for results
//!                                     └──── done, kept until its turn ────▶ next
//! ```
//! Helpers persist between calls, so that they work while a result is used: they must be detached before the
//! process forks.

use crate::{Fixed, Helpers, lock};
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Jobs per worker that may be done or in progress before the first of them is requested.
const AHEAD: usize = 3;

/// Work that is cut into jobs.
pub trait Work: Send + Sync + 'static {
    /// The state of cutting.
    type Cutter: Send;
    /// A piece of the work, independent of the others.
    type Job: Send;
    /// The result of a job. A default one has no content, but may have room for it.
    type Done: Default + Send;
    /// Whether cutting may wait for input. Then only helpers cut and work, if there are any, and the caller takes
    /// results, so that they come out meanwhile.
    const CUT_MAY_WAIT: bool = false;

    /// Returns the next job; `None` at the end.
    fn cut(&self, cutter: &mut Self::Cutter) -> Option<Self::Job>;

    /// Does a job. `done` is a default result, or one given to [`Ordered::reuse`].
    fn work(&self, job: Self::Job, done: &mut Self::Done);
}

/// The work and its threads.
pub struct Ordered<W: Work> {
    shared: Arc<Shared<W>>,
    helpers: Vec<JoinHandle<()>>,
}

struct Shared<W: Work> {
    work: W,
    helpers: Helpers,
    board: Mutex<Board<W>>,
    moved: Condvar,
}

struct Board<W: Work> {
    /// `None` while a thread cuts.
    cutter: Option<W::Cutter>,
    /// The number of jobs cut, and of results returned.
    cut: usize,
    returned: usize,
    done: BTreeMap<usize, W::Done>,
    /// Whether nothing more can be cut.
    ended: bool,
    /// Whether a thread panicked.
    failed: bool,
    helpers: usize,
    /// The wanted number of helpers.
    target: usize,
    /// Results for reuse.
    used: Vec<W::Done>,
}

type Locked<'a, W> = MutexGuard<'a, Board<W>>;

impl<W: Work> Ordered<W> {
    /// Starts with nothing done; threads of `helpers` may help.
    pub fn new(work: W, cutter: W::Cutter, helpers: &Helpers) -> Self {
        let board = Mutex::new(Board {
            cutter: Some(cutter),
            cut: 0,
            returned: 0,
            done: BTreeMap::new(),
            ended: false,
            failed: false,
            helpers: 0,
            target: 0,
            used: Vec::new(),
        });
        let shared = Shared { work, helpers: helpers.clone(), board, moved: Condvar::new() };
        Ordered { shared: Arc::new(shared), helpers: Vec::new() }
    }

    /// Returns the work.
    pub fn work(&self) -> &W {
        &self.shared.work
    }

    /// Lets a later job use the memory of a result, which must have no content.
    pub fn reuse(&self, done: W::Done) {
        lock(&self.shared.board).used.push(done);
    }

    /// Starts as many helpers as are wanted now.
    fn hire(&mut self) {
        let mut board = lock(&self.shared.board);
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

    fn dismiss(&self) {
        lock(&self.shared.board).target = 0;
        self.shared.moved.notify_all();
    }

    /// Stops all helpers.
    pub fn detach(&mut self) {
        self.dismiss();
        for helper in self.helpers.drain(..) {
            // `next` has told of a panic.
            let _ = helper.join();
        }
    }

    /// Leaves the helpers to themselves, without waiting for their end: one of them may wait for input for ever.
    /// The process must not fork any more.
    pub fn abandon(mut self) {
        self.dismiss();
        self.helpers.clear();
    }
}

impl<W: Work> Iterator for Ordered<W> {
    type Item = W::Done;

    /// Returns the next result; `None` at the end.
    ///
    /// # Panics
    /// If a helper panicked.
    fn next(&mut self) -> Option<W::Done> {
        self.hire();
        let shared = &*self.shared;
        let mut board = lock(&shared.board);
        loop {
            assert!(!board.failed, "a worker ended before its work did");
            let turn = board.returned;
            if let Some(done) = board.done.remove(&turn) {
                board.returned += 1;
                drop(board);
                shared.moved.notify_all();
                return Some(done);
            }
            if !W::CUT_MAY_WAIT || board.helpers == 0 {
                let (locked, taken) = shared.take(board);
                board = locked;
                if let Some((number, job)) = taken {
                    board = shared.do_job(board, number, job);
                    continue;
                }
            }
            if board.ended && board.returned == board.cut {
                return None;
            }
            if !board.done.contains_key(&board.returned) {
                board = shared.moved.wait(board).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl<W: Work<Done = Vec<u8>>> Ordered<W> {
    /// Appends the next result. Returns `false` if there is none.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut done) = self.next() else { return false };
        if out.is_empty() {
            std::mem::swap(out, &mut done);
        } else {
            out.extend_from_slice(&done);
        }
        done.clear();
        self.reuse(done);
        true
    }
}

impl<W: Work> Drop for Ordered<W> {
    fn drop(&mut self) {
        self.detach();
    }
}

impl<W: Work + Debug> Debug for Ordered<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered").field("work", &self.shared.work).finish_non_exhaustive()
    }
}

impl<W: Work> Shared<W> {
    /// Takes a job and its number; `None` if there is none now: nothing is left, enough are in flight, or
    /// another thread cuts.
    fn take<'a>(&'a self, mut board: Locked<'a, W>) -> (Locked<'a, W>, Option<(usize, W::Job)>) {
        if board.ended || board.cut - board.returned >= AHEAD * (1 + board.helpers) {
            return (board, None);
        }
        let Some(mut cutter) = board.cutter.take() else { return (board, None) };
        drop(board);
        let job = self.work.cut(&mut cutter);
        let mut board = lock(&self.board);
        board.cutter = Some(cutter);
        board.ended = job.is_none();
        self.moved.notify_all();
        let taken = job.map(|job| (board.cut, job));
        board.cut += usize::from(taken.is_some());
        (board, taken)
    }

    /// Runs a helper, until it is dismissed or nothing is left.
    fn help(&self) {
        let failure = Failure(self);
        let mut board = lock(&self.board);
        while board.helpers <= board.target && !board.ended {
            let (locked, taken) = self.take(board);
            board = match taken {
                Some((number, job)) => self.do_job(locked, number, job),
                None if locked.ended => locked,
                None => self.moved.wait(locked).unwrap_or_else(PoisonError::into_inner),
            };
        }
        board.helpers -= 1;
        drop(board);
        // A waiting thread may need this to notice the end.
        self.moved.notify_all();
        std::mem::forget(failure);
    }

    fn do_job<'a>(&'a self, mut board: Locked<'a, W>, number: usize, job: W::Job) -> Locked<'a, W> {
        let mut done = board.used.pop().unwrap_or_default();
        drop(board);
        self.work.work(job, &mut done);
        let mut board = lock(&self.board);
        board.done.insert(number, done);
        self.moved.notify_all();
        board
    }
}

/// Tells of a helper that panics.
struct Failure<'a, W: Work>(&'a Shared<W>);

impl<W: Work> Drop for Failure<'_, W> {
    fn drop(&mut self) {
        lock(&self.0.board).failed = true;
        self.0.moved.notify_all();
    }
}

/// Does `work` on each block of `source` in one of `workers` threads, and gives each result to `sink`, in
/// order, until `sink` returns `false`. Results come out while `source` waits for input.
///
/// # Panics
/// If a worker panicked.
pub fn ordered<B: Send + 'static, R: Send + 'static>(
    workers: usize,
    source: impl FnMut() -> Option<B> + Send + 'static,
    work: impl Fn(B) -> R + Send + Sync + 'static,
    mut sink: impl FnMut(R) -> bool,
) {
    // One more: the caller only takes results.
    let helpers = Helpers::new(Arc::new(Fixed(workers.max(1) + 1)));
    let mut ordered = Ordered::new(Blocks { work, types: PhantomData }, source, &helpers);
    for result in ordered.by_ref() {
        if !result.is_none_or(&mut sink) {
            return ordered.abandon();
        }
    }
}

/// Blocks from a source, each of which is a job.
struct Blocks<S, B, R, F> {
    work: F,
    types: PhantomData<fn(S, B) -> R>,
}

impl<S, B, R, F> Work for Blocks<S, B, R, F>
where
    S: FnMut() -> Option<B> + Send + 'static,
    B: Send + 'static,
    R: Send + 'static,
    F: Fn(B) -> R + Send + Sync + 'static,
{
    type Cutter = S;
    type Job = B;
    type Done = Option<R>;
    const CUT_MAY_WAIT: bool = true;

    fn cut(&self, source: &mut S) -> Option<B> {
        source()
    }

    fn work(&self, block: B, done: &mut Option<R>) {
        *done = Some((self.work)(block));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(number: u64) -> u64 {
        std::hint::black_box((0..number * 7919 % 5000).sum::<u64>());
        number * 2
    }

    #[test]
    fn results_come_in_order() {
        for workers in [1, 2, 5] {
            let mut numbers = 0..1000;
            let mut found = Vec::new();
            let keep = |result| {
                found.push(result);
                true
            };
            ordered(workers, move || numbers.next(), doubled, keep);
            assert_eq!(found, (0..1000).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_endless_source_is_left() {
        let (mut numbers, mut seen) = (0u64.., 0);
        let hundred = |result| {
            assert_eq!(result, seen);
            seen += 1;
            seen < 100
        };
        ordered(3, move || numbers.next(), |number| number, hundred);
        assert_eq!(seen, 100);
    }

    #[test]
    fn results_come_out_while_the_source_waits() {
        let (tell, wait) = std::sync::mpsc::channel();
        let mut seen = 0;
        let told = |result| {
            seen += 1;
            // The source waits until all before it is out.
            tell.send(result).is_ok()
        };
        let mut next = 0;
        let source = move || {
            next += 1;
            (next == 1 || next < 20 && wait.recv() == Ok(next - 1)).then_some(next)
        };
        ordered(3, source, |number| number, told);
        assert_eq!(seen, 19);
    }

    #[test]
    fn nothing_comes_of_nothing() {
        ordered(2, || None::<u8>, |byte| byte, |_| panic!("nothing was given"));
    }

    #[test]
    #[should_panic = "a worker ended before its work did"]
    fn a_panic_is_passed_on() {
        let mut numbers = 0..10;
        ordered(2, move || numbers.next(), |number| assert!(number < 5, "five"), |()| true);
    }

    /// Numbers, which the caller and its helpers double.
    struct Doubling;

    impl Work for Doubling {
        type Cutter = std::ops::Range<u64>;
        type Job = u64;
        type Done = Vec<u64>;

        fn cut(&self, numbers: &mut Self::Cutter) -> Option<u64> {
            numbers.next()
        }

        fn work(&self, number: u64, done: &mut Vec<u64>) {
            done.push(doubled(number));
        }
    }

    #[test]
    fn helpers_come_and_go_between_results() {
        for workers in [1, 2, 4] {
            let helpers = Helpers::new(Arc::new(Fixed(workers)));
            let mut ordered = Ordered::new(Doubling, 0..500, &helpers);
            for number in 0..500 {
                let mut done = ordered.next().expect("another");
                assert_eq!(done, [number * 2]);
                done.clear();
                ordered.reuse(done);
                if number % 100 == 50 {
                    ordered.detach();
                }
            }
            assert!(ordered.next().is_none());
        }
    }
}
