//! Where chunks are held, with a limit on memory and one on disk, which all streams share.

use crate::disk::Disk;
use pelton_sys::pages::Pages;
use std::io;
use std::path::PathBuf;

/// Chunks of more gain nothing, and cost the second level of cache.
const CHUNK_BYTES_MAX: u64 = 256 * 1024;
/// A page: the smallest that memory can be had in.
const CHUNK_BYTES_MIN: u64 = 4096;
/// Empty blocks that are kept for the next ones.
const POOL: usize = 2;

/// How much may be held.
#[derive(Clone, Debug)]
pub struct Limits {
    /// In memory, in bytes; 0 for none, else at least a page.
    pub memory_bytes: u64,
    /// On disk, in bytes.
    pub disk_bytes: u64,
    /// Where the file is made.
    pub directory: PathBuf,
}

impl Limits {
    /// How large one chunk is: so small that a limit holds a few.
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
    /// It counts against the limit: all do but those on their way from disk to the reader.
    counted: bool,
}

impl Block {
    /// What it holds.
    pub fn bytes(&self) -> &[u8] {
        &self.pages[self.start..self.end]
    }

    /// Room behind that.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.pages[self.end..]
    }

    /// So many bytes were put into the room.
    pub fn grow(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// So many bytes were taken from the front.
    pub fn shrink(&mut self, bytes: usize) {
        self.start += bytes;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}

/// The room there is.
#[derive(Debug)]
pub struct Store {
    chunk_bytes: usize,
    memory_max: u64,
    memory_used: u64,
    memory_peak: u64,
    pool: Vec<Pages>,
    /// Where bytes wait between the writer and the disk.
    staging: Option<Pages>,
    /// The part on disk.
    pub disk: Disk,
}

impl Store {
    /// Empty.
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

    /// How large a chunk is, in memory or on disk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Memory taken for what is held, in bytes.
    pub fn memory_used(&self) -> u64 {
        self.memory_used
    }

    /// The most at one time.
    pub fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    /// Whether another block may be had.
    pub fn has_memory(&self) -> bool {
        self.memory_used + self.chunk_bytes as u64 <= self.memory_max
    }

    /// Whether the disk may be written to. Not while memory holds what the disk had no room for.
    pub fn may_use_disk(&self) -> bool {
        self.memory_used <= self.memory_max
    }

    /// An empty block that counts.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn block(&mut self) -> io::Result<Block> {
        let pages = self.pages()?;
        Ok(self.count(pages, 0))
    }

    /// An empty block on its way to the reader.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn block_in_transit(&mut self) -> io::Result<Block> {
        Ok(Block { pages: self.pages()?, start: 0, end: 0, counted: false })
    }

    /// The block is empty.
    pub fn give_back(&mut self, block: Block) {
        if block.counted {
            self.memory_used -= self.chunk_bytes as u64;
        }
        if self.pool.len() < POOL {
            self.pool.push(block.pages);
        }
    }

    /// Memory for what is on its way to the disk.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn staging(&mut self) -> io::Result<Pages> {
        match self.staging.take() {
            Some(pages) => Ok(pages),
            None => self.pages(),
        }
    }

    /// It has reached the disk.
    pub fn end_staging(&mut self, pages: Pages) {
        self.staging = Some(pages);
    }

    /// It has not: its first `bytes` bytes stay in memory, over the limit if need be.
    pub fn keep_staging(&mut self, pages: Pages, bytes: usize) -> Block {
        self.count(pages, bytes)
    }

    fn count(&mut self, pages: Pages, bytes: usize) -> Block {
        self.memory_used += self.chunk_bytes as u64;
        self.memory_peak = self.memory_peak.max(self.memory_used);
        Block { pages, start: 0, end: bytes, counted: true }
    }

    /// The one used last comes first: it is in the cache.
    fn pages(&mut self) -> io::Result<Pages> {
        match self.pool.pop() {
            Some(pages) => Ok(pages),
            None => Pages::new(self.chunk_bytes),
        }
    }
}
