use super::on_stdin;
use crate::Case;
use crate::Rng;

const PIECES: &[&[u8]] = &[
    b"a",
    b"b c",
    b" ",
    b"",
    b"\\",
    b"\\n",
    b"\\t",
    b"\\0",
    b"\\01",
    b"\\0101",
    b"\\101",
    b"\\377",
    b"\\0777",
    b"\\x",
    b"\\x4",
    b"\\x41",
    b"\\xfff",
    b"\\u",
    b"\\u41",
    b"\\u00e9",
    b"\\U0001f600",
    b"\\ud800",
    b"\\u7f",
    b"\\u0",
    b"\\U110000",
    b"\\c",
    b"\\'",
    b"\\\"",
    b"\\?",
    b"\\a",
    b"\\b",
    b"\\e",
    b"\\E",
    b"\\f",
    b"\\r",
    b"\\v",
    b"\\\\",
    b"\\8",
    b"\\q",
    b"1",
    b"7",
    b"f",
    b"-n",
    b"-e",
    b"-",
    b"--",
    b"\n",
    b"\t",
    b"\xff",
    b"%",
    "é".as_bytes(),
    "\\é".as_bytes(),
    b"*",
    b"\x01",
    b"\x7f",
];

/// Text with escapes, without NULs.
pub fn text(rng: &mut Rng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..rng.below(6) {
        if rng.chance(8) {
            text.push(1 + rng.below(255) as u8);
        } else {
            text.extend_from_slice(rng.pick(PIECES));
        }
    }
    text
}

pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args: Vec<Vec<u8>> = Vec::new();
    for _ in 0..rng.below(3) {
        args.push(rng.pick(&["-n", "-e", "-E", "-ne", "-e", "-e", "-eE", "-nx", "-", "--", "-en"]).into());
    }
    for _ in 0..rng.below(4) {
        args.push(text(rng));
    }
    Case { stdin: Vec::new(), ..on_stdin(rng, command, args) }
}
