//! sort: keys and flags in all combinations, over data in which each kind of key finds its shapes.

use super::{flags, valued};
use crate::Case;
use crate::Rng;
use crate::data;

/// Makes a case.
pub fn case(rng: &mut Rng, command: &str) -> Case {
    let separator = rng.pick(SEPARATORS);
    let mut args = options(rng, separator);
    if rng.chance(8) {
        args.push(
            rng.pick(&[&b"-m"[..], b"-C", b"-c", b"-c", b"--check=quiet", b"--check", b"--merge"]).to_vec(),
        );
    }
    let stdin = text(rng, separator);
    let mut case = Case {
        command: command.to_owned(),
        args,
        stdin,
        files: Vec::new(),
        piped: rng.chance(10),
        utf8: rng.chance(50),
    };
    let files = if rng.chance(15) || case.args.contains(&b"-m".to_vec()) { rng.below(4) } else { 0 };
    for name in ["one", "two", "three"].into_iter().take(files as usize) {
        if rng.chance(15) {
            case.args.push(b"-".to_vec());
        }
        case.args.push(name.into());
        let content = text(rng, separator);
        case.files.push((name.to_owned(), content));
    }
    if case.args.iter().any(|arg| arg.contains(&b'g')) {
        keep_one_nan(&mut case);
    }
    case
}

/// With two NaNs under `-g`, the real sort does not agree with itself from one run to the next.
fn keep_one_nan(case: &mut Case) {
    let mut seen = false;
    let texts = case.files.iter_mut().map(|(_, content)| content).chain([&mut case.stdin]);
    for text in texts {
        for at in 0..text.len().saturating_sub(2) {
            if text[at..at + 3].eq_ignore_ascii_case(b"nan") && std::mem::replace(&mut seen, true) {
                text[at + 1] = b'-';
            }
        }
    }
}

const SEPARATORS: &[&[u8]] =
    &[b"", b"", b"", b",", b":", b" ", b"\t", b"a", b"0", b"\0", b"\x80", b"\n", b"="];

/// Ordering options, keys among them; `separator` is what the data has between fields.
pub fn options(rng: &mut Rng, separator: &[u8]) -> Vec<Vec<u8>> {
    let mut args = Vec::new();
    if rng.chance(60) {
        args.extend(flags(rng, &["-r", "-s", "-u", "-b", "-f", "-z", "--reverse", "--stable"], 14));
        args.extend(flags(rng, &["-d", "-i", "-n", "-g", "-h", "-M", "-V", "--sort=version"], 7));
    }
    match separator {
        b"" => {}
        b"\0" => args.push(b"-t\\0".to_vec()),
        _ => valued(rng, &mut args, "-t", "--field-separator", separator),
    }
    for _ in 0..rng.pick(&[0, 0, 0, 1, 1, 1, 1, 2, 3]) {
        let key = key(rng);
        valued(rng, &mut args, "-k", "--key", key.as_bytes());
    }
    if rng.chance(3) {
        args.push(rng.pick(&[&b"--parallel=2"[..], b"-S1M", b"-T/nowhere", b"-S50%"]).to_vec());
    }
    args
}

fn key(rng: &mut Rng) -> String {
    let mut key = position(rng, 1);
    key += &letters(rng);
    if rng.chance(60) {
        key.push(',');
        key += &position(rng, 0);
        if rng.chance(30) {
            key += &letters(rng);
        }
    }
    key
}

fn position(rng: &mut Rng, byte_min: u64) -> String {
    let field = 1 + rng.below(4);
    if rng.chance(25) { format!("{field}.{}", byte_min + rng.below(6)) } else { field.to_string() }
}

fn letters(rng: &mut Rng) -> String {
    let kind = rng.pick(&["", "", "n", "g", "h", "M", "V", "f", "d", "i", "df", "Vf", "hf", "ifV"]);
    let mut letters = kind.to_owned();
    for letter in ["b", "r"] {
        if rng.chance(25) {
            letters.push_str(letter);
        }
    }
    letters
}

const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "00",
    "1",
    "01",
    "-1",
    "2",
    "10",
    "12",
    "1.5",
    "1.50",
    "-1.5",
    ".5",
    "-.5",
    "5.",
    ".",
    "-",
    "--1",
    "+1",
    "1e3",
    "1E-2",
    "1e",
    "1e+",
    "0x1F",
    "0x1.8p3",
    "0x",
    "0xp1",
    "0x.8",
    "1,000",
    "1\u{80}",
    "inf",
    "-inf",
    "Infinity",
    "nan",
    "-nan",
    "NaN(1)",
    "nan(0x2)",
    "nan(",
    "1K",
    "2k",
    "1M",
    "1.5G",
    "900M",
    "-3T",
    "0K",
    "5Ki",
    "1KB",
    "1.K",
    "1m",
    "1Y",
    "1R",
    "1Q",
    "4Z",
    "2E",
    "3P",
    "99999999999999999999",
    "100000000000000000000000000000",
    "1e4932",
    "1e4933",
    "1e-4950",
    "1e-4951",
    "3e-4951",
    "1e-4966",
    "0.1",
    "0.10000000000000000001",
    "1.00000000000000000001",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "1e27",
    "1e28",
    "1e-27",
    "1e-28",
    "123456789012345678901234567890e-10",
    "00000000000000000000000000.5",
    "1.0000000000000",
    "-00.0",
    "1\t2",
];
const MONTHS: &[&str] = &[
    "Jan", "FEB", "mar", "April", "MAY", "jUne", "Jul", "aug", "sept", "Oct", "NOVEMBER", "dec", "Ja", "xyz",
    "De c",
];
const VERSIONS: &[&str] = &[
    "a-1.02~rc1.tar.gz",
    "a-1.2",
    "a-1.10",
    "a-1.2.tar.gz",
    "a-1.02",
    ".",
    "..",
    ".a",
    "...",
    "a.",
    "a.~1~",
    "a.b.c",
    "1.0~rc1",
    "1.0",
    "1.0a",
    "1",
    "01",
    "001a",
    "1a",
    "a1b2",
    "a01b2",
    "a1b02.c",
    "~",
    "~~",
    "~a",
    "",
    "a0",
    "a",
    "a.0",
    "file.txt",
    "file10.txt",
    "file9.txt",
    "x.tar",
    "x.tar.9z",
    "-",
    "_a",
    "A1",
    "a~",
    "a.~",
    "é1",
    "1.",
    ".1",
    "a.1b",
];
const WORDS: &[&str] = &[
    "a",
    "A",
    "b",
    "ab",
    "aB",
    "AB",
    "abc",
    "a-b",
    "a b",
    "foo",
    "Foo",
    "FOO",
    "_x",
    "é",
    "z",
    "zz",
    "É",
    "e",
    "e\u{301}",
    "ä",
    "ss",
    "ß",
    "œ",
    "oe",
    "l·l",
    "Ж",
    "日",
    "ي\u{651}",
    "가",
    "$x",
    "(a)",
    "a.b",
    "co-op",
    "coop",
];
const LONG: &[&str] =
    &["2024-01-15T12:34:56.789Z ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "/usr/share/doc/package/"];

fn piece(rng: &mut Rng, kind: u64) -> Vec<u8> {
    match kind {
        0 | 1 => rng.pick(NUMBERS).into(),
        2 => number(rng),
        3 => rng.pick(MONTHS).into(),
        4 => rng.pick(VERSIONS).into(),
        5 => rng.pick(WORDS).into(),
        6 => [rng.pick(LONG), rng.pick(WORDS)].concat().into(),
        7 => (0..rng.below(12)).map(|_| rng.next() as u8).collect(),
        8 => (0..rng.below(6)).map(|_| rng.pick(b"aA1. -~\0\x80\t,")).collect(),
        _ => (0..rng.below(12)).map(|_| rng.pick(b"0123456789.-eExKMp+")).collect(),
    }
}

/// A number by its grammar: blanks, sign, digits, point, digits, exponent, unit.
fn number(rng: &mut Rng) -> Vec<u8> {
    let mut text = String::new();
    text += rng.pick(&["", "", "", " ", "\t", "  ", "\u{b}"]);
    text += rng.pick(&["", "", "", "-", "-", "+"]);
    let digits = |rng: &mut Rng, text: &mut String| {
        let few = rng.chance(50);
        for _ in 0..rng.pick(&[0, 1, 1, 2, 2, 3, 7, 19, 20, 25, 40]) {
            text.push(if few {
                rng.pick(&['0', '0', '1'])
            } else {
                rng.pick(&['0', '1', '2', '5', '8', '9'])
            });
        }
    };
    digits(rng, &mut text);
    if rng.chance(40) {
        text.push('.');
        digits(rng, &mut text);
    }
    if rng.chance(20) {
        text += &format!("{}{}{}", rng.pick(&['e', 'E']), rng.pick(&["", "-", "+"]), rng.below(60));
    }
    if rng.chance(20) {
        text.push(rng.pick(&['K', 'k', 'M', 'G', 'x', 'i', ',']));
    }
    text.into_bytes()
}

/// Lines whose fields are of a few kinds, with `separator` (or blanks) between them.
pub fn text(rng: &mut Rng, separator: &[u8]) -> Vec<u8> {
    if rng.chance(15) {
        return data::any(rng);
    }
    let kinds: Vec<u64> = (0..1 + rng.below(3)).map(|_| rng.below(10)).collect();
    let lines = match rng.below(200) {
        0 => 20_000 + rng.below(30_000),
        1..4 => 800 + rng.below(3000),
        4..10 => 0,
        10..60 => 30 + rng.below(60),
        _ => 1 + rng.below(14),
    };
    let pieces = 1 + rng.below(if lines > 10_000 { 1 } else { 5 });
    let repeats = rng.pick(&[0, 10, 10, 50, 90]);
    let end: &[u8] = rng.pick(&[b"\n", b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\0", b"\n\0"]);
    let mut text: Vec<u8> = Vec::new();
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for _ in 0..lines {
        let line = if rng.chance(repeats) && !seen.is_empty() {
            seen[rng.below(seen.len() as u64) as usize].clone()
        } else {
            line(rng, &kinds, pieces, separator)
        };
        text.extend_from_slice(&line);
        text.extend_from_slice(end);
        if seen.len() < 50 {
            seen.push(line);
        }
    }
    if rng.chance(20) {
        text.pop();
    }
    text
}

fn line(rng: &mut Rng, kinds: &[u64], pieces: u64, separator: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    if rng.chance(4) {
        // White space that is no blank, before what may be a number.
        line.push(rng.pick(b"\r\x0b\x0c"));
    }
    for index in 0..1 + rng.below(pieces) {
        if index > 0 {
            let blanks: &[u8] = rng.pick(&[b" ", b" ", b"  ", b"\t", b" \t "]);
            line.extend_from_slice(if separator.is_empty() { blanks } else { separator });
        }
        let kind = rng.pick(kinds);
        line.extend(piece(rng, kind));
    }
    line
}
