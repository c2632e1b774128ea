//! The program's allocator: the C library's, but large blocks begin 64 bytes into a page, not 16.
//!
//! A processor that copies forward with `rep movsb`, as the kernel does in read(2), takes a load as dependent
//! on the store before it if the two addresses differ by little modulo 4096 (4K aliasing). The C library
//! places large blocks 16 bytes into a page, and data read from a file begins at a page: exactly that case.
//! On a fourth-generation AMD EPYC, repeatedly reading 300 MB from memory into 128 KB then takes 0.065 s;
//! 0.17 s at 1 to 8 bytes into the page, 0.04 s at 0 or 64. 64 is better than 0: the rest of a record may
//! precede the data read.
//!
//! The road not taken: a type for read buffers. They are vectors, and pass through pools and kernels as
//! vectors.

use std::alloc::{GlobalAlloc, Layout};

/// Allocations of at least this size are aligned so. In bytes.
const LARGE_BYTES: usize = 32 << 10;
/// Zeroed allocations of at least this size stay as the C library returns them: the kernel has zeroed them,
/// and a caller that touches only a part need not pay for the rest. In bytes.
const CLEARED_BYTES_MAX: usize = 1 << 20;
/// The C library rounds its 16-byte header up to this.
const ALIGNMENT: usize = 64;
/// The alignment that malloc guarantees.
const USUAL_ALIGNMENT: usize = 16;

/// The program declares this as its `#[global_allocator]`.
pub struct Allocator;

/// Returns what malloc or posix_memalign returns for this layout; null on failure.
fn allocate(layout: Layout) -> *mut u8 {
    let large = if layout.size() >= LARGE_BYTES { ALIGNMENT } else { 1 };
    let alignment = layout.align().max(large);
    if alignment <= USUAL_ALIGNMENT {
        // SAFETY: any size may be asked for.
        return unsafe { libc::malloc(layout.size()) }.cast();
    }
    let mut memory = std::ptr::null_mut();
    // SAFETY: the alignment is a power of two and not smaller than a pointer; `memory` is writable.
    let refused = unsafe { libc::posix_memalign(&mut memory, alignment, layout.size()) };
    if refused == 0 { memory.cast() } else { std::ptr::null_mut() }
}

// SAFETY: all memory comes from the C library's malloc, posix_memalign, calloc and realloc, and its free
// accepts all of it, whatever its size and alignment; they align at least as strictly as requested.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocate(layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let large = LARGE_BYTES..CLEARED_BYTES_MAX;
        if layout.align() <= USUAL_ALIGNMENT && !large.contains(&layout.size()) {
            // SAFETY: any size may be asked for.
            return unsafe { libc::calloc(1, layout.size()) }.cast();
        }
        let memory = allocate(layout);
        if !memory.is_null() {
            // SAFETY: it was just allocated with this size.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller got it from one of these functions, so from the C library.
        unsafe { libc::free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let becomes_large = layout.size() < LARGE_BYTES && size >= LARGE_BYTES;
        if layout.align() <= USUAL_ALIGNMENT && !becomes_large {
            // A mapping that the kernel moves keeps its offset within the page.
            // SAFETY: the caller got the memory from one of these functions, so from the C library.
            return unsafe { libc::realloc(memory.cast(), size) }.cast();
        }
        // SAFETY: the caller guarantees that this size and the alignment make a layout.
        let larger = allocate(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        if !larger.is_null() {
            // SAFETY: both are at least so long, and the second is new.
            unsafe { larger.copy_from_nonoverlapping(memory, size.min(layout.size())) };
            // SAFETY: the caller has it from one of these functions, so from the C library.
            unsafe { libc::free(memory.cast()) };
        }
        larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of the allocator.
    struct Memory(*mut u8, Layout);

    impl Memory {
        fn new(size: usize, align: usize, cleared: bool) -> Memory {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            let memory = match cleared {
                // SAFETY: the size is not 0.
                true => unsafe { Allocator.alloc_zeroed(layout) },
                // SAFETY: as above.
                false => unsafe { Allocator.alloc(layout) },
            };
            Memory(memory, layout).checked()
        }

        /// Asserts that it is not null and is aligned.
        fn checked(self) -> Memory {
            assert!(!self.0.is_null() && (self.0 as usize).is_multiple_of(self.1.align()), "{:?}", self.1);
            self
        }

        fn fill(&mut self, byte: u8) {
            // SAFETY: it has this size.
            unsafe { self.0.write_bytes(byte, self.1.size()) };
        }

        fn resized(self, size: usize) -> Memory {
            // SAFETY: it was allocated with this layout; the size is not 0.
            let memory = unsafe { Allocator.realloc(self.0, self.1, size) };
            let layout = Layout::from_size_align(size, self.1.align()).expect("a layout");
            std::mem::forget(self);
            Memory(memory, layout).checked()
        }

        fn begins_with(&self, byte: u8, size: usize) -> bool {
            // SAFETY: this many bytes were filled.
            let bytes = unsafe { std::slice::from_raw_parts(self.0, size) };
            bytes.iter().all(|&found| found == byte)
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: it was allocated with this layout, and is given back once.
            unsafe { Allocator.dealloc(self.0, self.1) }
        }
    }

    #[test]
    fn memory_is_aligned_and_keeps_what_is_in_it() {
        for (from, to) in [(10, 100), (100, 40_000), (40_000, 3_000_000), (3_000_000, 200_000), (40_000, 5)] {
            for align in [1, 8, 16, 64, 4096] {
                let mut memory = Memory::new(from, align, false);
                memory.fill(7);
                assert!(memory.resized(to).begins_with(7, from.min(to)), "{from} to {to}, {align}");
            }
        }
    }

    #[test]
    fn cleared_memory_is_clear_also_where_it_is_used_again() {
        for size in [100, 40_000, 131_072, 2_000_000] {
            for align in [1, 64, 4096] {
                for _ in 0..3 {
                    let mut memory = Memory::new(size, align, true);
                    assert!(memory.begins_with(0, size), "{size}, {align}");
                    memory.fill(1);
                }
            }
        }
    }

    #[test]
    fn what_is_or_becomes_large_begins_alike() {
        for memory in [
            Memory::new(LARGE_BYTES, 1, false),
            Memory::new(200_000, 1, true),
            Memory::new(100, 1, false).resized(200_000),
            Memory::new(200_000, 1, false).resized(9_000_000),
        ] {
            assert!((memory.0 as usize).is_multiple_of(16), "{:?}", memory.1);
            assert!(
                memory.1.size() > 1_000_000 || (memory.0 as usize).is_multiple_of(ALIGNMENT),
                "{:?}",
                memory.1
            );
        }
    }
}
