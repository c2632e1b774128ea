//! A stage of a segment: its files, redirections, messages and real command.

use super::files::Files;
use pelton_commands::io_errors::Caller;
use pelton_sys::spawn::{Exec, Redirection};

/// What a stage needs to run natively, besides its kernel.
pub struct NativeStage {
    /// Its name and language, for messages.
    pub caller: Caller,
    /// The real command, if it is a program.
    pub exec: Option<Exec>,
    /// The program for what its kernel does not support, without arguments.
    pub starts: Option<Exec>,
    /// The command itself without arguments, or the program that it starts for its input, if its kernel may
    /// need it.
    pub itself: Option<Exec>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// How much it reads from a pipe at a time, in bytes.
    pub pipe_read_bytes: usize,
    /// Its files.
    pub files: Files,
}
