//! Compares kernels with the real tools: known cases that a kernel once differed on, then random command lines over
//! random data.
//!
//! A [`Case`] is a command line with all that it reads. [`Engine`] runs the real tool on it once ([`Oracle`]), and the
//! kernel in blocks of several sizes, alone and shared by threads, and returns the first [`Difference`]. [`shrink()`]
//! makes a case with a difference smaller. `tests/differential` does so for the tools that the kernels claim to equal;
//! [`Verification`] does so for any installed tool, until a time has passed, and says which calls differ.

mod campaign;
mod case;
mod data;
mod engine;
mod grammars;
mod known_cases;
mod odd_text;
mod oracle;
mod random;
mod report;
mod rng;
mod shrink;
mod verification;

pub use case::{Case, case};
pub use engine::{Difference, Engine, Found, LENT_BYTES, Program, Tally, resources};
pub use grammars::{ALL as GRAMMARS, Grammar, sort, uniq};
pub use known_cases::{all as known_cases, english as known_english_cases};
pub use oracle::{Answer, Oracle, remove_leftovers};
pub use random::Random;
pub use report::CaseReport;
pub use rng::Rng;
pub use shrink::shrink;
pub use verification::{COMMAND_LINES_MIN, Outcome, Verification};
