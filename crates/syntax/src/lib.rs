//! Shell text to lists, pipelines, stages, words and redirections, with byte spans.
//!
//! syntax knows nothing of processes, files or the environment: it only reads text.

mod agree;
mod ansi;
mod assign;
mod compound;
mod cond;
mod cursor;
mod error;
mod grammar;
mod hazards;
mod heredoc;
mod parse;
mod redirect;
pub mod tree;
mod word;

pub use error::SyntaxError;
pub use hazards::{Hazard, shell_hazards};
pub use parse::parse;
pub use tree::*;

/// Whose grammar a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash, not in its POSIX mode.
    Bash,
    /// dash and its like: what bash adds to POSIX is left to the shell.
    Posix,
}
