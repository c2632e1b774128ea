//! uniq: its flags in all combinations, over lines that repeat in part or in whole.

use super::{flags, sort, valued};
use crate::Case;
use crate::Rng;

/// Makes a case.
pub fn case(rng: &mut Rng, command: &str) -> Case {
    let mut args = options(rng);
    let mut files = Vec::new();
    if rng.chance(10) {
        args.push(b"one".to_vec());
        files.push(("one".to_owned(), text(rng)));
    }
    let stdin = text(rng);
    Case { command: command.to_owned(), args, stdin, files, piped: rng.chance(10), utf8: rng.chance(50) }
}

/// Any flags but those that write files.
pub fn options(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut args = flags(rng, &["-c", "-d", "-u", "-i", "-z", "--count", "--repeated", "--ignore-case"], 15);
    args.extend(flags(rng, &["-D", "--all-repeated", "--unique"], 8));
    if rng.chance(15) {
        args.push(
            rng.pick(&[&b"--all-repeated=prepend"[..], b"--all-repeated=separate", b"--all-rep=none"])
                .to_vec(),
        );
    }
    for (short, long) in [("-f", "--skip-fields"), ("-s", "--skip-chars"), ("-w", "--check-chars")] {
        if rng.chance(20) {
            let number = rng.pick(&[0, 1, 1, 2, 3, 5, 1000]).to_string();
            valued(rng, &mut args, short, long, number.as_bytes());
        }
    }
    args
}

/// Lines of which many repeat the one before, or nearly.
pub fn text(rng: &mut Rng) -> Vec<u8> {
    if rng.chance(30) {
        return sort::text(rng, b"");
    }
    let end: &[u8] = rng.pick(&[b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\0"]);
    let alphabet: &[u8] = rng.pick(&[&b"ab"[..], b"aA \t", b"ab \0\xff\xe9", b"1 "]);
    let mut text = Vec::new();
    let mut line: Vec<u8> = Vec::new();
    for _ in 0..rng.pick(&[0, 1, 2, 5, 10, 40, 300]) {
        match rng.below(10) {
            0..5 => {}
            5 => line.make_ascii_uppercase(),
            6 => line.push(rng.pick(alphabet)),
            7 => _ = line.pop(),
            8 => line.extend_from_slice(rng.pick(&["é", "è", "日"]).as_bytes()),
            _ => line = (0..rng.below(8)).map(|_| rng.pick(alphabet)).collect(),
        }
        text.extend_from_slice(&line);
        text.extend_from_slice(end);
    }
    if rng.chance(25) {
        text.pop();
    }
    text
}
