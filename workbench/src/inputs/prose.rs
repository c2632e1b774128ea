//! Running text: lines of words by Zipf's law, common ones short, with capitals, spaces, commas and full
//! stops.

use super::words::SYLLABLES;
use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "prose", about: "lines of words with punctuation", append };

/// 2^18 words: each octave of ranks is equally common.
const OCTAVES: u64 = 18;

fn append(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    for at in 0..8 + rng.below(8) {
        if at > 0 {
            out.push(b' ');
        }
        let start = out.len();
        let octave = 1 << rng.below(OCTAVES);
        word(octave + rng.below(octave), out);
        if at == 0 {
            out[start].make_ascii_uppercase();
        }
    }
    out.push(if index.is_multiple_of(3) { b'.' } else { b',' });
    out.push(b'\n');
}

/// Appends the word of this rank: one syllable for the commonest, up to four.
fn word(mut rank: u64, out: &mut Vec<u8>) {
    let n = SYLLABLES.len() as u64;
    loop {
        out.extend_from_slice(SYLLABLES[(rank % n) as usize].as_bytes());
        rank /= n;
        if rank == 0 {
            return;
        }
    }
}
