//! Memory for a sort: grown in few, large steps, in huge pages once it is large.
//!
//! Growing by `realloc` would move large memory page by page, to where huge pages do not fit. Here it is
//! copied into fresh memory that was advised before the first write. Every touched page costs more than
//! filling it: so memory above a few megabytes gets capacity for many pages at once, of which only the used
//! ones exist.

/// Below this size in bytes, huge pages do not pay.
const HUGE_BYTES_MIN: usize = 4 << 20;
/// Minimum capacity in bytes above that size.
const ROOM_BYTES: usize = 256 << 20;
/// Minimum growth factor.
const STEP: usize = 4;

/// Ensures capacity for `more` elements.
#[inline]
pub(crate) fn make_room<T: Copy>(memory: &mut Vec<T>, more: usize) {
    if memory.capacity() - memory.len() < more {
        grow(memory, more);
    }
}

/// Makes a vector of `count` copies.
pub(crate) fn filled<T: Copy>(with: T, count: usize) -> Vec<T> {
    let mut memory = Vec::new();
    make_room(&mut memory, count);
    memory.resize(count, with);
    memory
}

#[cold]
fn grow<T: Copy>(memory: &mut Vec<T>, more: usize) {
    let needed = memory.len() + more;
    if needed * size_of::<T>() < HUGE_BYTES_MIN {
        // Ordinary growth.
        return memory.reserve(more);
    }
    let stepped = needed.max(memory.len() * STEP);
    // An empty vector gets its final size at once.
    let wanted = if memory.is_empty() { needed } else { stepped.max(ROOM_BYTES / size_of::<T>()) };
    let mut larger: Vec<T> = Vec::new();
    // Address space may be limited: then reserve what is needed, in the ordinary way.
    if [wanted, stepped].into_iter().all(|count| larger.try_reserve_exact(count).is_err()) {
        return memory.reserve_exact(more);
    }
    pelton_sys::memory::prefer_huge_pages(larger.spare_capacity_mut());
    larger.extend_from_slice(memory);
    *memory = larger;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_while_it_grows() {
        let mut memory: Vec<u64> = Vec::new();
        for round in 0..3000u64 {
            make_room(&mut memory, 1000);
            assert!(memory.capacity() >= memory.len() + 1000);
            memory.extend((0..1000).map(|n| round * 1000 + n));
        }
        assert!(memory.iter().enumerate().all(|(at, number)| *number == at as u64));
        assert_eq!(filled(3u8, 5 << 20), vec![3u8; 5 << 20]);
    }
}
