//! The inputs of a worker, and how they reach its kernels.

use super::join::JoinReader;
use super::meter;
use super::out::Out;
use super::scale_up::{Growth, Stream};
use memchr::memchr;
use pelton_commands::Messages;
use pelton_commands::io_errors::{Caller, STDIO_BUFFER_BYTES};
use pelton_stream::memory::next_block;
use pelton_stream::team::{Shared, Why};
use pelton_stream::{BLOCK_BYTES, Chain, Fed, Flow, Framing, InputKind, Programs, Resources, block_bytes};
use pelton_sys::{clock, pipe};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

/// One input of the first kernel.
pub struct Source {
    pub name: Option<Vec<u8>>,
    /// `None`: standard input.
    pub file: Option<File>,
    pub kind: InputKind,
    /// It is read from its end: so much lies before what was read.
    pub before: Option<u64>,
}

impl Source {
    /// Open for reading. Standard input becomes what it is in the worker, so it is asked for only there.
    pub fn opened(&mut self) -> std::io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::from(std::io::stdin().as_fd().try_clone_to_owned()?),
        };
        Ok(self.file.insert(file))
    }

    /// Reading from it never waits for anybody.
    pub fn is_regular(&self) -> bool {
        matches!(self.kind, InputKind::Regular { .. })
    }

    /// How long a plain file is that was opened for this segment and of which nothing was skipped. An inherited one
    /// shares its place with others.
    fn whole_length(&mut self) -> Option<u64> {
        let regular = self.is_regular();
        let file = self.file.as_mut().filter(|_| regular)?;
        (file.stream_position().ok()? == 0).then_some(())?;
        Some(file.metadata().ok()?.len())
    }

    /// The next block, in the direction in which it is read; 0 bytes at the end.
    fn read(&mut self, block: &mut Block) -> std::io::Result<()> {
        block.clear();
        block.from_end = self.before.is_some();
        let mut before = self.before;
        let file = self.opened()?;
        block.read = match &mut before {
            None => read_range(file, &mut block.bytes)?,
            Some(before) => read_before(file, before, &mut block.bytes)?,
        };
        self.before = before;
        Ok(())
    }
}

/// What feeds the chain.
pub enum Feed {
    /// Inputs one after another.
    InTurn(Reader),
    /// Inputs side by side, through a join kernel.
    SideBySide(JoinReader),
}

impl Feed {
    /// If an input could not be read to its end: the status of the stage that reads.
    pub fn failed(&self) -> Option<i32> {
        match self {
            Feed::InTurn(reader) => reader.failed,
            Feed::SideBySide(reader) => reader.failed(),
        }
    }

    /// Reads on until everything ended or a kernel hands over.
    pub fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        match self {
            Feed::InTurn(reader) => reader.drive(chain, out),
            Feed::SideBySide(reader) => reader.drive(chain, out),
        }
    }
}

/// The inputs of the first kernel, one after another.
pub struct Reader {
    caller: Caller,
    /// An input could not be read to its end: the status for that.
    failed: Option<i32>,
    sources: Vec<Source>,
    at: usize,
    stage: Stage,
    block: Block,
    /// Bytes read of the current source.
    bytes: u64,
    growth: Growth,
    /// Once the block has been given, others join.
    beginning: Option<Beginning>,
    /// What a team left: read, and still to be given to the chain, each from the link of this index on.
    left: VecDeque<(usize, Vec<u8>)>,
    /// It could not read on.
    broken: Option<std::io::Error>,
    /// A team met the end of the current input.
    ended: bool,
    /// What the first kernel may start.
    programs: Option<Arc<dyn Programs>>,
    /// What kernels may have to ask, by link.
    itself: Vec<Option<Arc<dyn Programs>>>,
}

/// A team is about to begin.
struct Beginning {
    shared: Shared,
    /// How many kernels there are, unless one hands over before that.
    links: usize,
    /// The byte that the block ends with.
    last: u8,
    /// What was read behind it: a record that was begun, or more where a test wants tiny blocks.
    ahead: Vec<u8>,
}

/// How far it is with the current source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The kernel does not know of it.
    Closed,
    Open,
    /// All that is wanted of it has been given, and a kernel handed over before its end was told.
    Ending,
}

/// What was read last, and how much of it the chain has been given.
struct Block {
    bytes: Vec<u8>,
    read: usize,
    given: usize,
    /// The last piece is given first.
    from_end: bool,
}

impl Block {
    fn new() -> Self {
        Block { bytes: vec![0; BLOCK_BYTES], read: 0, given: 0, from_end: false }
    }

    fn clear(&mut self) {
        (self.read, self.given) = (0, 0);
    }

    /// The next piece to give: all of it, unless a test wants tiny blocks. What is read at once stays as it is, since
    /// grep looks for a NUL in that.
    fn next(&mut self) -> Option<&[u8]> {
        let before = self.given;
        self.given = self.read.min(before + block_bytes());
        let piece =
            if self.from_end { self.read - self.given..self.read - before } else { before..self.given };
        Some(&self.bytes[piece]).filter(|piece| !piece.is_empty())
    }
}

impl Reader {
    /// Nothing has been read yet.
    pub fn new(sources: Vec<Source>, caller: Caller) -> Self {
        Reader {
            caller,
            failed: None,
            sources,
            at: 0,
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

    /// The same, and its kernels may start this.
    pub fn starting(self, programs: Option<Arc<dyn Programs>>) -> Self {
        Reader { programs, ..self }
    }

    /// The same, and each kernel may ask one of these.
    pub fn asking(self, itself: Vec<Option<Arc<dyn Programs>>>) -> Self {
        Reader { itself, ..self }
    }

    /// For kernels that have been reading a pipe already: it goes on as this descriptor.
    pub fn going_on(file: File) -> Self {
        let source = Source { name: None, file: Some(file), kind: InputKind::Other, before: None };
        let caller = Caller::named("pelton".to_owned(), Messages::English);
        Reader { stage: Stage::Open, ..Reader::new(vec![source], caller) }
    }

    /// Where a kernel handed over, it is called again.
    fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let kinds: Vec<InputKind> = self.sources.iter().map(|source| source.kind).collect();
        chain.attach(&Resources { programs: self.programs.clone(), ..self.growth.means() }, &self.itself);
        chain.begin(&kinds, out)?;
        while self.at < self.sources.len() {
            let done = self.give(chain, out)? == Flow::Done || chain.end_input(out)? == Flow::Done;
            self.stage = Stage::Closed;
            self.at = if done { self.sources.len() } else { self.at + 1 };
        }
        chain.finish(out)
    }

    /// Gives the chain the current source, or what is left of it.
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

    /// Says so as the real command would.
    fn cannot_read(&mut self, error: &std::io::Error, chain: &mut Chain, out: &mut Out) {
        let unreadable = self.caller.read_error(self.sources[self.at].name.as_deref(), error);
        self.failed = Some(unreadable.status);
        if chain.len() == 1 {
            // As error(3) does.
            out.flush();
        }
        let _ = std::io::stderr().write_all(unreadable.message.as_bytes());
        if unreadable.dies {
            chain.break_off();
        }
    }

    /// Feeds the current input to its end; `Err` if it cannot be read so far.
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
                // What is left of the block is given once the real command stands in its place.
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
            // A stream that trickles is passed on as it trickles.
            let waits = !regular && out.holds_any();
            if waits && !comes_soon(source.opened()?.as_fd(), out) {
                self.growth.pause();
                out.let_out();
            }
            // Where nothing has to be let out before a wait, the read itself waits, which saves a call.
            let since_ns = if regular || waits { None } else { Some(clock::now_ns()) };
            source.read(&mut self.block)?;
            if since_ns.is_some_and(|since_ns| clock::now_ns() - since_ns >= TRICKLE.as_nanos() as u64) {
                self.growth.pause();
            }
            if self.block.read == 0 {
                return Ok(Ok(Flow::More));
            }
            self.bytes += self.block.read as u64;
            self.beginning = self.begin_team(chain);
            chain.arrives(&self.block.bytes[..self.block.read]);
        }
    }

    /// Lets the first kernel read what it would rather read itself: of a plain file, all of whose bytes up to here it has
    /// been given.
    fn let_read(&mut self, chain: &mut Chain, out: &mut Out) -> std::io::Result<Fed> {
        let source = &mut self.sources[self.at];
        let InputKind::Regular { bytes: end } = source.kind else { return Ok(Ok(Flow::More)) };
        let over = self.ended || self.broken.is_some() || source.before.is_some();
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

    /// Gives the chain what was read.
    fn give_read(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        while let Some((link, block)) = self.left.pop_front() {
            // After a hand-over, there may be fewer links.
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

    /// If it is time for others to join: cuts the block so that a team begins with whole records.
    fn begin_team(&mut self, chain: &Chain) -> Option<Beginning> {
        let source = &self.sources[self.at];
        let left_bytes = match source.kind {
            // A team reads forward.
            _ if source.before.is_some() => return None,
            InputKind::Regular { bytes } => Some(bytes.saturating_sub(self.bytes)),
            InputKind::Other => None,
        };
        let shared = self.growth.due(chain, self.bytes, left_bytes)?;
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

    /// Goes on with a team: all that was read has been given to the chain, but for a record that was begun.
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

/// Reads the block that ends `before` bytes behind the beginning of a file; 0 bytes if nothing lies there. Blocks begin
/// at multiples of their size, as the pages of a file do.
fn read_before(file: &File, before: &mut u64, block: &mut [u8]) -> std::io::Result<usize> {
    let size = block.len() as u64;
    while *before > 0 {
        let from = (*before - 1) / size * size;
        let n = read_at(file, from, &mut block[..(*before - from) as usize])?;
        *before = from;
        // Nothing is there if the file is shorter than it was.
        if n > 0 {
            return Ok(n);
        }
    }
    Ok(0)
}

/// As much as there is.
fn read_at(file: &File, from: u64, block: &mut [u8]) -> std::io::Result<usize> {
    let mut n = 0;
    while n < block.len() {
        match meter::reading(|| file.read_at(&mut block[n..], from + n as u64)) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n)
}

/// How many bytes came; 0 at the end.
pub fn read_range(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match meter::reading(|| file.read(block)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Whether more can be read without a wait. What comes in several pieces at once does not trickle: the real commands
/// would write it in one, and a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
///
/// What the real commands would have written by now does not wait: whoever writes the input may wait for it himself.
pub fn comes_soon(fd: BorrowedFd<'_>, out: &mut Out) -> bool {
    if out.held() >= STDIO_BUFFER_BYTES && !pipe::is_readable_within(fd, Duration::ZERO) {
        out.flush();
    }
    meter::reading(|| pipe::is_readable_within(fd, TRICKLE))
}

/// An input that gives nothing for so long trickles.
const TRICKLE: Duration = Duration::from_millis(40);
