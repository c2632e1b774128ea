//! What a kernel may use of the machine besides the thread that drives it.

use crate::team::Helpers;
use pelton_sys::read::Room;
use pelton_sys::wait::Ended;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Threads, memory, and room for what memory does not hold.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Who may help.
    pub crew: Helpers,
    /// How much all kernels together may keep in memory, and where the rest goes; without one, everything is kept.
    pub storage: Option<Arc<dyn Storage>>,
    /// Who opens files whose names come as data (`xargs cat`).
    pub files: Option<Arc<dyn Files>>,
    /// Who starts the program that a command starts for what its kernel does not judge (`find -exec`).
    pub programs: Option<Arc<dyn Programs>>,
    /// Who starts the command itself, or what that runs, for what only they can tell (`grep`, `xargs grep`).
    pub itself: Option<Arc<dyn Programs>>,
}

/// Starts one program, as often as it is wanted.
pub trait Programs: Send + Sync {
    /// With these words behind its name, and the standard input of the stage.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start(&self, words: Vec<Vec<u8>>) -> io::Result<Box<dyn Started>>;

    /// The same, wherever the stage prints and speaks: what this prints and says is there to be read. With `back`, the standard input
    /// is a plain file of which so many bytes were read: they are there to be read again.
    ///
    /// # Errors
    /// If it cannot be started, or nobody can go back.
    fn start_again(&self, words: Vec<Vec<u8>>, back: Option<u64>) -> io::Result<Box<dyn Started>>;
}

impl fmt::Debug for dyn Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}

/// A program that runs. Where the stage is the last of its worker, it prints by itself, and there is nothing to read.
pub trait Started: io::Read + Send {
    /// What it says on standard error, to its end, if that does not go where the messages of the stage go.
    fn said(&mut self) -> Vec<u8>;

    /// Waits for its end.
    ///
    /// # Errors
    /// If that cannot be told.
    fn end(self: Box<Self>) -> io::Result<Ended>;
}

/// Opens files by names that are not known before. Everything that is not a plain file, and can be read as one, is `None`: the
/// real command says what is wrong with it.
pub trait Files: Send + Sync {
    /// How long it is, without opening it if that can be told. In bytes.
    fn look(&self, name: &[u8]) -> Option<u64>;

    /// Whether it will open, as far as that can be told.
    fn may_open(&self, name: &[u8]) -> bool;

    /// Open, and how long it is in bytes.
    fn open(&self, name: &[u8]) -> Option<(Box<dyn io::Read + Send>, u64)>;
}

impl fmt::Debug for dyn Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

/// A plain file, any part of which can be read at any time, by several at once.
pub trait PlainFile: Sync {
    /// Fills `room` with what stands there; `None` if less does, or if it cannot be read.
    fn fill<'a>(&self, room: Room<'a>, at: u64) -> Option<&'a [u8]>;

    /// Reads what stands there, as far as that comes at once: so many bytes, and 0 if it cannot be read.
    fn peek(&self, bytes: &mut [u8], at: u64) -> usize;
}

impl PlainFile for File {
    fn fill<'a>(&self, room: Room<'a>, at: u64) -> Option<&'a [u8]> {
        room.fill(self, at)
    }

    fn peek(&self, bytes: &mut [u8], at: u64) -> usize {
        std::os::unix::fs::FileExt::read_at(self, bytes, at).unwrap_or(0)
    }
}

/// The memory that kernels share, each of which has a [`Holding`](crate::Holding) of it, and files for the rest.
pub trait Storage: Send + Sync {
    /// How much all of them may fill together. In bytes.
    fn memory_bytes(&self) -> usize;

    /// Whether so much is more than that: cheap where it is little. In bytes.
    fn is_too_much(&self, bytes: usize) -> bool {
        bytes > self.memory_bytes()
    }

    /// Somebody begins to hold something: what that is, at least, however much others hold. In bytes.
    fn open(&self) -> usize {
        0
    }

    /// Who holds `held` wants to hold `wanted`, which is more: what it holds now, which is that or a little more, so that it
    /// need not ask often. `None`: there is not so much left, and nothing has changed. In bytes. By itself, one does not know of others.
    fn take(&self, _held: usize, wanted: usize) -> Option<usize> {
        (wanted <= self.memory_bytes()).then_some(wanted)
    }

    /// Somebody holds so much less. In bytes.
    fn give_back(&self, _bytes: usize) {}

    /// Where files are made, unless a command names a directory itself; for messages.
    fn directory(&self) -> Vec<u8>;

    /// A new file in this directory, or else in [`directory`](Storage::directory), which nobody else sees and which is gone
    /// with the process, however that ends.
    ///
    /// # Errors
    /// If none can be made there.
    fn create(&self, directory: Option<&[u8]>) -> io::Result<Arc<dyn Stored>>;
}

impl fmt::Debug for dyn Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

/// A file that holds what memory does not.
pub trait Stored: Send + Sync {
    /// Writes all of it there. In bytes from the beginning.
    ///
    /// # Errors
    /// If it cannot all be written: the disk is full, say.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Fills `bytes` with what was written there.
    ///
    /// # Errors
    /// If it cannot be read, or less than that was written.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Nobody reads these bytes again.
    fn forget(&self, _: Range<u64>) {}
}

impl fmt::Debug for dyn Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stored")
    }
}
