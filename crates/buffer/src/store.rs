//! Memory and disk space for chunks, with limits that all streams share.

use crate::disk::Disk;
use pelton_sys::pages::Pages;
use std::io;
use std::path::PathBuf;

/// Larger chunks gain nothing, and overflow the L2 cache.
const CHUNK_BYTES_MAX: u64 = 256 * 1024;
/// A page: the smallest unit of memory.
const CHUNK_BYTES_MIN: u64 = 4096;
/// Number of free blocks kept for reuse.
const POOL: usize = 2;

/// Limits on held data.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Memory in bytes; 0 for none, else at least a page.
    pub memory_bytes: u64,
    /// Disk space in bytes.
    pub disk_bytes: u64,
    /// Directory of the file.
    pub directory: PathBuf,
}

impl Limits {
    /// Returns the chunk size, small enough that a limit holds a few chunks.
    fn chunk_bytes(&self) -> usize {
        let limit = if self.memory_bytes > 0 { self.memory_bytes } else { self.disk_bytes };
        let chunk = (limit / 4).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        (chunk / CHUNK_BYTES_MIN * CHUNK_BYTES_MIN) as usize
    }
}

/// Memory that holds bytes `start..end`.
#[derive(Debug)]
pub struct Block {
    pages: Pages,
    start: usize,
    end: usize,
    /// Whether it counts against the limit. Blocks on their way from disk to the reader do not.
    counted: bool,
}

impl Block {
    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.pages[self.start..self.end]
    }

    /// Returns the free room after the bytes.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.pages[self.end..]
    }

    /// Adds the first `bytes` of the room.
    pub fn grow(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Removes `bytes` from the front.
    pub fn shrink(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}

/// The memory and disk space of all streams.
#[derive(Debug)]
pub struct Store {
    chunk_bytes: usize,
    memory_max: u64,
    memory_used: u64,
    memory_peak: u64,
    pool: Vec<Pages>,
    /// Memory for bytes on their way to the disk.
    staging: Option<Pages>,
    /// The disk part.
    pub disk: Disk,
}

impl Store {
    /// Makes an empty store.
    pub fn new(limits: &Limits) -> Self {
        let chunk_bytes = limits.chunk_bytes();
        let at_least_one = limits.memory_bytes.max(chunk_bytes as u64);
        Store {
            chunk_bytes,
            memory_max: if limits.memory_bytes == 0 { 0 } else { at_least_one },
            memory_used: 0,
            memory_peak: 0,
            pool: Vec::new(),
            staging: None,
            disk: Disk::new(limits.directory.clone(), chunk_bytes, limits.disk_bytes),
        }
    }

    /// Returns the chunk size, in memory and on disk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Returns the bytes of memory used for held data.
    pub fn memory_used(&self) -> u64 {
        self.memory_used
    }

    /// Returns the peak of the memory used.
    pub fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    /// Whether another block is available.
    pub fn has_memory(&self) -> bool {
        self.memory_used + self.chunk_bytes as u64 <= self.memory_max
    }

    /// Whether the disk may be used: not while memory is over its limit because a disk write failed.
    pub fn may_use_disk(&self) -> bool {
        self.memory_used <= self.memory_max
    }

    /// Returns an empty block that counts against the limit.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn block(&mut self) -> io::Result<Block> {
        let pages = self.pages()?;
        Ok(self.count(pages, 0))
    }

    /// Returns an empty block for bytes on their way from disk to the reader.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn block_in_transit(&mut self) -> io::Result<Block> {
        Ok(Block { pages: self.pages()?, start: 0, end: 0, counted: false })
    }

    /// Frees a block.
    pub fn give_back(&mut self, block: Block) {
        if block.counted {
            self.memory_used -= self.chunk_bytes as u64;
        }
        if self.pool.len() < POOL {
            self.pool.push(block.pages);
        }
    }

    /// Returns memory for bytes on their way to the disk.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn staging(&mut self) -> io::Result<Pages> {
        match self.staging.take() {
            Some(pages) => Ok(pages),
            None => self.pages(),
        }
    }

    /// Returns the staging memory after a successful disk write.
    pub fn end_staging(&mut self, pages: Pages) {
        self.staging = Some(pages);
    }

    /// Turns the staging memory into a block after a failed write: its first `bytes` stay in memory, over the
    /// limit if need be.
    pub fn keep_staging(&mut self, pages: Pages, bytes: usize) -> Block {
        self.count(pages, bytes)
    }

    fn count(&mut self, pages: Pages, bytes: usize) -> Block {
        self.memory_used += self.chunk_bytes as u64;
        self.memory_peak = self.memory_peak.max(self.memory_used);
        Block { pages, start: 0, end: bytes, counted: true }
    }

    /// Returns the pages used last, which are in the cache, or new ones.
    fn pages(&mut self) -> io::Result<Pages> {
        match self.pool.pop() {
            Some(pages) => Ok(pages),
            None => Pages::new(self.chunk_bytes),
        }
    }
}
