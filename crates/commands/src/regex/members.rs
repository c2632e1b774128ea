//! Looking for the first byte out of a small set: what to look for where no string is known that every match contains.

/// A set of bytes.
#[derive(Clone, Debug)]
pub(super) struct Members {
    table: [bool; 256],
    /// The least and the number of those behind it, if there is no gap.
    range: Option<(u8, u8)>,
}

/// Bytes looked at before any of them is asked which it is.
const STEP: usize = 64;

impl Members {
    /// `bytes` are ascending and not none.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut table = [false; 256];
        bytes.iter().for_each(|byte| table[usize::from(*byte)] = true);
        let (least, most) = (bytes[0], bytes[bytes.len() - 1]);
        let has_gap = usize::from(most - least) + 1 != bytes.len();
        Members { table, range: (!has_gap).then_some((least, most - least)) }
    }

    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        if let Some((least, span)) = self.range {
            // Compared all at once, which compilers know how to do for a range.
            let chunks = text.as_chunks::<STEP>().0;
            let is_far = |chunk: &&[u8; STEP]| {
                !chunk.iter().fold(false, |any, byte| any | (byte.wrapping_sub(least) <= span))
            };
            at = chunks.iter().take_while(is_far).count() * STEP;
        }
        text[at..].iter().position(|byte| self.table[usize::from(*byte)]).map(|found| at + found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_is_found_wherever_it_stands() {
        for (bytes, member) in [(&b"0123456789"[..], b'7'), (b"aeiou", b'i'), (&[250, 251, 252, 253], 253)] {
            let members = Members::new(bytes);
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
