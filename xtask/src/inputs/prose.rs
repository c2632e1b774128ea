//! Running text: lines of words of which a few are very common, with capitals, blanks, commas and full stops.

use super::words::word;
use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "prose", about: "lines of words with punctuation", append };

const VOCABULARY: u64 = 200_000;

fn append(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    for at in 0..8 + rng.below(8) {
        if at > 0 {
            out.push(b' ');
        }
        let start = out.len();
        word(rng.skewed(VOCABULARY), out);
        if at == 0 {
            out[start].make_ascii_uppercase();
        }
    }
    out.push(if index.is_multiple_of(3) { b'.' } else { b',' });
    out.push(b'\n');
}
