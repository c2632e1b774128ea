//! Finds the first byte out of a set, and tests membership.

use memchr::{memchr, memchr2, memchr3};

/// A set of bytes.
#[derive(Clone, Debug)]
pub(super) struct Members {
    table: [bool; 256],
    how: How,
}

/// How the first member is found.
#[derive(Clone, Debug)]
enum How {
    /// At most three members.
    Few(Vec<u8>),
    /// A contiguous range: its first byte, and the number of bytes after it.
    Range(u8, u8),
    /// By testing each byte.
    Any,
}

/// Bytes tested together before they are tested singly.
const STEP: usize = 64;
/// The most bytes that memchr can search at once.
const FEW_MAX: usize = 3;

impl Members {
    /// Makes the set of bytes for which `holds` is true.
    pub(super) fn new(holds: impl Fn(u8) -> bool) -> Self {
        let all: Vec<u8> = (0..=u8::MAX).filter(|byte| holds(*byte)).collect();
        let how = match (all.first(), all.last()) {
            (Some(least), Some(most)) if all.len() > FEW_MAX => {
                let span = most - least;
                if usize::from(span) + 1 == all.len() { How::Range(*least, span) } else { How::Any }
            }
            _ => How::Few(all),
        };
        Members { table: std::array::from_fn(|byte| holds(byte as u8)), how }
    }

    pub(super) fn table(&self) -> &[bool; 256] {
        &self.table
    }

    #[inline]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.table[usize::from(byte)]
    }

    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        match &self.how {
            How::Few(few) => {
                return match few.as_slice() {
                    [] => None,
                    [a] => memchr(*a, text),
                    [a, b] => memchr2(*a, *b, text),
                    [a, b, c, ..] => memchr3(*a, *b, *c, text),
                };
            }
            How::Range(least, span) => {
                // Compared all at once: compilers vectorise that for a range.
                let chunks = text.as_chunks::<STEP>().0;
                let is_far = |chunk: &&[u8; STEP]| {
                    !chunk.iter().fold(false, |any, byte| any | (byte.wrapping_sub(*least) <= *span))
                };
                at = chunks.iter().take_while(is_far).count() * STEP;
            }
            How::Any => {}
        }
        text[at..].iter().position(|byte| self.has(*byte)).map(|found| at + found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_is_found_wherever_it_stands() {
        for (bytes, member) in [
            (&b"0123456789"[..], b'7'),
            (b"aeiou", b'i'),
            (&[250, 251, 252, 253], 253),
            (b"a", b'a'),
            (b"ab", b'b'),
            (b"axz", b'z'),
        ] {
            let members = Members::new(|byte| bytes.contains(&byte));
            for length in 0..200 {
                let mut text = vec![b' '; length];
                assert_eq!(members.find(&text), None);
                for at in (0..length).rev() {
                    text[at] = member;
                    assert_eq!(members.find(&text), Some(at));
                }
            }
        }
    }
}
