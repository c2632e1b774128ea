//! Lines of 76 characters that look like base64. Nothing repeats, so nothing compresses or groups.

use super::{Recipe, Rng};

pub const RECIPE: Recipe = Recipe { name: "lines", about: "lines of 76 random base64 characters", append };

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn append(rng: &mut Rng, _: u64, out: &mut Vec<u8>) {
    let mut bits = 0;
    for column in 0..76 {
        if column % 10 == 0 {
            bits = rng.next_u64();
        }
        out.push(ALPHABET[(bits & 63) as usize]);
        bits >>= 6;
    }
    out.push(b'\n');
}
