//! `sort … | head -n K`: only K lines are printed, so only about K need to be kept.
//!
//! Lines are compared with the worst of the best K so far, nearly always by eight bytes alone, and dropped.
//! The others go into a pool; a full pool is sorted and cut to K. That keeps the order, the ties and the
//! stability of the whole sort, since it is the same sort.
//!
//! `sort … | tail -n K` keeps the first K of the opposite order, and prints them from the last to the first. Of lines
//! that compare equal, those that came last then come first.
//!
//! Where keys are computed and few lines are distinct, counting them costs less than a key for each: the beginning
//! is counted, and if that pays, so is everything.

use std::any::Any;
use std::cmp::Ordering;

use pelton_stream::{Flow, Framing, HandOver, Holding, Kernel, Notice, Outcome, Parallel, Peer, Resources};

use super::engine::Engine;
use super::item::Keyed;
use super::kernel::SortKernel;
use super::lines::keyed_item;
use super::options::{Mode, SortOptions};
use super::order::{Judged, KeyPlace, LineOrder};
use super::text::{LineLength, each_line, window};
use crate::{Accept, Declined};

/// With more lines than this to keep, sorting everything is no more expensive.
const LINES_MAX: usize = 100_000;
/// The pool is cut when it holds this many more lines than twice K.
const SLACK_LINES: usize = 2048;
/// It is also cut at this size in bytes; if that does not halve it, the lines are too long for it, and
/// everything is sorted instead.
const POOL_BYTES: usize = 256 << 20;
/// Bytes at the beginning of which lines are counted.
const TRIAL_BYTES: usize = 1 << 20;
/// Everything is also sorted if a block is larger than this.
const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Prints the first K lines of sort's output.
#[derive(Debug)]
pub struct TopK {
    options: SortOptions,
    lines: usize,
    resources: Resources,
    /// The reservation of shared memory for the pool.
    held: Option<Holding>,
    /// Whether it prints the last K lines: the first K of the opposite order.
    backward: bool,
    /// Whether everything is sorted as asked for, and the end of it is printed.
    prints_end: bool,
    /// Bytes of the beginning that were counted, until it is known whether that pays.
    trial: Option<usize>,
    /// Whether it will be merged: it refuses lines that its pool cannot hold.
    is_peer: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Pooling(Box<Pool>),
    Sorting(SortKernel),
}

impl TopK {
    /// Makes the kernel for `sort` with these options before `head -n lines`.
    pub fn new(options: &SortOptions, lines: usize) -> Accept<TopK> {
        if options.mode != Mode::Sort {
            return Declined::because("sort is not asked to sort");
        }
        if options.order().may_meet_nan() {
            return Declined::because("-g may meet two NaNs");
        }
        if lines > LINES_MAX {
            return Declined::because(format!("more than {LINES_MAX} lines are kept"));
        }
        let order = options.order();
        // Tests, whose data is small, take both ways.
        let tries = !cfg!(debug_assertions) || lines % 2 == 1;
        let (state, trial) = match tries && order.is_computed() && order.is_total() {
            true => (State::Sorting(SortKernel::new(options).with_limit(lines as u64)), Some(0)),
            false => (State::Pooling(Box::new(Pool::new(options, lines))), None),
        };
        Ok(TopK { trial, ..TopK::of_state(options, lines, state) })
    }

    /// Makes a kernel in this state, which has seen no block.
    fn of_state(options: &SortOptions, lines: usize, state: State) -> TopK {
        TopK {
            options: options.clone(),
            lines,
            resources: Resources::default(),
            held: None,
            backward: false,
            prints_end: false,
            trial: None,
            is_peer: false,
            state,
        }
    }

    /// Makes the kernel for `sort` with these options before `tail -n lines`.
    pub fn last(options: &SortOptions, lines: usize) -> Accept<TopK> {
        let mut kernel = TopK { backward: true, ..TopK::new(&opposite(options), lines)? };
        if let State::Pooling(pool) = &mut kernel.state {
            pool.latest_first = !options.unique && !options.order().is_total();
        }
        Ok(kernel)
    }

    /// Reserves shared memory for the pool.
    fn reserve(&mut self) {
        let storage = self.resources.storage.as_ref();
        self.held = self.held.take().or_else(|| storage.map(Holding::new));
    }

    /// Decides after the beginning whether to count on.
    fn end_trial(&mut self) {
        let State::Sorting(kernel) = &self.state else { return };
        let Some(text) = kernel.text_unless_counted() else { return };
        let mut pool = Box::new(Pool::new(&self.options, self.lines));
        pool.push(text);
        self.state = State::Pooling(pool);
        self.reserve();
    }
}

impl Kernel for TopK {
    fn framing(&self) -> Framing {
        Framing::Records(self.options.terminator)
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Resources(resources) => self.resources = resources.clone(),
            Notice::ProcessFork => self.resources = Resources::default(),
            _ => return,
        }
        match &mut self.state {
            State::Sorting(kernel) => kernel.notice(notice),
            State::Pooling(_) => self.reserve(),
        }
    }

    fn push(&mut self, block: &[u8], out: &mut Vec<u8>) -> Outcome {
        if let State::Pooling(pool) = &mut self.state {
            let held = &mut self.held;
            let mut fits = |bytes| held.as_mut().is_none_or(|held| held.may_hold(2 * bytes));
            if block.len() <= BLOCK_BYTES_MAX && pool.has_room() && fits(pool.arena.len()) {
                pool.push(block);
                return Ok(Flow::More);
            }
            if self.is_peer {
                return Err(HandOver::at(0, "lines that are sorted rather than compared with the best ones"));
            }
            // All of the sort as it was asked for: only it keeps equal lines in their order.
            let mut kernel = match pool.latest_first {
                true => SortKernel::new(&opposite(&pool.options)),
                false => SortKernel::new(&pool.options).with_limit(pool.lines as u64),
            };
            self.prints_end = pool.latest_first;
            self.held = None;
            kernel.notice(Notice::Resources(&self.resources));
            if !pool.arena.is_empty() {
                kernel.push(&pool.arena, out)?;
            }
            self.state = State::Sorting(kernel);
        }
        match &mut self.state {
            State::Sorting(kernel) => {
                let flow = kernel.push(block, out)?;
                if let Some(bytes) = &mut self.trial {
                    *bytes += block.len();
                    if *bytes >= TRIAL_BYTES {
                        self.trial = None;
                        self.end_trial();
                    }
                }
                Ok(flow)
            }
            State::Pooling(_) => Ok(Flow::More),
        }
    }

    fn parallel(&mut self) -> Option<&mut dyn Parallel> {
        match self.state {
            // While it is not known whether counting pays, everything is.
            State::Sorting(_) if self.trial.is_some() => None,
            _ => Some(self),
        }
    }

    fn messages(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Sorting(kernel) => kernel.messages(),
            State::Pooling(_) => Vec::new(),
        }
    }

    fn status(&self) -> i32 {
        match &self.state {
            State::Sorting(kernel) => kernel.status(),
            State::Pooling(_) => 0,
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Outcome {
        match &mut self.state {
            State::Sorting(kernel) if self.prints_end => {
                let mut last = Vec::new();
                loop {
                    let flow = kernel.finish(&mut last)?;
                    last.drain(..start_of_last(&last, self.lines, self.options.terminator));
                    if flow != Flow::More {
                        break;
                    }
                }
                if kernel.status() == 0 {
                    out.append(&mut last);
                }
                Ok(Flow::Done)
            }
            State::Sorting(kernel) if !self.backward => kernel.finish(out),
            State::Sorting(kernel) => {
                let mut first = Vec::new();
                while kernel.finish(&mut first)? == Flow::More {}
                if kernel.status() == 0 {
                    append_backward(&first, self.options.terminator, out);
                }
                Ok(Flow::Done)
            }
            State::Pooling(pool) => {
                pool.cut_back();
                let mut append = |item: &Keyed| {
                    let at = item.line_offset as usize;
                    out.extend_from_slice(&pool.arena[at..=at + item.line_len as usize]);
                };
                match self.backward {
                    true => pool.items.iter().rev().for_each(&mut append),
                    false => pool.items.iter().for_each(&mut append),
                }
                Ok(Flow::Done)
            }
        }
    }
}

/// Where equal lines are identical, it does not show which of them is kept, so other threads may have taken it.
impl Parallel for TopK {
    fn fork(&mut self) -> Option<Peer> {
        let pool = match &mut self.state {
            State::Sorting(kernel) => return kernel.fork(),
            State::Pooling(pool) if self.options.order().is_total() => pool,
            State::Pooling(_) => return None,
        };
        let pool = Pool { bound: pool.bound.clone(), ..Pool::new(&pool.options, pool.lines) };
        let state = State::Pooling(Box::new(pool));
        Some(Peer::of_fold(TopK {
            backward: self.backward,
            is_peer: true,
            ..TopK::of_state(&self.options, self.lines, state)
        }))
    }

    fn merge(&mut self, peer: Box<dyn Kernel>) {
        let peer: Box<dyn Any> = peer;
        match (peer.downcast::<TopK>(), &mut self.state) {
            (Ok(peer), own) => {
                let State::Pooling(taken) = peer.state else { return };
                match own {
                    State::Pooling(pool) => pool.push(&taken.arena),
                    State::Sorting(kernel) => {
                        // It prints nothing before the end, and keeps what goes wrong until then.
                        let _ = kernel.push(&taken.arena, &mut Vec::new());
                    }
                }
            }
            (Err(peer), State::Sorting(kernel)) => {
                if let Ok(peer) = peer.downcast::<SortKernel>() {
                    kernel.merge(peer);
                }
            }
            (Err(_), State::Pooling(_)) => {}
        }
    }
}

/// Returns the options of the opposite order.
fn opposite(options: &SortOptions) -> SortOptions {
    let mut opposite = SortOptions { reverse: !options.reverse, ..options.clone() };
    opposite.keys.iter_mut().for_each(|key| key.reverse = !key.reverse);
    opposite
}

/// Returns where the last `count` of these whole lines begin.
fn start_of_last(lines: &[u8], count: usize, terminator: u8) -> usize {
    memchr::memrchr_iter(terminator, lines).nth(count).map_or(0, |before| before + 1)
}

/// Appends whole lines from the last to the first.
fn append_backward(lines: &[u8], terminator: u8, out: &mut Vec<u8>) {
    let mut end = lines.len();
    while end > 0 {
        let start = memchr::memrchr(terminator, &lines[..end - 1]).map_or(0, |before| before + 1);
        out.extend_from_slice(&lines[start..end]);
        end = start;
    }
}

/// The lines that may still be among the first K: the best K of the last cut, and what was added since.
#[derive(Debug)]
struct Pool {
    options: SortOptions,
    order: LineOrder,
    lines: usize,
    arena: Vec<u8>,
    keys: Vec<u8>,
    items: Vec<Keyed>,
    bound: Option<Bound>,
    length: LineLength,
    /// Whether of lines that compare equal the last one comes first, not the first one.
    latest_first: bool,
}

/// The last of the best K lines so far: a line that does not come before it is dropped.
#[derive(Clone, Debug)]
struct Bound {
    line: Vec<u8>,
    key: Vec<u8>,
    window: u64,
}

impl Pool {
    fn new(options: &SortOptions, lines: usize) -> Self {
        Pool {
            options: options.clone(),
            order: options.order(),
            lines,
            arena: Vec::new(),
            keys: Vec::new(),
            items: Vec::new(),
            bound: None,
            length: LineLength::new(),
            latest_first: false,
        }
    }

    /// Whether there is space for another block, possibly after a cut.
    fn has_room(&mut self) -> bool {
        let bytes = |pool: &Pool| pool.arena.len().max(pool.keys.len());
        if bytes(self) < POOL_BYTES {
            return true;
        }
        self.cut_back();
        bytes(self) < POOL_BYTES / 2
    }

    fn push(&mut self, block: &[u8]) {
        let terminator = self.options.terminator;
        let whole = memchr::memrchr(terminator, block).map_or(0, |last| last + 1);
        let (text, rest) = block.split_at(whole);
        let mean = self.length.mean(text, terminator);
        let mut count = 0;
        each_line(text, terminator, mean, |start, end| {
            self.consider(&text[start..end]);
            count += 1;
        });
        self.length.saw(text.len(), count);
        if !rest.is_empty() {
            self.consider(rest);
        }
    }

    #[inline]
    fn consider(&mut self, line: &[u8]) {
        let flip = self.order.flip();
        let comes_late = |shown: u64, bound: &Bound| shown ^ flip > bound.window ^ flip;
        if let Some(bound) = &self.bound
            && self.order.quick_window(line).is_some_and(|shown| comes_late(shown, bound))
        {
            return;
        }
        let free = self.keys.len();
        let (key, shown) = match self.order.key(line, &mut self.keys) {
            KeyPlace::InLine(from, to) => (&line[from..to], window(line, from, to - from)),
            KeyPlace::Appended => (&self.keys[free..], window(&self.keys, free, self.keys.len() - free)),
        };
        let late = self.bound.as_ref().is_some_and(|bound| {
            comes_late(shown, bound)
                || shown == bound.window
                    && match bound.compare(&Judged { line, key, window: shown }, &self.order) {
                        Ordering::Equal => !self.latest_first,
                        order => order.is_lt(),
                    }
        });
        self.keys.truncate(free);
        if !late {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &[u8]) {
        if self.items.len() >= 2 * self.lines + SLACK_LINES {
            self.cut_back();
        }
        let offset = self.arena.len();
        self.arena.extend_from_slice(line);
        self.arena.push(self.options.terminator);
        self.items.push(keyed_item(&self.arena, &mut self.keys, offset, line.len(), &self.order));
    }

    /// Keeps the first K candidates, in order; then puts their lines, in the original order, into a fresh
    /// arena.
    fn cut_back(&mut self) {
        let Pool { order, arena, keys, items, .. } = self;
        let keys_arena = if order.is_computed() { &*keys } else { &*arena };
        let engine = Engine {
            keys: keys_arena,
            lines: arena,
            descending: order.descending(),
            tie: order.tie(),
            order,
        };
        engine.sort(items);
        if self.options.unique {
            items.dedup_by(|a, b| engine.is_same_key(a, b));
        }
        if self.latest_first {
            items.chunk_by_mut(|a, b| engine.is_same_key(a, b)).for_each(<[Keyed]>::reverse);
        }
        items.truncate(self.lines);
        self.set_bound();
        self.compact();
    }

    fn set_bound(&mut self) {
        let Some(last) = self.items.get(self.lines.wrapping_sub(1)) else { return };
        let at = last.line_offset as usize;
        let line = self.arena[at..at + last.line_len as usize].to_vec();
        let mut computed = Vec::new();
        let Judged { key, window, .. } = Judged::new(&line, &self.order, &mut computed);
        let key = key.to_vec();
        self.bound = Some(Bound { line, key, window });
    }

    fn compact(&mut self) {
        let mut arrival: Vec<usize> = (0..self.items.len()).collect();
        arrival.sort_unstable_by_key(|&index| self.items[index].line_offset);
        let old = std::mem::take(&mut self.arena);
        self.keys.clear();
        for index in arrival {
            let at = self.items[index].line_offset as usize;
            let len = self.items[index].line_len as usize;
            let offset = self.arena.len();
            self.arena.extend_from_slice(&old[at..=at + len]);
            self.items[index] = keyed_item(&self.arena, &mut self.keys, offset, len, &self.order);
        }
    }
}

impl Bound {
    fn compare(&self, line: &Judged<'_>, order: &LineOrder) -> Ordering {
        let last = Judged { line: &self.line, key: &self.key, window: self.window };
        order.compare(&last, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Family, Implementation, Locale};

    fn options(args: &[&str]) -> SortOptions {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_bytes().to_vec()).collect();
        let implementation = Implementation::tested(Family::GnuCoreutils);
        SortOptions::parse(&args, &Context { locale: Locale::C, implementation }).expect("options of sort")
    }

    fn printed(mut kernel: TopK) -> Vec<u8> {
        let mut out = Vec::new();
        while kernel.finish(&mut out).expect("it sorts") == Flow::More {}
        out
    }

    fn push(kernel: &mut dyn Kernel, block: &[u8]) {
        kernel.push(block, &mut Vec::new()).expect("it has room");
    }

    /// Blocks go to a kernel and two peers in turns, some before the peers are there.
    #[test]
    fn peers_find_the_same_lines() {
        let lines: Vec<String> =
            (0..60_000_u64).map(|n| format!("{} {}\n", n * 7919 % 10_007, n * n % 101)).collect();
        let blocks: Vec<String> = lines.chunks(700).map(<[String]>::concat).collect();
        for args in [&[][..], &["-r"], &["-u"], &["-k2,2"], &["-n"], &["-k2,2n"], &["-rn", "-k1,1"]] {
            for (count, last) in [(1, false), (10, false), (2500, false), (7, true), (8, true)] {
                let make = || match last {
                    true => TopK::last(&options(args), count),
                    false => TopK::new(&options(args), count),
                };
                let mut alone = make().expect("a kernel");
                blocks.iter().for_each(|block| push(&mut alone, block.as_bytes()));
                let mut first = make().expect("a kernel");
                let (before, behind) = blocks.split_at(blocks.len() / 2);
                before.iter().for_each(|block| push(&mut first, block.as_bytes()));
                let mut peers = Vec::new();
                while let (Some(shared), true) = (first.parallel(), peers.len() < 2) {
                    let Some(peer) = shared.fork() else { break };
                    peers.push(peer.kernel);
                }
                for (at, block) in behind.iter().enumerate() {
                    match peers.get_mut(at % 3) {
                        Some(peer) => push(peer.as_mut(), block.as_bytes()),
                        None => push(&mut first, block.as_bytes()),
                    }
                }
                for peer in peers {
                    first.parallel().expect("it forked").merge(peer);
                }
                assert!(printed(first) == printed(alone), "{args:?} {count} {last}");
            }
        }
    }
}
