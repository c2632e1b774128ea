//! Compares two strings by temporary encodings, in reused memory.

use std::cell::RefCell;
use std::cmp::Ordering;

/// Compares the encodings of `a` and `b`. `encode` must not call this function.
pub(crate) fn compare_encoded(a: &[u8], b: &[u8], encode: impl Fn(&[u8], &mut Vec<u8>)) -> Ordering {
    thread_local! {
        static SCRATCH: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    }
    SCRATCH.with_borrow_mut(|(one, other)| {
        one.clear();
        other.clear();
        encode(a, one);
        encode(b, other);
        one.cmp(&other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compared_before_does_not_count() {
        let reversed = |text: &[u8], out: &mut Vec<u8>| out.extend(text.iter().rev());
        for _ in 0..2 {
            assert_eq!(compare_encoded(b"az", b"by", reversed), Ordering::Greater);
            assert_eq!(compare_encoded(b"", b"", reversed), Ordering::Equal);
            assert_eq!(compare_encoded(b"", b"a", reversed), Ordering::Less);
        }
    }
}
