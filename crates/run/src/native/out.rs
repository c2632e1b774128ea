//! A worker's output.

use super::meter;
use pelton_commands::io_errors::{self, STDIO_BUFFER_BYTES, WriteFailure};
use pelton_stream::{Flow, Sink};
use pelton_sys::stdio;
use std::fs::{File, Metadata};
use std::io::{IoSlice, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Buffered output to a descriptor.
pub struct Out {
    file: Option<File>,
    buffer: Vec<u8>,
    pub failure: Option<WriteFailure>,
    /// Bytes written so far.
    written: u64,
    /// Whether writing continues after EPIPE: a tee has copies to write.
    pub ignores_epipe: bool,
    /// Whether less than a buffer is written only at the end.
    pub holds_back: bool,
    /// Whether the real commands would write all output at once.
    pub is_unbuffered: bool,
    /// When a wait for input began that has let out nothing yet.
    waits_since: Option<Instant>,
    /// Whether messages are written while output is still buffered: its reader may have gone by now, which is noticed later.
    pub is_overtaken: bool,
}

/// For this long, output waits for more input. Several pieces in quick succession are written at once, as by the real commands:
/// a reader that takes too much (`sh -c 'head -1; cat'`) can tell.
const TRICKLE: Duration = Duration::from_millis(40);
const OUT_BYTES: usize = 64 * 1024;
/// At least this much is written directly: copying it would cost more than a call.
const DIRECT_BYTES: usize = 32 * 1024;

impl Out {
    pub fn stdout() -> std::io::Result<Self> {
        Ok(Out::to(std::io::stdout().as_fd().try_clone_to_owned()?))
    }

    pub fn to(fd: OwnedFd) -> Self {
        Out {
            file: Some(File::from(fd)),
            buffer: Vec::with_capacity(OUT_BYTES),
            failure: None,
            written: 0,
            ignores_epipe: false,
            holds_back: false,
            is_unbuffered: false,
            waits_since: None,
            is_overtaken: false,
        }
    }

    pub fn to_nobody() -> Self {
        Out {
            file: None,
            buffer: Vec::new(),
            failure: None,
            written: 0,
            ignores_epipe: false,
            holds_back: false,
            is_unbuffered: false,
            waits_since: None,
            is_overtaken: false,
        }
    }

    /// Whether the buffer holds anything.
    pub fn holds_any(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Returns the open file, if writing to it has not failed.
    pub fn target(&self) -> Option<&File> {
        self.file.as_ref().filter(|_| self.failure.is_none())
    }

    /// Returns device and inode, if it is a regular file.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let metadata = self.file.as_ref()?.metadata().ok().filter(Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    }

    /// Returns the number of buffered bytes.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    /// Whether it is `/dev/null`.
    pub fn is_null(&self) -> bool {
        let own = self.file.as_ref().and_then(|file| file.metadata().ok());
        let null = std::fs::metadata("/dev/null");
        own.zip(null.ok()).is_some_and(|(own, null)| (own.dev(), own.ino()) == (null.dev(), null.ino()))
    }

    /// Returns for how long more input may be awaited before output is let out: not at all if the real commands would have
    /// written it by now, or a person looks on.
    pub fn patience(&mut self) -> Duration {
        if self.is_unbuffered || self.file.as_ref().is_some_and(IsTerminal::is_terminal) {
            return Duration::ZERO;
        }
        TRICKLE.saturating_sub(self.waits_since.get_or_insert_with(Instant::now).elapsed())
    }

    /// Writes the buffered output before blocking on input. If it holds back, it writes whole buffers of the real command.
    pub fn let_out(&mut self) {
        self.waits_since = None;
        if !self.holds_back {
            return self.flush();
        }
        let over = (self.written + self.buffer.len() as u64) % STDIO_BUFFER_BYTES as u64;
        if let Some(whole) = self.buffer.len().checked_sub(over as usize).filter(|whole| *whole > 0) {
            let buffer = std::mem::take(&mut self.buffer);
            self.write(&buffer[..whole]);
            self.buffer = buffer;
            self.buffer.drain(..whole);
        }
    }

    /// Drops the buffer: a copy of this process writes it.
    pub fn forget(&mut self) {
        self.buffer.clear();
    }

    pub fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.write(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn write(&mut self, bytes: &[u8]) {
        self.write_rest(bytes, 0);
    }

    /// Returns how much to write at a time: as the real command does at first, if its reader may leave meanwhile.
    fn piece_bytes(&self) -> usize {
        const AT_FIRST: u64 = 256 << 10;
        if self.holds_back && self.written < AT_FIRST { STDIO_BUFFER_BYTES } else { usize::MAX }
    }

    /// Writes both slices, with one call if the system takes that much.
    fn write_both(&mut self, first: &[u8], second: &[u8]) {
        let mut done = 0;
        let at_once = !first.is_empty() && self.piece_bytes() == usize::MAX;
        if let (true, None, Some(file)) = (at_once, &self.failure, &mut self.file) {
            let both = [IoSlice::new(first), IoSlice::new(second)];
            // An error recurs below.
            done = meter::writing(|| file.write_vectored(&both)).unwrap_or(0);
        }
        let failed_before = self.failure.is_some();
        self.write_rest(first, done.min(first.len()));
        if let Some(failure) = self.failure.as_mut().filter(|_| !failed_before) {
            // All of it was printed.
            failure.printed += second.len() as u64;
        }
        self.write_rest(second, done.saturating_sub(first.len()));
    }

    /// Writes the bytes after the first `done`, which were written already. EPIPE ends this process, as it
    /// would the real command, unless SIGPIPE is ignored by now.
    fn write_rest(&mut self, bytes: &[u8], done: usize) {
        if self.failure.is_some() || bytes.is_empty() {
            return;
        }
        let printed = self.written + bytes.len() as u64;
        let mut pieces = bytes[done..].chunks(self.piece_bytes());
        if let Some(file) = &mut self.file
            && let Err(error) = meter::writing(|| pieces.try_for_each(|piece| file.write_all(piece)))
        {
            self.failure = Some(WriteFailure { error, printed, item: io_errors::item(bytes) });
        }
        self.written = printed;
    }

    fn wanted(&self) -> Flow {
        match &self.failure {
            None => Flow::More,
            Some(failure) if self.ignores_epipe && failure.error.kind() != std::io::ErrorKind::BrokenPipe => {
                Flow::More
            }
            Some(_) => Flow::Done,
        }
    }
}

impl Sink for Out {
    fn take(&mut self, bytes: &[u8]) -> Flow {
        if bytes.len() >= DIRECT_BYTES && !self.holds_back {
            let buffer = std::mem::take(&mut self.buffer);
            self.write_both(&buffer, bytes);
            self.buffer = buffer;
            self.buffer.clear();
            return self.wanted();
        }
        if self.buffer.len() + bytes.len() > OUT_BYTES {
            self.let_out();
        }
        self.buffer.extend_from_slice(bytes);
        self.wanted()
    }

    fn flush(&mut self) -> Flow {
        Out::flush(self);
        self.wanted()
    }

    fn close(&mut self) {
        Out::flush(self);
        self.file = None;
        // If that fails, the reader sees the end a little later.
        let _ = stdio::leave_stdout();
    }

    fn complain(&mut self, text: &[u8]) {
        if !self.is_overtaken {
            self.flush();
        }
        // If standard error is closed, the message is lost.
        let _ = std::io::stderr().write_all(text);
    }
}
