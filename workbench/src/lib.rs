//! What the developers' commands share: inputs made by recipes, steps that tell how long they took, paths of the
//! workspace, processes in the background, and the set-up of a machine.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool speaks")]

pub mod inputs;
pub mod running;
pub mod setup;
pub mod steps;
pub mod workspace;

use std::error::Error;

/// What went wrong, in words for whoever typed the command.
pub type Failure = Box<dyn Error + Send + Sync>;
/// The outcome of everything here.
pub type Outcome<T = ()> = Result<T, Failure>;
