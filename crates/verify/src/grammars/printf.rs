use super::{echo, on_stdin};
use crate::Case;
use crate::Rng;

fn conversion(rng: &mut Rng) -> Vec<u8> {
    let mut text = String::from("%");
    for _ in 0..rng.pick(&[0, 0, 0, 1, 1, 2, 3]) {
        text.push(rng.pick(&['-', '0', '+', ' ', '#']));
    }
    if rng.chance(40) {
        text += rng.pick(&["1", "3", "8", "20", "*", "03"]);
    }
    if rng.chance(30) {
        text += rng.pick(&[".", ".0", ".1", ".3", ".10", ".*"]);
    }
    text.push(
        rng.pick(&['s', 's', 's', 'd', 'd', 'i', 'x', 'X', 'o', 'u', 'c', 'b', 'b', '%', 'f', 'q', 'l', 'Z']),
    );
    text.into_bytes()
}

fn format(rng: &mut Rng) -> Vec<u8> {
    let mut format = Vec::new();
    for _ in 0..rng.below(5) {
        format.extend(match rng.below(3) {
            0 => echo::text(rng),
            1 => rng.pick(&[&b"\\n"[..], b" ", b",", b"%%", b"-"]).to_vec(),
            _ => conversion(rng),
        });
    }
    format
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = Vec::new();
    if rng.chance(10) {
        args.push(b"--".to_vec());
    }
    args.push(format(rng));
    for _ in 0..rng.below(6) {
        args.push(match rng.below(3) {
            0 => echo::text(rng),
            _ => rng
                .pick(&[
                    "0",
                    "1",
                    "-1",
                    "42",
                    "+7",
                    "255",
                    "0x1F",
                    "0xffffffffff",
                    "010",
                    "999999999999999",
                    "-0",
                    "abc",
                    "a",
                    "",
                    " 5",
                    "5 ",
                    "'a",
                    "12345678901234567890",
                    "-0x10",
                    "+-1",
                    "0x",
                ])
                .into(),
        });
    }
    Case { stdin: Vec::new(), ..on_stdin(rng, command, args) }
}
