//! What sort has modes for: fractions, sizes, versions, months, names in mixed case.

use std::io::Write as _;

use super::words::SYLLABLES;
use super::{Recipe, Rng};

pub const RECIPE: Recipe =
    Recipe { name: "releases", about: "a fraction, a size, a version, a month, a name", append };

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let (whole, parts) = (rng.below(20_000) as i64 - 10_000, rng.below(1000));
    let (power, size, tenth) = (rng.below(9) as i64 - 4, 1 + rng.below(999), rng.below(10));
    let unit = rng.pick(&["", "K", "M", "G"]);
    let (major, minor, patch) = (rng.below(12), rng.below(30), rng.below(200));
    let (month, first, second) = (rng.pick(&MONTHS), rng.pick(&SYLLABLES), rng.pick(&SYLLABLES));
    let first = if rng.below(4) == 0 { first.to_uppercase() } else { (*first).to_owned() };
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{whole}.{parts:03}e{power}\t{size}.{tenth}{unit}\tlib{second}-{major}.{minor}.{patch}.tar\t{month}\t{first}_{second}"
    );
}
