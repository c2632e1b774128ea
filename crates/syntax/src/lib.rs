//! Shell text to lists, pipelines, stages, words and redirections, with byte spans.
//!
//! syntax knows nothing of processes, files or the environment: it only reads text.
//!
//! ```
//! use pelton_syntax::{Dialect, parse};
//! let script = parse("grep -v '^#' <f | sort -u", Dialect::Bash).unwrap();
//! assert_eq!(script.items[0].and_or.first.stages.len(), 2);
//! let error = parse("echo \"oops", Dialect::Bash).unwrap_err();
//! assert_eq!(error.message, "this double quote is never closed");
//! ```
//!
//! # How a text is read
//! [`parse()`] has three outcomes, because there are three things to know:
//! - the tree, where two readers that know nothing of each other agree: our own (`grammar`, `word` and their
//!   neighbours), which is strict and leaves out what is rare, and the crate shuck (`agree`), which is lenient;
//! - a [`SyntaxError`], where the shell is certain to refuse the text;
//! - the whole text as one [`CompoundKind::Unmodelled`] command, in all other cases. The shell is the judge then, and a
//!   wrong text gets the shell's own message.
//!
//! The tests hold this against bash and dash: their printed words, their `-n`, and bash's printer of functions.
//!
//! # Invariants
//! No I/O, no environment, no unsafe, no panic on any text. Nothing is consumed between two nodes of the tree but
//! blanks, line continuations, comments, newlines and the operators that the tree names.

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
mod walk;
mod word;

pub use error::SyntaxError;
pub use hazards::{Hazard, shell_hazards};
pub use parse::parse;
pub use tree::*;
pub use walk::is_set_by_shell;

/// Whose grammar a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash, not in its POSIX mode.
    Bash,
    /// dash and its like: what bash adds to POSIX is left to the shell.
    Posix,
}
