//! The inputs of a worker, and how they reach its kernels.

use super::out::Out;
use pelton_stream::{BLOCK_BYTES, Chain, Flow, InputKind, Interruption};
use pelton_sys::pipe;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

/// One input of the first kernel.
pub struct Source {
    pub name: Option<Vec<u8>>,
    /// `None`: standard input.
    pub file: Option<File>,
    pub kind: InputKind,
}

/// How the driving of a chain ended.
pub enum Drive {
    Over,
    Interrupted(Vec<Interruption>),
}

/// The inputs of the first kernel, one after another.
pub struct Reader {
    pub sources: Vec<Source>,
    pub at: usize,
    /// Whether the current source has been announced to the kernel.
    pub open: bool,
}

/// Reads on until everything ended or a kernel hands over.
pub fn drive(chain: &mut Chain, reader: &mut Reader, out: &mut Out) -> Drive {
    match drive_on(chain, reader, out) {
        Ok(()) => Drive::Over,
        Err(interruptions) => Drive::Interrupted(interruptions),
    }
}

fn drive_on(chain: &mut Chain, reader: &mut Reader, out: &mut Out) -> Result<(), Vec<Interruption>> {
    let mut block = vec![0; BLOCK_BYTES];
    while let Some(source) = reader.sources.get_mut(reader.at) {
        if !reader.open {
            reader.open = true;
            chain.begin_input(source.name.as_deref(), out)?;
        }
        let flow = read_source(chain, source, &mut block, out)?;
        reader.open = false;
        if flow == Flow::Done {
            reader.at = reader.sources.len();
            break;
        }
        reader.at += 1;
        if chain.end_input(out)? == Flow::Done {
            reader.at = reader.sources.len();
        }
    }
    chain.finish(out).map(drop)
}

fn read_source(
    chain: &mut Chain,
    source: &mut Source,
    block: &mut [u8],
    out: &mut Out,
) -> Result<Flow, Vec<Interruption>> {
    let regular = matches!(source.kind, InputKind::Regular { .. });
    if source.file.is_none() {
        source.file = std::io::stdin().as_fd().try_clone_to_owned().ok().map(File::from);
    }
    let Some(file) = &mut source.file else { return Ok(Flow::More) };
    loop {
        let n = match file.read(block) {
            Ok(0) => return Ok(Flow::More),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(Flow::More),
        };
        match chain.push(&block[..n], out)? {
            Flow::More => {}
            Flow::NextInput => return Ok(Flow::More),
            Flow::Done => return Ok(Flow::Done),
        }
        // A stream that trickles is passed on as it trickles. What comes in several pieces at once is not: the real
        // commands would write it in one, and a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
        if !regular && n < block.len() && !pipe::is_readable_within(file.as_fd(), TRICKLE) {
            out.flush();
        }
    }
}

/// An input that gives nothing for so long trickles.
const TRICKLE: Duration = Duration::from_millis(40);
