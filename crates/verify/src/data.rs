//! Data in the shapes that find differences.

use crate::Rng;

const WORDS: &[&[u8]] = &[
    b"a", b"b", b"ab", b"foo", b"bar", b"Foo", b"hello", b"the", b"x1", b"zebra", b"A", b"ZZ", b"_", b"-",
    b".", b"*", b"i", b"I", b"y",
];
const NUMBERS: &[&[u8]] = &[
    b"0",
    b"1",
    b"2",
    b"9",
    b"10",
    b"007",
    b"-1",
    b"+5",
    b"1.5",
    b".5",
    b"1e3",
    b"1K",
    b"2M",
    b"0x1F",
    b"-0",
    b"99999999999999999999",
    b"1,000",
    b"1.50",
    b"-.5",
    b"3.",
    b"nan",
    b"inf",
    b"1.2.3",
    b"v1.10",
];
const WIDE: &[&[u8]] = &[
    "é".as_bytes(),
    "ß".as_bytes(),
    "日本".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{301}".as_bytes(),
    "😀".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{3000}".as_bytes(),
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u{ad}".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{feff}".as_bytes(),
    "ÿ".as_bytes(),
    b"\xc0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xfc\x84\x80\x80\x80\x80",
    b"\xf5\x80\x80",
    b"\xf8\x87",
    b"\xef\xbf\xbf",
    "\u{85}".as_bytes(),
    // What a range of letters or digits may hold besides ASCII, precomposed and combining.
    "Ä".as_bytes(),
    "e\u{301}".as_bytes(),
    "ő".as_bytes(),
    "²".as_bytes(),
    "１ａ".as_bytes(),
    "\u{212a}".as_bytes(),
    "ſ".as_bytes(),
    "٣".as_bytes(),
];
const CONTROLS: &[&[u8]] =
    &[b"\t", b"\x08", b"\r", b"\x0b", b"\x0c", b"\0", b"\x7f", b"\x1b", b"\x01", b" ", b"\r\n"];
const SEPARATORS: &[&[u8]] = &[b" ", b"\t", b",", b":", b"  ", b" \t ", b",,", b"|"];

/// A piece of text of a kind.
fn piece(rng: &mut Rng, kind: u64) -> Vec<u8> {
    match kind {
        0 => rng.pick(WORDS).to_vec(),
        1 => rng.pick(NUMBERS).to_vec(),
        2 => rng.pick(WIDE).to_vec(),
        3 => rng.pick(CONTROLS).to_vec(),
        4 => vec![rng.next() as u8],
        _ => vec![rng.pick(b"ab,: \t")],
    }
}

fn line(rng: &mut Rng, kinds: &[u64], pieces: u64, separators: &[&[u8]]) -> Vec<u8> {
    let mut line = Vec::new();
    for index in 0..pieces {
        if index > 0 {
            line.extend_from_slice(rng.pick(separators));
        }
        let kind = rng.pick(kinds);
        line.extend(piece(rng, kind));
    }
    line
}

/// Some input: mostly short, sometimes long, often with something nasty in it.
pub fn any(rng: &mut Rng) -> Vec<u8> {
    let kinds: Vec<u64> = match rng.below(8) {
        0 => vec![0],
        1 => vec![0, 1],
        2 => vec![0, 2],
        3 => vec![0, 3, 5],
        4 => vec![4],
        5 => vec![5],
        6 => vec![1],
        _ => vec![0, 0, 0, 1, 2, 3],
    };
    let separators: Vec<&[u8]> = match rng.below(4) {
        0 => vec![rng.pick(SEPARATORS)],
        1 => vec![b""],
        _ => (0..3).map(|_| rng.pick(SEPARATORS)).collect(),
    };
    let lines = match rng.below(20) {
        0 => 0,
        1 => 200 + rng.below(2000),
        2..6 => 20 + rng.below(60),
        _ => 1 + rng.below(12),
    };
    let pieces_max = if rng.chance(5) { 2000 / (lines + 1) + 2 } else { 8 };
    let end: &[u8] = match rng.below(12) {
        0 => b"\r\n",
        1 => b"\0",
        2 => b"\n\n",
        _ => b"\n",
    };
    let blank = rng.pick(&[0, 0, 10, 60]);
    let mut data = Vec::new();
    let mut previous = Vec::new();
    for _ in 0..lines {
        let text = match rng.below(100) {
            roll if roll < blank => Vec::new(),
            roll if roll > 85 => previous.clone(),
            _ => {
                let pieces = rng.below(pieces_max);
                line(rng, &kinds, pieces, &separators)
            }
        };
        data.extend_from_slice(&text);
        data.extend_from_slice(end);
        previous = text;
    }
    finish(rng, data)
}

/// Plain text with few bytes that are anything else, sometimes more than a block of it.
pub fn mostly_plain(rng: &mut Rng) -> Vec<u8> {
    let bytes = match rng.below(40) {
        0 => 130_000 + rng.below(150_000),
        1..6 => 4_000 + rng.below(20_000),
        _ => rng.below(1_000),
    };
    let (odd, long) = (rng.pick(&[0, 0, 1, 5]), rng.pick(&[1, 3, 12, 80]));
    let mut data = Vec::new();
    while data.len() < bytes as usize {
        for _ in 0..rng.below(long) {
            data.extend_from_slice(rng.pick(WORDS));
            data.push(b' ');
        }
        if rng.chance(odd) {
            let kind = 2 + rng.below(3);
            data.extend(piece(rng, kind));
        }
        data.extend_from_slice(if rng.chance(odd) { b"\r\n" } else { b"\n" });
    }
    finish(rng, data)
}

/// The same, mostly with its lines in the order of their bytes.
pub fn sorted_lines(rng: &mut Rng) -> Vec<u8> {
    let data = any(rng);
    let mut lines: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
    if rng.chance(80) {
        match rng.chance(70) {
            true => lines.sort(),
            // As dictionaries do, more or less.
            false => lines.sort_by_key(|line| {
                let letters = line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
                letters.map(u8::to_ascii_lowercase).collect::<Vec<u8>>()
            }),
        }
    }
    let joined = lines.join(&b'\n');
    finish(rng, joined)
}

/// Sometimes without a newline at the end, sometimes with more.
fn finish(rng: &mut Rng, mut data: Vec<u8>) -> Vec<u8> {
    match rng.below(6) {
        0 => {
            data.pop();
        }
        1 => data.extend_from_slice(rng.pick(WORDS)),
        _ => {}
    }
    data
}

/// Some of these lines, with some others between.
pub fn some_lines(rng: &mut Rng, data: &[u8]) -> Vec<u8> {
    let mut result = Vec::new();
    for line in data.split_inclusive(|&byte| byte == b'\n') {
        match rng.below(8) {
            0 => {}
            1 => {
                result.extend_from_slice(line);
                result.extend_from_slice(line);
            }
            2 => {
                result.extend_from_slice(line);
                result.extend(piece(rng, 0));
                result.push(b'\n');
            }
            _ => result.extend_from_slice(line),
        }
    }
    result
}
