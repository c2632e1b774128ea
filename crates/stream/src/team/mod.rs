//! Several workers on one chain of kernels: an ordered token pipeline, as in oneTBB's `parallel_pipeline`.
//!
//! ```text
//!   intake (one at a time) ─► front (each worker its own peers) ─► in order ─► the rest of the chain ─► sink
//!                    └─ or a sieve at its end: what it leaves is in order     └─► or a fold: a peer per worker, merged
//! ```
//!
//! A worker takes a block (of a plain file: where it lies, and reads it itself), carries it through the kernels at the front of the chain, hands it in, and, if it is the
//! next one and nobody else does so, carries it and those behind it through the rest. Blocks leave in order; so many of
//! them, and so many bytes, may be under way, so memory is bounded.
//!
//! It is an accelerator and nothing else: whatever a peer cannot judge ends it at a border between two blocks, and the
//! chain goes on from there as if it had been alone, with every block from that one on.

mod file_range;
mod helpers;
pub mod memory;
mod share;
#[cfg(test)]
mod tests;
mod token_queue;
mod worker_count;

use crate::{Chain, Fed, Flow, Sink};
pub use file_range::FileRange;
pub use helpers::Helpers;
pub use share::Shared;
use share::{Judged, Lane};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use token_queue::{Token, TokenQueue, Turn};
use worker_count::WorkerCount;

/// Where blocks come from. Asked by one worker at a time.
pub trait Intake: Send {
    /// Puts the next block into `block`, which is empty: whole records, if blocks must be cut. Or tells where it lies, and some of
    /// those behind it, `blocks` at most.
    fn next(&mut self, block: &mut Vec<u8>, blocks: usize) -> Taken;

    /// The byte that stands before the next block, once there was one.
    fn last(&self) -> Option<u8>;
}

/// What the intake gave.
#[derive(Debug)]
pub enum Taken {
    /// A block.
    Block,
    /// Where the next blocks lie: whoever takes them reads them, while others read theirs.
    FileRange(FileRange),
    /// Nothing, and a reason to leave.
    Nothing(Why),
}

/// Why a team broke up.
#[derive(Clone, Copy, Debug)]
pub enum Why {
    /// The input ended, or could not be read.
    Ended,
    /// Nothing more comes at once, or what comes is not for peers.
    Paused,
    /// The policy wants one worker only.
    Alone,
    /// A block that the peers did not judge.
    Odd,
    /// The rest of the chain handed over, or wants no more.
    Stopped,
}

/// How many workers there should be.
pub trait Policy: Send + Sync {
    /// How many are wanted, given how many there are. Asked at every block of the first worker: cheap.
    fn wanted(&self, at_work: usize) -> usize;

    /// Called in the thread of each worker but the first, before it works.
    fn hired(&self) {}
}

/// What a team leaves behind.
#[derive(Debug)]
pub struct Left {
    /// Why it broke up.
    pub why: Why,
    /// What the rest of the chain said last.
    pub fed: Fed,
    /// Blocks that were read and must still be given to the chain, each from the link of this index on
    /// ([`Chain::push_from`]).
    pub blocks: VecDeque<(usize, Vec<u8>)>,
    /// From here on the file must be read again: a [`FileRange`] that is not done with.
    pub again: Option<u64>,
    /// All that the team was given must be given again, in order: nothing of it was kept (see [`Sharing::Sums`](crate::Sharing::Sums)).
    pub redo: bool,
}

/// Drives `chain` with several workers until the intake has nothing more to give, or something happens that must be
/// dealt with alone. What the chain knows afterwards is what it would know if it had worked alone.
pub fn drive<S: Sink + Send>(
    chain: &mut Chain,
    shared: Shared,
    intake: &mut dyn Intake,
    sink: &mut S,
    policy: &dyn Policy,
) -> Left {
    let before = intake.last();
    let floor = Floor {
        shared,
        policy,
        heads: WorkerCount::alone(),
        book: Mutex::new(TokenQueue::new(shared.fold)),
        moved: Condvar::new(),
        asleep: AtomicUsize::new(0),
        lanes_made: AtomicUsize::new(0),
        intake: Mutex::new(intake),
        rest: Mutex::new(Rest { chain, sink }),
        lanes: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| floor.lead(scope));
    let Floor { book, rest, intake, lanes, .. } = floor;
    let chain = into_inner(rest).chain;
    let book = into_inner(book);
    let redo = shared.redo && book.has_refused();
    if !redo {
        for lane in into_inner(lanes) {
            lane.leave(chain, shared);
        }
    }
    let last =
        if redo { before } else { book.last_before_left().unwrap_or_else(|| into_inner(intake).last()) };
    if let (Some(last), Some(link)) = (last, chain.links.first_mut()) {
        link.kernel.set_preceding_byte(last);
    }
    let left = book.leave(shared);
    if redo { Left { blocks: VecDeque::new(), again: None, redo, ..left } } else { left }
}

/// What the workers have in common.
struct Floor<'a, S> {
    shared: Shared,
    policy: &'a dyn Policy,
    heads: WorkerCount,
    book: Mutex<TokenQueue>,
    /// The book changed: there is room for a block, or something to fold, or it is over.
    moved: Condvar,
    /// So many wait for that.
    asleep: AtomicUsize,
    lanes_made: AtomicUsize,
    intake: Mutex<&'a mut dyn Intake>,
    rest: Mutex<Rest<'a, S>>,
    /// Of those who left.
    lanes: Mutex<Vec<Lane>>,
}

/// What only one worker at a time touches.
struct Rest<'a, S> {
    chain: &'a mut Chain,
    sink: &'a mut S,
}

impl<'a, S: Sink + Send> Floor<'a, S> {
    /// What the first worker does: it hires the others as well.
    fn lead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let Some(mut lane) = self.lane() else {
            return lock(&self.book).read_no_more(Why::Alone);
        };
        let mut full = false;
        loop {
            let at_work = self.heads.at_work();
            let wanted = self.policy.wanted(at_work);
            self.heads.aim_at(wanted);
            // Where one cannot be had, others are not asked for again and again.
            if !full && (at_work..wanted).any(|_| !self.hire(scope)) {
                full = true;
            }
            if wanted <= 1 {
                lock(&self.book).read_no_more(Why::Alone);
                self.tell();
            }
            if !self.turn(&mut lane) {
                break;
            }
        }
        self.leave(lane);
    }

    fn leave(&self, lane: Lane) {
        lock(&self.lanes).push(lane);
    }

    /// `false`: there are no more threads for us, and those that there are do the work.
    fn hire<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool {
        let Some(lane) = self.lane() else { return false };
        self.heads.hire(scope, move || {
            self.policy.hired();
            self.follow(lane);
        })
    }

    /// What every other worker does.
    fn follow(&self, mut lane: Lane) {
        while !self.heads.dismissed() && self.turn(&mut lane) {}
        self.leave(lane);
    }

    fn lane(&self) -> Option<Lane> {
        let id = self.lanes_made.fetch_add(1, Ordering::Relaxed);
        Lane::of(lock(&self.rest).chain, self.shared, id)
    }

    /// Carries one block on, or one part; `false` if there is no more to do.
    fn turn(&self, lane: &mut Lane) -> bool {
        match self.next_turn(lane.id) {
            Turn::Fold(token) => self.fold(lane, token),
            Turn::Read(mut token) => {
                let taken = self.read(&mut token, lane.blocks());
                match taken {
                    Taken::Nothing(_) => return true,
                    Taken::Block => {
                        token.odd = lane.work(&mut token.block, token.last, &mut token.out) == Judged::Odd;
                    }
                    Taken::FileRange(part) => {
                        token.odd =
                            lane.work_part(&part, self.shared.cut, token.last, &mut token.out) == Judged::Odd;
                        token.part = Some(part.range.start);
                    }
                }
                self.hand_in(token);
            }
            Turn::Over => return false,
        }
        true
    }

    /// Waits until there is something to do.
    fn next_turn(&self, lane: usize) -> Turn {
        let mut book = lock(&self.book);
        let most = self.most();
        loop {
            if let Some(turn) = book.next_turn(lane, most) {
                return turn;
            }
            // Counted under the lock, so that whoever changes the book after this look sees it.
            self.asleep.fetch_add(1, Ordering::Relaxed);
            book = self.moved.wait(book).unwrap_or_else(PoisonError::into_inner);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// So many blocks or parts may be under way.
    fn most(&self) -> usize {
        // Of the first worker alone there is nobody to wait for; others that were let go leave blocks to nobody.
        PER_WORKER * (1 + self.heads.target())
    }

    /// The book has changed. A system call, so only where somebody waits for it.
    fn tell(&self) {
        if self.asleep.load(Ordering::Relaxed) > 0 {
            self.moved.notify_all();
        }
    }

    fn read(&self, token: &mut Token, blocks: usize) -> Taken {
        let mut intake = lock(&self.intake);
        if lock(&self.book).is_read() {
            lock(&self.book).give_back();
            self.tell();
            return Taken::Nothing(Why::Ended);
        }
        token.last = intake.last();
        let taken = intake.next(&mut token.block, blocks);
        let mut book = lock(&self.book);
        match taken {
            Taken::Block | Taken::FileRange(_) => book.number(token),
            Taken::Nothing(why) => {
                book.give_back();
                book.read_no_more(why);
                self.tell();
            }
        }
        taken
    }

    /// Puts a block in its place, and passes on what is next in order, unless somebody else is at that.
    fn hand_in(&self, token: Token) {
        let mut book = lock(&self.book);
        book.put(token);
        if !book.begin_to_pass() {
            return;
        }
        while let Some(token) = book.next_in_order() {
            if self.shared.fold {
                book.await_fold(token);
            } else {
                drop(book);
                let fed = {
                    let Rest { chain, sink } = &mut *lock(&self.rest);
                    chain.push_from(self.shared.front, &token.out, *sink)
                };
                book = lock(&self.book);
                book.done(token);
                if fed != Ok(Flow::More) {
                    book.stop(fed);
                }
            }
            self.tell();
        }
        book.end_passing();
        drop(book);
        self.tell();
    }

    fn fold(&self, lane: &mut Lane, mut token: Token) {
        let folded = lane.fold(&token.out);
        let mut book = lock(&self.book);
        match folded {
            Ok(_) => book.done(token),
            Err(mut interruptions) => {
                token.out = interruptions.pop().map(|interruption| interruption.rest).unwrap_or_default();
                book.refused(token);
            }
        }
        self.tell();
    }
}

/// So many blocks may be under way for each worker: enough that nobody waits for a slow one, few enough to stay in
/// cache.
const PER_WORKER: usize = 2;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A worker that panicked has brought the process down, or the test that it was part of.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
