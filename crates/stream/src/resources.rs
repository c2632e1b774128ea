//! The resources that a kernel may use besides the thread that drives it.

use pelton_parallel::Helpers;
use pelton_sys::spare_capacity::Room;
use pelton_sys::wait::Ended;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Threads, memory, and spill storage.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The threads that may help.
    pub helpers: Helpers,
    /// The memory limit that all kernels share, and the spill files. Without it, everything stays in memory.
    pub storage: Option<Arc<dyn Storage>>,
    /// Opens files whose names arrive as data (`xargs cat`).
    pub files: Option<Arc<dyn Files>>,
    /// Starts the program that a command runs for what its kernel does not support (`find -exec`).
    pub programs: Option<Arc<dyn Programs>>,
    /// Starts the command itself, or the program it runs, for cases that only the real program decides
    /// (`grep`, `xargs grep`).
    pub itself: Option<Arc<dyn Programs>>,
}

/// Starts one program, as often as needed.
pub trait Programs: Send + Sync {
    /// Starts it with these arguments and the standard input of the stage.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start(&self, words: Vec<Vec<u8>>) -> io::Result<Box<dyn Started>>;

    /// As [`start`](Programs::start), but always captures standard output and standard error. With `back`,
    /// standard input is a regular file of which this many bytes were read: they are made readable again.
    ///
    /// # Errors
    /// If it cannot be started, or the file offset cannot be reset.
    fn start_again(&self, words: Vec<Vec<u8>>, back: Option<u64>) -> io::Result<Box<dyn Started>>;
}

impl fmt::Debug for dyn Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}

/// A running program. If the stage is the last of its worker, the program writes the output itself, and there
/// is nothing to read.
pub trait Started: io::Read + Send {
    /// Reads its standard error to the end, if that does not go to the standard error of the stage.
    fn said(&mut self) -> Vec<u8>;

    /// Waits for its exit.
    ///
    /// # Errors
    /// If its exit cannot be determined.
    fn end(self: Box<Self>) -> io::Result<Ended>;
}

/// Opens files by names that arrive as data. Returns `None` for everything but a readable regular file: the
/// real command reports the error.
pub trait Files: Send + Sync {
    /// Returns the length in bytes, without opening the file if possible.
    fn look(&self, name: &[u8]) -> Option<u64>;

    /// Whether the file probably opens.
    fn may_open(&self, name: &[u8]) -> bool;

    /// Opens the file. Also returns its length in bytes.
    fn open(&self, name: &[u8]) -> Option<(Box<dyn io::Read + Send>, u64)>;
}

impl fmt::Debug for dyn Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

/// A regular file. Several threads can read any part of it at any time.
pub trait PlainFile: Sync {
    /// Fills `room` from offset `at`. Returns `None` if the file is shorter, or on a read error.
    fn fill<'a>(&self, room: Room<'a>, at: u64) -> Option<&'a [u8]>;

    /// Reads at offset `at` what is available at once. Returns the number of bytes, 0 on a read error.
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

/// The memory that kernels share through [`Holding`](crate::Holding)s, and spill files.
pub trait Storage: Send + Sync {
    /// Returns the limit for all of them together, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Whether this many bytes exceed the limit. Cheap for few bytes.
    fn is_too_much(&self, bytes: usize) -> bool {
        bytes > self.memory_bytes()
    }

    /// Registers a holder. Returns its guaranteed minimum in bytes, whatever the others hold.
    fn open(&self) -> usize {
        0
    }

    /// Grows a reservation from `held` to at least `wanted` bytes. Returns the new size, which may be a
    /// little larger to save calls, or `None` if the memory is not available and nothing changed. The default
    /// ignores other holders.
    fn take(&self, _held: usize, wanted: usize) -> Option<usize> {
        (wanted <= self.memory_bytes()).then_some(wanted)
    }

    /// Gives back this many bytes.
    fn give_back(&self, _bytes: usize) {}

    /// Returns the directory for files, unless a command names one itself; for messages.
    fn directory(&self) -> Vec<u8>;

    /// Creates a file in this directory, or by default in [`directory`](Storage::directory). It has no name,
    /// and disappears with the process.
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

/// A spill file.
pub trait Stored: Send + Sync {
    /// Writes all bytes at this byte offset.
    ///
    /// # Errors
    /// If not all can be written (a full disk).
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Fills `bytes` from offset `at`.
    ///
    /// # Errors
    /// If the read fails, or the file is shorter.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Discards a range that nothing reads again.
    fn forget(&self, _: Range<u64>) {}
}

impl fmt::Debug for dyn Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stored")
    }
}
