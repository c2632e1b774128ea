//! Selects values by paths, compiled together into one automaton.

mod compile;
mod condition;
mod parse;

pub use compile::{Paths, States};
pub use condition::{Comparison, Condition};
pub use parse::{PathError, PathStep, parse, parse_list};
