//! Where output goes.

use std::io;

/// Receives output. Several threads use it, one at a time.
pub trait Sink: Sync {
    /// Writes to standard output.
    ///
    /// # Errors
    /// If the write fails: the search then ends.
    fn text(&self, bytes: &[u8]) -> io::Result<()>;

    /// Writes to standard error.
    fn error(&self, bytes: &[u8]);

    /// Runs the query's command for these paths, after all earlier output. It counts as successful.
    ///
    /// # Errors
    /// The paths, if the search must start the process itself.
    fn command(&self, paths: Vec<Vec<u8>>) -> Result<(), Vec<Vec<u8>>> {
        Err(paths)
    }
}
