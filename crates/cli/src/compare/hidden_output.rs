//! Redirects the output of runs that the user must not see.

use crate::failure::Failure;
use crate::time::{Drain, Measured};
use pelton_sys::stdio;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};

/// The most bytes of messages kept.
const MESSAGES: u64 = 16 << 20;

/// Redirects standard error until dropped.
struct RedirectedStderr(OwnedFd);

impl RedirectedStderr {
    fn into(file: &File) -> Result<Self, Failure> {
        let before = stdio::set_stderr(file.as_fd());
        before.map(RedirectedStderr).map_err(|error| Failure::io("cannot redirect standard error", &error))
    }
}

impl Drop for RedirectedStderr {
    fn drop(&mut self) {
        // Fails only if the descriptor is gone, and then there is nothing to restore.
        let _ = stdio::set_stderr(self.0.as_fd());
    }
}

/// Standard output goes to a file until this is dropped.
struct Redirected(OwnedFd);

impl Drop for Redirected {
    fn drop(&mut self) {
        let _ = stdio::set_stdout(self.0.as_fd());
    }
}

/// Runs with standard output drained and standard error discarded.
pub fn with_hidden_output(run: impl FnOnce() -> Result<Measured, Failure>) -> Result<Measured, Failure> {
    let cannot = |error: io::Error| Failure::io("cannot open /dev/null", &error);
    let null = File::options().write(true).open("/dev/null").map_err(cannot)?;
    let (_drain, _redirected) = (Drain::start()?, RedirectedStderr::into(&null)?);
    run()
}

/// The output, messages and status of a run. The output file has no name: nothing is left.
pub struct Kept {
    /// Standard output.
    pub printed: File,
    /// In bytes.
    pub length: u64,
    /// Standard error.
    pub messages: Vec<u8>,
    /// Exit status.
    pub status: i32,
}

impl Kept {
    /// Runs, and keeps the output; `None` if interrupted.
    pub fn of(run: impl FnOnce() -> Result<Measured, Failure>) -> Result<Option<Self>, Failure> {
        let cannot = |error: io::Error| Failure::io("cannot keep what a text prints in $TMPDIR", &error);
        let (printed, mut said) =
            (tempfile::tempfile().map_err(cannot)?, tempfile::tempfile().map_err(cannot)?);
        let measured = {
            let _redirected = Redirected(stdio::set_stdout(printed.as_fd()).map_err(cannot)?);
            let _redirected = RedirectedStderr::into(&said)?;
            run()?
        };
        if measured.interrupted {
            return Ok(None);
        }
        let length = printed.metadata().map_err(cannot)?.len();
        let mut messages = Vec::new();
        said.rewind().and_then(|()| said.take(MESSAGES).read_to_end(&mut messages)).map_err(cannot)?;
        Ok(Some(Kept { printed, length, messages, status: measured.run.exit_status }))
    }
}
