//! The held data of one stream, oldest first.
//!
//! New bytes go into the newest block if it has room, else into memory, else to disk. So freed memory is
//! reused while older bytes are on disk, and each byte goes to disk at most once.

use crate::Error;
use crate::store::{Block, Store};
use std::collections::VecDeque;
use std::io;

/// Less room than this at the end of a chunk is not worth a system call.
const ROOM_MIN: usize = 4096;

#[derive(Debug)]
enum Chunk {
    Memory(Block),
    /// Bytes `0..end` of a slot.
    Disk {
        slot: u64,
        end: usize,
    },
}

/// The result of [`Queue::take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Number of bytes read into memory.
    Memory(usize),
    /// Number of bytes written to disk.
    Disk(usize),
    /// The input has ended.
    End,
}

/// The queue of chunks.
#[derive(Debug, Default)]
pub struct Queue {
    chunks: VecDeque<Chunk>,
    held: u64,
}

impl Queue {
    /// Returns the number of bytes held.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Whether no bytes are held.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Whether more can be read now.
    pub fn has_room(&mut self, store: &mut Store) -> bool {
        if self.newest_has_room(store) || store.has_memory() {
            return true;
        }
        store.may_use_disk() && store.disk.has_room()
    }

    fn newest_has_room(&mut self, store: &Store) -> bool {
        match self.chunks.back_mut() {
            Some(Chunk::Memory(block)) => block.room().len() >= ROOM_MIN,
            Some(Chunk::Disk { end, .. }) => {
                store.chunk_bytes() - *end >= ROOM_MIN && store.may_use_disk() && !store.disk.is_full()
            }
            None => false,
        }
    }

    /// Reads once, and holds the bytes. The caller has called [`has_room`](Queue::has_room).
    ///
    /// # Errors
    /// Errors of `read`, or lack of memory.
    pub fn take(
        &mut self,
        store: &mut Store,
        name: &'static str,
        read: &mut dyn FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> Result<Taken, Error> {
        let read = &mut |into: &mut [u8]| read(into).map_err(|error| Error::Read(name, error));
        let fits = self.newest_has_room(store);
        let taken = match self.chunks.back_mut() {
            Some(Chunk::Memory(block)) if fits => {
                let bytes = read(block.room())?;
                block.grow(bytes);
                Taken::Memory(bytes)
            }
            Some(Chunk::Disk { .. }) if fits => self.take_to_disk(store, true, read)?,
            _ if store.has_memory() => self.take_to_memory(store, read)?,
            _ => self.take_to_disk(store, false, read)?,
        };
        match taken {
            Taken::Memory(0) | Taken::Disk(0) | Taken::End => Ok(Taken::End),
            Taken::Memory(bytes) | Taken::Disk(bytes) => {
                self.held += bytes as u64;
                Ok(taken)
            }
        }
    }

    fn take_to_memory(
        &mut self,
        store: &mut Store,
        read: &mut dyn FnMut(&mut [u8]) -> Result<usize, Error>,
    ) -> Result<Taken, Error> {
        let mut block = store.block().map_err(Error::Resources)?;
        match read(block.room()) {
            Ok(bytes) if bytes > 0 => {
                block.grow(bytes);
                self.chunks.push_back(Chunk::Memory(block));
                Ok(Taken::Memory(bytes))
            }
            other => {
                store.give_back(block);
                other.map(|_| Taken::End)
            }
        }
    }

    /// Reads into the newest slot (`newest`) or a new one. If the disk write fails, the bytes stay in memory.
    fn take_to_disk(
        &mut self,
        store: &mut Store,
        newest: bool,
        read: &mut dyn FnMut(&mut [u8]) -> Result<usize, Error>,
    ) -> Result<Taken, Error> {
        let mut pages = store.staging().map_err(Error::Resources)?;
        let (slot, start) = match self.chunks.back() {
            Some(Chunk::Disk { slot, end }) if newest => (*slot, *end),
            _ => (store.disk.take_slot(), 0),
        };
        let room = store.chunk_bytes() - start;
        let bytes = match read(&mut pages[..room]) {
            Ok(bytes) if bytes > 0 => bytes,
            other => {
                store.end_staging(pages);
                if !newest {
                    store.disk.give_back(slot);
                }
                return other.map(|_| Taken::End);
            }
        };
        match store.disk.write(slot, start, &pages[..bytes]) {
            Ok(()) => {
                store.end_staging(pages);
                match self.chunks.back_mut() {
                    Some(Chunk::Disk { end, .. }) if newest => *end += bytes,
                    _ => self.chunks.push_back(Chunk::Disk { slot, end: bytes }),
                }
                Ok(Taken::Disk(bytes))
            }
            Err(reason) => {
                if !newest {
                    store.disk.give_back(slot);
                }
                store.disk.note_full(reason);
                self.chunks.push_back(Chunk::Memory(store.keep_staging(pages, bytes)));
                Ok(Taken::Memory(bytes))
            }
        }
    }

    /// Passes the oldest bytes to `write`, which returns how many it took, or `None` if it would block.
    ///
    /// # Errors
    /// Errors of `write`, or a failure to read data back from disk.
    pub fn deliver(
        &mut self,
        store: &mut Store,
        name: &'static str,
        write: &mut dyn FnMut(&[u8]) -> io::Result<Option<usize>>,
    ) -> Result<Option<usize>, Error> {
        self.load_oldest(store)?;
        let Some(Chunk::Memory(block)) = self.chunks.front_mut() else { return Ok(None) };
        let Some(bytes) = write(block.bytes()).map_err(|error| Error::Write(name, error))? else {
            return Ok(None);
        };
        block.shrink(bytes);
        self.held -= bytes as u64;
        if block.bytes().is_empty()
            && let Some(Chunk::Memory(block)) = self.chunks.pop_front()
        {
            store.give_back(block);
        }
        Ok(Some(bytes))
    }

    fn load_oldest(&mut self, store: &mut Store) -> Result<(), Error> {
        let Some(Chunk::Disk { slot, end }) = self.chunks.front() else { return Ok(()) };
        let (slot, end) = (*slot, *end);
        let mut block = store.block_in_transit().map_err(Error::Resources)?;
        store.disk.read(slot, 0, &mut block.room()[..end]).map_err(Error::ReadBack)?;
        block.grow(end);
        store.disk.give_back(slot);
        self.chunks[0] = Chunk::Memory(block);
        Ok(())
    }

    /// Drops everything: the reader has left.
    pub fn clear(&mut self, store: &mut Store) {
        for chunk in self.chunks.drain(..) {
            match chunk {
                Chunk::Memory(block) => store.give_back(block),
                Chunk::Disk { slot, .. } => store.disk.give_back(slot),
            }
        }
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn store(memory_bytes: u64, disk_bytes: u64) -> Store {
        Store::new(&Limits { memory_bytes, disk_bytes, directory: std::env::temp_dir() })
    }

    /// Returns the next pseudo-random number: xorshift64*, from G. Marsaglia.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Takes and delivers random amounts, and checks every byte.
    fn check(memory: u64, disk: u64, seed: u64) {
        let (mut store, mut queue, mut random) = (store(memory, disk), Queue::default(), seed | 1);
        let (mut taken, mut delivered) = (0u64, 0u64);
        for _ in 0..1500 {
            let amount = (next(&mut random) % 9000) as usize + 1;
            let taking = !next(&mut random).is_multiple_of(2 + seed % 3);
            if taking && queue.has_room(&mut store) {
                let came = queue.take(&mut store, "stdin", &mut |into| {
                    let bytes = amount.min(into.len());
                    into[..bytes].iter_mut().zip(taken..).for_each(|(byte, at)| *byte = (at % 251) as u8);
                    Ok(bytes)
                });
                match came.expect("taken") {
                    Taken::Memory(bytes) | Taken::Disk(bytes) => taken += bytes as u64,
                    Taken::End => panic!("it has no end"),
                }
            } else {
                let gone = queue.deliver(&mut store, "stdin", &mut |bytes| {
                    let bytes = &bytes[..amount.min(bytes.len())];
                    assert!(bytes.iter().zip(delivered..).all(|(byte, at)| *byte == (at % 251) as u8));
                    Ok(Some(bytes.len()))
                });
                delivered += gone.expect("delivered").unwrap_or(0) as u64;
            }
            assert_eq!(queue.held(), taken - delivered);
            assert!(store.memory_used() <= memory.max(4096) && store.disk.used_bytes() <= disk);
        }
        queue.clear(&mut store);
        assert_eq!((store.memory_used(), store.disk.used_bytes()), (0, 0));
    }

    #[test]
    fn every_byte_comes_back_in_order() {
        for seed in 0..6 {
            check(8192, 200_000, seed);
            check(100_000, 0, seed);
            check(0, 50_000, seed);
            check(20_000, 1 << 30, seed);
        }
    }

    #[test]
    fn what_the_disk_will_not_take_stays_in_memory() {
        let directory = "/nonexistent".into();
        let mut store = Store::new(&Limits { memory_bytes: 4096, disk_bytes: 1 << 20, directory });
        let mut queue = Queue::default();
        let fill = |store: &mut Store, queue: &mut Queue| {
            queue.take(store, "stdin", &mut |into| {
                into.fill(b'x');
                Ok(into.len())
            })
        };
        assert_eq!(fill(&mut store, &mut queue).expect("taken"), Taken::Memory(4096));
        assert!(queue.has_room(&mut store), "the disk has not been tried");
        assert_eq!(fill(&mut store, &mut queue).expect("taken"), Taken::Memory(4096));
        assert!(!queue.has_room(&mut store), "now it has");
        assert_eq!((store.disk.full_count(), store.disk.used_bytes()), (1, 0));
        let mut out = 0;
        while let Some(bytes) =
            queue.deliver(&mut store, "stdin", &mut |bytes| Ok(Some(bytes.len()))).expect("out")
        {
            out += bytes;
        }
        assert_eq!(out, 8192);
    }
}
