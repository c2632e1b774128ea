//! Selects values by paths, compiled together into one automaton.

mod compile;
mod condition;
mod parse;

pub use compile::{Comparison, Condition, PathStep, Paths, States};
pub(crate) use condition::judged;
pub use parse::{PathError, parse, parse_list};
