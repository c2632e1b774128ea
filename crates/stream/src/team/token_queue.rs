//! The book of a team: which blocks are under way, and whose turn it is.

use super::file_range::MOST_BLOCKS;
use super::{Left, Shared, Why};
use crate::{BLOCK_BYTES, Fed, Flow};
use std::collections::{BTreeMap, VecDeque};

/// A block under way.
#[derive(Debug, Default)]
pub(super) struct Token {
    pub seq: u64,
    /// The byte that stands before the block.
    pub last: Option<u8>,
    pub block: Vec<u8>,
    /// What the front printed of it.
    pub out: Vec<u8>,
    pub odd: bool,
    /// A part of a file begins here: only what was printed of it is in memory.
    pub part: Option<u64>,
    /// The worker that carries it.
    pub lane: usize,
    /// What it counts for in [`TokenQueue::bytes`].
    bytes: usize,
}

/// What a worker does next.
#[derive(Debug)]
pub(super) enum Turn {
    Read(Token),
    Fold(Token),
    Over,
}

/// A block or part that holds more than so many bytes, its output included, is large.
const LARGE: usize = 2 * MOST_BLOCKS * BLOCK_BYTES;

#[derive(Debug)]
pub(super) struct TokenQueue {
    folds: bool,
    /// How many blocks have been read, and how many of them are through the front, in order.
    read: u64,
    passed: u64,
    /// Those under way, at whatever stage.
    flying: usize,
    /// What those hold of data, as far as it is known: a front may print much more than it reads.
    bytes: usize,
    /// Through the front, and not yet their turn.
    waiting: BTreeMap<u64, Token>,
    /// To be folded, in any order.
    ready: VecDeque<Token>,
    /// Not folded after all.
    refused: BTreeMap<u64, Token>,
    /// A worker is passing on what is next in order.
    passing: bool,
    /// Why nothing more is read.
    why: Option<Why>,
    /// Nothing more is passed on.
    stopped: bool,
    fed: Fed,
    /// Tokens with buffers to be used again.
    pool: Vec<Token>,
}

impl TokenQueue {
    pub fn new(folds: bool) -> Self {
        TokenQueue {
            folds,
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

    /// `None`: wait.
    pub fn next_turn(&mut self, lane: usize, most: usize) -> Option<Turn> {
        if !self.stopped
            && let Some(token) = self.next_ready(lane)
        {
            return Some(Turn::Fold(token));
        }
        if self.why.is_some() {
            // With a fold, those still at the front will have to be folded by somebody: whoever hands them in.
            return Some(Turn::Over);
        }
        // One may always be under way, however large it is.
        if self.flying >= most || self.flying > 0 && self.bytes >= most * LARGE {
            return None;
        }
        self.flying += 1;
        // Its buffers are in the cache of whoever filled them last.
        let own = self.pool.iter().rposition(|token| token.lane == lane);
        let token = own.map(|at| self.pool.swap_remove(at)).or_else(|| self.pool.pop());
        Some(Turn::Read(Token { lane, odd: false, part: None, ..token.unwrap_or_default() }))
    }

    /// One to be folded: rather what this worker has in its cache.
    fn next_ready(&mut self, lane: usize) -> Option<Token> {
        let own = self.ready.iter().position(|token| token.lane == lane);
        self.ready.remove(own.unwrap_or(0))
    }

    /// Nothing more will be read.
    pub fn is_read(&self) -> bool {
        self.why.is_some()
    }

    /// The first reason counts.
    pub fn read_no_more(&mut self, why: Why) {
        self.why.get_or_insert(why);
    }

    /// A turn to read came to nothing.
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

    /// It is through the front.
    pub fn put(&mut self, mut token: Token) {
        self.weigh(&mut token);
        self.waiting.insert(token.seq, token);
    }

    /// Whether it is for the caller to pass on what is next.
    pub fn begin_to_pass(&mut self) -> bool {
        !std::mem::replace(&mut self.passing, true)
    }

    pub fn end_passing(&mut self) {
        self.passing = false;
    }

    /// The next block in order, if it is there.
    pub fn next_in_order(&mut self) -> Option<Token> {
        if self.stopped {
            return None;
        }
        if self.waiting.get(&self.passed)?.odd {
            self.stopped = true;
            // Whatever else is going on: alone is how to go on.
            self.why = Some(Why::Odd);
            return None;
        }
        self.passed += 1;
        self.waiting.remove(&(self.passed - 1))
    }

    pub fn await_fold(&mut self, token: Token) {
        debug_assert!(self.folds);
        self.ready.push_back(token);
    }

    /// All is done with it.
    pub fn done(&mut self, mut token: Token) {
        self.flying -= 1;
        for buffer in [&mut token.block, &mut token.out] {
            // What was needed once is not kept for ever; what is needed each time is not made anew.
            let is_needed = buffer.len() > buffer.capacity() / 4;
            buffer.clear();
            if !is_needed {
                buffer.shrink_to(LARGE);
            }
        }
        self.weigh(&mut token);
        self.pool.push(token);
    }

    /// The fold of a worker does not judge it.
    pub fn refused(&mut self, token: Token) {
        self.flying -= 1;
        self.stopped = true;
        self.why = Some(Why::Odd);
        self.refused.insert(token.seq, token);
    }

    /// The rest of the chain handed over, or wants no more.
    pub fn stop(&mut self, fed: Fed) {
        self.fed = fed;
        self.stopped = true;
        self.why = Some(Why::Stopped);
    }

    /// What a fold did not judge.
    pub fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// The byte before the first block that was read and must be given to the first kernel: `None` if there is no such
    /// block.
    pub fn last_before_left(&self) -> Option<Option<u8>> {
        self.waiting.first_key_value().map(|(_, token)| token.last)
    }

    /// Nobody works any more.
    pub fn leave(mut self, shared: Shared) -> Left {
        self.refused.extend(self.ready.into_iter().map(|token| (token.seq, token)));
        let folds = self.refused.into_values().map(|token| (shared.front, token.out));
        // Without a front, a block is what it printed.
        let given = |token: Token| if shared.peers_at_front() == 0 { token.out } else { token.block };
        // A part, and whatever comes behind it, is read again.
        let again = self.waiting.values().find_map(|token| token.part);
        let blocks = self.waiting.into_values().take_while(|token| token.part.is_none());
        let blocks = folds.chain(blocks.map(|token| (0, given(token)))).collect();
        Left { why: self.why.unwrap_or(Why::Alone), fed: self.fed, blocks, again, redo: false }
    }
}
