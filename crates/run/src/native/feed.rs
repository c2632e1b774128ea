//! The input of a worker's kernels.

use super::join::JoinReader;
use super::out::Out;
use super::reader::Reader;
use pelton_stream::{Chain, Fed};

/// The input of the chain.
pub enum Feed {
    /// Inputs one after another.
    InTurn(Reader),
    /// Parallel inputs, through a join kernel.
    SideBySide(JoinReader),
}

impl Feed {
    /// Returns the status of the reading stage if an input could not be read to its end.
    pub fn failed(&self) -> Option<i32> {
        match self {
            Feed::InTurn(reader) => reader.failed(),
            Feed::SideBySide(reader) => reader.failed(),
        }
    }

    /// Reads until everything has ended or a kernel falls back.
    pub fn drive(&mut self, chain: &mut Chain, out: &mut Out) -> Fed {
        match self {
            Feed::InTurn(reader) => reader.drive(chain, out),
            Feed::SideBySide(reader) => reader.drive(chain, out),
        }
    }

    /// Takes, and drops, what this many pipes would hold of a writer that has more at hand.
    pub fn take_what_pipes_would_hold(&mut self, pipes: usize) {
        if let Feed::InTurn(reader) = self {
            reader.take_what_pipes_would_hold(pipes);
        }
    }
}
