use super::{flags, on_files, valued};
use crate::Case;
use crate::Rng;

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = flags(rng, &["-a", "--all", "--first-only", "--first"], 20);
    if rng.chance(60) {
        let list = rng.pick(&[
            "1",
            "2",
            "3",
            "4",
            "8",
            "3,7",
            "1,2,3",
            "4 9 20",
            "16",
            "5,",
            "/4",
            "3,+2",
            "2,2",
            "5,6,12,40",
        ]);
        valued(rng, &mut args, "-t", "--tabs", list.as_bytes());
    }
    let mut case = on_files(rng, command, args);
    if rng.chance(70) {
        case.stdin = blanks(rng);
    }
    for (_, content) in &mut case.files {
        if rng.chance(70) {
            *content = blanks(rng);
        }
    }
    case
}

/// Mostly blanks.
fn blanks(rng: &mut Rng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..rng.below(40) {
        let run = rng.below(10) as usize;
        match rng.below(12) {
            0..6 => text.resize(text.len() + run, b' '),
            6 | 7 => text.push(b'\t'),
            8 => text.push(b'\n'),
            9 => text.extend_from_slice(rng.pick(&[&b"\x08"[..], b"\x08\x08\x08", b"\r", "é".as_bytes()])),
            _ => text.resize(text.len() + run, b'x'),
        }
    }
    text
}
