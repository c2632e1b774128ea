//! The input of a split stage.

use super::settings;
use memchr::memchr;
use pelton_commands::Input;
use pelton_commands::stateless::{Data, Stateless, Statuses};
use pelton_sys::{pipe, spare_capacity};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// Less input is not worth the trial, which costs two starts of the command.
pub const WORTH_BYTES: u64 = 16 << 20;

/// A pipe, or a large enough regular file.
pub struct Source {
    file: File,
    /// Whether reading it never blocks.
    regular: bool,
    ended: bool,
}

/// Bytes per read.
const BLOCK_BYTES: usize = 256 * 1024;
/// Size of an input pipe, if permitted: its writer can continue meanwhile.
const PIPE_BYTES: usize = 1 << 20;

impl Source {
    /// Opens the stage's input; `None` if the real command should read it.
    pub fn open(stateless: &Stateless) -> Option<Self> {
        let file = match &stateless.input {
            Input::Stdin => File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?),
            Input::File(name) => {
                let path = Path::new(OsStr::from_bytes(name));
                // Opening a FIFO may block.
                std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
                File::open(path).ok()?
            }
        };
        let metadata = file.metadata().ok()?;
        let regular = metadata.is_file();
        if !regular && !metadata.file_type().is_fifo() {
            return None;
        }
        let output = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        let same = (metadata.dev(), metadata.ino()) == (output.dev(), output.ino());
        // grep refuses to read its output file, and stops at its first match if its output is discarded. jq
        // prints in colours on a terminal.
        let looks = stateless.statuses == Statuses::Found || stateless.data == Data::Json;
        if same || looks && output.file_type().is_char_device() {
            return None;
        }
        let mut source = Source { file, regular, ended: false };
        if regular {
            let left = metadata.len().saturating_sub(source.file.stream_position().ok()?);
            if left < WORTH_BYTES && settings::part_bytes().is_none() {
                return None;
            }
        }
        Some(source)
    }

    /// Whether lines are independent in the whole input, as far as that depends on reading: only the real
    /// command decides which read of a file shows a NUL first. Scans a whole file, so only for commands that
    /// cost much more than that.
    pub fn may_be_divided(&mut self, data: Data) -> bool {
        !self.regular || data == Data::Bytes || self.holds_nul() == Some(false)
    }

    fn holds_nul(&mut self) -> Option<bool> {
        let mut at = self.file.stream_position().ok()?;
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let n = self.file.read_at(&mut block, at).ok()?;
            if n == 0 {
                return Some(false);
            }
            if memchr(0, &block[..n]).is_some() {
                return Some(true);
            }
            at += n as u64;
        }
    }

    /// Returns the first bytes without consuming them; `None` if few come, or slowly.
    pub fn first_bytes(&mut self, bytes: usize) -> Option<Vec<u8>> {
        if self.regular {
            let mut first = vec![0; bytes];
            let at = self.file.stream_position().ok()?;
            let n = self.file.read_at(&mut first, at).ok()?;
            first.truncate(n);
            return Some(first);
        }
        // The first byte may take arbitrarily long.
        while !pipe::is_readable_within(self.file.as_fd(), Duration::from_secs(3600)) {}
        for _ in 0..PATIENCE_MS {
            let fd = self.file.as_fd();
            if pipe::unread(fd).ok()? >= bytes / 2 {
                return pipe::peek(fd, bytes).ok();
            }
            if pipe::has_no_writer(fd) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Consumes this many bytes, which were inspected before.
    pub fn skip(&mut self, bytes: usize) -> std::io::Result<()> {
        if self.regular {
            return self.file.seek(SeekFrom::Current(bytes as i64)).map(drop);
        }
        let mut taken = vec![0; bytes];
        self.file.read_exact(&mut taken)
    }

    /// Enlarges a pipe once the input is read for good.
    pub fn settle(&self) {
        if !self.regular {
            pipe::enlarge(self.file.as_fd(), PIPE_BYTES);
        }
    }

    /// Appends what is available; returns `false` if nothing is.
    ///
    /// # Errors
    /// If it cannot be read: as if it had ended there.
    pub fn read(&mut self, into: &mut Vec<u8>) -> std::io::Result<bool> {
        if self.ended || !self.regular && !pipe::is_readable_within(self.file.as_fd(), Duration::ZERO) {
            return Ok(false);
        }
        match spare_capacity::append(&self.file, into, BLOCK_BYTES) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => {
                self.ended = true;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Whether no more input comes.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Ends it here: another process reads the rest.
    pub fn leave(&mut self) {
        self.ended = true;
    }

    /// Returns the descriptor to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// With a slower writer, the command is not the bottleneck.
const PATIENCE_MS: u32 = 20;
