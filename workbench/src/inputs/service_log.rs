//! A service's log: time stamps that hardly change from line to line, and lines nearly in time order. The
//! first bytes do not help to sort it.

use std::io::Write;

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "service", about: "service log, nearly in order of time", append };

const VERBS: [&str; 5] = ["list", "show", "store", "remove", "search"];

fn append(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    let ms = index * 7 + rng.below(40_000);
    let (second, host, status) = (ms / 1000, rng.below(20), 200 + rng.below(4));
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "2024-01-15T{:02}:{:02}:{:02}.{:03}Z host{host} nginx: GET /api/v1/{}/{} {status} {}",
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        ms % 1000,
        rng.pick(&VERBS),
        rng.below(100_000),
        rng.below(9000)
    );
}
