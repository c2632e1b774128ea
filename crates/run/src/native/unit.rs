//! What is started as one process.

use super::segment::Native;
use crate::parts::Parts;

/// A unit that is started as one process.
pub enum Unit {
    /// The real command of this stage.
    Process(usize),
    /// A worker.
    Native(Box<Native>),
    /// The real command of a stage, in several processes if that is faster.
    Parts(Box<Parts>),
}
