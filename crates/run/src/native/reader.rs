//! The inputs of a worker, and how they reach its kernels.

use super::join::JoinReader;
use super::out::Out;
use pelton_stream::{Chain, Fed, Flow, InputKind, block_bytes};
use pelton_sys::pipe;
use std::fs::File;
use std::io::Read;
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
    pub fn opened(&mut self) -> Option<&mut File> {
        if self.file.is_none() {
            self.file = std::io::stdin().as_fd().try_clone_to_owned().ok().map(File::from);
        }
        self.file.as_mut()
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
    sources: Vec<Source>,
    at: usize,
    /// Whether the current source has been announced to the kernel.
    open: bool,
}

impl Reader {
    /// Nothing has been read yet.
    pub fn new(sources: Vec<Source>) -> Self {
        Reader { sources, at: 0, open: false }
    }

    /// For kernels that have been reading a pipe already: it goes on as this descriptor.
    pub fn going_on(file: File) -> Self {
        let source = Source { name: None, file: Some(file), kind: InputKind::Other };
        Reader { sources: vec![source], at: 0, open: true }
    }

    fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        let mut block = vec![0; block_bytes()];
        while let Some(source) = self.sources.get_mut(self.at) {
            if !self.open {
                self.open = true;
                chain.begin_input(source.name.as_deref(), out)?;
            }
            let flow = read_source(chain, source, &mut block, out)?;
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

fn read_source(chain: &mut Chain, source: &mut Source, block: &mut [u8], out: &mut Out) -> Fed {
    let regular = source.is_regular();
    let Some(file) = source.opened() else { return Ok(Flow::More) };
    loop {
        let n = read_some(file, block);
        if n == 0 {
            return Ok(Flow::More);
        }
        match chain.push(&block[..n], out)? {
            Flow::More => {}
            Flow::NextInput => return Ok(Flow::More),
            Flow::Done => return Ok(Flow::Done),
        }
        // A stream that trickles is passed on as it trickles.
        if !regular && n < block.len() && !comes_soon(file.as_fd()) {
            out.flush();
        }
    }
}

/// How many bytes came; 0 at the end.
pub fn read_some(file: &mut File, block: &mut [u8]) -> usize {
    loop {
        match file.read(block) {
            Ok(n) => return n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return 0,
        }
    }
}

/// Whether more can be read without a wait. What comes in several pieces at once does not trickle: the real commands
/// would write it in one, and a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
pub fn comes_soon(fd: BorrowedFd<'_>) -> bool {
    pipe::is_readable_within(fd, TRICKLE)
}

/// An input that gives nothing for so long trickles.
const TRICKLE: Duration = Duration::from_millis(40);
