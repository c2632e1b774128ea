//! Orders as CSV: some fields are quoted, and some of the quoted ones hold commas and doubled quotes.

use std::io::Write;

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "orders", about: "CSV of 7 columns, some fields quoted", append };

const CITIES: [&str; 8] =
    ["Berlin", "Porto", "Lyon", "\"Paris, TX\"", "Oslo", "\"York, UK\"", "Krakow", "Turin"];
const GOODS: [&str; 6] = ["pump", "valve", "\"3\"\" pipe\"", "nozzle", "\"bucket, forged\"", "shaft"];
const STATES: [&str; 4] = ["new", "paid", "sent", "returned"];

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let id = rng.below(10_000_000);
    let (day, month) = (rng.below(28) + 1, rng.below(12) + 1);
    let customer = rng.skewed(40_000);
    let cents = rng.skewed(2_000_000);
    let city = rng.pick(&CITIES);
    let (good, state) = (rng.pick(&GOODS), rng.pick(&STATES));
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{id:07},2025-{month:02}-{day:02},c{customer:05},{city},{good},{}.{:02},{state}",
        cents / 100,
        cents % 100
    );
}
