//! Very short lines: numbers, words, options, blanks, 5 bytes in the mean.

use std::io::Write as _;

use super::words::SYLLABLES;
use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "short", about: "lines of 5 bytes", append };

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = match rng.below(20) {
        0..=7 => writeln!(out, "{}", rng.below(100_000)),
        8..=13 => writeln!(out, "{}{}", rng.pick(&SYLLABLES), rng.pick(&SYLLABLES)),
        14 => writeln!(out, "the {}", rng.below(9)),
        15 => writeln!(out, "-{}", rng.pick(&SYLLABLES)),
        16 => writeln!(out, "{}{}", (b'A' + rng.below(26) as u8) as char, rng.pick(&SYLLABLES)),
        17 => writeln!(out),
        18 => writeln!(out, "{}", &"   "[..1 + rng.below(3) as usize]),
        _ => writeln!(out, "{}-{}", rng.pick(&SYLLABLES), rng.below(10)),
    };
}
