//! What a divided stage reads.

use super::{WORTH_BYTES, settings};
use memchr::memchr;
use pelton_commands::Input;
use pelton_commands::stateless::{Data, Stateless, Statuses};
use pelton_sys::{pipe, read};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

/// A pipe, or a plain file with enough in it.
pub struct Source {
    file: File,
    /// Reading it never waits for anybody.
    regular: bool,
    ended: bool,
}

/// Read at once.
const BLOCK_BYTES: usize = 256 * 1024;
/// What an input pipe holds, if that is allowed: whoever feeds it can work on meanwhile.
const PIPE_BYTES: usize = 1 << 20;

impl Source {
    /// What the stage reads; `None` if the real command had better read it.
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
        // grep will not read what it writes, and stops at its first match where nobody reads what it finds. jq prints in
        // colours on a terminal.
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

    /// Whether lines are by themselves in all of it, as far as that depends on how it is read: which read of a file shows
    /// a NUL first is for the real command to see. All of a file is looked at, so this is only for a command that costs
    /// much more than that.
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

    /// The first of it, nothing of which is taken; `None` if little comes, or slowly.
    pub fn first_bytes(&mut self, bytes: usize) -> Option<Vec<u8>> {
        if self.regular {
            let mut first = vec![0; bytes];
            let at = self.file.stream_position().ok()?;
            let n = self.file.read_at(&mut first, at).ok()?;
            first.truncate(n);
            return Some(first);
        }
        // The first byte may take as long as it will.
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

    /// Takes so many bytes, which were looked at before.
    pub fn skip(&mut self, bytes: usize) -> std::io::Result<()> {
        if self.regular {
            return self.file.seek(SeekFrom::Current(bytes as i64)).map(drop);
        }
        let mut taken = vec![0; bytes];
        self.file.read_exact(&mut taken)
    }

    /// From now on it is read for good: whoever feeds a pipe gets more room.
    pub fn settle(&self) {
        if !self.regular {
            pipe::enlarge(self.file.as_fd(), PIPE_BYTES);
        }
    }

    /// Appends what there is to read now; false if nothing is.
    ///
    /// # Errors
    /// If it cannot be read: as if it had ended there.
    pub fn read(&mut self, into: &mut Vec<u8>) -> std::io::Result<bool> {
        if self.ended || !self.regular && !pipe::is_readable_within(self.file.as_fd(), Duration::ZERO) {
            return Ok(false);
        }
        match read::append(&self.file, into, BLOCK_BYTES) {
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

    /// Nothing more comes.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Somebody else reads it.
    pub fn leave(&mut self) {
        self.ended = true;
    }

    /// For who waits for it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What feeds a pipe so slowly is not held up by the command.
const PATIENCE_MS: u32 = 20;
