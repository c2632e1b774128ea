//! Parses shell text into lists, pipelines, stages, words and redirections, with byte spans.
//!
//! The crate knows nothing of processes, files or the environment: it only reads text.
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
//! [`parse()`] has three outcomes:
//! - the tree: the reader (`grammar`, `word` and related modules) is strict, must account for every byte of
//!   the text, and leaves out rare constructs;
//! - a [`SyntaxError`], where the shell is certain to reject the text;
//! - the whole text as one [`CompoundKind::Unmodelled`] command, in all other cases. The shell then decides,
//!   and an invalid text gets the shell's message.
//!
//! The tests compare the tree with bash and dash (the words they print, `-n`, and bash's printer of
//! functions), and with a second parser, the crate shuck; where shuck differs, bash decides.
//!
//! # Invariants
//! No I/O, no environment, no unsafe, no panic on any text. Nothing is consumed between two nodes of the tree
//! but blanks, line continuations, comments, newlines and the operators that the tree names.

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
mod reader;
mod redirect;
pub mod tree;
mod walk;
mod word;
mod zsh;

pub use error::SyntaxError;
pub use hazards::{Hazard, shell_hazards};
pub use parse::parse;
pub use tree::*;
pub use walk::is_set_by_shell;

/// The shell whose grammar a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash, not in its POSIX mode.
    Bash,
    /// dash and similar shells: bash's extensions of POSIX are left to the shell.
    Posix,
    /// zsh, in its own mode: what it does not read as bash does is left to it.
    Zsh,
}
