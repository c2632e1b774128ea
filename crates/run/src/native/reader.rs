//! Inputs that a worker reads one after another, and their way to its kernels.

use super::meter;
use super::out::Out;
use super::scale_up::{Growth, Stream};
use super::source::{Source, comes_soon, read_before, read_range};
use memchr::memchr;
use pelton_commands::Messages;
use pelton_commands::io_errors::{Caller, STDIO_BUFFER_BYTES};
use pelton_stream::memory::next_block;
use pelton_stream::team::{Shared, Why};
use pelton_stream::{BLOCK_BYTES, Chain, Fed, Flow, Framing, InputKind, Programs, Resources, block_bytes};
use pelton_sys::copying::splice_in;
use pelton_sys::{clock, pipe};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first read of a pipe: what it usually holds, as grep looks for a NUL in what one read gives.
const FIRST_BYTES: usize = 64 << 10;
/// Bytes moved by one call: more than a pipe holds.
const PASSED_BYTES: usize = 1 << 20;

/// A writer that has more at hand writes it within this time.
const AT_HAND: Duration = Duration::from_micros(300);

/// The inputs of the first kernel, one after another.
pub struct Reader {
    caller: Caller,
    /// The status after an input that could not be read to its end.
    failed: Option<i32>,
    sources: Vec<Source>,
    at: usize,
    stage: Stage,
    block: Block,
    /// Bytes read of the current source.
    bytes: u64,
    growth: Growth,
    /// The team to start once the block has been pushed.
    beginning: Option<Beginning>,
    /// Blocks that a team read and left, each to be pushed from the link with this index on.
    left: VecDeque<(usize, Vec<u8>)>,
    /// The team's read error.
    broken: Option<std::io::Error>,
    /// Whether a team met the end of the current input.
    ended: bool,
    /// The most bytes that it reads from a pipe at a time.
    at_most: usize,
    /// The program that the first kernel may start.
    programs: Option<Arc<dyn Programs>>,
    /// The real command of each kernel, by link.
    itself: Vec<Option<Arc<dyn Programs>>>,
}

/// A team that is about to start.
struct Beginning {
    shared: Shared,
    /// The number of kernels, to notice a fallback meanwhile.
    links: usize,
    /// The last byte of the block.
    last: u8,
    /// Bytes read after it: an incomplete record, or more where a test uses tiny blocks.
    ahead: Vec<u8>,
}

/// The state of the current source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The kernel has not begun it.
    Closed,
    Open,
    /// All that is needed was pushed, and a kernel fell back before its end was announced.
    Ending,
}

/// The last block read, and how much of it was pushed.
struct Block {
    bytes: Vec<u8>,
    read: usize,
    given: usize,
    /// Whether the last piece is pushed first.
    from_end: bool,
}

impl Block {
    fn new() -> Self {
        Block { bytes: Vec::new(), read: 0, given: 0, from_end: false }
    }

    /// Makes room for the next read of a source, and returns how much: little at first where there may be little, for each
    /// page costs a fault.
    fn make_room(&mut self, source: &Source, at_most: usize) -> usize {
        let was_full = self.read > 0 && self.read == self.bytes.len();
        let wanted = match source.kind {
            _ if was_full || source.before.is_some() => BLOCK_BYTES,
            // What `/proc` holds has no length.
            InputKind::Regular { bytes: 0 } => BLOCK_BYTES,
            // One more, to see the end.
            InputKind::Regular { bytes } => {
                usize::try_from(bytes).map_or(BLOCK_BYTES, |bytes| bytes.saturating_add(1))
            }
            _ => FIRST_BYTES,
        };
        if wanted > self.bytes.len() {
            self.bytes.resize(wanted.min(BLOCK_BYTES), 0);
        }
        self.bytes.len().min(if source.is_regular() { BLOCK_BYTES } else { at_most })
    }

    fn clear(&mut self) {
        (self.read, self.given) = (0, 0);
    }

    /// Reads the next block of a source, in reading direction; 0 bytes at the end. `at_most`: the most bytes of a pipe.
    fn fill(&mut self, source: &mut Source, at_most: usize) -> std::io::Result<()> {
        let room = self.make_room(source, at_most);
        self.clear();
        self.from_end = source.before.is_some();
        let mut before = source.before;
        let file = source.opened()?;
        self.read = match &mut before {
            None => read_range(file, &mut self.bytes[..room])?,
            Some(before) => read_before(file, before, &mut self.bytes)?,
        };
        source.before = before;
        Ok(())
    }

    /// Returns the next piece to push: the whole block, unless a test uses tiny blocks. A read stays one
    /// block, since grep looks for a NUL in each.
    fn next(&mut self) -> Option<&[u8]> {
        let before = self.given;
        self.given = self.read.min(before + block_bytes());
        let piece =
            if self.from_end { self.read - self.given..self.read - before } else { before..self.given };
        Some(&self.bytes[piece]).filter(|piece| !piece.is_empty())
    }
}

impl Reader {
    /// Makes the reader. Nothing has been read yet.
    pub fn new(sources: Vec<Source>, caller: Caller) -> Self {
        Reader {
            caller,
            failed: None,
            sources,
            at: 0,
            at_most: BLOCK_BYTES,
            stage: Stage::Closed,
            block: Block::new(),
            bytes: 0,
            growth: Growth::new(),
            beginning: None,
            left: VecDeque::new(),
            broken: None,
            ended: false,
            programs: None,
            itself: Vec::new(),
        }
    }

    /// Sets the most bytes to read from a pipe at a time.
    pub fn reading_at_most(self, at_most: Option<usize>) -> Self {
        Reader { at_most: at_most.unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES), ..self }
    }

    /// Sets the program that its kernels may start.
    pub fn starting(self, programs: Option<Arc<dyn Programs>>) -> Self {
        Reader { programs, ..self }
    }

    /// Sets the real command of each kernel.
    pub fn asking(self, itself: Vec<Option<Arc<dyn Programs>>>) -> Self {
        Reader { itself, ..self }
    }

    /// Returns the status of the reading stage if an input could not be read to its end.
    pub fn failed(&self) -> Option<i32> {
        self.failed
    }

    /// Takes, and drops, what this many pipes would hold of a writer that has more at hand: the commands that the pass
    /// stands for would have begun later than the pass, and the pipes between them would be full.
    pub fn take_what_pipes_would_hold(&mut self, pipes: usize) {
        const PIPE_BYTES: usize = 64 * 1024;
        let Some(source) = self.sources.last_mut().filter(|source| !source.is_regular()) else { return };
        let Ok(file) = source.opened() else { return };
        // A single command takes a moment to end, too.
        let mut left = (pipes * PIPE_BYTES).max(STDIO_BUFFER_BYTES);
        let mut dropped = vec![0; left.min(PIPE_BYTES)];
        let until = Instant::now() + AT_HAND * (1 + pipes as u32);
        while left > 0 && Instant::now() < until && pipe::is_readable_within(file.as_fd(), AT_HAND) {
            match file.read(&mut dropped[..left.min(PIPE_BYTES)]) {
                Ok(0) | Err(_) => return,
                Ok(bytes) => left -= bytes,
            }
        }
    }

    /// Makes a reader for kernels that have been reading a pipe already, which continues as this descriptor.
    pub fn going_on(file: File) -> Self {
        let source = Source { name: None, file: Some(file), kind: InputKind::Other, before: None };
        let caller = pelton_commands::caller("pelton".to_owned(), Messages::English);
        Reader { stage: Stage::Open, ..Reader::new(vec![source], caller) }
    }

    /// Drives the chain. After a fallback it is called again.
    pub fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let kinds: Vec<InputKind> = self.sources.iter().map(|source| source.kind).collect();
        chain.attach(&Resources { programs: self.programs.clone(), ..self.growth.resources() }, &self.itself);
        chain.begin(&kinds, out)?;
        while self.at < self.sources.len() {
            let done = self.give(chain, out)? == Flow::Done || chain.end_input(out)? == Flow::Done;
            self.stage = Stage::Closed;
            self.at = if done { self.sources.len() } else { self.at + 1 };
        }
        chain.finish(out)
    }

    /// Feeds the current source to the chain, or the rest of it.
    fn give(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let source = &mut self.sources[self.at];
        if self.stage == Stage::Closed {
            self.stage = Stage::Open;
            self.bytes = 0;
            chain.begin_input(source.name.as_deref(), out)?;
            source.before = source.whole_length().filter(|_| chain.reads_backwards());
        }
        if self.stage == Stage::Ending {
            return Ok(Flow::More);
        }
        let flow = match self.read_source(chain, out) {
            Ok(flow) => flow?,
            Err(error) => {
                self.cannot_read(&error, chain, out);
                Flow::More
            }
        };
        self.stage = Stage::Ending;
        Ok(flow)
    }

    /// Reports a read error as the real command would.
    fn cannot_read(&mut self, error: &std::io::Error, chain: &mut Chain, out: &mut Out) {
        let unreadable = self.caller.read_error(self.sources[self.at].name.as_deref(), error);
        self.failed = Some(unreadable.status);
        if chain.len() == 1 {
            // As error(3) does.
            out.flush();
        }
        let _ = std::io::stderr().write_all(unreadable.message.as_bytes());
        chain.input_is_unreadable();
        if unreadable.dies {
            chain.break_off();
        }
    }

    /// Feeds the current input to its end; `Err` on a read error.
    fn read_source(&mut self, chain: &mut Chain, out: &mut Out) -> std::io::Result<Fed> {
        loop {
            let mut fed = self.give_read(chain, out);
            if fed == Ok(Flow::More)
                && let Some(beginning) = self.beginning.take()
            {
                fed = self.work_together(beginning, chain, out)?;
                if fed == Ok(Flow::More) {
                    continue;
                }
            }
            if fed == Ok(Flow::More) {
                fed = self.let_read(chain, out)?;
            }
            match fed {
                Ok(Flow::More) => {}
                // The rest of the block is pushed once the real command has replaced the kernel.
                Err(handed_over) => return Ok(Err(handed_over)),
                Ok(flow) => {
                    self.block.clear();
                    self.left.clear();
                    (self.beginning, self.broken, self.ended) = (None, None, false);
                    return Ok(Ok(if flow == Flow::NextInput { Flow::More } else { flow }));
                }
            }
            if let Some(error) = self.broken.take() {
                return Err(error);
            }
            if std::mem::take(&mut self.ended) {
                return Ok(Ok(Flow::More));
            }
            let source = &mut self.sources[self.at];
            let regular = source.is_regular();
            let since_ns = (!regular).then(clock::now_ns);
            // Output for a slow input is written as it comes. Without any, the read itself may block, which saves
            // a call.
            if !regular && out.holds_any() && !comes_soon(source.opened()?.as_fd(), out) {
                self.growth.pause();
                out.let_out();
            }
            self.block.fill(source, self.at_most)?;
            if let Some(since_ns) = since_ns {
                self.growth.waited(clock::now_ns() - since_ns);
            }
            if self.block.read == 0 {
                return Ok(Ok(Flow::More));
            }
            self.bytes += self.block.read as u64;
            self.beginning = self.begin_team(chain);
            chain.arrives(&self.block.bytes[..self.block.read]);
        }
    }

    /// Moves the rest of a regular file to the real command that took over from the only kernel, uncopied.
    fn pass_on(&mut self, out: &mut Out) -> std::io::Result<()> {
        out.flush();
        let file = self.sources[self.at].opened()?;
        let mut at = file.stream_position()?;
        while let Some(pipe) = out.target() {
            match meter::writing(|| splice_in(file, at, pipe, PASSED_BYTES)) {
                Ok(0) => break,
                Ok(moved) => at += moved as u64,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // What cannot be spliced is read and written, which also meets any error again.
                Err(_) => break,
            }
        }
        file.seek(SeekFrom::Start(at))?;
        Ok(())
    }

    /// Lets the first kernel read by itself if it prefers to: from a regular file that it has taken
    /// completely up to here.
    fn let_read(&mut self, chain: &mut Chain, out: &mut Out) -> std::io::Result<Fed> {
        let source = &mut self.sources[self.at];
        let InputKind::Regular { bytes: end } = source.kind else { return Ok(Ok(Flow::More)) };
        let over = self.ended || self.broken.is_some() || source.before.is_some();
        if chain.is_empty() && !over {
            self.pass_on(out)?;
            return Ok(Ok(Flow::More));
        }
        while !over && chain.prefers_reading_itself(end.saturating_sub(self.bytes)) {
            let file = source.opened()?;
            let at = file.stream_position()?;
            let (until, fed) = chain.read_range(file, at, end, out);
            let Some(until) = until else { return Ok(fed) };
            file.seek(SeekFrom::Start(until))?;
            self.bytes += until.saturating_sub(at);
            if fed != Ok(Flow::More) {
                return Ok(fed);
            }
        }
        Ok(Ok(Flow::More))
    }

    /// Pushes what was read.
    fn give_read(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        while let Some((link, block)) = self.left.pop_front() {
            // After a fallback, there may be fewer links.
            let flow = chain.push_from(link.min(chain.len()), &block, out)?;
            if flow != Flow::More {
                return Ok(flow);
            }
        }
        while let Some(piece) = self.block.next() {
            let flow = chain.feed(piece, out)?;
            if flow != Flow::More {
                return Ok(flow);
            }
        }
        Ok(Flow::More)
    }

    /// If it is time for a team: cuts the block so that the team begins with whole records.
    fn begin_team(&mut self, chain: &mut Chain) -> Option<Beginning> {
        let source = &self.sources[self.at];
        let left_bytes = match source.kind {
            // A team only reads forward.
            _ if source.before.is_some() => return None,
            InputKind::Regular { bytes } => Some(bytes.saturating_sub(self.bytes)),
            InputKind::FullPipe | InputKind::Other => None,
        };
        let shared = self.growth.due(chain, self.bytes, left_bytes)?;
        if chain.unread() > 0 {
            return None;
        }
        chain.end_with_readers();
        let block = &self.block.bytes[..self.block.read];
        if shared.never.is_some_and(|byte| memchr(byte, block).is_some()) {
            return None;
        }
        let whole = shared.cut.map_or(Framing::Bytes, Framing::Records);
        let (now, ahead) = block.split_at(next_block(block, whole, block_bytes()));
        let last = *now.last()?;
        if shared.cut.is_some_and(|end| end != last) {
            return None;
        }
        let beginning = Beginning { shared, links: chain.len(), last, ahead: ahead.to_vec() };
        self.block.read = now.len();
        Some(beginning)
    }

    /// Continues with a team: all input has been pushed, except for an incomplete record.
    fn work_together(
        &mut self,
        beginning: Beginning,
        chain: &mut Chain,
        out: &mut Out,
    ) -> std::io::Result<Fed> {
        let Beginning { shared, links, last, ahead } = beginning;
        if links != chain.len() {
            self.left.push_back((0, ahead));
            return Ok(Ok(Flow::More));
        }
        let source = &mut self.sources[self.at];
        let regular = source.is_regular();
        let file = source.opened()?;
        let mut stream = Stream::new(file, regular, shared, ahead, last);
        let left = self.growth.work(chain, shared, &mut stream, out);
        self.bytes += stream.bytes;
        match stream.over.take() {
            Some(Ok(())) => self.ended = true,
            Some(Err(error)) => self.broken = Some(error),
            None => {}
        }
        self.left = left.blocks;
        self.left.extend(stream.unseen().map(|block| (0, block)));
        match left.why {
            Why::Ended | Why::Alone => {}
            Why::Odd => self.growth.be_wary(),
            Why::Paused => {
                self.growth.pause();
                if !regular && !comes_soon(file.as_fd(), out) {
                    out.let_out();
                }
            }
            Why::Stopped => return Ok(left.fed),
        }
        Ok(Ok(Flow::More))
    }
}
