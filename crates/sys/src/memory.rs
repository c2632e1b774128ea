//! Advice about memory: it affects speed, never contents.

use std::mem::MaybeUninit;

/// Requests huge pages for memory not yet written: fewer faults, and fewer TLB misses on random access.
/// Rounded outwards to whole pages, since advice about neighbouring memory is harmless. A kernel without huge
/// pages refuses, which changes nothing.
#[cfg(target_os = "linux")]
pub fn prefer_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let page = rustix::param::page_size();
    let start = memory.as_ptr() as usize / page * page;
    let end = memory.as_ptr_range().end as usize;
    // SAFETY: this advice touches no contents, and refers to addresses that belong to the slice's pages.
    let _ = unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
}

/// Does nothing here.
#[cfg(not(target_os = "linux"))]
pub fn prefer_huge_pages<T>(_memory: &mut [MaybeUninit<T>]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_as_good_with_advice_as_without() {
        for bytes in [0, 1, 5000, 8 << 20] {
            let mut memory: Vec<u8> = Vec::with_capacity(bytes);
            prefer_huge_pages(memory.spare_capacity_mut());
            memory.resize(bytes, 7);
            assert!(memory.iter().all(|byte| *byte == 7));
        }
    }
}
