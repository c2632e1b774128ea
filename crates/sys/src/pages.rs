//! Whole pages of memory from the kernel, returned to it on drop: an allocator would keep freed memory for
//! the process.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes in private, anonymous memory. All are 0 initially, and take no memory before they are written.
#[derive(Debug)]
pub struct Pages {
    first: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, like a box.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps `bytes` bytes, at least one.
    ///
    /// # Errors
    /// If the system has no memory for them.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1);
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let first = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Pages { first, bytes })
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `bytes` long, zeroed by the kernel, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.bytes) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.first.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_clear_and_can_be_written() {
        let mut pages = Pages::new(5000).expect("memory");
        assert!(pages.len() == 5000 && pages.iter().all(|byte| *byte == 0));
        pages[4999] = 7;
        assert_eq!(pages[4999], 7);
        assert_eq!(Pages::new(0).expect("memory").len(), 1);
    }
}
