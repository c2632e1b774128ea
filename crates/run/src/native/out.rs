//! A worker's output.

use super::meter;
use pelton_commands::io_errors::{self, STDIO_BUFFER_BYTES, WriteFailure};
use pelton_stream::{Flow, Sink};
use pelton_sys::pipe;
use std::fs::File;
use std::io::{IoSlice, Write};
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
    /// How much the real command writes at a time, if the reader shows that once a NUL follows: the first NUL is
    /// then written as the real command would write it.
    pub piece_bytes: Option<usize>,
}

const OUT_BYTES: usize = 64 * 1024;
/// The longest wait for a reader, once in a stream.
const READER_DEADLINE: Duration = Duration::from_millis(20);
const READER_PAUSE: Duration = Duration::from_micros(50);
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
            piece_bytes: None,
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
            piece_bytes: None,
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

    /// Writes the buffered output before blocking on input.
    pub fn let_out(&mut self) {
        if !self.holds_back || self.buffer.len() >= STDIO_BUFFER_BYTES {
            self.flush();
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
        match self.first_nul(bytes) {
            None => self.write_rest(bytes, 0),
            Some((nul, piece_bytes)) => self.write_before_nul(bytes, nul, piece_bytes),
        }
    }

    /// Returns the position of a NUL, and the size of the real command's pieces, if the reader shows that.
    fn first_nul(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let piece_bytes = self.piece_bytes?;
        memchr::memchr(0, bytes).map(|nul| (nul, piece_bytes))
    }

    /// Writes both slices, with one call if the system takes that much.
    fn write_both(&mut self, first: &[u8], second: &[u8]) {
        let mut done = 0;
        let at_once = !first.is_empty() && [first, second].iter().all(|part| self.first_nul(part).is_none());
        if let (true, None, Some(file)) = (at_once, &self.failure, &mut self.file) {
            let both = [IoSlice::new(first), IoSlice::new(second)];
            // An error recurs below.
            done = meter::writing(|| file.write_vectored(&both)).unwrap_or(0);
        }
        let failed_before = self.failure.is_some();
        self.write_from(first, done.min(first.len()));
        if let Some(failure) = self.failure.as_mut().filter(|_| !failed_before) {
            // All of it was printed.
            failure.printed += second.len() as u64;
        }
        self.write_from(second, done.saturating_sub(first.len()));
    }

    fn write_from(&mut self, bytes: &[u8], done: usize) {
        if done == 0 { self.write(bytes) } else { self.write_rest(bytes, done) }
    }

    /// Writes the bytes after the first `done`, which were written already. EPIPE ends this process, as it
    /// would the real command, unless SIGPIPE is ignored by now.
    fn write_rest(&mut self, bytes: &[u8], done: usize) {
        if self.failure.is_some() || bytes.is_empty() {
            return;
        }
        let printed = self.written + bytes.len() as u64;
        if let Some(file) = &mut self.file
            && let Err(error) = meter::writing(|| file.write_all(&bytes[done..]))
        {
            self.failure = Some(WriteFailure { error, printed, item: io_errors::item(bytes) });
        }
        self.written = printed;
    }

    /// Writes the first NUL in a piece that begins where a write of the real command would, and after the
    /// reader has read what came before.
    fn write_before_nul(&mut self, bytes: &[u8], nul: usize, piece_bytes: usize) {
        self.piece_bytes = None;
        let into_piece = (self.written + nul as u64) % piece_bytes as u64;
        let (before, piece) = bytes.split_at(nul.saturating_sub(into_piece as usize));
        self.write(before);
        if let Some(file) = self.target() {
            let deadline = Instant::now() + READER_DEADLINE;
            while Instant::now() < deadline && pipe::unread(file.as_fd()).is_ok_and(|unread| unread > 0) {
                std::thread::sleep(READER_PAUSE);
            }
        }
        self.write(piece);
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
        if bytes.len() >= DIRECT_BYTES {
            let buffer = std::mem::take(&mut self.buffer);
            self.write_both(&buffer, bytes);
            self.buffer = buffer;
            self.buffer.clear();
            return self.wanted();
        }
        if self.buffer.len() + bytes.len() > OUT_BYTES {
            self.flush();
        }
        self.buffer.extend_from_slice(bytes);
        self.wanted()
    }

    fn flush(&mut self) -> Flow {
        Out::flush(self);
        self.wanted()
    }

    fn complain(&mut self, text: &[u8]) {
        self.flush();
        // If standard error is closed, the message is lost.
        let _ = std::io::stderr().write_all(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Writes `bytes` in two halves, and returns what each read of a waiting reader got.
    fn reads_of(bytes: &[u8], piece_bytes: Option<usize>) -> Vec<Vec<u8>> {
        let pipe = pipe::pipe().expect("a pipe");
        let mut read = File::from(pipe.read);
        let reader = std::thread::spawn(move || {
            let mut reads = Vec::new();
            let mut block = vec![0; OUT_BYTES];
            while let Ok(bytes @ 1..) = read.read(&mut block) {
                reads.push(block[..bytes].to_vec());
            }
            reads
        });
        let mut out = Out { piece_bytes, ..Out::to(pipe.write) };
        let (first, second) = bytes.split_at(bytes.len() / 2);
        out.take(first);
        out.take(second);
        Out::flush(&mut out);
        drop(out);
        reader.join().expect("the reader ends")
    }

    #[test]
    fn the_first_nul_comes_in_a_read_of_its_own() {
        for (length, nul) in [(50_000, 10_000), (100_000, 90_000), (60_000, 100), (9_000, 8_999)] {
            let mut bytes = vec![b'a'; length];
            bytes[nul] = 0;
            let begins_there = |_| {
                let reads = reads_of(&bytes, Some(4096));
                assert_eq!(reads.concat(), bytes);
                let before: Vec<u8> =
                    reads.into_iter().take_while(|read| !read.contains(&0)).flatten().collect();
                before.len() == nul - nul % 4096
            };
            // A reader that is kept waiting for a processor gets more at a time.
            assert!((0..50).any(begins_there), "{length} bytes with a NUL at {nul}");
            assert_eq!(reads_of(&bytes, None).concat(), bytes);
        }
    }
}
