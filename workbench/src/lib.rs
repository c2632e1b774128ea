//! Shared code of the developers' commands: recipes for inputs, timed steps, paths of the workspace,
//! background processes, and machine set-up.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool speaks")]

pub mod cargo_workspace;
pub mod inputs;
pub mod machine;
pub mod running;
pub mod setup;
pub mod steps;

use std::error::Error;

/// An error, in words for the person who typed the command.
pub type Failure = Box<dyn Error + Send + Sync>;
/// The result type of this crate.
pub type Outcome<T = ()> = Result<T, Failure>;
