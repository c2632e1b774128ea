//! The inputs of a worker, and how they reach its kernels.

use super::failure::{self, Caller};
use super::join::JoinReader;
use super::meter;
use super::out::Out;
use pelton_stream::{BLOCK_BYTES, Chain, Fed, Flow, InputKind, block_bytes};
use pelton_sys::pipe;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// One input of the first kernel.
pub struct Source {
    pub name: Option<Vec<u8>>,
    /// `None`: standard input.
    pub file: Option<File>,
    pub kind: InputKind,
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
}

impl Block {
    fn new() -> Self {
        Block { bytes: vec![0; BLOCK_BYTES], read: 0, given: 0 }
    }

    fn clear(&mut self) {
        (self.read, self.given) = (0, 0);
    }

    /// The next piece to give: all of it, unless a test wants tiny blocks. What is read at once stays as it is, since
    /// grep looks for a NUL in that.
    fn next(&mut self) -> Option<&[u8]> {
        let start = self.given;
        self.given = self.read.min(start + block_bytes());
        Some(&self.bytes[start..self.given]).filter(|piece| !piece.is_empty())
    }
}

impl Reader {
    /// Nothing has been read yet.
    pub fn new(sources: Vec<Source>, caller: Caller) -> Self {
        Reader { caller, failed: None, sources, at: 0, stage: Stage::Closed, block: Block::new() }
    }

    /// For kernels that have been reading a pipe already: it goes on as this descriptor.
    pub fn going_on(file: File) -> Self {
        let source = Source { name: None, file: Some(file), kind: InputKind::Other };
        let caller = Caller { called: "pelton".to_owned() };
        Reader { stage: Stage::Open, ..Reader::new(vec![source], caller) }
    }

    /// Where a kernel handed over, it is called again.
    fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let kinds: Vec<InputKind> = self.sources.iter().map(|source| source.kind).collect();
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
            chain.begin_input(source.name.as_deref(), out)?;
        }
        if self.stage == Stage::Ending {
            return Ok(Flow::More);
        }
        let flow = match read_source(chain, source, &mut self.block, out) {
            Ok(flow) => flow?,
            Err(error) => {
                let unreadable = failure::reading(&self.caller, source.name.as_deref(), &error);
                self.failed = Some(unreadable.status);
                if chain.len() == 1 {
                    // As error(3) does.
                    out.flush();
                }
                let _ = std::io::stderr().write_all(unreadable.message.as_bytes());
                if unreadable.dies {
                    chain.break_off();
                }
                Flow::More
            }
        };
        self.stage = Stage::Ending;
        Ok(flow)
    }
}

/// Feeds one input to its end; `Err` if it cannot be read so far.
fn read_source(
    chain: &mut Chain,
    source: &mut Source,
    block: &mut Block,
    out: &mut Out,
) -> std::io::Result<Fed> {
    let regular = source.is_regular();
    let file = source.opened()?;
    loop {
        while let Some(piece) = block.next() {
            match chain.feed(piece, out) {
                Ok(Flow::More) => {}
                Ok(flow) => {
                    block.clear();
                    return Ok(Ok(if flow == Flow::NextInput { Flow::More } else { flow }));
                }
                // What is left of the block is given once the real command stands in its place.
                handed_over => return Ok(handed_over),
            }
        }
        // A stream that trickles is passed on as it trickles.
        let full = block.read == 0 || block.read == block.bytes.len();
        if !regular && !full && !comes_soon(file.as_fd()) {
            out.flush();
        }
        block.clear();
        block.read = read_some(file, &mut block.bytes)?;
        if block.read == 0 {
            return Ok(Ok(Flow::More));
        }
        chain.arrives(&block.bytes[..block.read]);
    }
}

/// How many bytes came; 0 at the end.
pub fn read_some(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match meter::reading(|| file.read(block)) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Whether more can be read without a wait. What comes in several pieces at once does not trickle: the real commands
/// would write it in one, and a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
pub fn comes_soon(fd: BorrowedFd<'_>) -> bool {
    meter::reading(|| pipe::is_readable_within(fd, TRICKLE))
}

/// An input that gives nothing for so long trickles.
const TRICKLE: Duration = Duration::from_millis(40);
