//! The token queue of a team: which blocks are in flight, and what each worker does next.

use super::file_range::MOST_BLOCKS;
use super::{Left, Shared, Why};
use crate::{BLOCK_BYTES, Fed, Flow};
use std::collections::{BTreeMap, VecDeque};

/// A block in flight.
#[derive(Debug, Default)]
pub(super) struct Token {
    pub seq: u64,
    /// The byte before the block.
    pub last: Option<u8>,
    pub block: Vec<u8>,
    /// The front's output for it.
    pub out: Vec<u8>,
    pub odd: bool,
    /// The start of a file range: only its output is in memory.
    pub part: Option<u64>,
    /// The length of the block or range in bytes.
    pub read_bytes: u64,
    /// How many bytes the first peer has printed for it.
    pub printed_bytes: u64,
    /// The worker that carries it.
    pub lane: usize,
    /// Its share of [`TokenQueue::bytes`].
    bytes: usize,
}

/// A worker's next task.
#[derive(Debug)]
pub(super) enum Turn {
    Read(Token),
    Fold(Token),
    Over,
}

/// A block or range with more bytes than this, its output included, is large.
const LARGE: usize = 2 * MOST_BLOCKS * BLOCK_BYTES;

#[derive(Debug)]
pub(super) struct TokenQueue {
    folds: bool,
    /// How many blocks were read, and how many of them have passed the front, in order.
    read: u64,
    passed: u64,
    /// The number in flight, in whatever state.
    flying: usize,
    /// Their bytes, as far as known: a front may print much more than it reads.
    bytes: usize,
    /// Past the front, waiting for their turn.
    waiting: BTreeMap<u64, Token>,
    /// How many bytes after a block must have passed the front before its output is certain.
    lookahead_bytes: u64,
    /// The number of the first block that is not in `waiting`, or is odd there.
    clean_until: u64,
    /// The length of the blocks from `passed` to `clean_until`.
    clean_bytes: u64,
    /// To be folded, in any order.
    ready: VecDeque<Token>,
    /// Refused by a fold.
    refused: BTreeMap<u64, Token>,
    /// Whether a worker is passing on the next in order.
    passing: bool,
    /// The reason that reading stopped.
    why: Option<Why>,
    /// Whether passing on has stopped.
    stopped: bool,
    fed: Fed,
    /// Tokens whose buffers are reused.
    pool: Vec<Token>,
}

impl TokenQueue {
    pub fn new(shared: Shared) -> Self {
        TokenQueue {
            folds: shared.fold,
            lookahead_bytes: shared.lookahead_bytes,
            clean_until: 0,
            clean_bytes: 0,
            read: 0,
            passed: 0,
            flying: 0,
            bytes: 0,
            waiting: BTreeMap::new(),
            ready: VecDeque::new(),
            refused: BTreeMap::new(),
            passing: false,
            why: None,
            stopped: false,
            fed: Ok(Flow::More),
            pool: Vec::new(),
        }
    }

    /// Returns the next task; `None`: wait.
    pub fn next_turn(&mut self, lane: usize, most: usize) -> Option<Turn> {
        if !self.stopped
            && let Some(token) = self.next_ready(lane)
        {
            return Some(Turn::Fold(token));
        }
        if self.why.is_some() {
            // With a fold, blocks still at the front must be folded too, by the worker that queues them.
            return Some(Turn::Over);
        }
        // What waits for those after it does not count: they must be read. One may always be in flight, however large.
        let flying = self.flying - self.kept_back();
        if flying >= most || flying > 0 && self.bytes >= most * LARGE {
            return None;
        }
        self.flying += 1;
        // A worker's own buffers are still in its cache.
        let own = self.pool.iter().rposition(|token| token.lane == lane);
        let token = own.map(|at| self.pool.swap_remove(at)).or_else(|| self.pool.pop());
        Some(Turn::Read(Token { lane, odd: false, part: None, ..token.unwrap_or_default() }))
    }

    /// Takes a token to fold, preferably one in this worker's cache.
    fn next_ready(&mut self, lane: usize) -> Option<Token> {
        let own = self.ready.iter().position(|token| token.lane == lane);
        self.ready.remove(own.unwrap_or(0))
    }

    /// Whether reading has stopped.
    pub fn is_read(&self) -> bool {
        self.why.is_some()
    }

    /// Stops reading. The first reason is kept.
    pub fn read_no_more(&mut self, why: Why) {
        self.why.get_or_insert(why);
    }

    /// Returns a read task that yielded nothing.
    pub fn give_back(&mut self) {
        self.flying -= 1;
    }

    /// Numbers a block that was just read.
    pub fn number(&mut self, token: &mut Token) {
        token.seq = self.read;
        self.read += 1;
        self.weigh(token);
    }

    fn weigh(&mut self, token: &mut Token) {
        let now = token.block.len() + token.out.len();
        self.bytes = self.bytes - token.bytes + now;
        token.bytes = now;
    }

    /// Queues a token that has passed the front.
    pub fn put(&mut self, mut token: Token) {
        self.weigh(&mut token);
        self.waiting.insert(token.seq, token);
    }

    /// Whether the caller must pass on what is next.
    pub fn begin_to_pass(&mut self) -> bool {
        !std::mem::replace(&mut self.passing, true)
    }

    pub fn end_passing(&mut self) {
        self.passing = false;
    }

    /// Takes the next block in order, if it is there and its output is certain.
    pub fn next_in_order(&mut self) -> Option<Token> {
        if self.stopped {
            return None;
        }
        let mut at_end = self.waiting.get(&self.clean_until);
        while let Some(token) = at_end.filter(|token| !token.odd) {
            self.clean_bytes += token.read_bytes;
            self.clean_until += 1;
            at_end = self.waiting.get(&self.clean_until);
        }
        let is_odd_then = at_end.is_some();
        let next = self.waiting.get(&self.passed).filter(|token| !token.odd);
        let after_next = next.map(|token| self.clean_bytes - token.read_bytes);
        if after_next.is_some_and(|bytes| bytes >= self.lookahead_bytes) {
            self.passed += 1;
            self.clean_bytes = after_next.unwrap_or_default();
            return self.waiting.remove(&(self.passed - 1));
        }
        if is_odd_then {
            self.stopped = true;
            // Overrides any other reason: the chain must continue alone.
            self.why = Some(Why::Odd);
        }
        None
    }

    /// Returns how many blocks wait for those after them.
    fn kept_back(&self) -> usize {
        if self.lookahead_bytes > 0 { (self.clean_until - self.passed) as usize } else { 0 }
    }

    /// Puts back a block that was taken in order: what comes before it stopped the chain.
    pub fn put_back(&mut self, token: Token) {
        self.passed -= 1;
        self.waiting.insert(token.seq, token);
    }

    pub fn await_fold(&mut self, token: Token) {
        debug_assert!(self.folds);
        self.ready.push_back(token);
    }

    /// Recycles a finished token.
    pub fn done(&mut self, mut token: Token) {
        self.flying -= 1;
        for buffer in [&mut token.block, &mut token.out] {
            // Shrinks a buffer that was large once; keeps one that is filled each time.
            let is_needed = buffer.len() > buffer.capacity() / 4;
            buffer.clear();
            if !is_needed {
                buffer.shrink_to(LARGE);
            }
        }
        self.weigh(&mut token);
        self.pool.push(token);
    }

    /// Keeps a token that a worker's fold refused.
    pub fn refused(&mut self, token: Token) {
        self.flying -= 1;
        self.stopped = true;
        self.why = Some(Why::Odd);
        self.refused.insert(token.seq, token);
    }

    /// Stops: the rest of the chain fell back or is done.
    pub fn stop(&mut self, fed: Fed) {
        self.fed = fed;
        self.stopped = true;
        self.why = Some(Why::Stopped);
    }

    /// Whether a fold refused a block.
    pub fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns the byte before the first block that was read and must be pushed to the first kernel; `None`
    /// if there is no such block.
    pub fn last_before_left(&self) -> Option<Option<u8>> {
        self.waiting.first_key_value().map(|(_, token)| token.last)
    }

    /// Ends the queue once no worker is active.
    pub fn leave(mut self, shared: Shared) -> Left {
        self.refused.extend(self.ready.into_iter().map(|token| (token.seq, token)));
        let folds = self.refused.into_values().map(|token| (shared.front, token.out));
        // Without a front, the block is its own output.
        let given = |token: Token| if shared.peers_at_front() == 0 { token.out } else { token.block };
        // A range, and everything after it, is read again.
        let again = self.waiting.values().find_map(|token| token.part);
        let blocks = self.waiting.into_values().take_while(|token| token.part.is_none());
        let blocks = folds.chain(blocks.map(|token| (0, given(token)))).collect();
        Left { why: self.why.unwrap_or(Why::Alone), fed: self.fed, blocks, again, redo: false }
    }
}
