//! rev: text and what is none, on its standard input and in files.

use super::on_files;
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut case = on_files(rng, command, Vec::new());
    case.stdin = text(rng, case.stdin);
    for (_, content) in &mut case.files {
        *content = text(rng, std::mem::take(content));
    }
    case
}

/// What is no character ends an input: mostly none of that, so that the rest is seen. Some lines are longer than the
/// real one's buffer.
fn text(rng: &mut Rng, mut text: Vec<u8>) -> Vec<u8> {
    if rng.chance(60) {
        text.retain(|byte| *byte != 0);
    }
    match rng.below(4) {
        0 => {}
        1 => text.retain(u8::is_ascii),
        _ => text = String::from_utf8_lossy(&text).into_owned().into_bytes(),
    }
    if rng.chance(10) && !text.is_empty() {
        let mut line = text.clone();
        line.retain(|byte| *byte != b'\n');
        let length = rng.pick(&[4090, 8190, 8191, 8192, 8193, 16_382, 16_384, 40_000]);
        let long: Vec<u8> =
            line.iter().copied().cycle().take(if line.is_empty() { 0 } else { length }).collect();
        text = [text.as_slice(), &long, b"\n", &text].concat();
    }
    if rng.chance(2) {
        // The real one's buffer grows with each NUL, until stdio cannot use it any more.
        let count = rng.pick(&[3, 16, 17, 18, 19, 20, 25]);
        text.extend(b"ab\0c\n".repeat(count).iter().chain(b"x\ny\n"));
    }
    for _ in 0..if rng.chance(20) { 1 + rng.below(3) } else { 0 } {
        let at = rng.below(text.len() as u64 + 1) as usize;
        let odd =
            rng.pick(&[&b"\0"[..], b"\0\n", b"\n\0", b"\xff", b"\xc3", b"\xe2\x82", b"\xf8\x88\x80\x80\x80"]);
        text.splice(at..at, odd.iter().copied());
    }
    if rng.chance(8) {
        // It ends inside a character; where the C library's reads end decides what becomes of that.
        if rng.chance(60) {
            let length = 4096 * (1 + rng.below(3) as usize) - rng.below(6) as usize;
            text = "ab\né€".bytes().cycle().take(length).collect();
            text = String::from_utf8_lossy(&text).into_owned().into_bytes();
            text.truncate(length);
        }
        text.extend(rng.pick(&[
            &b"\xc3"[..],
            b"\xe2",
            b"\xe2\x82",
            b"\xed\xa0",
            b"\xf0\x9f\x98",
            b"\xfc\x84\x80",
            b"\xe0\x80",
            b"\xc1",
        ]));
    }
    text
}
