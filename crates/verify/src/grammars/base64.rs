use super::{flags, on_stdin, valued};
use crate::Case;
use crate::Rng;
use crate::data;

const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PIECES: &[&str] =
    &["=", "==", "A=", "YQ==", "YR==", "aGk=", "aGl=", "\n", "\n\n", " ", "!", "\r\n", "-", "\0", "é"];

/// Text in base64, wrapped anywhere, sometimes with what does not belong there.
fn text(rng: &mut Rng) -> Vec<u8> {
    let mut text = Vec::new();
    let oddities = rng.pick(&[0, 0, 1, 5]);
    let wrap = rng.pick(&[4, 7, 76, 1000]);
    for column in 0..rng.pick(&[3, 12, 80, 500, 5000]) {
        if column % wrap == wrap - 1 {
            text.push(b'\n');
        }
        if rng.below(100) < oddities {
            text.extend_from_slice(rng.pick(PIECES).as_bytes());
        } else {
            text.push(rng.pick(DIGITS));
        }
    }
    if rng.chance(60) {
        let digits = text.iter().filter(|byte| **byte != b'\n').count();
        text.extend(std::iter::repeat_n(b'A', (4 - digits % 4) % 4));
    }
    text.extend_from_slice(rng.pick(&["", "\n", "YQ==", "YQ==\n", "aGk=\n", "YQ=\n=", "aGl="]).as_bytes());
    text
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let decodes = rng.chance(60);
    let mut args = match decodes {
        true => flags(rng, &["-d", "--decode", "-i", "-di"], 30),
        false => flags(rng, &["-i", "--ignore-garbage"], 5),
    };
    if rng.chance(if decodes { 5 } else { 60 }) {
        let width =
            rng.pick(&["0", "1", "2", "3", "4", "5", "57", "76", "77", "100000", "007", "x", "-1", ""]);
        valued(rng, &mut args, "-w", "--wrap", width.as_bytes());
    }
    let stdin = if decodes { text(rng) } else { data::any(rng) };
    let mut case = Case { stdin, ..on_stdin(rng, command, args) };
    match rng.below(10) {
        0 => case.args.push(b"-".to_vec()),
        1 => {
            case.args.push(b"one".to_vec());
            case.files.push(("one".to_owned(), std::mem::take(&mut case.stdin)));
        }
        _ => {}
    }
    case
}
