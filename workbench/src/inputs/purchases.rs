//! Purchases as plain CSV: no quotes, many customers and days that repeat.

use std::io::Write;

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "purchases", about: "CSV of 6 columns, nothing quoted", append };

const CITIES: [&str; 10] =
    ["berlin", "porto", "lyon", "oslo", "krakow", "turin", "ghent", "malmo", "bath", "graz"];

fn append(rng: &mut Rng, index: u64, out: &mut Vec<u8>) {
    let (id, user, price) = (rng.below(100_000_000), rng.below(50_000), rng.below(1_000_000));
    let city = rng.pick(&CITIES);
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{id},user{user},{city}{},{}.{:02},2024-{:02}-{:02},{index}",
        rng.below(30),
        price / 100,
        price % 100,
        1 + id % 12,
        1 + id % 28
    );
}
