//! The inputs of a worker, and how they reach its kernels.

use super::failure::{self, Caller};
use super::join::JoinReader;
use super::meter;
use super::out::Out;
use pelton_stream::{Chain, Fed, Flow, InputKind, block_bytes};
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
    /// Whether the current source has been announced to the kernel.
    open: bool,
}

impl Reader {
    /// Nothing has been read yet.
    pub fn new(sources: Vec<Source>, caller: Caller) -> Self {
        Reader { caller, failed: None, sources, at: 0, open: false }
    }

    /// For kernels that have been reading a pipe already: it goes on as this descriptor.
    pub fn going_on(file: File) -> Self {
        let source = Source { name: None, file: Some(file), kind: InputKind::Other };
        let caller = Caller { called: "pelton".to_owned() };
        Reader { caller, failed: None, sources: vec![source], at: 0, open: true }
    }

    fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let mut block = vec![0; block_bytes()];
        while let Some(source) = self.sources.get_mut(self.at) {
            if !self.open {
                self.open = true;
                chain.begin_input(source.name.as_deref(), out)?;
            }
            let flow = match read_source(chain, source, &mut block, out) {
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
            self.open = false;
            if flow == Flow::Done {
                self.at = self.sources.len();
                break;
            }
            self.at += 1;
            if chain.end_input(out)? == Flow::Done {
                self.at = self.sources.len();
            }
        }
        chain.finish(out)
    }
}

/// Feeds one input to its end; `Err` if it cannot be read so far.
fn read_source(
    chain: &mut Chain,
    source: &mut Source,
    block: &mut [u8],
    out: &mut Out,
) -> std::io::Result<Fed> {
    let regular = source.is_regular();
    let file = source.opened()?;
    loop {
        let n = read_some(file, block)?;
        if n == 0 {
            return Ok(Ok(Flow::More));
        }
        match chain.push(&block[..n], out) {
            Ok(Flow::More) => {}
            Ok(Flow::NextInput) => return Ok(Ok(Flow::More)),
            done => return Ok(done),
        }
        // A stream that trickles is passed on as it trickles.
        if !regular && n < block.len() && !comes_soon(file.as_fd()) {
            out.flush();
        }
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
