//! What makes a text odd.

use crate::Rng;

/// Its lines end as on other systems.
pub fn by_carriage_returns(text: &mut Vec<u8>) {
    *text = text.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]);
}

/// These bytes stand anywhere in it.
pub fn by_bytes(rng: &mut Rng, text: &mut Vec<u8>, bytes: &[u8]) {
    let at = rng.below(text.len() as u64 + 1) as usize;
    text.splice(at..at, bytes.iter().copied());
}

/// Its first line may be longer than a block.
pub fn by_length(rng: &mut Rng, text: &mut Vec<u8>) {
    text.splice(0..0, b"ab 12,".repeat(1 + rng.below(3000) as usize));
}
