//! Standard output and standard error, shared by threads and unbuffered: workers write full buffers.

use crate::failure::Failure;
use crate::terminal;
use pelton_find::Sink;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

/// Both streams.
pub struct Channels {
    stdout: Mutex<File>,
}

impl Channels {
    /// Opens standard output without the standard library's line buffer.
    pub fn open() -> Result<Self, Failure> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        let stdout = own.map_err(|error| Failure::io("cannot use standard output", &error).with_status(1))?;
        Ok(Channels { stdout: Mutex::new(stdout.into()) })
    }
}

impl Sink for Channels {
    fn text(&self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    fn error(&self, bytes: &[u8]) {
        terminal::say_bytes(bytes);
    }
}
