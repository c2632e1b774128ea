//! Several workers on one chain of kernels: an ordered token pipeline, as in oneTBB's `parallel_pipeline`.
//!
//! ```text
//!   intake (one at a time) ─► front (peers per worker) ─► in order ─► rest of the chain ─► sink
//!                            └─ or with a sieve at its end       └─► or a fold: a peer per worker, merged
//! ```
//!
//! A worker takes a block (of a regular file: a range that it reads itself) and carries it through the
//! kernels at the front of the chain. It queues the result. If that is next in order and no other worker is
//! passing on, it carries it and its successors through the rest. Blocks leave in order. The number of blocks
//! in flight and their bytes are limited, so memory is bounded.
//!
//! It only accelerates: a block that a peer does not support ends the team at a block boundary, and the chain
//! continues alone with that block and all later ones.

mod file_range;
pub mod memory;
mod shareable;
#[cfg(test)]
mod tests;
mod token_queue;

use crate::chain::Link;
use crate::{Chain, Fed, Flow, Notice, Sink};
pub use file_range::FileRange;
use pelton_parallel::{Policy, WorkerCount, lock};
pub use shareable::Shared;
use shareable::{Judged, Lane};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Scope;
use token_queue::{Token, TokenQueue, Turn};

/// The source of blocks. Called by one worker at a time.
pub trait Intake: Send {
    /// Puts the next block into `block`, which is empty: whole records, if blocks must be cut. Or returns a
    /// range of up to `blocks` blocks.
    fn next(&mut self, block: &mut Vec<u8>, blocks: usize) -> Taken;

    /// Returns the byte before the next block, if any.
    fn last(&self) -> Option<u8>;
}

/// The answer of the intake.
#[derive(Debug)]
pub enum Taken {
    /// A block.
    Block,
    /// The range of the next blocks: the worker that takes it reads it, in parallel with the others.
    FileRange(FileRange),
    /// Nothing, with the reason to stop.
    Nothing(Why),
}

/// The reason a team stopped.
#[derive(Clone, Copy, Debug)]
pub enum Why {
    /// The input ended, or could not be read.
    Ended,
    /// No input is available at once, or the next input is not for peers.
    Paused,
    /// The policy wants one worker only.
    Alone,
    /// The peers do not support a block.
    Odd,
    /// The rest of the chain fell back or is done.
    Stopped,
}

/// The state after a team has stopped.
#[derive(Debug)]
pub struct Left {
    /// The reason.
    pub why: Why,
    /// The last result of the rest of the chain.
    pub fed: Fed,
    /// Blocks that were read and must still be pushed, each from the link with this index on
    /// ([`Chain::push_from`]).
    pub blocks: VecDeque<(usize, Vec<u8>)>,
    /// The offset from which the file must be read again: the start of an unfinished [`FileRange`].
    pub again: Option<u64>,
    /// Whether all input of the team must be given again, in order: its state was dropped (see
    /// [`Sharing::Sums`](crate::Sharing::Sums)).
    pub redo: bool,
}

/// Drives `chain` with several workers until the intake is empty, or something happens that must be handled
/// alone. The chain's state is then the same as if it had worked alone.
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
        tokens: Mutex::new(TokenQueue::new(shared)),
        moved: Condvar::new(),
        asleep: AtomicUsize::new(0),
        lanes_made: AtomicUsize::new(0),
        intake: Mutex::new(intake),
        rest: Mutex::new(Rest { chain, sink }),
        lanes: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| floor.lead(scope));
    let Floor { tokens, rest, intake, lanes, .. } = floor;
    let chain = into_inner(rest).chain;
    let tokens = into_inner(tokens);
    let redo = shared.redo && tokens.has_refused();
    if !redo {
        for lane in into_inner(lanes) {
            lane.leave(chain, shared);
        }
    }
    let last =
        if redo { before } else { tokens.last_before_left().unwrap_or_else(|| into_inner(intake).last()) };
    if let (Some(last), Some(link)) = (last, chain.links.first_mut()) {
        link.kernel.notice(Notice::PrecedingByte(last));
    }
    let left = tokens.leave(shared);
    if redo { Left { blocks: VecDeque::new(), again: None, redo, ..left } } else { left }
}

/// The state shared by the workers.
struct Floor<'a, S> {
    shared: Shared,
    policy: &'a dyn Policy,
    heads: WorkerCount,
    tokens: Mutex<TokenQueue>,
    /// Signals that the queue changed: capacity for a block, something to fold, or the end.
    moved: Condvar,
    /// The number of workers waiting on `moved`.
    asleep: AtomicUsize,
    lanes_made: AtomicUsize,
    intake: Mutex<&'a mut dyn Intake>,
    rest: Mutex<Rest<'a, S>>,
    /// The lanes of workers that left.
    lanes: Mutex<Vec<Lane>>,
}

/// The state that only one worker at a time uses.
struct Rest<'a, S> {
    chain: &'a mut Chain,
    sink: &'a mut S,
}

impl<'a, S: Sink + Send> Floor<'a, S> {
    /// Runs the first worker, which also starts the others.
    fn lead<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let Some(mut lane) = self.lane() else {
            return lock(&self.tokens).read_no_more(Why::Alone);
        };
        let mut full = false;
        loop {
            let at_work = self.heads.at_work();
            let wanted = self.policy.wanted(at_work);
            self.heads.aim_at(wanted);
            // After one failed start, no more are tried.
            if !full && (at_work..wanted).any(|_| !self.hire(scope)) {
                full = true;
            }
            if wanted <= 1 {
                lock(&self.tokens).read_no_more(Why::Alone);
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

    /// Starts a worker. `false`: no thread is available, and the current workers do the work.
    fn hire<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool {
        let Some(lane) = self.lane() else { return false };
        self.heads.hire(scope, move || {
            self.policy.hired();
            self.follow(lane);
        })
    }

    /// Runs every other worker.
    fn follow(&self, mut lane: Lane) {
        while !self.heads.dismissed() && self.turn(&mut lane) {}
        self.leave(lane);
    }

    fn lane(&self) -> Option<Lane> {
        let id = self.lanes_made.fetch_add(1, Ordering::Relaxed);
        Lane::of(lock(&self.rest).chain, self.shared, id)
    }

    /// Processes one block or range. Returns `false` if the work is over.
    fn turn(&self, lane: &mut Lane) -> bool {
        match self.next_turn(lane.id) {
            Turn::Fold(token) => self.fold(lane, token),
            Turn::Read(mut token) => {
                let taken = self.read(&mut token, lane.blocks());
                match taken {
                    Taken::Nothing(_) => return true,
                    Taken::Block => {
                        token.read_bytes = token.block.len() as u64;
                        token.odd = lane.work(&mut token.block, token.last, &mut token.out) == Judged::Odd;
                    }
                    Taken::FileRange(part) => {
                        token.odd =
                            lane.work_part(&part, self.shared.cut, token.last, &mut token.out) == Judged::Odd;
                        token.part = Some(part.range.start);
                        token.read_bytes = part.range.end - part.range.start;
                    }
                }
                token.printed_bytes = lane.take_printed_bytes();
                self.hand_in(token);
            }
            Turn::Over => return false,
        }
        true
    }

    /// Waits until there is something to do.
    fn next_turn(&self, lane: usize) -> Turn {
        let mut tokens = lock(&self.tokens);
        let most = self.most();
        loop {
            if let Some(turn) = tokens.next_turn(lane, most) {
                return turn;
            }
            // Counted under the lock, so that a worker that changes the queue after this check sees it.
            self.asleep.fetch_add(1, Ordering::Relaxed);
            tokens = self.moved.wait(tokens).unwrap_or_else(PoisonError::into_inner);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns how many blocks or ranges may be in flight.
    fn most(&self) -> usize {
        // A lone first worker waits for nobody; workers that left leave no blocks in flight.
        PER_WORKER * (1 + self.heads.target())
    }

    /// Wakes waiting workers. A system call, so only if any wait.
    fn tell(&self) {
        if self.asleep.load(Ordering::Relaxed) > 0 {
            self.moved.notify_all();
        }
    }

    fn read(&self, token: &mut Token, blocks: usize) -> Taken {
        let mut intake = lock(&self.intake);
        if lock(&self.tokens).is_read() {
            lock(&self.tokens).give_back();
            self.tell();
            return Taken::Nothing(Why::Ended);
        }
        token.last = intake.last();
        let taken = intake.next(&mut token.block, blocks);
        let mut tokens = lock(&self.tokens);
        match taken {
            Taken::Block | Taken::FileRange(_) => tokens.number(token),
            Taken::Nothing(why) => {
                tokens.give_back();
                tokens.read_no_more(why);
                self.tell();
            }
        }
        taken
    }

    /// Queues a block, and passes on all that are next in order, unless another worker does so.
    fn hand_in(&self, token: Token) {
        let mut tokens = lock(&self.tokens);
        tokens.put(token);
        if !tokens.begin_to_pass() {
            return;
        }
        while let Some(token) = tokens.next_in_order() {
            if self.shared.lookahead_bytes > 0 {
                drop(tokens);
                let fed = self.pass(&token);
                tokens = lock(&self.tokens);
                if fed != Ok(Flow::More) {
                    tokens.put_back(token);
                    tokens.stop(fed);
                    break;
                }
            }
            if self.shared.fold {
                tokens.await_fold(token);
            } else {
                drop(tokens);
                let fed = {
                    let Rest { chain, sink } = &mut *lock(&self.rest);
                    chain.push_from(self.shared.front, &token.out, *sink)
                };
                tokens = lock(&self.tokens);
                tokens.done(token);
                if fed != Ok(Flow::More) {
                    tokens.stop(fed);
                }
            }
            self.tell();
        }
        tokens.end_passing();
        drop(tokens);
        self.tell();
    }

    /// Moves the first kernel on to the end of a block whose output is certain, and passes on what it has kept back.
    fn pass(&self, token: &Token) -> Fed {
        let Rest { chain, sink } = &mut *lock(&self.rest);
        let mut kept_back = Vec::new();
        let pass = |chain: &mut Chain, read, printed, kept_back: &mut Vec<u8>| {
            if let Some(first) = chain.links.first_mut().and_then(Link::parallel) {
                first.pass(read, printed, kept_back);
            }
        };
        pass(chain, 0, 0, &mut kept_back);
        let passed = if kept_back.is_empty() { Flow::More } else { chain.push_from(1, &kept_back, *sink)? };
        if passed != Flow::More {
            return Ok(passed);
        }
        // Only now: if a kernel after it has fallen back, the first one gets this block again.
        pass(chain, token.read_bytes, token.printed_bytes, &mut kept_back);
        Ok(Flow::More)
    }

    fn fold(&self, lane: &mut Lane, mut token: Token) {
        let folded = lane.fold(&token.out);
        let mut tokens = lock(&self.tokens);
        match folded {
            Ok(_) => tokens.done(token),
            Err(mut interruptions) => {
                token.out = interruptions.pop().map(|interruption| interruption.rest).unwrap_or_default();
                tokens.refused(token);
            }
        }
        self.tell();
    }
}

/// Blocks in flight per worker: enough that no worker waits for a slow one, few enough to stay in cache.
const PER_WORKER: usize = 2;

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
