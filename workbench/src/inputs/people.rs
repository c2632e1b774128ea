//! People as JSON, one per line, each with escaped and UTF-8 strings, numbers, words, an array and an object.

use std::io::Write;

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "people", about: "JSON of 8 members, one object a line", append };

const NAMES: [&str; 6] = ["Ann", "Bob", "Chlo\\u00e9", "Dmitri", "Eve", "Frank O'Neil"];
const CITIES: [&str; 4] = ["Berlin", "Porto", "Lyon", "S\\u00e3o Paulo"];
const NOTES: [&str; 4] = ["", "said \\\"hello\\\"", "two\\nlines", "plain text that goes on for a while"];
const TAGS: [&str; 5] = ["new", "paid", "sent", "late", "vip"];

fn append(rng: &mut Rng, number: u64, out: &mut Vec<u8>) {
    let (name, city, note) = (rng.pick(&NAMES), rng.pick(&CITIES), rng.pick(&NOTES));
    let (score, active) = (rng.below(100_000), rng.below(2) == 0);
    let (one, other) = (rng.pick(&TAGS), rng.pick(&TAGS));
    let (street, zip) = (rng.below(1000), rng.below(100_000));
    // Writing to memory cannot fail.
    let _ = writeln!(
        out,
        "{{\"id\":{number},\"name\":\"{name}\",\"email\":\"user{number}@example.com\",\"score\":{}.{:03},\
         \"active\":{active},\"tags\":[\"{one}\",\"{other}\"],\
         \"address\":{{\"street\":\"{street} Main St\",\"city\":\"{city}\",\"zip\":\"{zip:05}\"}},\"note\":\"{note}\"}}",
        score / 1000,
        score % 1000
    );
}
