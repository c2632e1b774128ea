//! Room for what a sort holds in memory: grown in few, large steps, in huge pages once it is large.
//!
//! Growing by `realloc` would move large memory page by page, to where huge pages do not fit. Here it is copied into
//! fresh memory that was advised before anything was written to it. Every page that is touched costs more than the bytes
//! that fill it: so what grows beyond a few megabytes gets room for many at once, of which only what is used is ever
//! there.

/// Below this, pages are as well left alone. In bytes.
const HUGE_BYTES_MIN: usize = 4 << 20;
/// What grows beyond that gets so much at least. In bytes.
const ROOM_BYTES: usize = 256 << 20;
/// How many times larger the new room is at least.
const STEP: usize = 4;

/// Sees to it that so many more fit into it.
#[inline]
pub(crate) fn make_room<T: Copy>(memory: &mut Vec<T>, more: usize) {
    if memory.capacity() - memory.len() < more {
        grow(memory, more);
    }
}

/// So many copies of the same.
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
        // As it would have grown by itself.
        return memory.reserve(more);
    }
    let stepped = needed.max(memory.len() * STEP);
    // What is empty is told all that it will hold.
    let wanted = if memory.is_empty() { needed } else { stepped.max(ROOM_BYTES / size_of::<T>()) };
    let mut larger: Vec<T> = Vec::new();
    // Address space may be limited: then take what is needed, in the ordinary way.
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
