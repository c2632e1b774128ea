//! One word per line, as from a text cut into words: a few very common words and a long tail.

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "words", about: "one word a line, common ones often", append };

const VOCABULARY: u64 = 200_000;
pub const SYLLABLES: [&str; 24] = [
    "ka", "to", "ri", "men", "sol", "an", "be", "vor", "il", "us", "tra", "de", "qui", "el", "po", "nar",
    "si", "lum", "fe", "ga", "hor", "em", "ny", "zu",
];

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    word(rng.skewed(VOCABULARY), out);
    out.push(b'\n');
}

/// Appends the word of this rank: two syllables for the commonest, up to four.
fn word(rank: u64, out: &mut Vec<u8>) {
    let n = SYLLABLES.len() as u64;
    let mut rest = rank;
    out.extend_from_slice(SYLLABLES[(rest % n) as usize].as_bytes());
    loop {
        rest /= n;
        out.extend_from_slice(SYLLABLES[(rest % n) as usize].as_bytes());
        if rest < n {
            return;
        }
    }
}
