//! CSV whose last field is quoted and often holds line ends: it cannot be read line by line.

use std::io::Write;

use super::words::SYLLABLES;
use super::{Recipe, Rng};

pub const RECIPE: Recipe =
    Recipe { name: "notes", about: "CSV of 3 columns, the last quoted and with line ends", append };

fn append(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{index},{}{},\"", rng.pick(&SYLLABLES), rng.pick(&SYLLABLES));
    for _ in 0..rng.below(4) + 1 {
        let _ = write!(out, "{}, ", rng.pick(&SYLLABLES));
        out.extend_from_slice(rng.pick(&["\n", "\"\"so\"\" ", "and ", "\r\n", ""]).as_bytes());
    }
    out.extend_from_slice(b"\"\n");
}
