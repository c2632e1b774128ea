//! Counters shared between a process and its forks: the counts of a fork survive it, however it ends.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters in memory shared across fork. Each starts at 0.
#[derive(Debug)]
pub struct Counters {
    first: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the memory is only reached through atomics, and stays mapped while a value exists.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// Maps `count` counters.
    ///
    /// # Errors
    /// If the system has no memory for them.
    pub fn new(count: usize) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes(count), protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Counters { first, count })
    }

    /// Adds to a counter. Does nothing if there is no such counter.
    pub fn add(&self, index: usize, n: u64) {
        if let Some(counter) = self.all().get(index) {
            counter.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Sets a counter. Does nothing if there is no such counter.
    pub fn set(&self, index: usize, n: u64) {
        if let Some(counter) = self.all().get(index) {
            counter.store(n, Ordering::Relaxed);
        }
    }

    /// Returns a counter's value; 0 if there is no such counter.
    pub fn get(&self, index: usize) -> u64 {
        self.all().get(index).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to pages, zeroed, `count` counters long, and lives as long as
        // `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.first.as_ptr().cast(), bytes(self.count)) };
    }
}

/// Returns the size of a mapping for `count` counters, which cannot be empty.
fn bytes(count: usize) -> usize {
    count.max(1) * size_of::<AtomicU64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_forgives_a_wrong_index() {
        let counters = Counters::new(3).expect("memory");
        counters.add(1, 5);
        counters.add(1, 2);
        counters.set(2, 9);
        counters.add(3, 1);
        assert_eq!([0, 1, 2, 3].map(|i| counters.get(i)), [0, 7, 9, 0]);
    }

    #[test]
    fn a_fork_counts_in_the_same_memory() {
        let counters = Counters::new(1).expect("memory");
        // SAFETY: the child touches one atomic and leaves by _exit.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            counters.add(0, 7);
            crate::spawn::exit_now(0);
        }
        crate::wait::reap(pid as u32).expect("reaped");
        assert_eq!(counters.get(0), 7);
    }
}
